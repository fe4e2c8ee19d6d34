//! Tests of the worker's steps, one by one, where nothing else runs: what it brings at once, what comes first, and what a
//! defect or an older node leaves to be done.

use std::collections::BTreeSet;

use sillok_builtin::ExactIndex;
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder, IndexDoc, Lost, VectorIndex};
use sillok_store::keys::ScopeKey;
use sillok_store::keys::vector::{self, SpaceKey};

use super::*;
use crate::protocol::Without;
use crate::spaces::side::NAMES_MAX;
use crate::tests::embedder_change::stage::{Other, Stage, TEXTS, erase, lessons};
use crate::tests::harness::{AS_MEANT, PROJECT, TestStore, clock_at, in_time, ports, scope};
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
fn sharing(stage: &Stage, ports: Ports, config: NodeConfig) -> Shared<TestStore, Without> {
    Shared::new(stage.store.clone(), ports, config, AS_MEANT)
}

/// An index that serves until the change, with this document in it, and ports of a node that changes from it.
async fn serving(doc: IndexDoc, ports: Ports) -> (Arc<ExactIndex>, Ports) {
    let former = Arc::new(ExactIndex::new());
    former.apply(vec![doc], Stamp::ZERO).await.unwrap();
    let index = Arc::clone(&former) as Arc<dyn VectorIndex>;
    (former, Ports { index, ..ports })
}

/// A worker that has carried the change out.
async fn changed(shared: &Shared<TestStore, Without>) -> Worker<'_, TestStore, Without> {
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
async fn what_is_erased_while_an_embedder_is_asked_waits_for_nothing_that_is_asked_after_it() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&lessons(3)).await;
    let (other, index) = (Other::named("other", 0), Arc::new(ExactIndex::new()));
    let ports = changing(&other, &index);
    let shared = sharing(&stage, ports, NodeConfig::default());
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    assert!(matches!(worker.step().await, Ok(Step::Went)));
    // All others are still to be walked over.
    next.note((scope(PROJECT), ids[0]));
    let comes = async {
        while !other.is_asked.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        let erased = EntryId::from_bytes([9; 16]);
        next.note_erased((scope(PROJECT), erased));
        other.calls.add_permits(1);
    };
    let (stepped, ()) = in_time(async { tokio::join!(worker.step(), comes) }).await;
    assert!(matches!(stepped, Ok(Step::Went)));
    assert_eq!(other.texts.lock().len(), 1);
    assert!(matches!(in_time(worker.step()).await, Ok(Step::Went)));
    assert!(next.erased(1).is_empty());
    assert_eq!(other.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_index_that_cannot_be_optimised_is_not_asked_again_after_every_step() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let index = HookedIndex::new(|_| ());
    index.tire();
    let ports = Ports {
        index: index.clone(),
        clock: clock_at(9 * 3_600_000),
        ..ports()
    };
    let mut config = NodeConfig::default();
    config.indexer.optimise_after_entries = 3;
    let shared = sharing(&stage, ports, config);
    let (mut worker, serving) = (Worker::new(&shared), shared.spaces.serving());
    let mut asked = Vec::new();
    for names in [&ids[..], &ids[..1], &ids[..1], &ids[..]] {
        let names = names.iter().map(|id| (scope(PROJECT), *id));
        names.for_each(|name| serving.note(name));
        worker.step().await.unwrap();
        asked.push(index.optimised());
    }
    assert_eq!(asked, [1, 1, 1, 2]);
}

#[tokio::test]
async fn what_a_damaged_index_was_brought_counts_no_more_once_it_begins_anew() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), HookedIndex::new(|_| ()));
    let mut config = NodeConfig::default();
    config.indexer.batch_entries = 2;
    let shared = sharing(&stage, changing(&other, &index), config);
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    for _ in 0..2 {
        worker.step().await.unwrap();
    }
    assert_eq!(worker.stored_since_optimised, 2);
    index.damage(&Lost::All);
    assert!(next.index.optimise().await.is_err());
    worker.step().await.unwrap();
    assert_eq!(worker.stored_since_optimised, 2, "those of the new walk");
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

