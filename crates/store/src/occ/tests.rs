//! The index against a naive model that compares all pairs of reads and writes.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

/// Every write ever made, and a floor taken from the index under test.
#[derive(Default)]
struct Naive {
    writes: Vec<(u64, KeyRange)>,
}

impl Naive {
    fn check(
        &self,
        floor: u64,
        last: u64,
        read_version: u64,
        reads: &[KeyRange],
    ) -> Result<(), ()> {
        if reads.is_empty() || read_version == last {
            return Ok(());
        }
        let overlaps = |a: &KeyRange, b: &KeyRange| a.begin < b.end && b.begin < a.end;
        let written = self.writes.iter().any(|(version, write)| {
            *version > read_version && reads.iter().any(|read| overlaps(read, write))
        });
        if read_version < floor || written {
            Err(())
        } else {
            Ok(())
        }
    }
}

#[derive(Debug, Clone)]
struct Step {
    age: u64,
    read_keys: Vec<u8>,
    read_ranges: Vec<(u8, u8)>,
    write_keys: Vec<u8>,
    write_ranges: Vec<(u8, u8)>,
}

const KEYS: u8 = 24;

fn step() -> impl Strategy<Value = Step> {
    let keys = || proptest::collection::vec(0..KEYS, 0..3);
    let ranges = || proptest::collection::vec((0..KEYS, 0..KEYS), 0..2);
    (0u64..12, keys(), ranges(), keys(), ranges()).prop_map(
        |(age, read_keys, read_ranges, write_keys, write_ranges)| Step {
            age,
            read_keys,
            read_ranges,
            write_keys,
            write_ranges,
        },
    )
}

fn key(number: u8) -> Bytes {
    Bytes::from(vec![b'k', number])
}

fn ranges(numbers: &[(u8, u8)]) -> impl Iterator<Item = KeyRange> + '_ {
    numbers
        .iter()
        .map(|(begin, end)| KeyRange {
            begin: key(*begin),
            end: key(*end),
        })
        .filter(|range| !range.is_empty())
}

fn run(steps: Vec<Step>, window_bytes_max: usize) -> Result<u64, TestCaseError> {
    let mut index = Index::new(0, window_bytes_max);
    let mut naive = Naive::default();
    let mut last = 0;
    for step in steps {
        let read_version = last - step.age.min(last);
        let mut reads = ReadSet::default();
        let mut read_as_ranges: Vec<KeyRange> = ranges(&step.read_ranges).collect();
        for range in &read_as_ranges {
            reads.add_range(range.clone());
        }
        for number in &step.read_keys {
            reads.add_key(&key(*number));
            read_as_ranges.push(KeyRange::key(&key(*number)));
        }
        let expected = naive.check(index.floor(), last, read_version, &read_as_ranges);
        let answer = index.check(read_version, &reads);
        prop_assert_eq!(
            answer.is_ok(),
            expected.is_ok(),
            "read at {} of {}",
            read_version,
            last
        );
        if answer.is_ok() {
            last += 1;
            let keys: Vec<Bytes> = step.write_keys.iter().map(|number| key(*number)).collect();
            index.record(last, keys.iter(), ranges(&step.write_ranges));
            naive
                .writes
                .extend(keys.iter().map(|key| (last, KeyRange::key(key))));
            naive
                .writes
                .extend(ranges(&step.write_ranges).map(|range| (last, range)));
        }
        prop_assert!(index.bytes <= window_bytes_max);
    }
    Ok(index.floor())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_index_judges_like_a_comparison_of_all_pairs(
        steps in proptest::collection::vec(step(), 1..80)
    ) {
        prop_assert_eq!(run(steps, usize::MAX)?, 0);
    }

    #[test]
    fn ranges_are_found_in_full_blocks_too(
        written in proptest::collection::vec(any::<u16>(), 300..900),
        read in (any::<u16>(), 0u16..2_000, 0usize..900),
    ) {
        let mut index = Index::new(0, usize::MAX);
        let key = |number: u16| Bytes::from(number.to_be_bytes().to_vec());
        for (version, number) in (1..).zip(&written) {
            index.record(version, std::iter::once(&key(*number)), std::iter::empty());
        }
        let (begin, width, age) = read;
        let end = begin.saturating_add(width);
        let read_version = written.len() - age.min(written.len());
        let mut reads = ReadSet::default();
        reads.add_range(KeyRange { begin: key(begin), end: key(end) });
        let hit = written[read_version..].iter().any(|number| (begin..end).contains(number));
        let read_version = u64::try_from(read_version).unwrap();
        // Twice, since the first look sorts the blocks.
        for _ in 0..2 {
            prop_assert_eq!(index.check(read_version, &reads).is_err(), hit);
        }
    }

    /// In all that was written: as keys, in removed ranges, in full blocks, and in what the window forgot.
    #[test]
    fn a_key_is_judged_as_the_range_that_holds_it_alone(
        steps in proptest::collection::vec(step(), 1..400),
        read in (0..KEYS, 0usize..400),
        window in proptest::sample::select(vec![30_000, usize::MAX]),
    ) {
        let mut index = Index::new(0, window);
        for (version, step) in (1..).zip(&steps) {
            let keys: Vec<Bytes> = step.write_keys.iter().map(|number| key(*number)).collect();
            index.record(version, keys.iter(), ranges(&step.write_ranges));
        }
        let (number, age) = read;
        let read_version = u64::try_from(steps.len() - age.min(steps.len())).unwrap();
        let range = KeyRange::key(&key(number));
        let mut as_key = ReadSet::default();
        as_key.add_range(range.clone());
        let mut as_range = ReadSet::default();
        as_range.ranges.push(range);
        prop_assert_eq!((as_key.keys.len(), as_key.ranges.len()), (1, 0));
        let answers = [&as_key, &as_range].map(|reads| index.check(read_version, reads));
        let [by_key, by_range] = answers.map(|answer| format!("{answer:?}"));
        prop_assert_eq!(by_key, by_range);
    }

    #[test]
    fn a_full_window_forgets_the_oldest_and_judges_the_rest_exactly(
        steps in proptest::collection::vec(step(), 1..80)
    ) {
        run(steps, 3_000)?;
    }

    #[test]
    fn nothing_is_left_of_what_was_forgotten(steps in proptest::collection::vec(step(), 1..60)) {
        let mut index = Index::new(0, 0);
        for (version, step) in (1..).zip(steps) {
            let keys: Vec<Bytes> = step.write_keys.iter().map(|number| key(*number)).collect();
            index.record(version, keys.iter(), ranges(&step.write_ranges));
            let step_count = step.write_ranges.len();
            if keys.is_empty() && ranges(&step.write_ranges).next().is_none() {
                continue;
            }
            prop_assert!(index.version_by_fingerprint.is_empty() && index.blocks.is_empty());
            prop_assert!(index.steps.is_empty(), "{} ranges, {:?}", step_count, index.steps);
            prop_assert_eq!(index.bytes, 0);
        }
    }
}

