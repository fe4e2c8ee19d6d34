//! Tests of finding out, and of settling what nobody waits for any more.

use std::sync::Arc;

use sillok_core::command::CommandRecord;
use sillok_core::principal::PrincipalKind;
use sillok_store::{KeyRange, MemoryStore};

use super::*;
use crate::tests::harness::{PROJECT, TASK, append, in_time, open_task, ports, store, submission};
use crate::tests::index::{HookedIndex, put};
use crate::tests::line::{Fate, Line};
use crate::{Node, NodeConfig, Ports};

#[tokio::test]
async fn a_commit_that_nobody_heard_of_is_acknowledged_although_the_index_does_not_answer() {
    let line = Line::new(&store(), Fate::CommitsUnheard);
    let index = HookedIndex::new(|_| ());
    let refusing = Arc::clone(&index);
    let node = Node::start(
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
    let node = Node::start(line.clone(), ports(), NodeConfig::default())
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
async fn at_rest(line: &Line) -> Node<Line> {
    let node = Node::start(line.clone(), ports(), NodeConfig::default())
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

async fn record(memory: &MemoryStore, doubtful: &Doubtful) -> Option<CommandRecord> {
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
