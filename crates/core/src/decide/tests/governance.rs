//! What people and tasks say of entries, and what leaves recall: reports, reviews, undoing, retention.

use proptest::prelude::*;

use super::world::{PROJECT, START, World, amend, entry, supersede};
use crate::citation::Citation;
use crate::command::{AnswerBody, AnswerReview, Command, Replacement};
use crate::entry::{Claim, Embedding, Head, SpaceId, Status, Table};
use crate::error::ErrorCode;
use crate::event::Body;
use crate::id::{EntryId, ReviewId};
use crate::membership::WireVersion;
use crate::ports::{Ranked, SpaceThresholds};
use crate::principal::PrincipalKind;
use crate::promotion::{Disposition, NewEntry};
use crate::reuse::ReuseOutcome;
use crate::review::{Offer, Question};
use crate::scope::Scope;

pub(super) fn task(number: u32) -> Scope {
    Scope::parse(&format!("{PROJECT}/worktree/c/task/t{number}")).unwrap()
}

/// A project in which some tasks were opened.
pub(super) fn project() -> World {
    let mut world = World::new(PROJECT);
    world.tasks.extend((0..6).map(task));
    world
}

pub(super) fn human(world: &mut World, table: Table, content: &str) -> EntryId {
    let written = world.put(PrincipalKind::Human, entry(table, content));
    written.unwrap().0
}

pub(super) fn report(
    world: &mut World,
    id: EntryId,
    from: u32,
    outcome: ReuseOutcome,
) -> AnswerBody {
    let command = Command::ReportReuse {
        task: task(from),
        entry: id,
        outcome,
    };
    world.give(PrincipalKind::Agent, command).unwrap()
}

fn raised(answer: &AnswerBody) -> Option<ReviewId> {
    match answer {
        AnswerBody::Reported { review, .. } => *review,
        other => panic!("{other:?}"),
    }
}

pub(super) fn answer(review: ReviewId, approve: bool, keep: Option<EntryId>) -> Command {
    Command::AnswerReview(Box::new(AnswerReview {
        review,
        approve,
        keep,
        reason: "I looked".into(),
    }))
}

/// The questions that the last command raised.
pub(super) fn questions(
    world: &mut World,
    kind: PrincipalKind,
    command: Command,
) -> Vec<(ReviewId, Question)> {
    let submission = world.submission(kind, command);
    let facts = world.facts(&submission);
    let config = crate::config::RulesConfig::default();
    let decided = super::super::decide(&world.state, &submission, &facts, &config, world.now);
    let bodies = decided.unwrap().bodies;
    world.carry_out(&submission).unwrap();
    let raised = bodies.into_iter().filter_map(|body| match body {
        Body::ReviewRaised { id, question } => Some((id, *question)),
        _ => None,
    });
    raised.collect()
}

fn claims(value: &str) -> NewEntry {
    NewEntry {
        claim: Some(Claim {
            key: "http.port".into(),
            value: value.into(),
        }),
        ..entry(Table::Observations, "the service listens on one port")
    }
}