fn wide(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

fn span(begin: u32, end: u32) -> KeyRange {
    KeyRange {
        begin: wide(begin),
        end: wide(end),
    }
}

#[test]
fn the_window_counts_keys_once_and_ranges_in_both_tables() {
    let mut index = Index::new(0, usize::MAX);
    index.record(1, [wide(1), wide(2)].iter(), std::iter::empty());
    let keys = 2 * (4 + WRITE_OVERHEAD_BYTES);
    assert_eq!(index.bytes, keys);
    index.record(2, std::iter::empty(), std::iter::once(span(3, 9)));
    assert_eq!(index.bytes, keys + 2 * (8 + WRITE_OVERHEAD_BYTES));
}

#[test]
fn the_window_is_kept_to_and_full_blocks_go_first() {
    let block_bytes = BLOCK_WRITES * (4 + WRITE_OVERHEAD_BYTES);
    let mut index = Index::new(0, 2 * block_bytes);
    for version in 1..=2 * (BLOCK_WRITES as u64) {
        let written = wide(u32::try_from(version).unwrap());
        index.record(version, std::iter::once(&written), std::iter::empty());
    }
    assert_eq!((index.bytes, index.floor()), (2 * block_bytes, 0));
    assert_eq!(index.blocks.len(), 2);
    let next = 2 * (BLOCK_WRITES as u64) + 1;
    index.record(next, std::iter::once(&wide(0)), std::iter::empty());
    assert_eq!(index.floor(), BLOCK_WRITES as u64);
    assert_eq!(index.bytes, block_bytes + 4 + WRITE_OVERHEAD_BYTES);
}

#[test]
fn what_is_forgotten_takes_no_room() {
    let mut index = Index::new(0, 0);
    for version in 1..=50 {
        let number = u32::try_from(version).unwrap();
        let ranges = [span(number, number + 7), span(number + 3, number + 20)];
        index.record(version, [wide(number)].iter(), ranges.into_iter());
        assert_eq!((index.bytes, index.floor()), (0, version));
        assert!(index.steps.is_empty() && index.version_by_fingerprint.is_empty());
    }
}

#[test]
fn what_overlaps_newer_ranges_is_forgotten_in_part() {
    // Each block is one range, since a key's worth of others fills it.
    let mut index = Index::new(0, usize::MAX);
    let fill = |index: &mut Index, version: u64, of: KeyRange| {
        let base = 1_000 + 1_000 * u32::try_from(version).unwrap();
        let others: Vec<Bytes> = (base..base + u32::try_from(BLOCK_WRITES).unwrap())
            .map(wide)
            .collect();
        index.record(version, others.iter(), std::iter::once(of));
    };
    fill(&mut index, 1, span(10, 30));
    fill(&mut index, 2, span(20, 40));
    fill(&mut index, 3, span(5, 12));
    assert_eq!(index.blocks.len(), 3);
    let of_one = index.blocks[0].bytes;
    index.window_bytes_max = index.bytes - of_one;
    index.prune();
    assert_eq!(index.floor(), 1);
    for (number, version) in [
        (4, 0),
        (5, 3),
        (11, 3),
        (12, 0),
        (19, 0),
        (20, 2),
        (39, 2),
        (40, 0),
    ] {
        assert_eq!(step_at(&index.steps, &wide(number)), version, "at {number}");
    }
    index.window_bytes_max = 0;
    index.prune();
    assert!(index.steps.is_empty() && index.version_by_fingerprint.is_empty());
}

#[test]
fn a_range_is_looked_for_in_full_blocks_and_in_the_one_that_fills() {
    const WRITES: u32 = 529;
    let mut index = Index::new(0, usize::MAX);
    // Neither the order of keys nor of blocks is that of versions: 7 has no factor in common with it.
    let at = |version: u32| version * 7 % WRITES;
    for version in 1..=WRITES {
        let written = wide(10 * at(version) + 5);
        index.record(
            u64::from(version),
            std::iter::once(&written),
            std::iter::empty(),
        );
    }
    for version in 1..=WRITES {
        let begin = 10 * at(version);
        let cases = [
            (span(begin, begin + 10), true),
            (span(begin + 5, begin + 6), true),
            (span(begin, begin + 5), false),
            (span(begin + 6, begin + 10), false),
        ];
        for (range, is_written) in cases {
            let before = index.range_written(&range, u64::from(version) - 1);
            let after = index.range_written(&range, u64::from(version));
            assert_eq!((before, after), (is_written, false), "{version}, {range:?}");
        }
    }
}
