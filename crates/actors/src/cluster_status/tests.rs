//! Tests of what a node says of its cluster.

use std::sync::Arc;

use sillok_core::membership::Suspect;
use sillok_core::principal::PrincipalKind;

use super::*;
use sillok_bus::Streams;

use crate::NodeConfig;
use crate::claims::Claim;
use crate::cluster::tests::{Here, registered};
use crate::tests::harness::{
    AS_MEANT, TASK, TestNode, append, open_task, ports, scope, store, submission,
};
use crate::tests::stream::MemoryStream;

fn slot(number: u16) -> Slot {
    Slot::new(number).unwrap()
}

/// Has a node take a slot.
async fn take(node: &Here, number: u16) {
    let slots = [slot(number)];
    let claimed = claims::claim(&node.store, &node.ownership, &slots, node.protocol).await;
    let Claim::Taken { slots, .. } = claimed.unwrap() else {
        panic!("the run is not over");
    };
    let run = node.ownership.incarnation();
    for (slot, epoch) in slots {
        assert!(node.ownership.take(slot, epoch, run));
    }
}

/// Each node with whether it lives, and the slots that it owns.
fn counted(status: &ClusterStatus) -> Vec<(&str, bool, u64)> {
    let nodes = status.nodes.iter();
    nodes
        .map(|node| (node.name.as_str(), node.is_living, node.slots))
        .collect()
}

/// Each slot with its node, its epoch, and whether it is owned.
fn owned(status: &ClusterStatus) -> Vec<(u16, &str, u64, bool)> {
    let slots = status.slots.iter();
    slots
        .map(|one| {
            (
                one.slot.number(),
                one.node.as_str(),
                one.epoch.0,
                one.is_owned,
            )
        })
        .collect()
}

#[tokio::test]
async fn nodes_slots_and_epochs_are_shown_as_they_are_before_during_and_after_a_takeover() {
    let store = store();
    let (ada, bob) = (
        registered(&store, "ada").await,
        registered(&store, "bob").await,
    );
    take(&ada, 1).await;
    take(&bob, 2).await;
    take(&bob, 3).await;
    let before = of(&*ada).await.unwrap();
    assert_eq!((before.node.as_str(), before.is_alone), ("ada", false));
    assert_eq!(before.reasons, []);
    assert_eq!(counted(&before), [("ada", true, 1), ("bob", true, 2)]);
    // Bob is found dead: his slots are nobody's until somebody takes them.
    let row = claims::owners(&store).await.unwrap().nodes["bob"].clone();
    let suspect = Suspect {
        node: "bob".to_owned(),
        incarnation: row.incarnation,
        beat: row.beat,
    };
    assert!(claims::fence(&store, &suspect).await.unwrap());
    let during = of(&*ada).await.unwrap();
    assert_eq!(counted(&during), [("ada", true, 1), ("bob", false, 0)]);
    let gone = Reason::OwnerGone {
        node: "bob".to_owned(),
        slots: 2,
    };
    assert_eq!(during.reasons, [gone]);
    assert_eq!(
        owned(&during),
        [
            (1, "ada", 1, true),
            (2, "bob", 1, false),
            (3, "bob", 1, false)
        ]
    );
    take(&ada, 2).await;
    take(&ada, 3).await;
    let after = of(&*ada).await.unwrap();
    assert_eq!(after.reasons, []);
    assert_eq!(counted(&after), [("ada", true, 3), ("bob", false, 0)]);
    assert!(owned(&after).contains(&(3, "ada", 2, true)));
}

#[tokio::test]
async fn what_the_stream_lacks_is_counted_for_each_slot() {
    let (store, stream) = (store(), Arc::new(MemoryStream::default()));
    stream.set_down(true);
    let mut ports = ports();
    ports.streams = Some(Streams::new(|_| Arc::clone(&stream) as _));
    let node = TestNode::start(store, ports, NodeConfig::default())
        .await
        .unwrap();
    let give = |number, command| {
        let given = submission(number, PrincipalKind::Agent, TASK, command);
        node.submit(given)
    };
    give(0, open_task()).await.unwrap();
    let of_task = |status: &ClusterStatus| {
        let slot = Slot::of(&scope(TASK));
        let found = status.slots.iter().find(|one| one.slot == slot);
        found.and_then(|one| one.untold)
    };
    let status = node.cluster().await.unwrap();
    assert_eq!((of_task(&status), status.is_alone), (Some(1), true));
    assert_eq!(status.reasons, [], "it may still come");
    for number in 1..=UNTOLD_MAX {
        give(number, append("line")).await.unwrap();
    }
    let status = node.cluster().await.unwrap();
    assert_eq!(of_task(&status), Some(UNTOLD_MAX), "it is counted so far");
    assert_eq!(status.reasons, [Reason::Untold { slots: 1 }]);
    assert!(!status.slots.iter().any(|one| one.untold.is_none()));
}

#[tokio::test]
async fn silence_is_measured_since_a_new_beat_was_seen() {
    let store = store();
    let ada = registered(&store, "ada").await;
    let bob = registered(&store, "bob").await;
    let nodes = claims::owners(&store).await.unwrap().nodes;
    ada.members.hear("ada", &nodes, 1_000);
    ada.members.hear("ada", &nodes, 4_000);
    assert_eq!(ada.members.silent_ms(4_500)["bob"], 3_500);
    assert!(!ada.members.silent_ms(4_500).contains_key("ada"));
    let says = claims::Saying {
        reaches_bus: true,
        is_behind: true,
    };
    claims::beat(&store, &bob.ownership, says, AS_MEANT)
        .await
        .unwrap();
    let nodes = claims::owners(&store).await.unwrap().nodes;
    ada.members.hear("ada", &nodes, 5_000);
    assert_eq!(ada.members.silent_ms(5_100)["bob"], 100);
}
