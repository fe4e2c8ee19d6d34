//! Recording failures: each counts once, for all agents of its task, on whichever node.

use std::collections::BTreeSet;

use sillok_core::ErrorCode;
use sillok_core::circular::{Approach, ErrorHash, ErrorReason, Failures, Verdict};
use sillok_core::command::{AnswerBody, Command};
use sillok_core::event::EventKinds;
use sillok_core::id::Seq;
use sillok_core::limits::{APPROACH_BYTES_MAX, APPROACH_NAMES_MAX, ERROR_TEXT_BYTES_MAX};
use sillok_core::principal::{PrincipalId, PrincipalKind};

use super::stage::{
    Stage, approach, approaches, failure, failures, later_ports, next, silent_ports,
};
use crate::NodeConfig;
use crate::tests::decisions::sound;
use crate::tests::harness::{TASK, TestNode, open_task, scope, store, submission};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{OTHER_TASK, pairs_of};

const ORCHESTRATOR: PrincipalKind = PrincipalKind::Orchestrator;
const ERROR: &str = "KeyError: 'user_id'";

#[tokio::test]
async fn a_retry_is_told_the_first_verdict_and_counts_no_second_time() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let tried = approach("catch it", &["src/a.py"]);
    let given = |number, error| {
        let command = failure(Some(error), Some(&tried));
        submission(number, ORCHESTRATOR, TASK, command)
    };
    let first = stage.node.submit(given(100, ERROR)).await.unwrap();
    let again = stage.node.submit(given(100, ERROR)).await.unwrap();
    assert_eq!(first, again);
    let other = stage.node.submit(given(100, "KeyError: 'name'")).await;
    assert_eq!(other.unwrap_err().code, ErrorCode::CommandReused);
    // Both wait for another one, and make one batch.
    let submit = |given| {
        let node = stage.node.clone();
        async move { node.submit(given).await.unwrap() }
    };
    let (_, one, same, next) = tokio::join!(
        submit(given(101, "KeyError: 'name'")),
        submit(given(102, ERROR)),
        submit(given(102, ERROR)),
        submit(given(103, ERROR)),
    );
    assert_eq!(one, same);
    let told = |answer: &AnswerBody| match answer {
        AnswerBody::Failed {
            judged: Some(judged),
            ..
        } => (judged.verdict, judged.reason, judged.count),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&first.result), (Verdict::Allow, ErrorReason::New, 1));
    assert_eq!(told(&one.result), (Verdict::Warn, ErrorReason::CameBack, 2));
    assert_eq!(
        told(&next.result),
        (Verdict::Block, ErrorReason::TooOften, 3)
    );
    stage.node.shutdown().await;
    assert_eq!(approaches(&pairs_of(&stage.store).await).len(), 4);
    assert_eq!(sound(&stage.store).await, None);
}

#[tokio::test]
async fn agents_of_one_task_repeat_one_another_and_are_told_so() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    stage.open(OTHER_TASK).await;
    let agents = (0..5).map(|number: u64| {
        let command = failure(Some(ERROR), None);
        let mut given = submission(100 + number, ORCHESTRATOR, TASK, command);
        let name = format!("agent-{number}");
        given.principal.actor.id = PrincipalId::parse(&name).unwrap();
        let node = stage.node.clone();
        tokio::spawn(async move { node.submit(given).await.unwrap() })
    });
    let mut told = BTreeSet::new();
    for agent in agents.collect::<Vec<_>>() {
        let AnswerBody::Failed {
            judged: Some(judged),
            ..
        } = agent.await.unwrap().result
        else {
            panic!("a failure is judged")
        };
        let is_third = judged.count >= 3;
        assert_eq!(judged.verdict == Verdict::Block, is_third, "{judged:?}");
        told.insert(judged.count);
    }
    assert_eq!(told, (1..=5).collect());
    // Another task knows nothing of it.
    let (_, judged) = stage.fail(OTHER_TASK, Some(ERROR), None).await;
    assert_eq!(judged.unwrap().reason, ErrorReason::New);
    stage.node.shutdown().await;
    assert_eq!(sound(&stage.store).await, None);
}

