//! Planted bugs: each safeguard of the commit path, left out, must be seen to break something.

use std::collections::BTreeSet;

use sillok_core::command::Submission;
use sillok_core::principal::PrincipalKind;
use sillok_store::MemoryStore;

use super::harness::{TASK, append, first_seq, node, open_task, ports, store, submission};
use crate::audit;
use crate::ownership::Ownership;
use crate::protocol::{Correct, IgnoresTip, Protocol, RepeatsInBatch};
use crate::{Node, NodeConfig};

/// Two nodes that both believe they hold the slots: what a lost fence would look like. Every writer
/// appends one line; gives the positions that were acknowledged and whether the audit passes.
async fn two_owners<P: Protocol>() -> (usize, BTreeSet<u64>, bool) {
    const WRITES: u64 = 100;
    let store = store();
    let ownership = Ownership::claim_all(&store, "local").await.unwrap();
    let start = || {
        Node::<MemoryStore, P>::start_as(
            store.clone(),
            ports(),
            NodeConfig::default(),
            ownership.clone(),
        )
    };
    let nodes = [start().await.unwrap(), start().await.unwrap()];
    nodes[0]
        .submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    let mut acknowledged = Vec::new();
    for number in 1..=WRITES {
        let node = &nodes[usize::try_from(number % 2).unwrap()];
        let answer = node
            .submit(submission(
                number,
                PrincipalKind::Agent,
                TASK,
                append("line"),
            ))
            .await;
        acknowledged.push(first_seq(&answer));
    }
    let distinct = acknowledged.iter().copied().collect();
    let sound = audit::verify(&store, &|_| {})
        .await
        .is_ok_and(|report| report.first.is_none());
    (acknowledged.len(), distinct, sound)
}

#[tokio::test]
async fn two_owners_of_a_scope_lose_nothing() {
    let (acknowledged, positions, sound) = two_owners::<Correct>().await;
    assert_eq!(positions.len(), acknowledged);
    assert!(sound);
}

#[tokio::test]
async fn without_the_tip_in_the_conflict_set_updates_are_lost() {
    let (acknowledged, positions, sound) = two_owners::<IgnoresTip>().await;
    assert!(
        positions.len() < acknowledged && !sound,
        "the planted bug must be seen"
    );
}

/// A command and its retry that wait together, behind another command that holds the scope up.
async fn retry_in_one_batch<P: Protocol>() -> BTreeSet<u64> {
    let store = store();
    let ownership = Ownership::claim_all(&store, "local").await.unwrap();
    let node = Node::<MemoryStore, P>::start_as(store, ports(), NodeConfig::default(), ownership)
        .await
        .unwrap();
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    let same = || submission(1, PrincipalKind::Agent, TASK, append("once"));
    let submit = |submission: Submission| {
        let node = node.clone();
        async move { node.submit(submission).await }
    };
    let held_up = submit(submission(2, PrincipalKind::Agent, TASK, append("before")));
    let (before, first, second) = tokio::join!(held_up, submit(same()), submit(same()));
    before.unwrap();
    let total = node
        .submit(submission(3, PrincipalKind::Agent, TASK, append("after")))
        .await;
    // The opening, "before", "once", "after": the last one stands at 4 unless "once" was applied twice.
    [first_seq(&first), first_seq(&second), first_seq(&total)]
        .into_iter()
        .collect()
}

#[tokio::test]
async fn a_retry_in_the_same_batch_is_applied_once() {
    assert_eq!(retry_in_one_batch::<Correct>().await, [3, 4].into());
}

#[tokio::test]
async fn without_the_dedupe_within_a_batch_a_retry_is_applied_twice() {
    assert_eq!(
        retry_in_one_batch::<RepeatsInBatch>().await,
        [3, 4, 5].into(),
        "the planted bug must be seen"
    );
}

#[tokio::test]
async fn a_new_node_fences_the_old_one() {
    let store = store();
    let old = node(&store).await;
    let new = node(&store).await;
    assert!(new.ownership().incarnation() > old.ownership().incarnation());
}
