//! What has left is nowhere: not in an answer, not in memory, and after maintenance not on the disk.

use std::path::Path;

use sillok_core::ports::{IndexDoc, IndexStats, VectorIndex};
use sillok_vectors_lance::{LanceConfig, LanceIndex};

use crate::model::{
    Model, Numbers, config, doc, embedding, entries, files, found_by_text, gone, normalised, open,
    search, space, stamp, with_text,
};

fn quokkas(range: std::ops::RangeInclusive<u64>) -> Vec<IndexDoc> {
    range.map(|n| with_text("quokka", doc(n, n))).collect()
}

fn stored(count: u64) -> IndexStats {
    IndexStats {
        stored: count,
        pending: 0,
    }
}

/// Bytes of all files below.
fn bytes(root: &Path) -> u64 {
    let length = |path: String| std::fs::metadata(path).unwrap().len();
    files(root, "").into_iter().map(length).sum()
}

async fn finds(index: &LanceIndex, count: usize) -> bool {
    let vector = doc(1, 0).embedding.unwrap().values;
    let request = search("", Some(vector), 1_000);
    let by_vector = index.search(&request).await.unwrap().vector.len();
    (found_by_text(index, "quokka").await.len(), by_vector) == (count, count)
}

#[tokio::test]
async fn what_is_gone_leaves_at_once_and_comes_back_by_a_newer_state_alone() {
    for (count, optimised) in [(9, false), (150, true)] {
        let directory = tempfile::tempdir().unwrap();
        let index = open(directory.path());
        let all = usize::try_from(count).unwrap();
        index.apply(quokkas(1..=count), stamp(count)).await.unwrap();
        if optimised {
            index.optimise().await.unwrap();
        }
        index.offer(vec![gone(1, count + 5)]);
        assert!(finds(&index, all - 1).await);
        assert_eq!(index.stats().await.unwrap().pending, 1);
        for _ in 0..2 {
            let leaving = vec![gone(1, count + 5), gone(2, count + 5), gone(700, count + 5)];
            index.apply(leaving, stamp(count + 5)).await.unwrap();
            assert_eq!(index.stats().await.unwrap(), stored(count - 2));
            assert!(finds(&index, all - 2).await);
        }
        // Older states that come late: by a slow commit, or by a batch that is repeated.
        index.offer(quokkas(1..=2));
        index.apply(quokkas(1..=2), stamp(count + 5)).await.unwrap();
        assert_eq!(index.stats().await.unwrap(), stored(count - 2));
        assert!(finds(&index, all - 2).await);
        // An undo.
        let back = IndexDoc {
            stamp: stamp(count + 6),
            ..quokkas(1..=1).remove(0)
        };
        index.offer(vec![back.clone()]);
        assert!(finds(&index, all - 1).await);
        index.apply(vec![back], stamp(count + 6)).await.unwrap();
        assert_eq!(index.stats().await.unwrap(), stored(count - 1));
        drop(index);
        let index = open(directory.path());
        assert_eq!(index.watermark().await.unwrap(), Some(stamp(count + 6)));
        assert_eq!(index.stats().await.unwrap(), stored(count - 1));
        assert!(finds(&index, all - 1).await);
    }
}

#[tokio::test]
async fn what_went_by_a_commit_whose_answer_was_lost_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let unaware = open(directory.path());
    unaware.apply(quokkas(1..=9), stamp(9)).await.unwrap();
    let leaving = vec![gone(3, 10), gone(4, 10)];
    open(directory.path())
        .apply(leaving.clone(), stamp(10))
        .await
        .unwrap();
    unaware.apply(leaving, stamp(10)).await.unwrap();
    assert_eq!(unaware.stats().await.unwrap(), stored(7));
    assert!(finds(&unaware, 7).await);
    // The next one hears of it by other news.
    open(directory.path())
        .apply(vec![gone(5, 11)], stamp(11))
        .await
        .unwrap();
    unaware.apply(quokkas(12..=12), stamp(12)).await.unwrap();
    assert_eq!(unaware.stats().await.unwrap(), stored(7));
    assert!(finds(&unaware, 7).await);
}

#[tokio::test]
async fn what_leaves_waits_for_no_index_to_be_built() {
    let directory = tempfile::tempdir().unwrap();
    let config = LanceConfig {
        tail_rows_max: 150,
        ..config()
    };
    let index = LanceIndex::open(directory.path(), config).unwrap();
    index.apply(quokkas(1..=100), stamp(100)).await.unwrap();
    index.optimise().await.unwrap();
    let before = files(directory.path(), "_indices");
    let leaving: Vec<_> = (1..=90).map(|n| gone(n, 200 + n)).collect();
    index.offer((101..=300).map(|n| gone(n, 200 + n)).collect());
    index.apply(leaving, stamp(290)).await.unwrap();
    index.apply(quokkas(301..=301), stamp(301)).await.unwrap();
    assert_eq!(files(directory.path(), "_indices"), before);
    assert_eq!(index.stats().await.unwrap().stored, 11);
}