#[tokio::test]
async fn whoever_takes_over_and_whoever_starts_again_goes_on_counting() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    for reason in [ErrorReason::New, ErrorReason::Repeated] {
        let (_, judged) = stage.fail(TASK, Some(ERROR), None).await;
        assert_eq!(judged.unwrap().reason, reason);
    }
    // Another node takes the slots, and the first one is told that it has none.
    let node = TestNode::start(stage.store.clone(), later_ports(), NodeConfig::default());
    let mut second = Stage {
        node: node.await.unwrap(),
        store: stage.store.clone(),
        given: 100,
    };
    let late = failure(Some(ERROR), None);
    let fenced = stage.give(ORCHESTRATOR, TASK, late).await.unwrap_err();
    assert_eq!(fenced.code, ErrorCode::Fenced);
    let (_, judged) = second.fail(TASK, Some(ERROR), None).await;
    assert_eq!(judged.unwrap().verdict, Verdict::Block);
    second.pass(TASK).await;
    second.node.shutdown().await;
    let known = failures(&stage.store, TASK).await;
    assert_eq!(next(&known, ErrorHash::of(ERROR)).reason, ErrorReason::New);
    assert_eq!(sound(&stage.store).await, None);
}

#[tokio::test]
async fn a_commit_that_nobody_heard_of_or_that_was_lost_counts_once() {
    for fate in [Fate::CommitsUnheard, Fate::IsLost] {
        let memory = store();
        let line = Line::new(&memory, fate);
        let node = TestNode::start(line.clone(), silent_ports(), NodeConfig::default());
        let node = node.await.unwrap();
        let opened = submission(0, PrincipalKind::Agent, TASK, open_task());
        node.submit(opened).await.unwrap();
        let mut known = Failures::default();
        for number in 1..=20_u64 {
            let error = format!("KeyError: 'key_{}'", number % 3);
            let command = failure(Some(&error), None);
            let given = submission(number, ORCHESTRATOR, TASK, command);
            let answer = node.submit(given).await.unwrap();
            let AnswerBody::Failed { id, judged, .. } = answer.result else {
                panic!("{answer:?}")
            };
            let seen = known.seen(ErrorHash::of(&error), id);
            assert_eq!(judged, Some(known.judge(seen)), "{number}");
            known.came_up(seen, answer.seq);
        }
        assert!(line.hit() > 0);
        assert_eq!(failures(&memory, TASK).await, known);
        assert_eq!(sound(&memory).await, None);
    }
}

#[tokio::test]
async fn what_fails_in_a_stuck_task_is_blocked_and_counted_and_an_audit_finds_it_so() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let stuck = Command::MarkStuck {
        reason: "it goes in circles".to_owned(),
    };
    let given = stage.give(PrincipalKind::Agent, TASK, stuck).await;
    given.unwrap();
    for count in 1..=2 {
        let (_, judged) = stage.fail(TASK, Some(ERROR), None).await;
        let judged = judged.unwrap();
        let told = (judged.verdict, judged.reason, judged.count);
        assert_eq!(told, (Verdict::Block, ErrorReason::Stuck, count));
    }
    let given = stage.give(ORCHESTRATOR, TASK, Command::ClearStuck).await;
    given.unwrap();
    let (_, judged) = stage.fail(TASK, Some(ERROR), None).await;
    assert_eq!(judged.unwrap().reason, ErrorReason::TooOften);
    stage.node.shutdown().await;
    assert_eq!(sound(&stage.store).await, None);
}

#[tokio::test]
async fn failures_as_large_as_may_be_that_come_at_once_are_all_recorded() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let text = "t".repeat(ERROR_TEXT_BYTES_MAX);
    let name_bytes = (APPROACH_BYTES_MAX - ERROR_TEXT_BYTES_MAX) / (2 * APPROACH_NAMES_MAX);
    let names = vec!["n".repeat(name_bytes); APPROACH_NAMES_MAX];
    let largest = Approach {
        text: text.clone(),
        files: names.clone(),
        symbols: names,
    };
    let given = (0..40).map(|number| {
        let command = failure(Some(&text), Some(&largest));
        let given = submission(100 + number, ORCHESTRATOR, TASK, command);
        let node = stage.node.clone();
        tokio::spawn(async move { node.submit(given).await })
    });
    for answer in given.collect::<Vec<_>>() {
        answer.await.unwrap().unwrap();
    }
    stage.node.shutdown().await;
    assert_eq!(approaches(&pairs_of(&stage.store).await).len(), 40);
}

#[tokio::test]
async fn what_failed_is_told_as_an_event_and_as_a_row() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let tried = approach("catch it", &["src/a.py"]);
    let (id, _) = stage.fail(TASK, Some(ERROR), Some(&tried)).await;
    let kinds = EventKinds::parse("FIX_FAILED").unwrap();
    let events = stage.node.events(&scope(TASK), &kinds, Seq::ZERO, 10);
    let events = events.await.unwrap().items;
    assert_eq!(events.len(), 1);
    let rows = approaches(&pairs_of(&stage.store).await);
    let [row] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!((row.task.clone(), row.verification), (scope(TASK), id));
    assert_eq!(row.seq, events[0].header.seq);
    assert_eq!((&row.approach, row.reason.as_str()), (&tried, ERROR));
}
