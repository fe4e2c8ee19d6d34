//! What is stored stays, with its cursor; a repeat changes nothing.

use sillok_core::entry::Table;
use sillok_core::ports::{IndexDoc, IndexStats, VectorIndex};

use crate::model::{
    against, claim, config, doc, files, found_by_text, gone, id, open, search, stamp, with_text,
};

fn docs(range: std::ops::RangeInclusive<u64>) -> Vec<IndexDoc> {
    range.map(|n| with_text("quokka", doc(n, n))).collect()
}

#[tokio::test]
async fn a_restart_keeps_rows_and_cursor_and_forgets_what_is_pending() {
    let parent = tempfile::tempdir().unwrap();
    // A path with characters that mean something in addresses.
    let root = parent.path().join("with space and 100%25 #hash");
    {
        let index = open(&root);
        index.apply(docs(1..=5), stamp(5)).await.unwrap();
        index.offer(docs(6..=6));
        assert_eq!(found_by_text(&index, "quokka").await.len(), 6);
    }
    let index = open(&root);
    assert_eq!(index.watermark().await.unwrap(), Some(stamp(5)));
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: 5,
            pending: 0
        }
    );
    assert_eq!(found_by_text(&index, "quokka").await.len(), 5);
    let vector = doc(3, 0).embedding.unwrap().values;
    assert_eq!(
        index
            .search(&search("", Some(vector), 1))
            .await
            .unwrap()
            .vector[0]
            .entry,
        id(3)
    );
}

#[tokio::test]
async fn claims_are_found_in_memory_and_in_files_until_their_entries_claim_otherwise_or_go() {
    let directory = tempfile::tempdir().unwrap();
    let claimed = |n, at, table, value| IndexDoc {
        claim: Some(claim(1, value)),
        table,
        ..doc(n, at)
    };
    let another = IndexDoc {
        claim: Some(claim(2, 2)),
        ..doc(4, 4)
    };
    let docs = vec![
        claimed(1, 1, Table::Observations, 1),
        claimed(2, 2, Table::Gotchas, 2),
        claimed(3, 3, Table::Skills, 3),
        another,
        doc(5, 5),
    ];
    let sought = against(claim(1, 1), 10);
    let index = open(directory.path());
    index.offer(docs.clone());
    assert_eq!(index.claimants(&sought).await.unwrap(), [id(2), id(3)]);
    index.apply(docs, stamp(5)).await.unwrap();
    assert_eq!(index.claimants(&sought).await.unwrap(), [id(2), id(3)]);
    drop(index);
    let index = open(directory.path());
    assert_eq!(index.claimants(&sought).await.unwrap(), [id(2), id(3)]);
    let first = against(claim(1, 1), 1);
    assert_eq!(index.claimants(&first).await.unwrap(), [id(2)]);
    let newer = vec![
        claimed(2, 6, Table::Gotchas, 1),
        IndexDoc {
            table: Table::Skills,
            ..gone(3, 7)
        },
    ];
    index.offer(newer.clone());
    assert_eq!(index.claimants(&sought).await.unwrap(), []);
    index.apply(newer, stamp(7)).await.unwrap();
    assert_eq!(index.claimants(&sought).await.unwrap(), []);
    let others = against(claim(1, 9), 10);
    assert_eq!(index.claimants(&others).await.unwrap(), [id(1), id(2)]);
    drop(index);
    let index = open(directory.path());
    assert_eq!(index.claimants(&sought).await.unwrap(), []);
    assert_eq!(index.claimants(&others).await.unwrap(), [id(1), id(2)]);
}

#[tokio::test]
async fn an_apply_without_rows_moves_the_cursor_and_no_apply_moves_it_back() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(vec![], stamp(7)).await.unwrap();
    index.apply(docs(1..=1), stamp(3)).await.unwrap();
    drop(index);
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), Some(stamp(7)));
    assert_eq!(index.stats().await.unwrap().stored, 1);
}

#[tokio::test]
async fn a_repeated_apply_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(docs(1..=5), stamp(5)).await.unwrap();
    let before = files(directory.path(), ".lance/");
    index.apply(docs(1..=5), stamp(5)).await.unwrap();
    assert_eq!(files(directory.path(), ".lance/"), before);
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: 5,
            pending: 0
        }
    );
}

#[tokio::test]
async fn a_crash_between_the_tables_and_the_cursor_takes_the_tables_back_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(docs(1..=5), stamp(5)).await.unwrap();
    let cursor = std::fs::read(directory.path().join("@watermark")).unwrap();
    index.apply(docs(6..=9), stamp(9)).await.unwrap();
    drop(index);
    // As if the process had ended just before the cursor was written: nobody knows whether the
    // files of the last commit ever reached the disk.
    std::fs::write(directory.path().join("@watermark"), cursor).unwrap();
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), Some(stamp(5)));
    assert_eq!(index.stats().await.unwrap().stored, 5);
    index.apply(docs(6..=10), stamp(10)).await.unwrap();
    assert_eq!(found_by_text(&index, "quokka").await.len(), 10);
    drop(index);
    assert_eq!(open(directory.path()).stats().await.unwrap().stored, 10);
}

