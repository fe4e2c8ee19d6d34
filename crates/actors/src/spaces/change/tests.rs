//! Tests of the worker's steps, one by one, where nothing else runs: what it brings at once, what comes first, and what a
//! defect or an older node leaves to be done.

use std::collections::BTreeSet;

use sillok_builtin::ExactIndex;
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder, IndexDoc, VectorIndex};
use sillok_store::MemoryStore;
use sillok_store::keys::ScopeKey;
use sillok_store::keys::vector::{self, SpaceKey};

use super::*;
use crate::protocol::Correct;
use crate::tests::embedder_change::stage::{Other, Stage, TEXTS, erase, lessons};
use crate::tests::harness::{PROJECT, clock_at, ports, scope};
use crate::tests::index::HookedIndex;
use crate::{NextSpace, NodeConfig, Ports};

/// The ports of a node that is to change to another embedder.
fn changing(to: &Arc<Other>, index: &Arc<impl VectorIndex>) -> Ports {
    let next = NextSpace {
        embedder: Arc::clone(to) as Arc<dyn Embedder>,
        index: Arc::clone(index) as Arc<dyn VectorIndex>,
    };
    Ports {
        next: Some(next),
        clock: clock_at(9 * 3_600_000),
        ..ports()
    }
}

/// What such a node shares. Its tasks do not run.
fn sharing(stage: &Stage, ports: Ports, config: NodeConfig) -> Shared<MemoryStore, Correct> {
    Shared::new(stage.store.clone(), ports, config, Correct)
}

/// An index that serves until the change, with this document in it, and ports of a node that changes from it.
async fn serving(doc: IndexDoc, ports: Ports) -> (Arc<ExactIndex>, Ports) {
    let former = Arc::new(ExactIndex::new());
    former.apply(vec![doc], Stamp::ZERO).await.unwrap();
    let index = Arc::clone(&former) as Arc<dyn VectorIndex>;
    (former, Ports { index, ..ports })
}

/// A worker that has carried the change out.
async fn changed(shared: &Shared<MemoryStore, Correct>) -> Worker<'_, MemoryStore, Correct> {
    let mut worker = Worker::new(shared);
    while shared.spaces.next().is_some() {
        worker.step().await.unwrap();
    }
    worker
}

async fn stored(index: &ExactIndex) -> u64 {
    index.stats().await.unwrap().stored
}

/// The first entry of a stage as an index in the other space had it, and the stage after the entry was erased.
async fn erased(stage: &mut Stage, other: &Other) -> (Vec<EntryId>, IndexDoc) {
    let ids = stage.with_entries(&TEXTS).await;
    let former = Arc::new(ExactIndex::new());
    let before = Ports {
        index: Arc::clone(&former) as Arc<dyn VectorIndex>,
        ..ports()
    };
    let node = stage.start(before).await;
    let mut doc = former.get(&scope(PROJECT), ids[0]).unwrap();
    doc.embedding = Some(other.vector(TEXTS[0]));
    stage.give(&node, erase(ids[0])).await;
    node.shutdown().await;
    (ids, doc)
}

#[tokio::test]
async fn entries_come_in_few_batches_and_the_index_is_tidied_as_it_grows() {
    let mut stage = Stage::new();
    stage.with_entries(&lessons(70)).await;
    let (other, index) = (Other::open("other"), HookedIndex::new(|_| ()));
    let mut config = NodeConfig::default();
    config.indexer.optimise_after_entries = 50;
    let shared = sharing(&stage, changing(&other, &index), config);
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    while !next.walk().is_over() {
        assert!(matches!(worker.step().await, Ok(Step::Went)));
    }
    assert_eq!(next.walk().done, 70);
    assert_eq!(index.batches(), 1);
    assert_eq!(index.optimised(), 2, "as it grew, and once it was filled");
    assert_eq!(other.texts.lock().len(), 70);
    let texts_max = other.texts_max.load(Ordering::Relaxed);
    assert!(texts_max <= 32, "{texts_max} texts at once");
}

#[tokio::test]
async fn an_embedder_that_goes_away_on_the_way_loses_nothing_of_what_was_brought() {
    let mut stage = Stage::new();
    let mut texts = lessons(70);
    stage.with_entries(&texts).await;
    let (other, index) = (Other::named("other", 1), Arc::new(ExactIndex::new()));
    let ports = changing(&other, &index);
    let shared = sharing(&stage, ports, NodeConfig::default());
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    assert!(matches!(worker.step().await, Ok(Step::Went)));
    let goes_away = async {
        while other.texts.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        other.is_away.store(true, Ordering::Relaxed);
        other.calls.add_permits(1_000);
    };
    let (stepped, ()) = tokio::join!(worker.step(), goes_away);
    assert!(stepped.is_err());
    assert_eq!((next.walk().done, stored(&index).await), (32, 32));
    other.is_away.store(false, Ordering::Relaxed);
    while !next.walk().is_over() {
        worker.step().await.unwrap();
    }
    assert_eq!((next.walk().done, stored(&index).await), (70, 70));
    let mut heard = other.texts.lock().clone();
    heard.sort_unstable();
    texts.sort_unstable();
    assert_eq!(heard, texts, "each once");
}

