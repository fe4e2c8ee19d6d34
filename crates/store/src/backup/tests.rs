//! A backup is read as it was written, or refused: whatever is cut, flipped, moved, repeated or added.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

fn head() -> Head {
    Head {
        store_format: 1,
        slot_count: 4_096,
        slot_hash: "blake3".to_owned(),
        generation: 3,
        created: Timestamp::from_ms(1_790_000_000_000),
        version: "0.1.0".to_owned(),
    }
}

fn cut() -> Stamp {
    Stamp {
        generation: 3,
        counter: 77,
        index: 0,
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A backup of rows: its pieces.
fn written(rows: &Rows) -> Vec<Vec<u8>> {
    let (mut writer, first) = Writer::begin(&head());
    let mut pieces = vec![first];
    for (key, value) in rows {
        pieces.extend(writer.row(key, value));
    }
    pieces.push(writer.end(cut()).0);
    pieces
}

fn read(bytes: &[u8]) -> Result<(Head, Rows, End, Hash), Error> {
    let mut reader = Reader::open(bytes)?;
    let mut rows = Rows::new();
    while let Some(some) = reader.next_rows()? {
        let plain = |(key, value): (Bytes, Bytes)| (key.to_vec(), value.to_vec());
        rows.extend(some.into_iter().map(plain));
    }
    let (end, hash) = reader.end().expect("all was read");
    Ok((reader.head().clone(), rows, *end, *hash))
}

/// Rows that fill several blocks, some of which cannot be compressed.
fn several_blocks() -> Rows {
    let noise = |seed: u32| {
        let mut bytes = vec![0; 90_000];
        blake3::Hasher::new()
            .update(&seed.to_be_bytes())
            .finalize_xof()
            .fill(&mut bytes);
        bytes
    };
    let key = |number: u32| [b"e".as_slice(), &number.to_be_bytes()].concat();
    let rows = (0..60).map(|number| {
        let even = number % 2 == 0;
        let value = if even {
            noise(number)
        } else {
            vec![b'x'; 50_000]
        };
        (key(number), value)
    });
    rows.collect()
}

fn rows() -> impl Strategy<Value = Rows> {
    btree_map(vec(any::<u8>(), 1..40), vec(any::<u8>(), 0..300), 0..40)
        .prop_map(|rows| rows.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_written_is_read_again(rows in rows()) {
        let (head_read, rows_read, end, _) = read(&written(&rows).concat()).unwrap();
        prop_assert_eq!(head_read, head());
        prop_assert_eq!(end.rows, rows.len() as u64);
        prop_assert_eq!(end.cut, cut());
        prop_assert_eq!(rows_read, rows);
    }

    #[test]
    fn a_backup_that_is_cut_anywhere_is_refused(rows in rows(), at: prop::sample::Index) {
        let whole = written(&rows).concat();
        let part = &whole[..at.index(whole.len())];
        let refused = read(part);
        let is_cut = matches!(refused, Err(Error::CutOff { read }) if read == part.len() as u64);
        prop_assert!(is_cut, "{refused:?}");
    }

    #[test]
    fn a_changed_byte_anywhere_is_refused(rows in rows(), at: prop::sample::Index, flip in 1u8..) {
        let mut changed = written(&rows).concat();
        let at = at.index(changed.len());
        changed[at] ^= flip;
        prop_assert!(read(&changed).is_err(), "byte {at}");
    }

    #[test]
    fn bytes_that_are_no_backup_are_refused(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn bytes_behind_the_end_are_refused(rows in rows(), more in vec(any::<u8>(), 1..20)) {
        let longer = [written(&rows).concat(), more].concat();
        let is_damaged = matches!(read(&longer), Err(Error::Damaged { .. }));
        prop_assert!(is_damaged);
    }
}

#[test]
fn every_cut_and_every_flip_of_a_backup_of_several_blocks_is_refused() {
    let pieces = written(&several_blocks());
    assert!(pieces.len() >= 4, "{} pieces", pieces.len());
    let whole = pieces.concat();
    assert_eq!(read(&whole).unwrap().1, several_blocks());
    // All around where pieces meet, and some places in between.
    let mut places: Vec<usize> = (0..whole.len()).step_by(100_003).collect();
    let mut meet = 0;
    for piece in &pieces {
        places.extend(meet..(meet + 16).min(whole.len()));
        meet += piece.len();
        places.extend(meet - 40..meet.min(whole.len()));
    }
    for at in places {
        assert!(
            matches!(read(&whole[..at]), Err(Error::CutOff { .. })),
            "{at}"
        );
        let mut changed = whole.clone();
        changed[at] ^= 0x40;
        assert!(read(&changed).is_err(), "{at}");
    }
}

#[test]
fn blocks_that_are_left_out_moved_or_repeated_are_refused() {
    let pieces = written(&several_blocks());
    let joined = |order: &[usize]| {
        let pieces: Vec<_> = order.iter().map(|number| pieces[*number].clone()).collect();
        pieces.concat()
    };
    let all: Vec<usize> = (0..pieces.len()).collect();
    assert!(read(&joined(&all)).is_ok() && all.len() >= 5);
    let mut swapped = all.clone();
    swapped.swap(1, 2);
    let mut orders = vec![swapped];
    for number in all.clone() {
        let mut without = all.clone();
        without.remove(number);
        let mut twice = all.clone();
        twice.insert(number, number);
        orders.extend([without, twice]);
    }
    for order in orders {
        assert!(read(&joined(&order)).is_err(), "{order:?}");
    }
}

#[test]
fn a_newer_form_and_a_foreign_file_are_named() {
    let mut newer = written(&Rows::new()).concat();
    newer[MAGIC.len() + 3] = 2;
    let refused = read(&newer);
    assert!(matches!(
        refused,
        Err(Error::NewerFormat {
            found: 2,
            supported: 1
        })
    ));
    let foreign = read(b"PK\x03\x04 and so on and on");
    assert!(matches!(foreign, Err(Error::Foreign)));
}

/// Lengths that no frame has are refused before anything of that size is taken from memory.
#[test]
fn a_length_that_no_frame_has_takes_no_memory() {
    let whole = written(&vec![(b"e1".to_vec(), b"x".to_vec())]).concat();
    let head_at = MAGIC.len() + 4;
    let mut long = whole;
    long[head_at + 1..head_at + 9].fill(0xFF);
    let refused = read(&long);
    assert!(
        matches!(refused, Err(Error::Damaged { what, .. }) if what.contains("length")),
        "{refused:?}"
    );
}

#[test]
fn no_byte_of_the_form_ever_changes() {
    let rows = vec![
        (b"e0".to_vec(), b"a value".to_vec()),
        (b"q0".to_vec(), vec![b'y'; 300]),
    ];
    let now = hex::encode(written(&rows).concat()) + "\n";
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests");
    let path = Path::new(&folder).join("tests/backup/format-1.txt");
    if !path.exists() && std::env::var_os("SILLOK_GOLDEN").is_some_and(|mode| mode == "write") {
        fs::write(&path, &now).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), now);
    // A stored backup stays readable.
    let stored = hex::decode(now.trim()).unwrap();
    assert_eq!(read(&stored).unwrap().1, rows);
}
