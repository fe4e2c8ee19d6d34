//! Rows of evidence and anchors that are as they should be, and wrong once anything of them is spoilt.

use sillok_core::decision::{DeclaredKind, Reach};
use sillok_core::limits::CHUNK_BYTES;
use sillok_core::time::Timestamp;

use super::super::super::original::stored_hint;
use super::super::super::original::tests::original;
use super::super::super::view::tests::{
    anchor, anchor_id, declared, evidence, evidence_id, keeper, kept,
};
use super::*;

fn scope() -> Scope {
    Scope::parse("org/a").unwrap()
}

fn key() -> ScopeKey {
    ScopeKey::of(&scope())
}

fn command() -> CommandId {
    CommandId::from_parts(Timestamp::EPOCH, [7; 10])
}

/// What was kept, and the rows of it: evidence in chunks, small evidence, two anchors, the end of the first, and a kind of
/// relation.
struct World {
    written: WrittenKept,
    stored: StoredKept,
}

fn large() -> Original {
    original(1, 2, true)
}

fn world() -> World {
    let text = large().stored();
    let mut saved = evidence(1, &text);
    let KeptSaid::Evidence(said) = &mut saved else {
        panic!("evidence says something else");
    };
    said.title = large().title();
    said.source = large().source();
    said.media_type = MEDIA_TYPE.to_owned();
    said.masked = 2;
    said.content = Content::Chunked {
        command: command(),
        first: 0,
        count: 3,
        bytes: text.len() as u64,
        hash: said.hash,
    };
    let mut anchors = [1, 2].map(|number| anchor(number, "ui", Vec::new()));
    for (number, said) in (1..).zip(&mut anchors) {
        if let KeptSaid::Anchor(said) = said {
            said.hint = stored_hint(&original(number, 0, true));
        }
    }
    let [first, second] = anchors;
    let all = [
        saved,
        evidence(2, "it was so"),
        first,
        second,
        KeptSaid::Dropped(anchor_id(1)),
        declared("CAUSES", Reach::Both),
    ];
    let written = (1..).zip(all).map(|(seq, said)| {
        let place = (key(), Seq::new(seq));
        (place, (kept("org/a", seq, said), command()))
    });
    let written: WrittenKept = written.collect();
    let pieces = (0..).zip(text.as_bytes().chunks(CHUNK_BYTES));
    let pieces =
        pieces.map(|(number, piece)| ((key(), command(), number), Bytes::copy_from_slice(piece)));
    let mut stored = StoredKept {
        chunks: pieces.collect(),
        ..StoredKept::default()
    };
    for (kept, _) in written.values() {
        keep(&mut stored, kept.seq, &kept.said);
    }
    World { written, stored }
}

/// Writes the row of an event.
fn keep(stored: &mut StoredKept, seq: Seq, said: &KeptSaid) {
    match said {
        KeptSaid::Evidence(said) => {
            let row = Evidence {
                id: said.id,
                title: said.title.clone(),
                source: said.source.clone(),
                media_type: said.media_type.clone(),
                content: said.content.clone(),
                hash: said.hash,
                masked: said.masked,
                by: keeper(),
                at: Timestamp::EPOCH,
                seq,
            };
            stored.evidence.insert((key(), said.id), row);
        }
        KeptSaid::Anchor(said) => {
            let row = Anchor {
                id: said.id,
                hint: said.hint.clone(),
                domain: said.domain.clone(),
                to: said.to.clone(),
                by: keeper(),
                at: Timestamp::EPOCH,
                seq,
                dropped: None,
            };
            stored.listed.insert(place(key(), said.id, &row), ());
            stored.anchors.insert((key(), said.id), row);
        }
        KeptSaid::Dropped(id) => {
            let row = stored.anchors.get_mut(&(key(), *id)).unwrap();
            row.dropped = Some(seq);
            stored.listed.remove(&place(key(), *id, row));
        }
        KeptSaid::Declared {
            name,
            reach,
            meaning,
        } => {
            let row = DeclaredRelation {
                name: *name,
                reach: *reach,
                meaning: meaning.clone(),
                by: keeper(),
                at: Timestamp::EPOCH,
                seq,
            };
            stored.declared.insert((key(), *name), row);
        }
    }
}

fn first_evidence(stored: &mut StoredKept) -> &mut Evidence {
    stored.evidence.get_mut(&(key(), evidence_id(1))).unwrap()
}

fn kind(stored: &mut StoredKept) -> &mut DeclaredRelation {
    let mut kinds = stored.declared.values_mut();
    kinds.next().unwrap()
}

fn anchor_row(stored: &mut StoredKept, number: u8) -> &mut Anchor {
    stored.anchors.get_mut(&(key(), anchor_id(number))).unwrap()
}