/// Two entries that contradict one another, and the question about them.
fn contradicting(world: &mut World) -> (EntryId, EntryId, ReviewId) {
    let known = world.put(PrincipalKind::Human, claims("80"));
    let (known, _) = known.unwrap();
    let put = Command::PutEntry {
        entry: Box::new(claims("81")),
        verification: None,
    };
    let raised = questions(world, PrincipalKind::Human, put);
    match raised.as_slice() {
        [(id, Question::Contradiction { new, known: of, .. })] => {
            assert_eq!(*of, known);
            (*new, known, *id)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_replaces_another_is_held_against_what_else_declares_its_key() {
    let mut world = project();
    let on_port = |text: &str, value: &str| NewEntry {
        content: text.into(),
        ..claims(value)
    };
    let old = on_port("the service listens on one port", "80");
    let (old, _) = world.put(PrincipalKind::Human, old).unwrap();
    let other = on_port("the gateway forwards to it", "80");
    let (other, disposition) = world.put(PrincipalKind::Human, other).unwrap();
    assert_eq!(disposition, Disposition::Created);
    let moved = on_port("it was moved to another port", "81");
    let command = supersede(old, 1, Replacement::New(Box::new(moved)));
    let raised = questions(&mut world, PrincipalKind::Human, command);
    let [(_, Question::Contradiction { new, known, .. })] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    assert_eq!(*known, other);
    assert_eq!(
        world.state.head(*new).unwrap().lifecycle.supersedes,
        Some(old)
    );
    // Of the two that are left nobody is asked where both declare the same.
    let again = on_port(
        "the gateway forwards to the port that it was moved to",
        "81",
    );
    let command = supersede(other, 1, Replacement::New(Box::new(again)));
    let raised = questions(&mut world, PrincipalKind::Human, command);
    assert!(raised.is_empty(), "{raised:?}");
}

/// Two entries that say nearly the same, the known one first, and the question about them.
fn similar(world: &mut World) -> (EntryId, EntryId, ReviewId) {
    let placed = |content: &str| NewEntry {
        embedding: Some(Embedding {
            space: SpaceId("s".into()),
            values: vec![1.0],
        }),
        ..entry(Table::Observations, content)
    };
    world.thresholds = Some(SpaceThresholds {
        merge: 0.95,
        similar: 0.85,
    });
    let first = world.put(PrincipalKind::Human, placed("Retries need a cap."));
    let (known, _) = first.unwrap();
    world.near = vec![Ranked {
        scope: Scope::parse(PROJECT).unwrap(),
        entry: known,
        score: 0.9,
    }];
    let put = Command::PutEntry {
        entry: Box::new(placed("Put a cap on retries.")),
        verification: None,
    };
    let raised = questions(world, PrincipalKind::Human, put);
    match raised.as_slice() {
        [(id, Question::Merge { new, known: of, .. })] => {
            assert_eq!(*of, known);
            (known, *new, *id)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn three_tasks_publish_what_is_verified_and_one_task_counts_once() {
    let mut world = project();
    let id = human(&mut world, Table::Patterns, "retry with backoff");
    for from in [0, 0, 1, 1, 2] {
        let before = world.state.head(id).unwrap().status;
        assert_eq!(before, Status::Verified);
        report(&mut world, id, from, ReuseOutcome::Helped);
    }
    let head = world.state.head(id).unwrap();
    assert_eq!(
        (head.status, head.reuse_count, head.usage.helped),
        (Status::Published, 3, 3)
    );
    assert_eq!(head.last_used, Some(START));
    let seq = world.state.row().tip.seq;
    report(&mut world, id, 2, ReuseOutcome::Helped);
    assert_eq!(
        world.state.row().tip.seq,
        seq,
        "the same word again writes nothing"
    );
}

#[test]
fn a_hypothesis_is_not_published_by_reports() {
    let mut world = World::new(&format!("{PROJECT}/worktree/c"));
    world.tasks.extend((0..6).map(task));
    let draft = entry(Table::Observations, "it may be the cache");
    let (id, _) = world.put(PrincipalKind::Agent, draft).unwrap();
    for from in 0..5 {
        report(&mut world, id, from, ReuseOutcome::Helped);
    }
    let head = world.state.head(id).unwrap();
    assert_eq!((head.status, head.reuse_count), (Status::Hypothesis, 5));
}

#[test]
fn two_tasks_that_find_an_entry_wrong_raise_one_question() {
    let mut world = project();
    let id = human(&mut world, Table::Observations, "the build is hermetic");
    let first = report(&mut world, id, 0, ReuseOutcome::Wrong);
    assert_eq!(raised(&first), None);
    let again = report(&mut world, id, 0, ReuseOutcome::Wrong);
    assert_eq!(raised(&again), None, "one task has one voice");
    let second = report(&mut world, id, 1, ReuseOutcome::Wrong);
    let review = raised(&second).expect("two tasks agree");
    let third = report(&mut world, id, 2, ReuseOutcome::Wrong);
    assert_eq!(raised(&third), None, "it was asked just now");

    let denied = world.give(PrincipalKind::Orchestrator, answer(review, true, None));
    assert_eq!(
        denied.unwrap_err().rule(),
        Some("control/decide_from_project")
    );
    world
        .give(PrincipalKind::Human, answer(review, true, None))
        .unwrap();
    assert_eq!(world.state.head(id).unwrap().status, Status::Archived);
    let late = world.give(PrincipalKind::Human, answer(review, false, None));
    assert_eq!(late.unwrap_err().code, ErrorCode::Conflict);
    let late = Command::ReportReuse {
        task: task(3),
        entry: id,
        outcome: ReuseOutcome::Helped,
    };
    let late = world.give(PrincipalKind::Agent, late).unwrap_err();
    assert_eq!(late.code, ErrorCode::Conflict);
}

#[test]
fn a_person_who_rejects_a_doubt_stands_behind_the_entry() {
    let mut world = project();
    let id = human(&mut world, Table::Observations, "the build is hermetic");
    let before = world.state.head(id).unwrap().trust.clone();
    report(&mut world, id, 0, ReuseOutcome::Wrong);
    let review = raised(&report(&mut world, id, 1, ReuseOutcome::Wrong)).unwrap();
    world
        .give(PrincipalKind::Human, answer(review, false, None))
        .unwrap();
    let after = &world.state.head(id).unwrap().trust;
    assert_eq!(after.validation_count, before.validation_count + 1);
    assert!(after.confidence > before.confidence);
}

#[test]
fn a_report_needs_a_task_that_was_opened_and_that_lies_inside() {
    let mut world = project();
    let id = human(&mut world, Table::Observations, "the build is hermetic");
    let told = |task: &str| Command::ReportReuse {
        task: Scope::parse(task).unwrap(),
        entry: id,
        outcome: ReuseOutcome::Helped,
    };
    for (task, code) in [
        ("org/a/project/b/worktree/c/task/never", ErrorCode::NotFound),
        ("org/a/project/b/worktree/c", ErrorCode::InvalidScope),
        (
            "org/a/project/other/worktree/c/task/d",
            ErrorCode::InvalidScope,
        ),
        ("org/z/project/b/worktree/c/task/d", ErrorCode::Forbidden),
    ] {
        let refused = world.give(PrincipalKind::Agent, told(task)).unwrap_err();
        assert_eq!(refused.code, code, "{task}");
    }
    let unknown = Command::ReportReuse {
        task: task(0),
        entry: EntryId::from_bytes([9; 16]),
        outcome: ReuseOutcome::Helped,
    };
    let refused = world.give(PrincipalKind::Agent, unknown).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[test]
fn whoever_reaches_a_task_alone_reports_on_what_lies_above_it() {
    let mut world = project();
    let id = human(&mut world, Table::Observations, "the build is hermetic");
    let command = Command::ReportReuse {
        task: task(0),
        entry: id,
        outcome: ReuseOutcome::Helped,
    };
    let mut submission = world.submission(PrincipalKind::Agent, command);
    submission.principal.prefix = task(0).as_str().parse().unwrap();
    assert!(world.carry_out(&submission).is_ok());
    let mut submission = world.submission(PrincipalKind::Agent, submission.command);
    submission.principal.prefix = task(1).as_str().parse().unwrap();
    let denied = world.carry_out(&submission).unwrap_err();
    assert_eq!(denied.rule(), Some("token/scope"));
}

#[test]
fn a_contradiction_that_is_approved_leaves_one_of_the_two() {
    let mut world = project();
    let (new, known, review) = contradicting(&mut world);
    world
        .give(PrincipalKind::Human, answer(review, true, None))
        .unwrap();
    let (new, known) = (
        world.state.head(new).unwrap(),
        world.state.head(known).unwrap(),
    );
    assert_eq!(
        (new.status, known.status),
        (Status::Verified, Status::Deprecated)
    );
    assert_eq!(known.lifecycle.superseded_by, Some(new.id));
    assert_eq!(new.trust.validation_count, 2);

    let mut world = project();
    let (new, known, review) = contradicting(&mut world);
    let odd = answer(review, true, Some(EntryId::from_bytes([7; 16])));
    let odd = world.give(PrincipalKind::Human, odd).unwrap_err();
    assert_eq!(odd.code, ErrorCode::InvalidArgument);
    world
        .give(PrincipalKind::Human, answer(review, true, Some(known)))
        .unwrap();
    assert_eq!(world.state.head(new).unwrap().status, Status::Deprecated);
    assert!(world.state.head(known).unwrap().status.is_live());
}

#[test]
fn a_contradiction_that_is_rejected_leaves_both() {
    let mut world = project();
    let (new, known, review) = contradicting(&mut world);
    let kept = world.give(PrincipalKind::Human, answer(review, false, Some(new)));
    assert_eq!(kept.unwrap_err().code, ErrorCode::InvalidArgument);
    world
        .give(PrincipalKind::Human, answer(review, false, None))
        .unwrap();
    for id in [new, known] {
        assert_eq!(world.state.head(id).unwrap().status, Status::Verified);
    }
}

#[test]
fn what_replaced_another_already_takes_no_second_place() {
    let mut world = project();
    let (new, known, review) = contradicting(&mut world);
    let other = human(&mut world, Table::Observations, "the port was 79 once");
    world
        .give(
            PrincipalKind::Human,
            supersede(other, 1, Replacement::Existing(new)),
        )
        .unwrap();
    world
        .give(PrincipalKind::Human, answer(review, true, None))
        .unwrap();
    let lost = world.state.head(known).unwrap();
    assert_eq!(
        (lost.status, lost.lifecycle.superseded_by),
        (Status::Archived, None)
    );
    assert!(world.state.head(new).unwrap().status.is_live());
}

#[test]
fn a_merge_that_is_approved_joins_sources_and_retires_the_new_one() {
    let mut world = project();
    let (known, new, review) = similar(&mut world);
    let cited = world.state.head(new).unwrap().citations.clone();
    world
        .give(PrincipalKind::Human, answer(review, true, None))
        .unwrap();
    let head = world.state.head(known).unwrap();
    assert!(
        cited
            .iter()
            .all(|citation| head.citations.contains(citation))
    );
    // Both people's words, and that the same was said again.
    assert_eq!(head.trust.validation_count, 3);
    let gone = world.state.head(new).unwrap();
    assert_eq!(gone.status, Status::Archived);

    let mut world = project();
    let (_, new, review) = similar(&mut world);
    world
        .give(
            PrincipalKind::Human,
            amend(new, 1, "Put no cap on retries."),
        )
        .unwrap();
    let approved = world.give(PrincipalKind::Human, answer(review, true, None));
    let refused = approved.unwrap_err();
    assert_eq!(
        refused.code,
        ErrorCode::Conflict,
        "nobody was asked about that text"
    );
    assert_eq!(
        refused.current().and_then(|current| current.version),
        Some(2)
    );
    world
        .give(PrincipalKind::Human, answer(review, false, None))
        .unwrap();
    assert!(world.state.head(new).unwrap().status.is_live());
}

#[test]
fn what_is_merged_hands_on_what_it_was_worth() {
    let mut world = project();
    let (known, new, review) = similar(&mut world);
    for run in 0..3 {
        report(&mut world, new, run, ReuseOutcome::Helped);
    }
    assert_eq!(world.state.head(new).unwrap().status, Status::Published);
    world
        .give(PrincipalKind::Human, answer(review, true, None))
        .unwrap();
    let head = world.state.head(known).unwrap();
    assert_eq!(head.status, Status::Published);
}

/// An entry of a project, as it stands there, and its offer to the organisation.
fn offered() -> (Head, Command) {
    let mut world = project();
    let skill = entry(Table::Skills, "bisect\nFind the commit that broke it");
    let (id, _) = world.put(PrincipalKind::Human, skill.clone()).unwrap();
    let head = world.state.head(id).unwrap().clone();
    let offer = Offer {
        scope: Scope::parse(PROJECT).unwrap(),
        entry: id,
        version: head.version,
        product: skill,
    };
    (head, Command::Offer(Box::new(offer)))
}

#[test]
fn an_offer_is_made_once_and_publishes_what_a_person_approves() {
    let mut world = World::new("org/a");
    let (head, offer) = offered();
    world.elsewhere.insert((head.scope.clone(), head.id), head);
    let raised = questions(&mut world, PrincipalKind::System, offer.clone());
    let [(review, Question::Offer(_))] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    assert!(questions(&mut world, PrincipalKind::System, offer.clone()).is_empty());
    let denied = world.give(PrincipalKind::Human, offer).unwrap_err();
    assert_eq!(denied.rule(), Some("control/maintain"));
    let taken = world
        .give(PrincipalKind::Human, answer(*review, true, None))
        .unwrap();
    let AnswerBody::Reviewed { kept: Some(id), .. } = taken else {
        panic!("{taken:?}")
    };
    let head = world.state.head(id).unwrap();
    assert_eq!((head.status, head.table), (Status::Verified, Table::Skills));
    assert!(matches!(head.citations[0], Citation::Human { .. }));
}

#[test]
fn what_does_not_stand_any_more_as_it_was_offered_is_not_published() {
    let (head, offer) = offered();
    let amended = Head {
        version: 2,
        ..head.clone()
    };
    let found_wrong = Head {
        status: Status::Archived,
        ..head.clone()
    };
    for now in [Some(amended.clone()), Some(found_wrong), None] {
        let mut world = World::new("org/a");
        let raised = questions(&mut world, PrincipalKind::System, offer.clone());
        let (review, _) = raised[0];
        let there = now.map(|head| ((head.scope.clone(), head.id), head));
        world.elsewhere.extend(there);
        let refused = world.give(PrincipalKind::Human, answer(review, true, None));
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict, "{refused}");
        assert!(refused.message.contains("can be rejected"), "{refused}");
        world
            .give(PrincipalKind::Human, answer(review, false, None))
            .unwrap();
    }
    // The new version is another question.
    let mut world = World::new("org/a");
    assert_eq!(
        questions(&mut world, PrincipalKind::System, offer.clone()).len(),
        1
    );
    let Command::Offer(mut again) = offer else {
        panic!("it is an offer")
    };
    again.version = amended.version;
    let raised = questions(&mut world, PrincipalKind::System, Command::Offer(again));
    assert_eq!(raised.len(), 1);
}

#[test]
fn beside_older_nodes_nothing_is_written_that_they_do_not_read() {
    let mut world = project();
    world.spoken = WireVersion::FIRST;
    let known = world.put(PrincipalKind::Human, claims("80"));
    let (known, _) = known.unwrap();
    let put = Command::PutEntry {
        entry: Box::new(claims("81")),
        verification: None,
    };
    assert!(questions(&mut world, PrincipalKind::Human, put).is_empty());
    let command = Command::ReportReuse {
        task: task(0),
        entry: known,
        outcome: ReuseOutcome::Helped,
    };
    let refused = world.give(PrincipalKind::Agent, command).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
}

proptest! {
    /// Whatever tasks say in whatever order: the counts are those of their last words, and the status never
    /// falls.
    #[test]
    fn reports_count_each_task_once(
        words in proptest::collection::vec((0u32..6, proptest::sample::select(ReuseOutcome::ALL.to_vec())), 1..40)
    ) {
        let mut world = project();
        let id = human(&mut world, Table::Patterns, "retry with backoff");
        let mut said = std::collections::BTreeMap::new();
        for (from, outcome) in words {
            let before = world.state.head(id).unwrap().status;
            report(&mut world, id, from, outcome);
            said.insert(from, outcome);
            let head = world.state.head(id).unwrap();
            let helped = said.values().filter(|said| **said == ReuseOutcome::Helped).count() as u64;
            prop_assert_eq!(head.usage.helped, helped);
            prop_assert_eq!(head.reuse_count, helped);
            prop_assert!(head.status >= before);
        }
    }
}
