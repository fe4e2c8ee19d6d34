//! Tests of what an operator's order does to a node that runs.

use sillok_core::command::Answer;
use sillok_core::event::EventKinds;
use sillok_core::id::{Epoch, Incarnation, Seq};
use sillok_core::membership::{NodeRow, WireVersion};
use sillok_core::principal::PrincipalKind;
use sillok_core::time::Timestamp;
use sillok_store::{Store as _, Txn as _, keys};

use super::*;
use crate::audit;
use crate::cluster::beat;
use crate::cluster::tests::{registered, until};
use crate::cluster_status;
use crate::protocol::{Safeguard, Without};
use crate::tests::harness::{
    AS_MEANT, PROJECT, TASK, TestNode, append, later_node, node, node_with_task, principal, scope,
    store, submission,
};

#[tokio::test]
async fn a_run_whose_end_is_ordered_gives_everything_up_and_another_one_begins() {
    let store = store();
    let (here, other) = (
        registered(&store, "ada").await,
        registered(&store, "bob").await,
    );
    let (slot, run) = (Slot::new(7).unwrap(), here.ownership.incarnation());
    assert!(here.ownership.take(slot, Epoch(1), run));
    let given = fence(&other, "ada", run, Actor::system()).await.unwrap();
    let shown = |status: cluster_status::ClusterStatus| status.nodes[0].fence.clone();
    let order = Some((run, given));
    assert_eq!(shown(cluster_status::of(&*other).await.unwrap()), order);
    let beating = tokio::spawn(beat(Arc::clone(&here)));
    until("another run", || here.ownership.incarnation() != run).await;
    assert_eq!(here.ownership.epoch(slot), None);
    let before = here.counters.beats.get();
    until("a beat of it", || here.counters.beats.get() > before).await;
    let status = cluster_status::of(&*other).await.unwrap();
    assert!(status.nodes[0].is_living && status.nodes[0].incarnation != run);
    assert_eq!(shown(status), order, "who ended the run before it");
    beating.abort();
}

#[tokio::test]
async fn a_node_ends_its_own_run_as_any_other() {
    let store = store();
    let here = registered(&store, "ada").await;
    let run = here.ownership.incarnation();
    fence(&here, "ada", run, Actor::system()).await.unwrap();
    let beating = tokio::spawn(beat(Arc::clone(&here)));
    until("another run", || here.ownership.incarnation() != run).await;
    beating.abort();
}

#[tokio::test]
async fn a_node_that_has_its_store_to_itself_is_not_fenced() {
    let node = node(&store()).await;
    let run = node.ownership().incarnation();
    let refused = node.fence("local", run, Actor::system()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidState);
    assert!(refused.message.contains("to itself"), "{refused}");
    let status = node.cluster().await.unwrap();
    assert_eq!(
        (status.nodes[0].fence.clone(), status.reasons),
        (None, vec![])
    );
}

/// Gives a line of the task to a node.
async fn line(node: &TestNode, number: u64) -> Result<Answer, Error> {
    let line = submission(number, PrincipalKind::Agent, TASK, append("line"));
    node.submit(line).await
}

#[tokio::test]
async fn nothing_is_written_to_what_is_quarantined_until_that_is_lifted() {
    let store = store();
    let node = node_with_task(&store).await;
    line(&node, 1).await.unwrap();
    let order = |reason: Option<&str>| {
        let (scope, reason) = (scope(PROJECT), reason.map(str::to_owned));
        node.quarantine(scope, reason, Actor::system())
    };
    let first = order(Some("its disk is bad")).await.unwrap();
    assert_eq!(order(Some("again")).await.unwrap(), first);
    let refused = line(&node, 2).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidState);
    assert!(refused.message.contains("its disk is bad"), "{refused}");
    // What was applied before is answered as before, and read.
    let repeated = line(&node, 1).await.unwrap();
    assert_eq!(node.cluster().await.unwrap().quarantines, [first]);
    let page = node
        .events(&scope(TASK), &EventKinds::ALL, Seq::new(0), 10)
        .await
        .unwrap();
    assert_eq!(page.items.len() as u64, repeated.seq.get());
    node.shutdown().await;
    // Another run knows of it too.
    let node = later_node(&store).await;
    line(&node, 3).await.unwrap_err();
    let lift = || node.quarantine(scope(PROJECT), None, Actor::system());
    lift().await.unwrap();
    assert_eq!(lift().await.unwrap_err().code, ErrorCode::InvalidState);
    line(&node, 3).await.unwrap();
    assert!(node.cluster().await.unwrap().quarantines.is_empty());
    assert!(audit::verify(&store, &|_| ()).await.unwrap().is_ok());
    node.shutdown().await;
}

#[tokio::test]
async fn an_owner_commits_nothing_behind_an_order_that_another_node_wrote() {
    let store = store();
    let node = node_with_task(&store).await;
    let order = |reason: Option<&str>| QuarantineOrder {
        scope: scope(TASK),
        reason: reason.map(str::to_owned),
        by: Actor::system(),
        at: Timestamp::from_ms(1),
    };
    let given = claims::order_quarantine(&store, &order(Some("bad")), AS_MEANT).await;
    given.unwrap().unwrap();
    let refused = line(&node, 1).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidState);
    let lifted = claims::order_quarantine(&store, &order(None), AS_MEANT).await;
    lifted.unwrap().unwrap();
    line(&node, 2).await.unwrap();
    // Without the change of the epoch the owner would not hear of it.
    let deaf = Without(Some(Safeguard::TellsOwnerOfQuarantine));
    let given = claims::order_quarantine(&store, &order(Some("bad")), deaf).await;
    given.unwrap().unwrap();
    line(&node, 3).await.unwrap();
    node.shutdown().await;
}

#[tokio::test]
async fn nothing_is_quarantined_while_a_node_lives_that_would_not_heed_it() {
    let store = store();
    let node = node(&store).await;
    let order = || node.quarantine(scope(PROJECT), Some("bad".to_owned()), Actor::system());
    let row = |fenced| NodeRow {
        incarnation: Incarnation(1),
        beat: 0,
        fenced,
        reaches_bus: true,
        is_behind: false,
        reads: WireVersion::FIRST,
    };
    let write = async |row: NodeRow| {
        let mut txn = store.begin().await.unwrap();
        txn.set(keys::node::key("old"), keys::node::encode(&row));
        txn.commit().await.unwrap();
    };
    write(row(false)).await;
    let refused = order().await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidState);
    assert!(refused.message.contains("earlier release"), "{refused}");
    write(row(true)).await;
    order().await.unwrap();
}

#[tokio::test]
async fn whoever_may_not_see_a_scope_learns_nothing_of_its_quarantine() {
    let store = store();
    let node = node_with_task(&store).await;
    let ordered = node.quarantine(scope(TASK), Some("a secret".to_owned()), Actor::system());
    ordered.await.unwrap();
    let mut line = submission(1, PrincipalKind::Agent, TASK, append("line"));
    line.principal = principal(PrincipalKind::Agent, "org/other");
    let refused = node.submit(line).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden);
    assert!(!refused.message.contains("secret"), "{refused}");
    let events = node
        .events(&scope(TASK), &EventKinds::ALL, Seq::new(0), 10)
        .await
        .unwrap();
    assert_eq!(events.items.len(), 1, "not even the denial is written");
}
