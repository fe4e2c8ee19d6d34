//! What is shown of a slot before the indexer has stored it, and what is left to the indexer.

use sillok_core::id::{EntryId, Seq};
use sillok_core::stamp::Stamp;
use sillok_store::{Store as _, Txn as _, keys};

use super::{indexer, indexer_behind, project, slot};
use crate::indexer::{SLOT_ROWS, ahead};
use crate::rows::{Place, write_outbox};
use crate::tests::harness::scope;

#[tokio::test]
async fn what_is_not_stored_yet_is_shown_from_memory() {
    let (_line, shared, mut indexer) = indexer().await;
    assert!(
        !ahead::shows(&shared, slot(1)).await,
        "nobody knows how much there is of what was never read"
    );
    let cursors = &shared.index_requests.cursors;
    cursors.lock().insert(slot(1), Stamp::ZERO);
    assert!(ahead::shows(&shared, slot(1)).await);
    let stats = shared.ports.index.stats().await.unwrap();
    assert_eq!((stats.stored, stats.pending), (0, 1));
    let ahead = &shared.counters.slots_shown_ahead;
    assert_eq!(ahead.get(), 1);
    assert_eq!(cursors.lock()[&slot(1)], Stamp::ZERO, "it is not read");
    indexer.pass(vec![slot(1)]).await.unwrap();
    assert!(ahead::shows(&shared, slot(1)).await);
    let stats = shared.ports.index.stats().await.unwrap();
    assert_eq!((stats.stored, stats.pending), (1, 0));
    assert_eq!(ahead.get(), 1, "it has stored all that there is");
}

#[tokio::test]
async fn what_is_far_behind_or_cannot_be_read_is_left_to_the_indexer() {
    let (line, shared, _indexer) = indexer_behind(&[(0, SLOT_ROWS)]).await;
    let cursors = &shared.index_requests.cursors;
    for number in [0, 1] {
        cursors.lock().insert(slot(number), Stamp::ZERO);
    }
    assert!(!ahead::shows(&shared, slot(0)).await, "many rows");
    line.break_range(keys::outbox::range_after(slot(1), Stamp::ZERO));
    assert!(!ahead::shows(&shared, slot(1)).await);
    line.repair();
    assert!(ahead::shows(&shared, slot(1)).await);
    let mut txn = line.begin().await.unwrap();
    let place = Place::of(&scope(&project(1)));
    let ids = (0..=ahead::ENTRIES_MAX as u64)
        .map(|number| EntryId::from_bytes(u128::from(number).to_be_bytes()));
    write_outbox(&mut txn, &place, Seq::new(9), Seq::new(9), ids.collect());
    txn.commit().await.unwrap();
    assert!(!ahead::shows(&shared, slot(1)).await, "many entries");
}
