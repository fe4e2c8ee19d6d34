//! Entries that come back after maintenance took them out: with what they were worth, and only those.

use proptest::prelude::*;

use super::governance::{answer, human, project, questions, report};
use super::world::{START, TASK, World, entry};
use crate::command::{AnswerBody, Command};
use crate::config::RulesConfig;
use crate::decay::confidence_at;
use crate::entry::{Claim, Embedding, LinkKind, SpaceId, Status, Table};
use crate::error::{Error, ErrorCode};
use crate::id::EntryId;
use crate::membership::WireVersion;
use crate::ports::{Ranked, SpaceThresholds};
use crate::principal::PrincipalKind;
use crate::promotion::{Disposition, NewEntry};
use crate::retention::Retirement;
use crate::reuse::ReuseOutcome;
use crate::review::Question;
use crate::time::DAY_MS;
use crate::trust::Trust;

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
    let config = crate::config::TrustConfig::default();
    let faded = confidence_at(&before.trust, before.created_at, world.now, &config);
    assert!(faded < before.trust.confidence);
    let unvouched = Trust {
        confidence: faded,
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
    world.spoken = WireVersion::FIRST;
    let waits = restore(&mut world, PrincipalKind::Human, fact).unwrap_err();
    assert_eq!(waits.code, ErrorCode::Unavailable);
    world.spoken = WireVersion::NEWEST;
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
fn a_state_that_was_resolved_does_not_come_back() {
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
    let refused = restore(&mut world, PrincipalKind::Orchestrator, state).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert!(refused.message.contains("resolved"), "{refused}");
}

/// An observation with a vector.
fn placed(content: &str) -> NewEntry {
    NewEntry {
        embedding: Some(Embedding {
            space: SpaceId("s".into()),
            values: vec![1.0],
        }),
        ..entry(Table::Observations, content)
    }
}

/// A project in which one entry left recall, before another one was written that the index finds at this cosine.
fn overtaken(old: NewEntry, new: NewEntry, score: f32) -> (World, EntryId, EntryId) {
    let mut world = project();
    world.thresholds = Some(SpaceThresholds {
        merge: 0.95,
        similar: 0.85,
    });
    let (old, _) = world.put(PrincipalKind::Human, old).unwrap();
    world.now = START.plus_ms(91 * DAY_MS);
    retire(&mut world, &[old]);
    let (new, disposition) = world.put(PrincipalKind::Human, new).unwrap();
    assert_eq!(disposition, Disposition::Created);
    world.near = vec![Ranked {
        scope: world.state.scope().clone(),
        entry: new,
        score,
    }];
    (world, old, new)
}

fn restoring(entry: EntryId) -> Command {
    Command::RestoreEntry {
        entry,
        reason: "the clock was wrong".into(),
    }
}

#[test]
fn what_contradicts_or_is_like_what_holds_by_now_comes_back_with_a_question() {
    let claimed = |value: &str| NewEntry {
        claim: Some(Claim {
            key: "ci.port".into(),
            value: value.into(),
        }),
        ..placed(&format!("the port of CI is {value}"))
    };
    let (mut world, old, new) = overtaken(claimed("80"), claimed("81"), 0.5);
    let raised = questions(&mut world, PrincipalKind::Human, restoring(old));
    let [
        (
            _,
            Question::Contradiction {
                new: asked, known, ..
            },
        ),
    ] = raised.as_slice()
    else {
        panic!("{raised:?}")
    };
    assert_eq!((*asked, *known), (old, new));
    let links = world.state.head(old).unwrap().links.clone();
    assert_eq!((links[0].kind, links[0].to), (LinkKind::Contradicts, new));
    // Whoever was asked once is not asked again.
    world.now = world.now.plus_ms(91 * DAY_MS);
    retire(&mut world, &[old]);
    let raised = questions(&mut world, PrincipalKind::Human, restoring(old));
    assert!(raised.is_empty(), "{raised:?}");

    let texts = ("Retries need a cap.", "Put a cap on retries.");
    let (mut world, old, new) = overtaken(placed(texts.0), placed(texts.1), 0.9);
    let raised = questions(&mut world, PrincipalKind::Human, restoring(old));
    let [
        (
            _,
            Question::Merge {
                new: asked, known, ..
            },
        ),
    ] = raised.as_slice()
    else {
        panic!("{raised:?}")
    };
    assert_eq!((*asked, *known), (old, new));
}

#[test]
fn what_never_merges_comes_back_with_a_question_where_another_claims_otherwise() {
    let claimed = |table: Table, value: &str| NewEntry {
        table,
        claim: Some(Claim {
            key: "ci.port".into(),
            value: value.into(),
        }),
        ..placed(&format!("the port of CI is {value}"))
    };
    let mut world = project();
    let report = claimed(Table::QaReports, "80");
    let (old, _) = world.put(PrincipalKind::Human, report).unwrap();
    world.now = START.plus_ms(91 * DAY_MS);
    retire(&mut world, &[old]);
    let (new, disposition) = world
        .put(PrincipalKind::Human, claimed(Table::Observations, "81"))
        .unwrap();
    assert_eq!(disposition, Disposition::Created);
    let raised = questions(&mut world, PrincipalKind::Human, restoring(old));
    let [
        (
            _,
            Question::Contradiction {
                new: asked, known, ..
            },
        ),
    ] = raised.as_slice()
    else {
        panic!("{raised:?}")
    };
    assert_eq!((*asked, *known), (old, new));
}

#[test]
fn a_person_brings_back_what_is_like_another_where_only_agents_write() {
    let mut world = World::task();
    world.thresholds = Some(SpaceThresholds {
        merge: 0.95,
        similar: 0.85,
    });
    let draft = placed("Retries need a cap.");
    let (old, _) = world.put(PrincipalKind::Agent, draft).unwrap();
    world.now = START.plus_ms(91 * DAY_MS);
    retire(&mut world, &[old]);
    let draft = placed("Put a cap on retries.");
    let (new, _) = world.put(PrincipalKind::Agent, draft).unwrap();
    world.near = vec![Ranked {
        scope: world.state.scope().clone(),
        entry: new,
        score: 0.9,
    }];
    restore(&mut world, PrincipalKind::Human, old).unwrap();
    assert_eq!(world.state.head(old).unwrap().links[0].to, new);
}

#[test]
fn what_says_the_same_as_what_holds_by_now_does_not_come_back() {
    let texts = ("Retries need a cap.", "Retries need the cap");
    let (mut world, old, new) = overtaken(placed(texts.0), placed(texts.1), 0.99);
    let refused = restore(&mut world, PrincipalKind::Human, old).unwrap_err();
    let named = refused.current().and_then(|current| current.entry);
    assert_eq!((refused.code, named), (ErrorCode::Conflict, Some(new)));
    assert_eq!(world.state.head(old).unwrap().status, Status::Archived);
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
        let config = RulesConfig::default();
        let at = |trust: &Trust, days| {
            confidence_at(trust, before.created_at, world.now.plus_ms(days * DAY_MS), &config.trust)
        };
        let found = config.recall.confidence_min;
        for later in [0, 1, 40, 900] {
            let (faded, now) = (at(&before.trust, later), at(&head.trust, later));
            prop_assert!(now <= faded.max(found) + 1e-12, "it is worth no more than before: {now}, {faded}");
            prop_assert!(now >= faded - 1e-12, "nor less: {now}, {faded}");
        }
        prop_assert!(head.trust.confidence >= found, "recall returns it");
        prop_assert_eq!(head.trust.validation_count, before.trust.validation_count);
        prop_assert_eq!((&head.citations, head.usage), (&before.citations, before.usage));
    }
}