#[tokio::test]
async fn however_much_is_erased_waits_for_no_embedder() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    other.is_away.store(true, Ordering::Relaxed);
    let ports = changing(&other, &index);
    let shared = sharing(&stage, ports, NodeConfig::default());
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    assert!(matches!(worker.step().await, Ok(Step::Went)));
    assert!(worker.step().await.is_err(), "nobody makes vectors");
    for number in 0..=2 * ENTRIES_AT_ONCE as u128 {
        let entry = EntryId::from_bytes(number.to_be_bytes());
        next.note_erased((scope(PROJECT), entry));
    }
    for _ in 0..3 {
        assert!(matches!(worker.step().await, Ok(Step::Went)));
    }
    assert_eq!(next.lacks(), 0);
    assert!(worker.step().await.is_err());
}

#[tokio::test]
async fn while_a_node_of_an_older_version_lives_what_is_erased_leaves_the_next_index() {
    let mut stage = Stage::new();
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    let (ids, doc) = erased(&mut stage, &other).await;
    let config = NodeConfig {
        wire_version: WireVersion::WITH_RESTORING,
        ..NodeConfig::default()
    };
    let here = scope(PROJECT);
    // An earlier run of the node left it there.
    index.apply(vec![doc.clone()], Stamp::ZERO).await.unwrap();
    let shared = sharing(&stage, changing(&other, &index), config);
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    assert!(matches!(worker.step().await, Ok(Step::Went)));
    assert_eq!(index.get(&here, ids[0]), None);
    assert!(worker.step().await.is_err(), "the change waits");
    // It was brought before that node came back.
    index.apply(vec![doc], Stamp::ZERO).await.unwrap();
    next.note_erased((here.clone(), ids[0]));
    assert!(matches!(worker.step().await, Ok(Step::Went)));
    assert_eq!(index.get(&here, ids[0]), None);
    assert!(worker.step().await.is_err());
    assert!(!other.is_asked.load(Ordering::Relaxed));
    assert_eq!(stage.vectors().await, []);
}

#[tokio::test]
async fn the_former_index_goes_before_the_rows_of_its_space_and_with_them_what_was_erased() {
    let mut stage = Stage::new();
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    let (ids, doc) = erased(&mut stage, &other).await;
    // What a former change left, and what a node of an older version left of an entry that it erased.
    let row = |entry, space: &str| {
        let space = SpaceId(space.to_owned());
        let mut embedding = other.vector(TEXTS[0]);
        embedding.space = space.clone();
        let row = vector::Row {
            version: 1,
            content_hash: ContentHash::of(TEXTS[0]),
            embedding,
        };
        let scope = ScopeKey::of(&scope(PROJECT));
        let key = vector::key(&scope, entry, &SpaceKey::of(&space));
        (key, vector::encode(&row))
    };
    let mut txn = stage.store.begin().await.unwrap();
    for (key, value) in [row(ids[1], "elsewhere"), row(ids[0], "other")] {
        txn.set(key, value);
    }
    txn.commit().await.unwrap();
    let (former, ports) = serving(doc, changing(&other, &index)).await;
    let shared = sharing(&stage, ports, NodeConfig::default());
    let mut worker = changed(&shared).await;
    let rows = || async { stage.vectors().await };
    let mut steps = 0;
    while rows().await.len() > 2 {
        assert!(steps < 50, "nothing goes");
        steps += 1;
        worker.step().await.unwrap();
        assert!(rows().await.len() == 4 || stored(&former).await == 0);
    }
    let left: BTreeSet<_> = rows().await.into_iter().map(|(entry, _)| entry).collect();
    assert_eq!(left, BTreeSet::from([ids[1], ids[2]]));
    stage.assert_sound().await;
}

#[tokio::test]
async fn a_former_index_is_removed_though_whoever_was_to_do_that_met_a_defect() {
    let mut stage = Stage::new();
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    let (_, doc) = erased(&mut stage, &other).await;
    let (former, ports) = serving(doc, changing(&other, &index)).await;
    let shared = sharing(&stage, ports, NodeConfig::default());
    drop(changed(&shared).await);
    let mut worker = Worker::new(&shared);
    for _ in 0..4 {
        worker.step().await.unwrap();
    }
    assert_eq!(stored(&former).await, 0);
}