#[test]
fn rows_that_follow_from_no_event_and_rows_that_are_missing_are_found() {
    let is_wrong = |spoil: fn(&mut World)| {
        let mut world = world();
        spoil(&mut world);
        world.stored.misfit(&world.written).is_some()
    };
    assert!(!is_wrong(|_| ()));
    // A row of nothing, nothing of an event, and one that says something else.
    assert!(is_wrong(|world| world
        .written
        .retain(|(_, seq), _| seq.get() != 2)));
    assert!(is_wrong(|world| world.stored.evidence.clear()));
    assert!(is_wrong(|world| world.stored.anchors.clear()));
    assert!(is_wrong(
        |world| first_evidence(&mut world.stored).masked = 0
    ));
    assert!(is_wrong(
        |world| first_evidence(&mut world.stored).seq = Seq::new(9)
    ));
    assert!(is_wrong(
        |world| anchor_row(&mut world.stored, 2).dropped = Some(Seq::new(9))
    ));
    assert!(is_wrong(
        |world| anchor_row(&mut world.stored, 1).dropped = None
    ));
    assert!(is_wrong(|world| anchor_row(&mut world.stored, 2)
        .hint
        .clear()));
    // One that was dropped and is listed, and one that is not listed and was not dropped.
    assert!(is_wrong(|world| {
        let row = anchor_row(&mut world.stored, 1).clone();
        world.stored.listed.insert(place(key(), row.id, &row), ());
    }));
    assert!(is_wrong(|world| world.stored.listed.clear()));
    // A kind that is declared otherwise than its event says, by nobody, or in no row.
    assert!(is_wrong(
        |world| kind(&mut world.stored).reach = Reach::Neither
    ));
    assert!(is_wrong(|world| kind(&mut world.stored).meaning.clear()));
    assert!(is_wrong(|world| world.stored.declared.clear()));
    assert!(is_wrong(|world| drop(world.written.pop_last())));
    // A piece that is missing, and two in each other's place.
    assert!(is_wrong(|world| drop(world.stored.chunks.pop_last())));
    assert!(is_wrong(|world| drop(world.stored.chunks.pop_first())));
    assert!(is_wrong(|world| {
        let at = |number| (key(), command(), number);
        let pieces = [0, 1].map(|number| world.stored.chunks[&at(number)].clone());
        let [first, second] = pieces;
        world.stored.chunks.insert(at(0), second);
        world.stored.chunks.insert(at(1), first);
    }));
    // The same twice, and the end of what was never added.
    assert!(is_wrong(|world| {
        let (again, command) = world.written[&(key(), Seq::new(3))].clone();
        world.written.insert((key(), Seq::new(9)), (again, command));
    }));
    assert!(is_wrong(|world| {
        let (again, command) = world.written[&(key(), Seq::new(5))].clone();
        world.written.insert((key(), Seq::new(9)), (again, command));
    }));
    assert!(is_wrong(|world| {
        let (again, command) = world.written[&(key(), Seq::new(6))].clone();
        world.written.insert((key(), Seq::new(9)), (again, command));
    }));
}

/// What somebody was told of all that was kept.
fn told() -> [Told; 4] {
    let original_of = |number| original(number, 0, true);
    let first = Told::Evidence {
        scope: scope(),
        id: evidence_id(1),
        seq: Seq::new(1),
        hash: *blake3::hash(large().stored().as_bytes()).as_bytes(),
        masked: 2,
        original: large(),
    };
    let anchors = Told::Anchors {
        scope: scope(),
        ids: vec![anchor_id(1), anchor_id(2)],
        seq: Seq::new(4),
        domain: "ui".parse().unwrap(),
        said: [1, 2]
            .map(|number| (stored_hint(&original_of(number)), Vec::new()))
            .into(),
    };
    let dropped = Told::Dropped {
        scope: scope(),
        id: anchor_id(1),
        seq: Seq::new(5),
    };
    let declared = Told::Declared {
        scope: scope(),
        kind: DeclaredKind {
            name: "CAUSES".parse().unwrap(),
            reach: Reach::Both,
        },
        seq: Seq::new(6),
    };
    [first, anchors, dropped, declared]
}

#[test]
fn what_was_acknowledged_and_is_not_there_or_there_otherwise_is_found() {
    let of_rows = |spoil: fn(&mut StoredKept)| {
        let mut stored = world().stored;
        spoil(&mut stored);
        stored.unkept(&told()).is_some()
    };
    assert!(!of_rows(|_| ()));
    assert!(of_rows(|stored| stored.evidence.clear()));
    assert!(of_rows(|stored| stored.anchors.clear()));
    assert!(of_rows(|stored| drop(stored.chunks.pop_last())));
    assert!(of_rows(|stored| first_evidence(stored).title.clear()));
    assert!(of_rows(|stored| first_evidence(stored).source.clear()));
    assert!(of_rows(|stored| anchor_row(stored, 1).dropped = None));
    assert!(of_rows(|stored| anchor_row(stored, 2).seq = Seq::new(9)));
    assert!(of_rows(|stored| stored.declared.clear()));
    assert!(of_rows(|stored| kind(stored).meaning.clear()));
    let of_told = |spoil: fn(&mut Vec<Told>)| {
        let mut told = Vec::from(told());
        spoil(&mut told);
        world().stored.unkept(&told).is_some()
    };
    assert!(!of_told(|_| ()));
    // Each of them twice, and another answer than was given.
    for number in 0..told().len() {
        let mut twice = Vec::from(told());
        twice.push(twice[number].clone());
        assert!(world().stored.unkept(&twice).is_some(), "{number}");
    }
    assert!(of_told(|told| {
        if let Told::Evidence { hash, .. } = &mut told[0] {
            hash[0] ^= 1;
        }
    }));
    assert!(of_told(|told| {
        if let Told::Evidence { masked, .. } = &mut told[0] {
            *masked = 1;
        }
    }));
    assert!(of_told(|told| {
        if let Told::Evidence { original, .. } = &mut told[0] {
            original.number = 2;
        }
    }));
    assert!(of_told(|told| {
        if let Told::Anchors { ids, .. } = &mut told[1] {
            ids.swap(0, 1);
        }
    }));
    assert!(of_told(|told| {
        if let Told::Anchors { said, .. } = &mut told[1] {
            said.pop();
        }
    }));
    assert!(of_told(|told| {
        if let Told::Dropped { id, .. } = &mut told[2] {
            *id = anchor_id(2);
        }
    }));
    assert!(of_told(|told| {
        if let Told::Declared { kind, .. } = &mut told[3] {
            kind.reach = Reach::Neither;
        }
    }));
}
