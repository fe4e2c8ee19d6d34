//! Where records and entries were said: what is stored of it, what is refused, and what is left once they are erased.

use super::world::*;
use crate::bound::{Bound, BoundFile, Place, TreeState};
use crate::command::{AnswerBody, Command};
use crate::entry::{Binding, Table};
use crate::erasure::{Erase, EraseVerifications};
use crate::error::ErrorCode;
use crate::event::Body;
use crate::gate::Fingerprint;
use crate::id::Seq;
use crate::membership::WireVersion;
use crate::principal::PrincipalKind::{Agent, Human, Orchestrator};
use crate::promotion::NewEntry;
use crate::staging::NewBoundRecord;
use crate::verification::{NewFailure, NewVerification};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn bound(path: &str) -> Bound {
    Bound {
        place: Some(Place {
            repository: "host/a/b".into(),
            project: String::new(),
            commit: Some(COMMIT.into()),
            branch: Some("main".into()),
            state: TreeState::Changed,
            is_shallow: false,
        }),
        files: vec![BoundFile {
            path: path.into(),
            fingerprint: Fingerprint::of_file(path.as_bytes()),
            owner: None,
        }],
        left_out: 1,
    }
}

fn append_bound(text: &str, bounds: Vec<Option<Bound>>) -> Command {
    let Command::Append { records } = append(text, None) else {
        unreachable!("it is an append")
    };
    let record = |bound| NewBoundRecord {
        record: records[0].clone(),
        bound,
    };
    Command::AppendBound {
        records: bounds.into_iter().map(record).collect(),
    }
}

fn last(world: &World) -> Body {
    let event = world.events.last().expect("something was written");
    event.decode_body().unwrap().expect("it is not erased")
}

fn put(world: &mut World, binding: Binding) -> Binding {
    let entry = NewEntry {
        binding,
        ..entry(Table::Observations, "it holds")
    };
    let (id, ..) = world.put(Agent, entry).unwrap();
    world.state.head(id).unwrap().binding.clone()
}

fn boxed(bound: Bound) -> Binding {
    Binding::Bound(Box::new(bound))
}

#[test]
fn a_record_keeps_where_it_was_said_and_one_without_a_word_of_it_is_as_ever() {
    let mut world = World::task();
    let command = append_bound("it broke", vec![Some(bound("src/a.rs")), None]);
    let answer = world.give(Agent, command).unwrap();
    let expected = AnswerBody::Appended {
        first: Seq::new(2),
        count: 2,
        masked: 0,
    };
    assert_eq!(answer, expected);
    assert!(matches!(last(&world), Body::RecordAppended(_)));
    let first = world.events[1].decode_body().unwrap().unwrap();
    let (record, said) = first.into_record().unwrap();
    assert_eq!(said, Some(bound("src/a.rs")));
    let (plain, none) = last(&world).into_record().unwrap();
    assert_eq!((record.content, none), (plain.content, None));
}

#[test]
fn secrets_in_names_are_masked_and_counted_with_those_of_the_text() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let mut world = World::task();
    let command = append_bound(&secret, vec![Some(bound(&secret))]);
    let answer = world.give(Agent, command).unwrap();
    assert!(
        matches!(answer, AnswerBody::Appended { masked: 2, .. }),
        "{answer:?}"
    );
    assert!(!format!("{:?}", last(&world)).contains(&secret));
    let stored = put(&mut world, boxed(bound(&secret)));
    assert!(!format!("{stored:?}").contains(&secret));
}

