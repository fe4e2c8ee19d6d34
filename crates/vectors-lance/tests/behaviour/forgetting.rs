//! What was archived is in no table any more, and comes back only as it is published again.

use sillok_core::entry::Status;
use sillok_core::id::EntryId;
use sillok_core::ports::{
    EntryColumns as _, IndexDoc, IndexStats, Ranked, SearchRequest, VectorIndex as _,
};
use sillok_vectors_lance::{LanceColumns, LanceIndex, write_tables};

use crate::model::{
    DIMENSIONS, Model, Numbers, assert_alike, config, doc, entries, files, found_by_text, id, open,
    search, stamp, with_text,
};

fn docs(numbers: impl Iterator<Item = u64>) -> Vec<IndexDoc> {
    numbers.map(|n| doc(n, n)).collect()
}

fn archived(number: u64, at: u64) -> IndexDoc {
    IndexDoc {
        content: String::new(),
        embedding: None,
        status: Status::Archived,
        ..doc(number, at)
    }
}

async fn rows(index: &LanceIndex) -> u64 {
    let mut rows = 0;
    let mut count = |columns: &sillok_core::retention::plan::AgeColumns<'_>| {
        rows += columns.scope.len() as u64;
    };
    index.ages(&mut count).await.unwrap();
    rows
}

fn sorted(list: &[Ranked]) -> Vec<EntryId> {
    let mut found = entries(list);
    found.sort_unstable();
    found
}

/// Everything that is live, by its text.
fn everything() -> SearchRequest {
    search("zarko mipel truvon kelba dorix wuntam", None, 5_000)
}

#[tokio::test]
async fn an_archived_entry_is_hidden_at_once_and_then_gone() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(docs(1..=300), stamp(300)).await.unwrap();
    index.optimise().await.unwrap();
    let before = index.search(&everything()).await.unwrap();
    assert!(entries(&before.text).contains(&id(7)));
    let gone: Vec<IndexDoc> = (1..=100).map(|n| archived(n, 300 + n)).collect();
    index.offer(gone.clone());
    let hidden = index.search(&everything()).await.unwrap();
    assert!(entries(&hidden.text).iter().all(|entry| *entry > id(100)));
    for _ in 0..2 {
        index.apply(gone.clone(), stamp(400)).await.unwrap();
        let stats = IndexStats {
            stored: 200,
            pending: 0,
        };
        assert_eq!(index.stats().await.unwrap(), stats);
        assert_eq!(rows(&index).await, 200);
        let left = index.search(&everything()).await.unwrap();
        assert_eq!(sorted(&left.text), sorted(&hidden.text));
    }
}

#[tokio::test]
async fn the_cursor_stands_though_the_latest_row_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let index = open(directory.path());
        index.apply(docs(1..=9), stamp(9)).await.unwrap();
        index.apply(vec![archived(9, 10)], stamp(10)).await.unwrap();
        drop(index);
        let index = open(directory.path());
        assert_eq!(index.watermark().await.unwrap(), Some(stamp(10)));
        assert_eq!(index.stats().await.unwrap().stored, 8);
        // And where nothing is left.
        let rest = (1..=8).map(|n| archived(n, 20)).collect();
        index.apply(rest, stamp(20)).await.unwrap();
        drop(index);
        let index = open(directory.path());
        assert_eq!(index.watermark().await.unwrap(), Some(stamp(20)));
        assert_eq!(index.stats().await.unwrap(), IndexStats::default());
        index.clear().await.unwrap();
    }
}

#[tokio::test]
async fn what_is_published_again_is_found_again_and_an_older_word_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let text = |at| with_text("quokka", doc(1, at));
    index.apply(vec![text(1)], stamp(1)).await.unwrap();
    index.apply(vec![archived(1, 5)], stamp(5)).await.unwrap();
    assert!(found_by_text(&index, "quokka").await.is_empty());
    index.apply(vec![text(9)], stamp(9)).await.unwrap();
    index.apply(vec![archived(1, 8)], stamp(9)).await.unwrap();
    assert_eq!(found_by_text(&index, "quokka").await.len(), 1);
    drop(index);
    assert_eq!(
        found_by_text(&open(directory.path()), "quokka").await.len(),
        1
    );
}

#[tokio::test]
async fn a_table_that_is_mostly_gone_is_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(docs(1..=400), stamp(400)).await.unwrap();
    index.optimise().await.unwrap();
    let gone = (1..=300).map(|n| archived(n, 500)).collect();
    index.apply(gone, stamp(500)).await.unwrap();
    let live: Vec<IndexDoc> = docs(301..=400);
    let mut model = Model::default();
    model.take(&live);
    index.optimise().await.unwrap();
    let vector = Numbers(5).vector(DIMENSIONS);
    for request in [everything(), search("", Some(vector), 5)] {
        let found = index.search(&request).await.unwrap();
        assert_alike(&found, &model.search(&request), "what is left");
    }
    assert_eq!(rows(&index).await, 100);
    drop(index);
    assert_eq!(open(directory.path()).stats().await.unwrap().stored, 100);
}

#[tokio::test]
async fn tables_that_are_written_at_once_are_those_of_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let batches = [docs(1..=200), docs(201..=400)];
    write_tables(directory.path(), config(), batches.into_iter()).unwrap();
    let columns = LanceColumns::open(directory.path(), config()).unwrap();
    assert_eq!(columns.read_through().await.unwrap(), 400);
    drop(columns);
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), Some(stamp(400)));
    assert_eq!(rows(&index).await, 400);
    let mut model = Model::default();
    model.take(&docs(1..=400));
    let found = index.search(&everything()).await.unwrap();
    assert_alike(&found, &model.search(&everything()), "written at once");
    assert!(!files(directory.path(), "_indices/").is_empty());
    let again = write_tables(directory.path(), config(), std::iter::once(docs(1..=1)));
    assert!(again.is_err(), "tables lie there");
}
