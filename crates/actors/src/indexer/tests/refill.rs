//! What keeps an index that is filled again from counting as whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use sillok_core::ports::Lost;
use sillok_core::slot::{SLOTS, Slot};
use sillok_core::stamp::Stamp;
use sillok_store::{KeyRange, keys};

use super::{indexer, request, slot};
use crate::cluster::tests::Here;
use crate::commit::Shared;
use crate::indexer::{Indexer, Waiting};
use crate::protocol::Without;
use crate::tests::harness::{AS_MEANT, TestStore, ports};
use crate::tests::index::HookedIndex;
use crate::tests::line::Line;
use crate::{NodeConfig, Ports};

/// The indexer of a node among others, whose index had both projects' entries and has just met damage to all it had.
async fn damaged() -> (Line, Here, Indexer<TestStore, Without>) {
    let (line, eve, _) = indexer().await;
    let index = HookedIndex::new(|_| ());
    let ports = Ports {
        index: index.clone(),
        peers: eve.ports.peers.clone(),
        ..ports()
    };
    let config = NodeConfig::default();
    let shared = Arc::new(Shared::new(line.clone(), ports, config, AS_MEANT));
    let indexer = Indexer::start(Arc::clone(&shared)).await.unwrap();
    assert_eq!(stored(&shared).await, 2);
    index.damage(&Lost::All);
    assert!(shared.ports.index.optimise().await.is_err());
    assert!(shared.spaces.must_begin());
    (line, shared, indexer)
}

async fn stored(shared: &Here) -> u64 {
    shared.ports.index.stats().await.unwrap().stored
}

/// A round for whatever is marked, as nobody waits for it.
async fn round(indexer: &mut Indexer<TestStore, Without>) {
    let mut nobody = Waiting::default();
    indexer.keep_up(&mut nobody, || None).await.unwrap();
}

/// What the first project published.
fn published() -> KeyRange {
    keys::outbox::range_after(slot(0), Stamp::ZERO)
}

#[tokio::test]
async fn an_index_that_came_to_serve_in_the_place_of_a_damaged_one_is_told_nothing_again() {
    let (_line, eve, mut indexer) = indexer().await;
    let at = Stamp {
        counter: 7,
        ..Stamp::ZERO
    };
    indexer.floor = at;
    eve.index_requests.cursors.lock().insert(slot(0), at);
    // The damage was seen before the sides changed.
    indexer.begin_anew().await.unwrap();
    assert!(!indexer.is_refilling);
    assert_eq!(indexer.floor, at);
    let cursor = eve.index_requests.cursors.lock().get(&slot(0)).copied();
    assert_eq!(cursor, Some(at));
    assert!(eve.index_feed.take().is_empty(), "nothing is marked");
}

#[tokio::test]
async fn a_slot_that_cannot_be_read_keeps_what_was_lost_lacking_until_it_can() {
    let (line, shared, mut indexer) = damaged().await;
    line.break_range(published());
    for _ in 0..3 {
        round(&mut indexer).await;
        assert_eq!(shared.spaces.lacking(), Lost::All);
        assert_eq!(indexer.unreadable, BTreeSet::from([slot(0)]));
        assert_eq!(stored(&shared).await, 1, "the other is told");
    }
    line.repair();
    round(&mut indexer).await;
    assert!(shared.spaces.lacking().is_nothing());
    assert!(indexer.unreadable.is_empty());
    assert_eq!(stored(&shared).await, 2);
}

#[tokio::test]
async fn a_slot_that_could_not_be_read_is_read_again_though_its_round_failed_later() {
    let (line, shared, mut indexer) = damaged().await;
    line.break_range(published());
    // Somebody waits for it: it comes with the first pass, and this one with the last.
    let (asked, _answer) = request(&[slot(0)]);
    let last = Slot::new(SLOTS - 1).unwrap();
    let mut looks = 0;
    let next = || {
        // A look at the start, and one before each pass.
        looks += 1;
        if looks == 3 {
            line.lose_range(keys::outbox::range_after(last, Stamp::ZERO));
        }
        None
    };
    let mut waiting = Waiting(vec![asked]);
    assert!(indexer.keep_up(&mut waiting, next).await.is_err());
    line.break_range(published());
    round(&mut indexer).await;
    assert_eq!(shared.spaces.lacking(), Lost::All);
    line.repair();
    round(&mut indexer).await;
    assert!(shared.spaces.lacking().is_nothing());
    assert_eq!(stored(&shared).await, 2);
}

#[tokio::test]
async fn an_indexer_that_takes_up_after_a_defect_fills_what_was_lost_to_the_end() {
    let (line, shared, mut indexer) = damaged().await;
    line.lose_range(published());
    let mut nobody = Waiting::default();
    assert!(indexer.keep_up(&mut nobody, || None).await.is_err());
    assert!(!shared.spaces.must_begin(), "it has forgotten");
    assert_eq!(shared.spaces.lacking(), Lost::All);
    // A defect ends it there.
    drop(indexer);
    line.repair();
    Indexer::start(Arc::clone(&shared)).await.unwrap();
    assert!(shared.spaces.lacking().is_nothing());
    assert_eq!(stored(&shared).await, 2);
}
