//! Tests of what an operator's order does to a node that runs.

use sillok_core::id::Epoch;
use sillok_core::slot::Slot;

use super::*;
use crate::cluster::beat;
use crate::cluster::tests::{registered, until};
use crate::cluster_status;
use crate::tests::harness::{node, store};

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
    let before = here.counters.snapshot().beats;
    until("a beat of it", || here.counters.snapshot().beats > before).await;
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
