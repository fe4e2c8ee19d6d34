//! Building indices beside everything else: nothing is lost, little is missed, memory and files
//! stay bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lance::Dataset;
use lance::index::DatasetIndexExt as _;
use sillok_core::entry::{Kind, Table};
use sillok_core::ports::{IndexDoc, IndexStats, SearchRequest, VectorIndex};
use sillok_vectors_lance::{HnswParams, LanceConfig, LanceIndex};

use crate::model::{
    DIMENSIONS, Model, Numbers, assert_alike, config, doc, embedding, entries, files,
    found_by_text, id, normalised, open, search, space, stamp, with_text,
};

#[tokio::test]
async fn the_vector_index_finds_nine_of_ten_of_the_closest() {
    const WIDE: usize = 64;
    let directory = tempfile::tempdir().unwrap();
    let index = LanceIndex::open(directory.path(), LanceConfig::new(space(), WIDE)).unwrap();
    let mut numbers = Numbers(3);
    let centres: Vec<Vec<f32>> = (0..40).map(|_| numbers.vector(WIDE)).collect();
    let mut near_a_centre = || {
        let centre = &centres[numbers.below(40) as usize];
        normalised(
            centre
                .iter()
                .map(|v| v + (numbers.below(2_001) as f32 / 1_000.0 - 1.0) * 0.15)
                .collect(),
        )
    };
    for table in [Table::Observations, Table::Skills] {
        let mut model = Model::default();
        let docs: Vec<IndexDoc> = (1..=5_000)
            .map(|n| IndexDoc {
                table,
                embedding: Some(embedding(near_a_centre())),
                ..doc(n, n)
            })
            .collect();
        model.take(&docs);
        index.apply(docs, stamp(5_000)).await.unwrap();
        index.optimise().await.unwrap();
        let mut hits = 0;
        for _ in 0..50 {
            let request = SearchRequest {
                tables: vec![table],
                ..search("", Some(near_a_centre()), 10)
            };
            let expected = entries(&model.search(&request).vector);
            hits += entries(&index.search(&request).await.unwrap().vector)
                .iter()
                .filter(|entry| expected.contains(entry))
                .count();
        }
        assert!(hits >= 450, "{table}: {hits} of 500");
    }
}

/// What the graphs of a table's vector index say of how they were built.
async fn shapes(table: &std::path::Path) -> Vec<HnswParams> {
    let dataset = Dataset::open(table.to_str().unwrap()).await.unwrap();
    let mut shapes = Vec::new();
    for index in dataset.load_indices().await.unwrap().iter() {
        let said = dataset.index_statistics(&index.name).await.unwrap();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        for segment in said["indices"].as_array().into_iter().flatten() {
            let params = &segment["sub_index"]["params"];
            let number = |name: &str| params[name].as_u64().map(|number| number as usize);
            shapes.extend(
                number("ef_construction")
                    .zip(number("m"))
                    .map(|(ef_construction, m)| HnswParams { ef_construction, m }),
            );
        }
    }
    shapes
}

#[tokio::test]
async fn the_graph_of_a_kind_is_built_as_is_specified_for_it() {
    let specified = |kind| match kind {
        Kind::Episodic | Kind::State => (64, 16),
        Kind::Knowledge => (128, 32),
    };
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    for kind in Kind::ALL {
        let table = Table::ALL
            .iter()
            .copied()
            .find(|table| table.kind() == kind);
        let docs = (1..=300).map(|n| IndexDoc {
            table: table.unwrap(),
            ..doc(n, n)
        });
        index.apply(docs.collect(), stamp(300)).await.unwrap();
        index.optimise().await.unwrap();
        let shape = HnswParams::of(kind);
        assert_eq!((shape.ef_construction, shape.m), specified(kind), "{kind}");
        let org = doc(1, 1).scope.org().to_owned();
        let table = directory.path().join(org).join(format!("{kind}.lance"));
        let built = shapes(&table).await;
        assert!(!built.is_empty(), "{kind} has an index");
        assert!(
            built.iter().all(|built| *built == shape),
            "{kind}: {built:?}"
        );
    }
}

#[tokio::test]
async fn indexed_rows_leave_memory_and_are_found_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let docs: Vec<_> = (1..=300).map(|n| doc(n, n)).collect();
    let mut model = Model::default();
    model.take(&docs);
    let request = search("zarko kelba", Some(Numbers(8).vector(DIMENSIONS)), 300);
    {
        let index = open(directory.path());
        index.apply(docs, stamp(300)).await.unwrap();
        index.optimise().await.unwrap();
        assert!(!files(directory.path(), "_indices").is_empty());
    }
    // Without the indices nothing could be found: what they cover is not loaded.
    let index = open(directory.path());
    let (found, expected) = (
        index.search(&request).await.unwrap(),
        model.search(&request),
    );
    assert!(found.vector.len() >= 290 && found.text.len() == expected.text.len());
    let first = &expected.vector[..5];
    assert!(
        first
            .iter()
            .all(|near| entries(&found.vector).contains(&near.entry))
    );
}

