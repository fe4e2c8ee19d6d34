//! When the index is optimised of a node that has no night's run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sillok_core::entry::Status;
use sillok_core::id::Seq;
use sillok_core::ports::{BoxFuture, Clock};
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{RangeOptions, Read, Store as _, Txn as _};
use tokio::sync::watch;

use super::{indexer, project, slot};
use crate::cluster::tests::{Here, until};
use crate::commit::Shared;
use crate::indexer::Indexer;
use crate::protocol::Without;
use crate::rows::{Place, write_outbox};
use crate::tests::harness::{AS_MEANT, TestStore, ports, scope, store};
use crate::tests::index::HookedIndex;
use crate::tests::line::{Fate, Line};
use crate::{NodeConfig, Ports};

/// A clock whose boot time is moved by hand.
struct Boot(Arc<AtomicU64>, Arc<dyn Clock>);

impl Clock for Boot {
    fn now(&self) -> Timestamp {
        self.1.now()
    }

    fn monotonic_us(&self) -> u64 {
        self.0.load(Ordering::Relaxed) * DAY_MS * 1_000
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.1.sleep(ms)
    }
}

/// An entry of the first project leaves recall.
async fn archive(shared: &Here) {
    let of = scope(&project(0));
    let range = keys::head::range_of_scope(&ScopeKey::of(&of));
    let mut txn = shared.store.begin().await.unwrap();
    let rows = txn.range(&range, RangeOptions::first(1, Read::Snapshot));
    let (key, value) = rows.await.unwrap().pop().unwrap();
    let mut head = keys::head::decode(&key, &value).unwrap();
    head.status = Status::Archived;
    txn.set(key, keys::head::encode(&head));
    let seq = Seq::new(10);
    write_outbox(&mut txn, &Place::of(&of), seq, seq, vec![head.id]);
    txn.commit().await.unwrap();
}

/// An indexer that has just begun on a node of its own, over an empty store.
async fn begun(index: &Arc<HookedIndex>, days: &Arc<AtomicU64>) -> Indexer<TestStore, Without> {
    let ports = Ports {
        index: index.clone(),
        clock: Arc::new(Boot(Arc::clone(days), ports().clock)),
        ..ports()
    };
    let line = Line::new(&store(), Fate::Arrives);
    let shared = Shared::new(line, ports, NodeConfig::default(), AS_MEANT);
    Indexer::start(Arc::new(shared)).await.unwrap()
}

#[tokio::test]
async fn what_an_earlier_process_left_is_tidied_a_day_after_the_start_though_nothing_is_stored() {
    let (index, days) = (HookedIndex::new(|_| ()), Arc::new(AtomicU64::new(7)));
    let mut indexer = begun(&index, &days).await;
    indexer.optimise_if_due().await;
    assert_eq!(index.optimised(), 0, "it has just begun");
    for (day, times) in [(8, 1), (10, 1)] {
        days.store(day, Ordering::Relaxed);
        indexer.optimise_if_due().await;
        assert_eq!(index.optimised(), times, "on day {day}");
    }
}

#[tokio::test]
async fn an_index_is_optimised_a_day_after_the_last_time_if_anything_has_changed() {
    let (line, eve, _) = indexer().await;
    let (index, days) = (HookedIndex::new(|_| ()), Arc::new(AtomicU64::new(0)));
    let ports = Ports {
        index: index.clone(),
        peers: eve.ports.peers.clone(),
        clock: Arc::new(Boot(Arc::clone(&days), ports().clock)),
        ..ports()
    };
    let config = NodeConfig::default();
    let shared = Arc::new(Shared::new(line.clone(), ports, config, AS_MEANT));
    // It stores an entry of each project.
    let mut indexer = Indexer::start(Arc::clone(&shared)).await.unwrap();
    indexer.optimise_if_due().await;
    assert_eq!(index.optimised(), 0, "it has just begun");
    days.store(1, Ordering::Relaxed);
    indexer.optimise_if_due().await;
    assert_eq!(index.optimised(), 1);
    days.store(3, Ordering::Relaxed);
    indexer.optimise_if_due().await;
    assert_eq!(index.optimised(), 1, "nothing has changed");

    archive(&shared).await;
    let (stop, stopped) = watch::channel(false);
    let run = tokio::spawn(indexer.run(stopped));
    shared.index_feed.mark(slot(0));
    until("optimising", || index.optimised() == 2).await;
    stop.send(true).unwrap();
    run.await.unwrap();
    assert_eq!(index.optimised(), 2, "once for the day");
    let stats = shared.ports.index.stats().await.unwrap();
    assert_eq!(stats.stored, 1, "what went is a change");
}
