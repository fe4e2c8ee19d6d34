//! Erasing, by example, and by property: the view follows from what is left.

use proptest::prelude::*;

use super::world::*;
use crate::chain::Tip;
use crate::citation::Citation;
use crate::command::{AnswerBody, Command};
use crate::entry::{Status, Table};
use crate::erasure::{Erase, Erased};
use crate::error::ErrorCode;
use crate::event::Body;
use crate::id::{EntryId, Seq};
use crate::invariants;
use crate::membership::WireVersion;
use crate::principal::PrincipalKind::{Agent, Human, Orchestrator, System};
use crate::state::{Change, Stamped, State};
use crate::verification::{Outcome, VerificationSource};

mod memory;
mod verifications;

const SECRET: &str = "the word is xyzzy";

fn order(records: &[u64], entries: &[EntryId]) -> Command {
    Command::Erase(Box::new(Erase {
        records: records.iter().copied().map(Seq::new).collect(),
        entries: entries.to_vec(),
        offers: Vec::new(),
        reason: "it is nobody's business".into(),
    }))
}

fn put(world: &mut World, table: Table, content: &str) -> EntryId {
    world.put(Agent, entry(table, content)).unwrap().0
}

/// Folds the stored events with what is left of those that were erased, as an audit does.
fn folded(world: &World) -> State {
    folded_with_rows(world).0
}

/// That, with all rows that changed, in order.
fn folded_with_rows(world: &World) -> (State, Vec<Change>) {
    let mut changes = Vec::new();
    let mut state = State::new(world.state.scope(), None, None);
    let mut tip = Tip::genesis(world.state.scope());
    let rests: Vec<Erased> = world
        .events
        .iter()
        .filter_map(|event| match event.decode_body().unwrap() {
            Some(Body::ContentErased(erased)) => Some(erased.events),
            _ => None,
        })
        .flatten()
        .collect();
    for event in &world.events {
        let seq = event.decode_header().unwrap().seq;
        let rest = rests.iter().find(|rest| rest.at.seq == seq);
        let (header, body) = invariants::event_follows(&mut tip, event, rest).unwrap();
        invariants::event_applies(&state, &body).unwrap();
        let at = Stamped {
            seq: header.seq,
            time: header.time,
            actor: header.actor,
        };
        changes.extend(state.apply(&body, &at));
        state.advance(tip);
    }
    (state, changes)
}

fn check_folds(world: &World) {
    let folded = folded(world);
    for head in world.state.heads() {
        assert_eq!(folded.head(head.id), Some(head));
    }
}

#[test]
fn an_erased_record_is_gone_and_the_chain_goes_on() {
    let mut world = World::task();
    world.give(Agent, append(SECRET, None)).unwrap();
    world.give(Agent, append("harmless", None)).unwrap();
    let answer = world.give(Human, order(&[2], &[])).unwrap();
    let expected = AnswerBody::Erased {
        events: 1,
        entries: Vec::new(),
        known: 0,
    };
    assert_eq!(answer, expected);
    assert!(!format!("{:?}", bodies(&world)).contains("xyzzy"));
    assert!(format!("{:?}", bodies(&world)).contains("harmless"));
    check_folds(&world);
    let again = world.give(Human, order(&[2], &[])).unwrap();
    let expected = AnswerBody::Erased {
        events: 0,
        entries: Vec::new(),
        known: 1,
    };
    assert_eq!(again, expected, "and nothing follows from it");
    assert_eq!(world.events.len(), 4);
}

fn bodies(world: &World) -> Vec<Option<Body>> {
    let bodies = world.events.iter().map(|event| event.decode_body());
    bodies.map(Result::unwrap).collect()
}

#[test]
fn an_erased_entry_loses_all_its_versions_and_is_out_for_good() {
    let mut world = World::task();
    let id = put(&mut world, Table::Observations, SECRET);
    world
        .give(Agent, amend(id, 1, "the word is plugh"))
        .unwrap();
    let other = put(&mut world, Table::Observations, "harmless");
    world.give(Human, order(&[], &[id])).unwrap();
    let left = format!("{:?} {:?}", bodies(&world), world.versions);
    assert!(!left.contains("xyzzy") && !left.contains("plugh"), "{left}");
    let head = world.state.head(id).unwrap();
    assert!(head.is_erased() && head.status == Status::Archived);
    assert!(!world.state.head(other).unwrap().is_erased());
    check_folds(&world);
    let refused = world.give(Agent, amend(id, 2, "back again")).unwrap_err();
    assert_ne!(refused.code, ErrorCode::Internal);
    let anew = put(&mut world, Table::Observations, SECRET);
    assert_ne!(anew, id, "the same text is another entry by now");
    check_folds(&world);
}

#[test]
fn only_people_erase() {
    for kind in [Agent, Orchestrator, System] {
        let mut world = World::task();
        world.give(Agent, append(SECRET, None)).unwrap();
        let error = world.give(kind, order(&[2], &[])).unwrap_err();
        assert_eq!(error.rule(), Some("control/erase"), "{kind}");
    }
}