#[tokio::test]
async fn an_index_that_is_emptied_again_is_optimised_again_before_it_serves() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), HookedIndex::new(|_| ()));
    let shared = sharing(&stage, changing(&other, &index), NodeConfig::default());
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    while index.optimised() == 0 {
        worker.step().await.unwrap();
    }
    let here = scope(PROJECT);
    for number in 0..=NAMES_MAX as u128 {
        next.note((here.clone(), EntryId::from_bytes(number.to_be_bytes())));
    }
    assert!(next.walk().empties);
    while shared.spaces.next().is_some() {
        worker.step().await.unwrap();
    }
    assert_eq!(index.optimised(), 2);
    assert_eq!(index.stats().await.unwrap().stored, 3);
}

#[tokio::test]
async fn an_index_that_came_to_serve_does_not_forget_for_the_damage_to_the_former_one() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    let former = HookedIndex::new(|_| ());
    let ports = Ports {
        index: former.clone(),
        ..changing(&other, &index)
    };
    let shared = sharing(&stage, ports, NodeConfig::default());
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    while !next.is_offered() {
        worker.step().await.unwrap();
    }
    former.damage(&Lost::All);
    assert!(shared.ports.index.optimise().await.is_err());
    assert!(shared.spaces.must_begin());
    while shared.spaces.next().is_some() {
        worker.step().await.unwrap();
    }
    let through = Stamp {
        counter: 9,
        ..Stamp::ZERO
    };
    shared.spaces.apply(Vec::new(), through).await.unwrap();
    // Whoever saw the damage before the sides changed.
    assert!(!shared.spaces.begin_anew(0).await.unwrap());
    assert!(index.is_whole().await.unwrap());
    assert_eq!(index.watermark().await.unwrap(), Some(through));
    assert_eq!(next.cursor(Stamp::ZERO), through, "it is known still");
    assert_eq!(stored(&index).await, 3);
    assert!(shared.spaces.lacking().is_nothing());
}

#[tokio::test]
async fn after_a_defect_the_next_index_is_told_nothing_at_once_till_what_was_noted_is_brought() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    let ports = changing(&other, &index);
    let shared = sharing(&stage, ports, NodeConfig::default());
    let (mut worker, next) = (Worker::new(&shared), shared.spaces.next().unwrap());
    while !next.is_offered() {
        worker.step().await.unwrap();
    }
    drop(worker);
    let mut worker = Worker::new(&shared);
    let here = scope(PROJECT);
    let known = index.get(&here, ids[0]).unwrap();
    let mut newer = known.clone();
    newer.stamp.counter += 1;
    shared.spaces.offer(vec![newer]);
    assert_eq!(index.get(&here, ids[0]), Some(known));
    assert_eq!(next.lacks(), 1);
    while !next.is_offered() {
        worker.step().await.unwrap();
    }
    assert_eq!(worker.offered_at, next.noted_last());
    while shared.spaces.next().is_some() {
        worker.step().await.unwrap();
    }
    assert_eq!((next.lacks(), stored(&index).await), (0, 3));
}

#[tokio::test]
async fn all_entries_are_walked_for_what_serves_though_a_change_would_skip_them() {
    let mut stage = Stage::new();
    stage.with_entries(&lessons(3)).await;
    let other = Other::open("other");
    let ports = Ports {
        embedder: other.clone(),
        clock: clock_at(9 * 3_600_000),
        ..ports()
    };
    let without = Without(Some(Safeguard::WalksToTheEnd));
    let shared = Shared::new(stage.store.clone(), ports, NodeConfig::default(), without);
    let serving = shared.spaces.serving();
    serving.walk_anew();
    let mut worker = Worker::new(&shared);
    while !serving.walk().is_over() {
        worker.step().await.unwrap();
    }
    for text in lessons(3) {
        assert_eq!(other.heard(&text), 1);
    }
}