#[test]
fn what_leads_elsewhere_is_refused_and_nothing_of_the_append_is_written() {
    let mut world = World::task();
    let before = world.events.len();
    for path in ["../a", "/etc/passwd", ""] {
        let bounds = vec![Some(bound("src/a.rs")), Some(bound(path))];
        let refused = world.give(Agent, append_bound("x", bounds)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{path}");
        let entry = NewEntry {
            binding: boxed(bound(path)),
            ..entry(Table::Observations, "x")
        };
        assert!(world.put(Agent, entry).is_err(), "{path}");
        let refused = world
            .give(Orchestrator, failed(boxed(bound(path))))
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{path}");
    }
    assert_eq!(world.events.len(), before);
}

fn failed(binding: Binding) -> Command {
    let Command::RecordFailure(failure) = failure(Some("E: src/a.rs"), None, &[]) else {
        unreachable!("it is a failure")
    };
    Command::RecordFailure(Box::new(NewFailure {
        said: NewVerification {
            binding,
            ..failure.said
        },
        ..*failure
    }))
}

#[test]
fn while_an_older_node_lives_the_commit_alone_is_told() {
    let mut world = World::task();
    world.spoken = WireVersion::WITH_FAILURES;
    let command = append_bound("it broke", vec![Some(bound("src/a.rs"))]);
    world.give(Agent, command).unwrap();
    assert!(matches!(last(&world), Body::RecordAppended(_)));
    let commit = Binding::Commit {
        hash: COMMIT.into(),
        repository: "host/a/b".into(),
    };
    assert_eq!(put(&mut world, boxed(bound("src/a.rs"))), commit);
    world
        .give(Orchestrator, failed(boxed(bound("src/a.rs"))))
        .unwrap();
    let told = format!("{:?}", world.verifications.values().last().unwrap());
    assert!(told.contains(COMMIT) && !told.contains("Bound"), "{told}");
}

#[test]
fn an_entry_holds_from_the_commit_that_its_work_tree_was_at() {
    let mut world = World::task();
    let stored = put(&mut world, boxed(bound("src/a.rs")));
    assert_eq!(stored, boxed(bound("src/a.rs")));
    let head = world.state.heads().next().unwrap();
    assert_eq!(head.lifecycle.valid_from_commit.as_deref(), Some(COMMIT));
    let nowhere = boxed(Bound::default());
    let mut other = World::task();
    assert_eq!(put(&mut other, nowhere.clone()), nowhere, "that is stated");
    let head = other.state.heads().next().unwrap();
    assert_eq!(head.lifecycle.valid_from_commit, None);
}

#[test]
fn erasing_takes_the_names_of_files_and_leaves_the_commit() {
    let mut world = World::task();
    let command = append_bound("it broke", vec![Some(bound("src/xyzzy.rs"))]);
    world.give(Agent, command).unwrap();
    let entry = NewEntry {
        binding: boxed(bound("src/xyzzy.rs")),
        ..entry(Table::Observations, "it holds")
    };
    let (id, ..) = world.put(Agent, entry).unwrap();
    let erase = Command::Erase(Box::new(Erase {
        records: vec![Seq::new(2)],
        entries: vec![id],
        offers: Vec::new(),
        reason: "it is nobody's business".into(),
    }));
    world.give(Human, erase).unwrap();
    let head = world.state.head(id).unwrap();
    assert_eq!(head.binding.commit(), Some(COMMIT));
    let bodies: Vec<_> = world
        .events
        .iter()
        .map(|event| event.decode_body())
        .collect();
    let left = format!("{bodies:?} {head:?}");
    assert!(!left.contains("xyzzy"), "{left}");
    assert!(
        left.contains("BoundRecordAppended"),
        "its rest says what it was"
    );
}

#[test]
fn erasing_a_verification_takes_the_names_of_files_that_its_error_told() {
    let mut world = World::task();
    let answer = world
        .give(Orchestrator, failed(boxed(bound("src/xyzzy.rs"))))
        .unwrap();
    let AnswerBody::Failed { id, .. } = answer else {
        panic!("{answer:?}")
    };
    let standing = world.standings.get_mut(&id).unwrap();
    standing.stands = crate::promotion::Stands::Published;
    let erase = Command::EraseVerifications(Box::new(EraseVerifications {
        verifications: vec![id],
        reason: "it is nobody's business".into(),
    }));
    world.give(Human, erase).unwrap();
    let left = format!("{:?}", world.verifications);
    assert!(!left.contains("xyzzy") && left.contains(COMMIT), "{left}");
}
