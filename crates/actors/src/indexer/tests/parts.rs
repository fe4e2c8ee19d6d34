//! In how many parts it is stored what changed.

use std::sync::Arc;

use sillok_core::entry::Status;
use sillok_core::ports::VectorIndex as _;
use sillok_core::principal::PrincipalKind;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{RangeOptions, Read, Store as _, Txn as _};

use super::{project, slot};
use crate::commit::Shared;
use crate::documents;
use crate::indexer::Indexer;
use crate::relay::rows_after;
use crate::tests::harness::{AS_MEANT, TestNode, TestStore, node, ports, scope, store, submission};
use crate::tests::index::{HookedIndex, put};
use crate::{NodeConfig, Ports};

const ENTRIES: u64 = 8;

/// A store with so many entries in the first project, of which the first `gone` have left recall.
async fn store_with(gone: usize) -> TestStore {
    let store = store();
    let writer = node(&store).await;
    for number in 0..ENTRIES {
        let entry = put(&format!("entry {number}"));
        let given = submission(number, PrincipalKind::Human, &project(0), entry);
        writer.submit(given).await.unwrap();
    }
    writer.shutdown().await;
    let range = keys::head::range_of_scope(&ScopeKey::of(&scope(&project(0))));
    let mut txn = store.begin().await.unwrap();
    let heads = txn.range(&range, RangeOptions::first(gone, Read::Snapshot));
    for (key, value) in heads.await.unwrap() {
        let mut head = keys::head::decode(&key, &value).unwrap();
        head.status = Status::Archived;
        txn.set(key, keys::head::encode(&head));
    }
    txn.commit().await.unwrap();
    store
}

#[tokio::test]
async fn four_entries_that_are_gone_are_stored_in_the_room_of_one_that_is_not() {
    for (batch_entries, gone, parts) in [
        (2, 0, 4),
        // Four that are gone and one that is not; then those that are left.
        (2, 4, 3),
        (2, 8, 1),
        (1, 0, 8),
        (1, 8, 2),
        (8, 0, 1),
    ] {
        let store = store_with(gone).await;
        let index = HookedIndex::new(|_| ());
        let ports = Ports {
            index: index.clone(),
            ..ports()
        };
        let mut config = NodeConfig::default();
        config.indexer.batch_entries = batch_entries;
        let reader = TestNode::start(store, ports, config).await.unwrap();
        let shared = reader.shared();
        assert_eq!(
            index.batches(),
            parts,
            "{gone} of {ENTRIES}, {batch_entries} at once"
        );
        assert_eq!(shared.counters.indexed.get(), ENTRIES);
        let stats = shared.ports.index.stats().await.unwrap();
        assert_eq!(stats.stored, ENTRIES - gone as u64);
        let rows = rows_after(&shared.store, slot(0), Stamp::ZERO, 100).await;
        let (last, _) = rows.unwrap().pop().unwrap();
        let watermark = shared.ports.index.watermark().await.unwrap();
        assert_eq!(watermark, Some(last), "the cursor goes with the last part");
        reader.shutdown().await;
    }
}

#[tokio::test]
async fn what_a_commit_of_this_node_took_out_is_not_read_again() {
    for is_known in [false, true] {
        let store = store_with(1).await;
        let range = keys::head::range_of_scope(&ScopeKey::of(&scope(&project(0))));
        let mut txn = store.begin().await.unwrap();
        let first = txn.range(&range, RangeOptions::first(1, Read::Snapshot));
        let (key, value) = first.await.unwrap().pop().unwrap();
        let head = keys::head::decode(&key, &value).unwrap();
        let rows = rows_after(&store, slot(0), Stamp::ZERO, 100).await.unwrap();
        let mut of_entry = rows
            .iter()
            .filter(|(_, row)| row.entries.contains(&head.id));
        let stamp = of_entry.next_back().unwrap().0;
        let doc = documents::load(&mut txn, &head, stamp).await.unwrap();
        // Whoever reads it is refused.
        txn.set(key, vec![0]);
        txn.commit().await.unwrap();
        let index = HookedIndex::new(|_| ());
        let ports = Ports {
            index: index.clone(),
            ..ports()
        };
        let shared = Shared::new(store, ports, NodeConfig::default(), AS_MEANT);
        if is_known {
            shared.gone.keep(stamp, &[doc]);
        }
        let started = Indexer::start(Arc::new(shared)).await;
        assert_eq!(started.is_ok(), is_known);
        let stored = index.stats().await.unwrap().stored;
        assert_eq!(stored, if is_known { ENTRIES - 1 } else { 0 });
    }
}