#[tokio::test]
async fn without_a_cursor_the_index_begins_anew() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path())
        .apply(docs(1..=5), stamp(5))
        .await
        .unwrap();
    std::fs::remove_file(directory.path().join("@watermark")).unwrap();
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), None);
    assert_eq!(index.stats().await.unwrap(), IndexStats::default());
    index.apply(docs(1..=6), stamp(6)).await.unwrap();
    assert_eq!(found_by_text(&index, "quokka").await.len(), 6);
}

/// What a loss of power leaves of files that nobody synced: their names, and nothing or zeros in them.
#[tokio::test]
async fn torn_files_behind_the_cursor_are_taken_back_and_torn_ones_before_it_are_stored_again() {
    for (torn, stored) in [("of the last commit", 5), ("of all", 0)] {
        let directory = tempfile::tempdir().unwrap();
        let index = open(directory.path());
        index.apply(docs(1..=5), stamp(5)).await.unwrap();
        let cursor = std::fs::read(directory.path().join("@watermark")).unwrap();
        let before = files(directory.path(), ".lance/");
        index.apply(docs(6..=9), stamp(9)).await.unwrap();
        drop(index);
        std::fs::write(directory.path().join("@watermark"), cursor).unwrap();
        for file in files(directory.path(), ".lance/") {
            if stored == 0 || !before.contains(&file) {
                std::fs::write(&file, []).unwrap();
            }
        }
        let index = open(directory.path());
        assert_eq!(index.stats().await.unwrap().stored, stored, "torn: {torn}");
        let expected = (stored > 0).then(|| stamp(5));
        assert_eq!(index.watermark().await.unwrap(), expected, "torn: {torn}");
        index.apply(docs(1..=9), stamp(9)).await.unwrap();
        assert_eq!(found_by_text(&index, "quokka").await.len(), 9);
    }
}

#[tokio::test]
async fn a_commit_of_rows_carries_its_cursor() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(docs(1..=5), stamp(5)).await.unwrap();
    index
        .apply(
            docs(5..=6)
                .into_iter()
                .map(|d| IndexDoc {
                    stamp: stamp(9),
                    ..d
                })
                .collect(),
            stamp(9),
        )
        .await
        .unwrap();
    for through in [stamp(5), stamp(9)] {
        let wanted = through.to_string().into_bytes();
        let holds = |path: &String| {
            std::fs::read(path)
                .unwrap()
                .windows(wanted.len())
                .any(|window| window == wanted)
        };
        assert!(
            files(directory.path(), ".lance/_").iter().any(holds),
            "{through}"
        );
    }
}

#[tokio::test]
async fn a_lost_table_takes_the_cursor_back() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path())
        .apply(docs(1..=5), stamp(5))
        .await
        .unwrap();
    std::fs::remove_dir_all(directory.path().join("acme")).unwrap();
    let index = open(directory.path());
    assert_eq!(index.watermark().await.unwrap(), None);
    assert_eq!(index.stats().await.unwrap().stored, 0);
}

#[tokio::test]
async fn a_table_of_other_dimensions_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path())
        .apply(docs(1..=5), stamp(5))
        .await
        .unwrap();
    let other = sillok_vectors_lance::LanceConfig {
        dimensions: 17,
        ..config()
    };
    let refused = sillok_vectors_lance::LanceIndex::open(directory.path(), other).unwrap_err();
    assert!(
        matches!(refused, sillok_vectors_lance::Error::Shape { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn forgetting_everything_leaves_an_empty_index_that_can_be_filled_again() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(docs(1..=150), stamp(150)).await.unwrap();
    index.optimise().await.unwrap();
    index.offer(docs(151..=151));
    index.clear().await.unwrap();
    assert_eq!(index.watermark().await.unwrap(), None);
    assert_eq!(index.stats().await.unwrap(), IndexStats::default());
    assert_eq!(found_by_text(&index, "quokka").await, vec![]);

    let again: Vec<_> = (1..=120).map(|n| with_text("wombat", doc(n, n))).collect();
    index.apply(again, stamp(120)).await.unwrap();
    index.optimise().await.unwrap();
    assert_eq!(found_by_text(&index, "quokka").await, vec![]);
    assert_eq!(found_by_text(&index, "wombat").await.len(), 120);
    drop(index);
    assert_eq!(
        open(directory.path()).watermark().await.unwrap(),
        Some(stamp(120))
    );
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_before_the_next() {
    let directory = tempfile::tempdir().unwrap();
    // Opened before there is a table, and then while it has one version: as an index that never
    // heard that its own commits succeeded.
    let unaware = open(directory.path());
    open(directory.path())
        .apply(docs(1..=5), stamp(5))
        .await
        .unwrap();
    unaware.apply(docs(1..=6), stamp(6)).await.unwrap();
    assert_eq!(
        unaware.stats().await.unwrap(),
        IndexStats {
            stored: 6,
            pending: 0
        }
    );

    open(directory.path())
        .apply(docs(7..=9), stamp(9))
        .await
        .unwrap();
    unaware.apply(docs(4..=10), stamp(10)).await.unwrap();
    assert_eq!(found_by_text(&unaware, "quokka").await.len(), 10);
    drop(unaware);
    let index = open(directory.path());
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: 10,
            pending: 0
        }
    );
    assert_eq!(found_by_text(&index, "quokka").await.len(), 10);
}
