//! Entries that come back after maintenance took them out: with what they were worth, and only those.

use proptest::prelude::*;

use super::governance::{answer, human, project, questions, report};
use super::world::{START, TASK, World, entry};
use crate::command::{AnswerBody, Command};
use crate::entry::{Status, Table};
use crate::error::{Error, ErrorCode};
use crate::id::EntryId;
use crate::principal::PrincipalKind;
use crate::retention::Retirement;
use crate::reuse::ReuseOutcome;
use crate::time::DAY_MS;

fn retire(world: &mut World, entries: &[EntryId]) {
    let command = Command::Retire {
        entries: entries.iter().map(|entry| (*entry, 1)).collect(),
        why: Retirement::Aged,
    };
    let done = world.give(PrincipalKind::System, command).unwrap();
    let all = u32::try_from(entries.len()).unwrap();
    let expected = AnswerBody::Retired {
        retired: all,
        left: 0,
    };
    assert_eq!(done, expected);
}

fn restore(world: &mut World, kind: PrincipalKind, entry: EntryId) -> Result<Status, Error> {
    let reason = "the clock was wrong".into();
    let command = Command::RestoreEntry { entry, reason };
    match world.give(kind, command)? {
        AnswerBody::Entry { status, .. } => Ok(status),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_wrong_clock_took_out_comes_back_and_is_not_due_at_once() {
    let mut world = project();
    let entry = human(&mut world, Table::Observations, "the linker is lld");
    let before = world.state.head(entry).unwrap().clone();
    world.now = START.plus_ms(91 * DAY_MS);
    retire(&mut world, &[entry]);
    let status = restore(&mut world, PrincipalKind::Human, entry).unwrap();
    let head = world.state.head(entry).unwrap().clone();
    assert_eq!((status, head.status), (before.status, before.status));
    let unvouched = crate::trust::Trust {
        last_validated: Some(world.now),
        ..before.trust
    };
    assert_eq!(head.trust, unvouched);
    assert_eq!(head.age_from(), world.now);
    // Its text is found again: whoever says the same says it of this one.
    let again = human(&mut world, Table::Observations, "the linker is lld");
    assert_eq!(again, entry);
    let twice = restore(&mut world, PrincipalKind::Human, entry).unwrap_err();
    assert_eq!(twice.code, ErrorCode::Conflict);
}

#[test]
fn who_may_undo_a_promotion_may_bring_an_entry_back() {
    let mut world = World::task();
    let drafted = entry(Table::Observations, "a draft");
    let (draft, _) = world.put(PrincipalKind::Agent, drafted).unwrap();
    world.now = START.plus_ms(91 * DAY_MS);
    retire(&mut world, &[draft]);
    for kind in [PrincipalKind::Agent, PrincipalKind::System] {
        let denied = restore(&mut world, kind, draft).unwrap_err();
        assert_eq!(denied.rule(), Some("control/decide_below_project"));
    }
    let status = restore(&mut world, PrincipalKind::Orchestrator, draft);
    assert_eq!(status.unwrap(), Status::Hypothesis);
    let mut world = project();
    let fact = human(&mut world, Table::Observations, "a fact");
    world.now = START.plus_ms(91 * DAY_MS);
    retire(&mut world, &[fact]);
    let denied = restore(&mut world, PrincipalKind::Orchestrator, fact).unwrap_err();
    assert_eq!(denied.rule(), Some("control/decide_from_project"));
    let unreasoned = Command::RestoreEntry {
        entry: fact,
        reason: " ".into(),
    };
    let refused = world.give(PrincipalKind::Human, unreasoned).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    world.has_older_nodes = true;
    let waits = restore(&mut world, PrincipalKind::Human, fact).unwrap_err();
    assert_eq!(waits.code, ErrorCode::Unavailable);
    world.has_older_nodes = false;
    restore(&mut world, PrincipalKind::Human, fact).unwrap();
}

#[test]
fn what_a_person_took_out_and_what_was_said_again_stays() {
    let mut world = project();
    let wrong = human(&mut world, Table::Observations, "port 80 it is");
    let mut raised = Vec::new();
    for from in 0..2 {
        let command = Command::ReportReuse {
            task: super::governance::task(from),
            entry: wrong,
            outcome: ReuseOutcome::Wrong,
        };
        raised.extend(questions(&mut world, PrincipalKind::Agent, command));
    }
    let approve = answer(raised[0].0, true, None);
    world.give(PrincipalKind::Human, approve).unwrap();
    assert_eq!(world.state.head(wrong).unwrap().status, Status::Archived);
    let refused = restore(&mut world, PrincipalKind::Human, wrong).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert!(refused.message.contains("wrong"), "{refused}");

    let old = human(&mut world, Table::Observations, "the linker is lld");
    world.now = START.plus_ms(91 * DAY_MS);
    retire(&mut world, &[old]);
    let said_again = human(&mut world, Table::Observations, "the linker is lld");
    assert_ne!(said_again, old);
    let refused = restore(&mut world, PrincipalKind::Human, old).unwrap_err();
    let named = refused.current().and_then(|current| current.entry);
    assert_eq!(
        (refused.code, named),
        (ErrorCode::Conflict, Some(said_again))
    );
    let unknown = EntryId::from_bytes([9; 16]);
    let refused = restore(&mut world, PrincipalKind::Human, unknown).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[test]
fn a_state_that_was_resolved_stays_resolved() {
    let mut world = World::new(TASK);
    let gotcha = entry(Table::Gotchas, "port 80 is taken");
    let (state, _) = world.put(PrincipalKind::Agent, gotcha).unwrap();
    let resolve = Command::ResolveState {
        entry: state,
        expected_version: 1,
        reason: "moved".into(),
        verification: None,
    };
    world.give(PrincipalKind::Agent, resolve).unwrap();
    world.now = START.plus_ms(31 * DAY_MS);
    retire(&mut world, &[state]);
    let status = restore(&mut world, PrincipalKind::Orchestrator, state);
    assert_eq!(status.unwrap(), Status::Deprecated);
}

proptest! {
    /// Whatever tasks said of it: what comes back has the status that it had.
    #[test]
    fn an_entry_comes_back_as_what_it_was(
        is_drafted: bool,
        said in proptest::collection::vec((0u32..6, 0usize..3), 0..8),
        days in 91u64..2_000,
    ) {
        let mut world = if is_drafted { World::task() } else { project() };
        let kind = if is_drafted { PrincipalKind::Agent } else { PrincipalKind::Human };
        let (fact, _) = world.put(kind, entry(Table::Observations, "a fact")).unwrap();
        let mut helped = false;
        for (from, outcome) in said {
            // Its last word counts: one that a task takes back is no part of what stands behind it.
            let outcome = ReuseOutcome::ALL[outcome];
            if !is_drafted && (!helped || outcome == ReuseOutcome::Helped) {
                report(&mut world, fact, from, outcome);
                helped |= outcome == ReuseOutcome::Helped;
            }
        }
        let before = world.state.head(fact).unwrap().clone();
        world.now = START.plus_ms(days * DAY_MS);
        retire(&mut world, &[fact]);
        restore(&mut world, if is_drafted { PrincipalKind::Orchestrator } else { PrincipalKind::Human }, fact).unwrap();
        let head = world.state.head(fact).unwrap();
        prop_assert_eq!(head.status, before.status);
        prop_assert_eq!(head.trust.confidence.to_bits(), before.trust.confidence.to_bits());
        prop_assert_eq!((&head.citations, head.usage), (&before.citations, before.usage));
    }
}
