//! Tests of finding out, and of settling what nobody waits for any more.

use std::sync::Arc;

use sillok_core::command::CommandRecord;
use sillok_core::principal::PrincipalKind;
use sillok_store::KeyRange;

use super::*;
use crate::tests::harness::{
    PROJECT, TASK, TestNode, TestStore, append, in_time, open_task, ports, store, submission,
};
use crate::tests::index::{HookedIndex, put};
use crate::tests::line::{Fate, Line};
use crate::{NodeConfig, Ports};

#[tokio::test]
async fn a_commit_that_nobody_heard_of_is_acknowledged_although_the_index_does_not_answer() {
    let line = Line::new(&store(), Fate::CommitsUnheard);
    let index = HookedIndex::new(|_| ());
    let refusing = Arc::clone(&index);
    let node = TestNode::start(
        line.clone(),
        Ports { index, ..ports() },
        NodeConfig::default(),
    )
    .await
    .unwrap();
    refusing.refuse();
    for number in 0..6 {
        let command = put(&format!("the build takes {number} minutes"));
        let given = submission(number, PrincipalKind::Human, PROJECT, command);
        in_time(node.submit(given)).await.unwrap();
    }
    assert!(line.hit() > 0 && node.metrics().unknown_outcomes > 0);
}

#[tokio::test]
async fn a_store_out_of_reach_is_asked_for_the_first_command_of_a_batch_alone() {
    const COMMANDS: u64 = 16;
    let line = Line::new(&store(), Fate::Arrives);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    let give = |number, command| {
        let given = submission(number, PrincipalKind::Agent, TASK, command);
        let node = node.clone();
        async move { node.submit(given).await }
    };
    give(0, open_task()).await.unwrap();
    // The first one goes alone, and the others wait behind it for one commit, which is held back.
    line.hold_after(1);
    let lines = (1..=COMMANDS + 1).map(|number| give(number, append("line")));
    let mut answers = futures::future::join_all(lines).await;
    answers.remove(0).unwrap();
    for refused in answers {
        assert_eq!(refused.unwrap_err().code, ErrorCode::OutcomeUnknown);
    }
    let asked = line.turned_away();
    assert!(asked < 3 * TRIES_MAX as usize, "{asked}");
    assert_eq!(node.shared().unresolved.list().len() as u64, COMMANDS);
    // All of them are settled once the store is within reach again.
    line.mend();
    while !node.shared().unresolved.list().is_empty() {
        node.ports().clock.sleep(SETTLE_EVERY_MS).await;
    }
}

/// A node with an open task, and nothing that runs in it.
async fn at_rest(line: &Line) -> TestNode {
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    node.submit(open).await.unwrap();
    node.shutdown().await;
    node
}

fn doubtful(number: u64) -> Doubtful {
    let given = submission(number, PrincipalKind::Agent, TASK, append("line"));
    Doubtful {
        key: name_of(&given),
        attempt: Attempt::FIRST,
        digest: given.command.digest(),
    }
}

fn row_of(doubtful: &Doubtful) -> Vec<u8> {
    let (scope, actor, id) = &doubtful.key;
    keys::command::key(&ScopeKey::of(scope), actor, *id)
}

async fn record(memory: &TestStore, doubtful: &Doubtful) -> Option<CommandRecord> {
    let key = row_of(doubtful);
    let mut txn = memory.begin().await.unwrap();
    let value = txn.get(&key, Read::Snapshot).await.unwrap();
    value.map(|value| keys::command::decode(&key, &value).unwrap())
}

#[tokio::test]
async fn a_command_that_the_store_will_not_tell_of_does_not_keep_the_others_unsettled() {
    let memory = store();
    let line = Line::new(&memory, Fate::Arrives);
    let node = at_rest(&line).await;
    let unresolved = &node.shared().unresolved;
    let (broken, other) = (doubtful(1), doubtful(2));
    unresolved.add(broken.clone(), 0);
    unresolved.add(other.clone(), 0);
    line.break_range(KeyRange::key(&row_of(&broken)));
    settle_all(node.shared()).await;
    let left: Vec<_> = unresolved.list().into_iter().map(|left| left.key).collect();
    assert_eq!(left, [broken.key]);
    let settled = record(&memory, &other).await;
    assert!(matches!(settled, Some(CommandRecord::Aborted { .. })));
}

#[tokio::test]
async fn a_command_whose_record_does_not_decode_is_given_up_at_once() {
    let memory = store();
    let line = Line::new(&memory, Fate::Arrives);
    let node = at_rest(&line).await;
    let broken = doubtful(1);
    let mut txn = memory.begin().await.unwrap();
    txn.set(row_of(&broken), b"?".to_vec());
    txn.commit().await.unwrap();
    node.shared().unresolved.add(broken, 0);
    settle_all(node.shared()).await;
    assert!(node.shared().unresolved.list().is_empty());
}

/// What comes of finding out about a command that nobody gave, on a line, and for how many ms it waited.
async fn asked_for(line: &Line, node: &TestNode, number: u64) -> (Result<Reply, StoreError>, u64) {
    let clock = &node.ports().clock;
    let given = submission(number, PrincipalKind::Agent, TASK, append("line"));
    let begun_ms = clock.monotonic_ms();
    let found = in_time(find_out(node.shared(), &given)).await;
    line.mend();
    (found, clock.monotonic_ms() - begun_ms)
}

#[tokio::test]
async fn a_command_is_asked_for_again_when_another_writer_came_between_but_not_for_ever() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = at_rest(&line).await;
    line.conflict(TRIES_MAX as usize - 1);
    let (found, waited_ms) = asked_for(&line, &node, 7).await;
    assert!(matches!(found, Ok(Reply::Abandoned(_))));
    assert!(waited_ms < BACKOFF_MS, "{waited_ms}");
    line.conflict(TRIES_MAX as usize + 1);
    let (found, _) = asked_for(&line, &node, 8).await;
    assert!(matches!(found, Err(StoreError::Conflict)));
    assert_eq!(line.conflicts(), 1);
}

#[tokio::test]
async fn a_store_out_of_reach_is_asked_for_a_while_and_ever_more_rarely() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = at_rest(&line).await;
    line.cut();
    let (found, waited_ms) = asked_for(&line, &node, 7).await;
    assert!(matches!(found, Err(StoreError::Unavailable { .. })));
    assert_eq!(line.turned_away(), TRIES_MAX as usize);
    // 20, 40, … 320 ms.
    let waits_ms = BACKOFF_MS * ((1 << (TRIES_MAX - 1)) - 1);
    assert!(
        (waits_ms..waits_ms + BACKOFF_MS).contains(&waited_ms),
        "{waited_ms}"
    );
}

#[test]
fn a_caller_is_told_what_is_wrong_with_the_store_only_where_asking_again_would_not_help() {
    let code = |error: StoreError| (not_found_out(&error).code, is_out_of_reach(&error));
    for error in [StoreError::OutcomeUnknown, StoreError::Closed] {
        assert_eq!(code(error), (ErrorCode::OutcomeUnknown, true));
    }
    for error in [StoreError::Conflict, StoreError::TooOld] {
        assert_eq!(code(error), (ErrorCode::OutcomeUnknown, false));
    }
    let reason = "it is broken";
    assert_eq!(
        code(StoreError::InvalidKey { reason }),
        (ErrorCode::Internal, false)
    );
}