#[tokio::test]
async fn segments_and_data_files_stay_few() {
    let directory = tempfile::tempdir().unwrap();
    let config = LanceConfig {
        fragments_max: 6,
        index_segments_max: 3,
        versions_kept: 2,
        ..config()
    };
    let index = LanceIndex::open(directory.path(), config.clone()).unwrap();
    let mut model = Model::default();
    for round in 0..30_u64 {
        // Half of each batch replaces earlier entries.
        let docs: Vec<_> = (0..40)
            .map(|n| doc(round * 20 + n, round * 100 + n + 1))
            .collect();
        model.take(&docs);
        index.apply(docs, stamp(round * 100 + 50)).await.unwrap();
        index.optimise().await.unwrap();
        let request = search("zarko kelba", None, 1_000);
        assert_alike(
            &index.search(&request).await.unwrap(),
            &model.search(&request),
            &format!("round {round}"),
        );
    }
    let request = search("vimra", Some(Numbers(8).vector(DIMENSIONS)), 10);
    assert_alike(
        &index
            .search(&SearchRequest {
                limit: 1_000,
                embedding: None,
                ..request.clone()
            })
            .await
            .unwrap(),
        &model.search(&SearchRequest {
            limit: 1_000,
            embedding: None,
            ..request.clone()
        }),
        "at the end",
    );
    let data = files(directory.path(), "/data/").len();
    assert!(data <= 20, "{data} data files");
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: model.docs.len() as u64,
            pending: 0
        }
    );
    drop(index);
    let index = LanceIndex::open(directory.path(), config).unwrap();
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: model.docs.len() as u64,
            pending: 0
        }
    );
    let (found, expected) = (
        index.search(&request).await.unwrap(),
        model.search(&request),
    );
    crate::model::assert_vectors_alike(&found.vector, &expected.vector, "after a restart");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_indices_are_built_beside_applies() {
    let directory = tempfile::tempdir().unwrap();
    let config = LanceConfig {
        fragments_max: 4,
        index_segments_max: 2,
        // Few, so that maintenance gets to the attempt that commits wait for.
        commit_attempts_max: 3,
        ..config()
    };
    let index = Arc::new(LanceIndex::open(directory.path(), config.clone()).unwrap());
    let mut model = Model::default();
    let is_done = Arc::new(AtomicBool::new(false));
    let builder = tokio::spawn({
        let (index, is_done) = (Arc::clone(&index), Arc::clone(&is_done));
        async move {
            let mut runs = 0;
            while !is_done.load(Ordering::Acquire) {
                index.optimise().await.unwrap();
                runs += 1;
            }
            runs
        }
    });
    let mut numbers = Numbers(4);
    for round in 0..60_u64 {
        let docs: Vec<_> = (0..15)
            .map(|n| with_text("zarko", doc(numbers.below(400), round * 100 + n + 1)))
            .collect();
        model.take(&docs);
        index.offer(docs.clone());
        let newest = docs.last().unwrap().entry;
        assert!(
            found_by_text(&index, "zarko").await.contains(&newest),
            "round {round}: read your writes"
        );
        index.apply(docs, stamp(round * 100 + 50)).await.unwrap();
        assert_eq!(
            found_by_text(&index, "zarko").await.len(),
            model.docs.len(),
            "round {round}"
        );
    }
    is_done.store(true, Ordering::Release);
    assert!(builder.await.unwrap() > 1);
    assert_eq!(
        index.stats().await.unwrap(),
        IndexStats {
            stored: model.docs.len() as u64,
            pending: 0
        }
    );
    drop(index);
    let index = LanceIndex::open(directory.path(), config).unwrap();
    assert_eq!(index.stats().await.unwrap().stored, model.docs.len() as u64);
    assert_eq!(found_by_text(&index, "zarko").await.len(), model.docs.len());
}

#[tokio::test]
async fn a_full_memory_is_indexed_before_more_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let index = LanceIndex::open(
        directory.path(),
        LanceConfig {
            tail_rows_max: 150,
            ..config()
        },
    )
    .unwrap();
    index
        .apply((1..=149).map(|n| doc(n, n)).collect(), stamp(149))
        .await
        .unwrap();
    index.apply(vec![doc(150, 150)], stamp(150)).await.unwrap();
    assert!(files(directory.path(), "_indices").is_empty());
    index.apply(vec![doc(151, 151)], stamp(151)).await.unwrap();
    assert!(!files(directory.path(), "_indices").is_empty());
    let vector = doc(17, 0).embedding.unwrap().values;
    assert_eq!(
        index
            .search(&search("", Some(vector), 1))
            .await
            .unwrap()
            .vector[0]
            .entry,
        id(17)
    );
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = [
        LanceConfig {
            dimensions: 0,
            ..config()
        },
        LanceConfig {
            threads: 0,
            ..config()
        },
        LanceConfig {
            tail_rows_max: 20,
            ..config()
        },
    ];
    for config in wrong {
        assert!(LanceIndex::open(directory.path(), config).is_err());
    }
}
