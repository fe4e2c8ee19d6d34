//! While an older node lives: a failure is recorded as it can be read by all, and whoever gives it again is told what was
//! recorded, whatever is spoken by then.

use sillok_core::ErrorCode;
use sillok_core::circular::{ErrorHash, ErrorReason, Failures};
use sillok_core::command::{AnswerBody, Command, Submission};
use sillok_core::event::{EventKind, EventKinds};
use sillok_core::id::Seq;
use sillok_core::membership::WireVersion;
use sillok_core::principal::PrincipalKind;

use super::stage::{
    Stage, approach, approaches, erase, failure, failures, later_ports, silent_ports,
};
use crate::NodeConfig;
use crate::tests::decisions::sound;
use crate::tests::harness::{TASK, TestNode, TestStore, scope, store, submission};
use crate::tests::world::pairs_of;

const ERROR: &str = "KeyError: 'user_id'";

/// A stage on which an older version is spoken.
async fn older(store: &TestStore) -> Stage {
    let config = NodeConfig {
        wire_version: WireVersion::WITH_EVIDENCE,
        ..NodeConfig::default()
    };
    let node = TestNode::start(store.clone(), silent_ports(), config);
    Stage {
        node: node.await.unwrap(),
        store: store.clone(),
        given: 0,
    }
}

/// The same store, once all nodes are new.
async fn upgraded(stage: &Stage) -> Stage {
    stage.node.shutdown().await;
    let node = TestNode::start(stage.store.clone(), later_ports(), NodeConfig::default());
    Stage {
        node: node.await.unwrap(),
        store: stage.store.clone(),
        given: 200,
    }
}

fn given(command: Command) -> Submission {
    submission(100, PrincipalKind::Orchestrator, TASK, command)
}

fn failed(error: &str) -> Command {
    failure(Some(error), Some(&approach("catch it", &["src/a.py"])))
}

/// The same as older nodes read it.
fn alone(command: &Command) -> Command {
    let alone = command.read_by(WireVersion::WITH_EVIDENCE);
    alone.expect("older nodes read it otherwise")
}

#[tokio::test]
async fn what_is_recorded_while_an_older_node_lives_is_what_it_reads_and_is_not_judged() {
    let mut stage = older(&store()).await;
    stage.open(TASK).await;
    for number in 100..104 {
        let command = submission(number, PrincipalKind::Orchestrator, TASK, failed(ERROR));
        let answer = stage.node.submit(command).await.unwrap();
        let is_judged = !matches!(answer.result, AnswerBody::Verification { .. });
        assert!(!is_judged, "{answer:?}");
    }
    let all = stage
        .node
        .events(&scope(TASK), &EventKinds::ALL, Seq::ZERO, 100);
    let kinds: Vec<EventKind> = all
        .await
        .unwrap()
        .items
        .iter()
        .map(|event| event.header.kind)
        .collect();
    let mut expected = vec![EventKind::VerificationRecorded; 5];
    expected[0] = EventKind::TaskOpened;
    assert_eq!(kinds, expected);
    assert_eq!(failures(&stage.store, TASK).await, Failures::default());
    assert_eq!(approaches(&pairs_of(&stage.store).await), []);
    assert_eq!(sound(&stage.store).await, None);
}

#[tokio::test]
async fn what_was_recorded_before_an_upgrade_is_answered_after_it_as_it_was() {
    let mut stage = older(&store()).await;
    stage.open(TASK).await;
    let first = stage.node.submit(given(failed(ERROR))).await.unwrap();
    let mut stage = upgraded(&stage).await;
    // Given again as it was, and as the older node may have been given it.
    for command in [failed(ERROR), alone(&failed(ERROR))] {
        let again = stage.node.submit(given(command)).await.unwrap();
        assert_eq!(again, first);
    }
    let other = stage.node.submit(given(failed("KeyError: 'name'"))).await;
    assert_eq!(other.unwrap_err().code, ErrorCode::CommandReused);
    // It counts for nothing, and from now on all do.
    let (_, judged) = stage.fail(TASK, Some(ERROR), None).await;
    let judged = judged.unwrap();
    assert_eq!((judged.reason, judged.count), (ErrorReason::New, 1));
    assert_eq!(judged.error, ErrorHash::of(ERROR));
    stage.node.shutdown().await;
    assert_eq!(sound(&stage.store).await, None);
}

#[tokio::test]
async fn what_was_judged_is_answered_so_to_whoever_still_gives_the_older_form() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let command = failed(ERROR);
    let first = stage.node.submit(given(command.clone())).await.unwrap();
    assert!(matches!(first.result, AnswerBody::Failed { .. }));
    let again = stage.node.submit(given(alone(&command))).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(approaches(&pairs_of(&stage.store).await).len(), 1);
}

#[tokio::test]
async fn nothing_of_verifications_is_erased_while_an_older_node_lives() {
    let mut stage = older(&store()).await;
    stage.open(TASK).await;
    let answer = stage.node.submit(given(failed(ERROR))).await.unwrap();
    let AnswerBody::Verification { id, .. } = answer.result else {
        panic!("{answer:?}")
    };
    stage.drop_promotion(TASK, id).await;
    let refused = stage.give(PrincipalKind::Human, TASK, erase(&[id])).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
    let mut stage = upgraded(&stage).await;
    let erased = stage.give(PrincipalKind::Human, TASK, erase(&[id])).await;
    let told = AnswerBody::Erased {
        events: 1,
        entries: Vec::new(),
        known: 0,
    };
    assert_eq!(erased.unwrap().result, told);
    stage.node.shutdown().await;
    assert_eq!(sound(&stage.store).await, None);
}