const WIDE: usize = 64;
const COUNT: u64 = 6_000;

fn wide() -> LanceConfig {
    LanceConfig {
        index_rows_min: 1_000,
        ..LanceConfig::new(space(), WIDE)
    }
}

/// Vectors around some centres.
struct Crowd {
    numbers: Numbers,
    centres: Vec<Vec<f32>>,
}

impl Crowd {
    fn new() -> Self {
        let mut numbers = Numbers(5);
        let centres = (0..40).map(|_| numbers.vector(WIDE)).collect();
        Self { numbers, centres }
    }

    fn near(&mut self) -> Vec<f32> {
        let centre = self.centres[self.numbers.below(40) as usize].clone();
        let mut aside = || (self.numbers.below(2_001) as f32 / 1_000.0 - 1.0) * 0.15;
        normalised(centre.into_iter().map(|value| value + aside()).collect())
    }

    fn docs(&mut self, after: u64) -> Vec<IndexDoc> {
        let doc = |n| IndexDoc {
            embedding: Some(embedding(self.near())),
            ..doc(n, after + n)
        };
        (1..=COUNT).map(doc).collect()
    }
}

/// Asks for the closest to some vectors: each answer is there, and nearly all are what an exact search finds.
async fn recalls(index: &LanceIndex, model: &Model, crowd: &mut Crowd) {
    let mut hits = 0;
    for _ in 0..50 {
        let request = search("", Some(crowd.near()), 10);
        let expected = entries(&model.search(&request).vector);
        let found = entries(&index.search(&request).await.unwrap().vector);
        assert_eq!(found.len(), 10);
        for entry in found {
            let key = (request.scopes[0].clone(), entry);
            assert!(!model.docs[&key].is_gone(), "{entry} is gone");
            hits += usize::from(expected.contains(&entry));
        }
    }
    assert!(hits >= 475, "{hits} of 500");
}

/// The entries of these numbers leave, in commands of some hundreds.
async fn leave(index: &LanceIndex, numbers: impl Iterator<Item = u64>, at: u64) -> Vec<IndexDoc> {
    let leaving: Vec<IndexDoc> = numbers.map(|n| gone(n, at + n)).collect();
    for part in leaving.chunks(500) {
        index.offer(part.to_vec());
        index.apply(part.to_vec(), stamp(at + COUNT)).await.unwrap();
    }
    leaving
}

#[tokio::test]
async fn maintenance_gives_back_what_entries_took_that_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let (mut crowd, mut model) = (Crowd::new(), Model::default());
    let mut index = LanceIndex::open(directory.path(), wide()).unwrap();
    let docs = crowd.docs(0);
    model.take(&docs);
    for part in docs.chunks(1_000) {
        index.apply(part.to_vec(), stamp(COUNT)).await.unwrap();
    }
    index.optimise().await.unwrap();
    let before = bytes(directory.path());
    recalls(&index, &model, &mut crowd).await;

    model.take(&leave(&index, (1..=COUNT).filter(|n| n % 2 == 0), COUNT).await);
    recalls(&index, &model, &mut crowd).await;
    index.optimise().await.unwrap();
    for _ in 0..2 {
        assert_eq!(index.stats().await.unwrap(), stored(COUNT / 2));
        recalls(&index, &model, &mut crowd).await;
        let after = bytes(directory.path());
        let figures = format!("half is gone, and {after} of {before} bytes are left");
        println!("{figures}");
        assert!(after * 100 < before * 60, "{figures}");
        drop(index);
        index = LanceIndex::open(directory.path(), wide()).unwrap();
        assert_eq!(index.watermark().await.unwrap(), Some(stamp(2 * COUNT)));
    }
}

#[tokio::test]
async fn a_table_of_which_little_or_nothing_is_left_is_small_and_can_grow_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut crowd = Crowd::new();
    let index = LanceIndex::open(directory.path(), wide()).unwrap();
    index.apply(crowd.docs(0), stamp(COUNT)).await.unwrap();
    index.optimise().await.unwrap();
    let before = bytes(directory.path());
    for (left, share) in [(600, 20), (0, 2)] {
        leave(&index, left + 1..=COUNT, (700 - left) * COUNT).await;
        index.optimise().await.unwrap();
        assert_eq!(index.stats().await.unwrap(), stored(left));
        let after = bytes(directory.path());
        let figures = format!("{left} are left, and {after} of {before} bytes");
        println!("{figures}");
        assert!(after * 100 < before * share, "{figures}");
    }
    let mut model = Model::default();
    let docs = crowd.docs(800 * COUNT);
    model.take(&docs);
    index.apply(docs, stamp(900 * COUNT)).await.unwrap();
    index.optimise().await.unwrap();
    assert!(!files(directory.path(), "_indices").is_empty());
    recalls(&index, &model, &mut crowd).await;
}
