//! Tests of taking slots.

use super::*;
use crate::tests::harness::{TASK, node, scope, store};

#[tokio::test]
async fn a_slot_that_two_want_at_once_is_taken_once() {
    let node = node(&store()).await;
    let (shared, slot) = (node.shared(), Slot::of(&scope(TASK)));
    let epoch = shared.ownership.epoch(slot).unwrap();
    assert!(shared.ownership.release(slot, epoch));
    let before = node.metrics().slots_taken;
    let slots = [slot];
    let (one, other) = tokio::join!(take(shared, &slots), take(shared, &slots));
    assert!(one.unwrap() && other.unwrap());
    assert_eq!(shared.ownership.epoch(slot), Some(epoch));
    assert_eq!(node.metrics().slots_taken - before, 1);
}