#[test]
fn what_is_not_there_or_no_record_is_refused_and_nothing_is_erased() {
    let mut world = World::task();
    world.give(Agent, append(SECRET, None)).unwrap();
    let code = |world: &mut World, command| world.give(Human, command).unwrap_err().code;
    assert_eq!(code(&mut world, order(&[2, 9], &[])), ErrorCode::NotFound);
    assert_eq!(code(&mut world, order(&[2, 0], &[])), ErrorCode::NotFound);
    assert_eq!(
        code(&mut world, order(&[1, 2], &[])),
        ErrorCode::InvalidArgument,
        "the first event opened the task"
    );
    let nobody = EntryId::from_bytes([7; 16]);
    assert_eq!(
        code(&mut world, order(&[2], &[nobody])),
        ErrorCode::NotFound
    );
    assert_eq!(
        code(&mut world, order(&[], &[])),
        ErrorCode::InvalidArgument
    );
    let many: Vec<u64> = (0..1_000).collect();
    assert_eq!(code(&mut world, order(&many, &[])), ErrorCode::TooLarge);
    world.spoken = WireVersion::FIRST;
    assert_eq!(code(&mut world, order(&[2], &[])), ErrorCode::Unavailable);
    assert!(format!("{:?}", bodies(&world)).contains("xyzzy"));
}

#[test]
fn a_record_that_a_promotion_may_be_reading_stays_until_that_is_finished() {
    let mut world = World::task();
    world.give(Agent, append(SECRET, None)).unwrap();
    let said = verification(Outcome::Passed, VerificationSource::TestsPassed, None);
    world.give(Orchestrator, said).unwrap();
    let error = world.give(Human, order(&[2], &[])).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidState);
    let pending = *world.standings.keys().next().unwrap();
    let drop = Command::DropPromotion {
        verification: pending,
        reason: "no".into(),
    };
    world.give(Orchestrator, drop).unwrap();
    world.give(Human, order(&[2], &[])).unwrap();
    check_folds(&world);
}

#[test]
fn entries_with_the_same_text_are_erased_together() {
    let mut world = World::task();
    let first = put(&mut world, Table::Iterations, SECRET);
    let second = put(&mut world, Table::Iterations, SECRET);
    let error = world.give(Human, order(&[], &[first])).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidState);
    assert!(error.message.contains(&second.to_string()), "{error}");
    world.give(Human, order(&[], &[first, second])).unwrap();
    check_folds(&world);
}

#[test]
fn what_is_too_much_for_one_event_goes_into_several() {
    let mut world = World::task();
    let id = put(&mut world, Table::Observations, "text 0");
    let long = format!("{}.rs", "x".repeat(900));
    for version in 1..=80 {
        let Command::AmendEntry(mut amend) = amend(id, version, &format!("text {version}")) else {
            unreachable!()
        };
        amend.citations = vec![Citation::File {
            path: format!("{version}{long}"),
            lines: None,
            fingerprint: None,
        }];
        world.give(Agent, Command::AmendEntry(amend)).unwrap();
    }
    let before = world.events.len();
    world.give(Human, order(&[], &[id])).unwrap();
    let parts = &world.events[before..];
    assert!(parts.len() > 1, "{}", parts.len());
    check_folds(&world);
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    Amend(usize, u8),
    Supersede(usize, u8),
    Append(u8),
    Erase(usize),
    EraseRecords(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u8..6).prop_map(Step::Put),
        2 => (any::<usize>(), 0u8..6).prop_map(|(at, text)| Step::Amend(at, text)),
        2 => (any::<usize>(), 0u8..6).prop_map(|(at, text)| Step::Supersede(at, text)),
        1 => (0u8..6).prop_map(Step::Append),
        2 => any::<usize>().prop_map(Step::Erase),
        1 => any::<usize>().prop_map(Step::EraseRecords),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    /// Whatever was written before and after, the view that erasures leave is the one that follows from what is left.
    #[test]
    fn the_view_follows_from_what_is_left(steps in steps()) {
        let mut world = World::task();
        let mut made: Vec<EntryId> = Vec::new();
        let text = |number: u8| format!("text {number}");
        for step in steps {
            let pick = |at: usize| made.get(at % made.len().max(1)).copied();
            match step {
                Step::Put(number) => {
                    made.extend(world.put(Agent, entry(Table::Observations, &text(number))).map(|put| put.0));
                }
                Step::Amend(at, number) => {
                    let Some(id) = pick(at) else { continue };
                    let version = world.state.head(id).unwrap().version;
                    drop(world.give(Agent, amend(id, version, &text(number))));
                }
                Step::Supersede(at, number) => {
                    let Some(id) = pick(at) else { continue };
                    let version = world.state.head(id).unwrap().version;
                    let with = crate::command::Replacement::New(Box::new(entry(Table::Observations, &text(number))));
                    if let Ok(AnswerBody::Superseded { new, .. }) = world.give(Agent, supersede(id, version, with)) {
                        made.push(new);
                    }
                }
                Step::Append(number) => drop(world.give(Agent, append(&text(number), None))),
                Step::Erase(at) => {
                    let Some(id) = pick(at) else { continue };
                    let mut same = vec![id];
                    loop {
                        let others = world.texts(&same).others(&same);
                        if others.is_empty() {
                            break;
                        }
                        let refused = world.give(Human, order(&[], &same)).unwrap_err();
                        prop_assert_eq!(refused.code, ErrorCode::InvalidState);
                        same.extend(others);
                    }
                    world.give(Human, order(&[], &same)).unwrap();
                    prop_assert!(same.iter().all(|id| world.state.head(*id).unwrap().is_erased()));
                }
                Step::EraseRecords(at) => {
                    let seq = at as u64 % world.events.len() as u64 + 1;
                    drop(world.give(Human, order(&[seq], &[])));
                }
            }
        }
        let folded = folded(&world);
        for head in world.state.heads() {
            prop_assert_eq!(folded.head(head.id), Some(head));
            let key = crate::facts::HashKey { table: head.table, failure: head.failure, hash: head.content_hash };
            prop_assert_eq!(folded.by_hash(&key), world.state.by_hash(&key));
        }
    }
}
