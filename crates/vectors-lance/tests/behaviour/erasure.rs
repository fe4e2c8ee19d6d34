//! What is erased is in no file any more.

use std::path::{Path, PathBuf};

use sillok_core::fingerprint::ContentHash;
use sillok_core::ports::{IndexDoc, VectorIndex};

use crate::model::{doc, entries, found_by_text, gone, id, open, search, stamp, with_text};

const SECRET: &str = "zyzzyvaplugh";

fn all_files(under: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(under).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The files in which a word stands.
fn holding(under: &Path, word: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    all_files(under, &mut files);
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(word.len()).any(|at| at == word.as_bytes())
    };
    files.retain(holds);
    files
}

fn erased(number: u64, at: u64) -> IndexDoc {
    IndexDoc {
        content_hash: ContentHash::erased(id(number), 1),
        ..gone(number, at)
    }
}

async fn erase_among(count: u64, optimised: bool, was_gone: bool) {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("the word is {SECRET}");
    let mut docs: Vec<IndexDoc> = (1..=count).map(|n| doc(n, n)).collect();
    docs[0] = with_text(&text, docs[0].clone());
    let through = stamp(count + 2);
    {
        let index = open(directory.path());
        index.apply(docs, stamp(count)).await.unwrap();
        if optimised {
            index.optimise().await.unwrap();
        }
        assert!(!holding(directory.path(), SECRET).is_empty());
        assert_eq!(found_by_text(&index, SECRET).await.len(), 1);
        if was_gone {
            index
                .apply(vec![gone(1, count + 1)], stamp(count + 1))
                .await
                .unwrap();
            assert!(!holding(directory.path(), SECRET).is_empty());
        }
        index
            .apply(vec![erased(1, count + 2)], through)
            .await
            .unwrap();
        let left = holding(directory.path(), SECRET);
        assert!(left.is_empty(), "{left:?}");
        assert!(found_by_text(&index, SECRET).await.is_empty());
    }
    // The version that the cursor names is one of those that are left.
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), Some(through));
    let found = index
        .search(&search("zarko kelba", None, 300))
        .await
        .unwrap();
    assert!(entries(&found.text).len() > 10);
    index
        .apply(vec![erased(1, count + 2)], through)
        .await
        .unwrap();
    assert_eq!(index.stats().await.unwrap().stored, count - 1);
}

#[tokio::test]
async fn nothing_of_an_erased_entry_is_left_on_the_disk() {
    erase_among(40, false, false).await;
}

#[tokio::test]
async fn nothing_of_it_is_left_in_the_indices_either() {
    erase_among(300, true, false).await;
}

#[tokio::test]
async fn nothing_is_left_of_an_erased_entry_that_had_left_before() {
    erase_among(40, false, true).await;
    erase_among(300, true, true).await;
}

#[tokio::test]
async fn a_table_all_of_whose_entries_are_erased_is_empty() {
    for count in [3, 150] {
        let directory = tempfile::tempdir().unwrap();
        let index = open(directory.path());
        let docs = (1..=count).map(|n| with_text(SECRET, doc(n, n)));
        index.apply(docs.collect(), stamp(count)).await.unwrap();
        index.optimise().await.unwrap();
        let erased = (1..=count).map(|n| erased(n, count + n)).collect();
        index.apply(erased, stamp(2 * count)).await.unwrap();
        let left = holding(directory.path(), SECRET);
        assert!(left.is_empty(), "{left:?}");
        index.optimise().await.unwrap();
        drop(index);
        let index = open(directory.path());
        assert_eq!(index.stats().await.unwrap().stored, 0);
        assert_eq!(
            index.watermark().await.unwrap(),
            Some(stamp(2 * count)),
            "what is empty is not lost"
        );
    }
}

#[tokio::test]
async fn nothing_is_left_of_it_in_files_that_no_version_names() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let mut docs: Vec<IndexDoc> = (1..=40).map(|n| doc(n, n)).collect();
    docs[0] = with_text(SECRET, docs[0].clone());
    index.apply(docs, stamp(40)).await.unwrap();
    // As a commit leaves one behind that is cut off before its version is written.
    let mut copies = 0;
    for file in holding(directory.path(), SECRET) {
        if file.extension().is_some_and(|end| end == "lance") {
            std::fs::copy(
                &file,
                file.with_file_name(format!("cut-off-{copies}.lance")),
            )
            .unwrap();
            copies += 1;
        }
    }
    assert!(copies > 0);
    index.apply(vec![erased(1, 41)], stamp(41)).await.unwrap();
    let left = holding(directory.path(), SECRET);
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(index.stats().await.unwrap().stored, 39);
}

#[tokio::test]
async fn nothing_is_left_of_it_where_the_first_write_of_a_table_was_cut_off() {
    let whole = tempfile::tempdir().unwrap();
    let index = open(whole.path());
    let secret = with_text(SECRET, doc(1, 1));
    index.apply(vec![secret], stamp(1)).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    // The data of a first version which was not written itself.
    for file in holding(whole.path(), SECRET) {
        if file.extension().is_some_and(|end| end == "lance") {
            let place = directory
                .path()
                .join(file.strip_prefix(whole.path()).unwrap());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::copy(&file, place).unwrap();
        }
    }
    assert!(!holding(directory.path(), SECRET).is_empty());
    index.apply(vec![erased(1, 2)], stamp(2)).await.unwrap();
    let left = holding(directory.path(), SECRET);
    assert!(left.is_empty(), "{left:?}");
    index.apply(vec![doc(2, 3)], stamp(3)).await.unwrap();
    assert_eq!(index.stats().await.unwrap().stored, 1);
    drop(index);
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), Some(stamp(3)));
}
