//! Filters hold before ranking: a list is as long as the entries that pass allow.

use sillok_core::entry::{Embedding, SpaceId, Status, Table};
use sillok_core::ports::{IndexDoc, NeighbourRequest, SearchRequest, VectorIndex};
use sillok_vectors_lance::{LanceConfig, LanceIndex};

use crate::model::{
    DIMENSIONS, Model, Numbers, assert_alike, assert_vectors_alike, config, doc, embedding,
    entries, id, normalised, open, scope, search, stamp, with_text,
};

/// Entries over two organisations, several scopes, all kinds and statuses.
fn varied(count: u64) -> Vec<IndexDoc> {
    let scopes = [
        "org/acme",
        "org/acme/project/api",
        "org/acme/project/web",
        "org/other/project/api",
    ];
    let statuses = [
        Status::Hypothesis,
        Status::Verified,
        Status::Published,
        Status::Deprecated,
        Status::Archived,
    ];
    let mut numbers = Numbers(99);
    let varied = |n| IndexDoc {
        scope: scope(scopes[numbers.below(4) as usize]),
        table: Table::ALL[numbers.below(12) as usize],
        status: statuses[numbers.below(5) as usize],
        failure: numbers.below(4) == 0,
        confidence: numbers.below(101) as f64 / 100.0,
        ..doc(n, n)
    };
    (1..=count).map(varied).collect()
}

/// Requests that each filter on something of their own.
fn filtered() -> Vec<SearchRequest> {
    let one = search("zarko mipel", Some(Numbers(5).vector(DIMENSIONS)), 12);
    let acme = ["org/acme/project/web", "org/acme/project/api", "org/acme"].map(scope);
    let wide = SearchRequest {
        scopes: acme.to_vec(),
        ..one.clone()
    };
    vec![
        SearchRequest {
            tables: vec![Table::Skills, Table::Gotchas],
            ..wide.clone()
        },
        SearchRequest {
            statuses: vec![Status::Deprecated],
            ..wide.clone()
        },
        SearchRequest {
            failures: true,
            ..wide.clone()
        },
        SearchRequest {
            confidence_min: 0.9,
            ..wide.clone()
        },
        SearchRequest {
            scopes: vec![scope("org/nobody")],
            ..wide.clone()
        },
        SearchRequest {
            scopes: vec![],
            ..wide.clone()
        },
        SearchRequest {
            statuses: vec![],
            ..wide.clone()
        },
        SearchRequest {
            limit: 0,
            ..wide.clone()
        },
        wide,
        one,
    ]
}

#[tokio::test]
async fn every_filter_admits_what_it_should_in_memory_and_in_the_indices() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let docs = varied(1_500);
    let mut model = Model::default();
    model.take(&docs);
    index.apply(docs, stamp(1_500)).await.unwrap();
    for round in ["memory", "indices"] {
        for request in &filtered() {
            let what = format!("{round}: {request:?}");
            let (found, expected) = (index.search(request).await.unwrap(), model.search(request));
            assert_vectors_alike(&found.vector, &expected.vector, &what);
            // Which texts are best is BM25's word; which pass the filters is the model's.
            let long = SearchRequest {
                limit: request.limit * 1_000,
                embedding: None,
                ..request.clone()
            };
            let all = model.search(&long);
            assert!(
                entries(&found.text)
                    .iter()
                    .all(|entry| entries(&all.text).contains(entry)),
                "{what}"
            );
            assert_eq!(
                found.text.len(),
                all.text.len().min(request.limit),
                "{what}"
            );
            assert_alike(&index.search(&long).await.unwrap(), &all, &what);
        }
        index.optimise().await.unwrap();
    }
}

#[tokio::test]
async fn closer_entries_that_do_not_pass_take_no_place() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let target = Numbers(1).vector(DIMENSIONS);
    // 500 entries that do not hold any more right at the query, 8 live ones far from it.
    let near = (1..=500).map(|n| IndexDoc {
        status: Status::Deprecated,
        embedding: Some(embedding(target.clone())),
        ..doc(n, n)
    });
    let far = (501..=508).map(|n| doc(n, n));
    index
        .apply(
            near.chain(far).map(|d| with_text("zarko", d)).collect(),
            stamp(508),
        )
        .await
        .unwrap();
    for _ in 0..2 {
        let lists = index
            .search(&search("zarko", Some(target.clone()), 5))
            .await
            .unwrap();
        assert_eq!((lists.vector.len(), lists.text.len()), (5, 5));
        assert!(entries(&lists.vector).iter().all(|entry| *entry > id(500)));
        assert!(entries(&lists.text).iter().all(|entry| *entry > id(500)));
        index.optimise().await.unwrap();
    }
}

#[tokio::test]
async fn closer_entries_that_do_not_pass_take_no_place_where_most_pass() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let target = Numbers(1).vector(DIMENSIONS);
    let mut numbers = Numbers(2);
    let mut close = || {
        let other = numbers.vector(DIMENSIONS);
        let parts = target.iter().zip(other);
        normalised(parts.map(|(ours, other)| ours * 2.0 + other).collect())
    };
    // Of ten entries seven are live, and the other three fill every list in which nobody is passed over.
    let near = (1..=300).map(|n| IndexDoc {
        status: Status::Deprecated,
        embedding: Some(embedding(close())),
        ..with_text("zarko", doc(n, n))
    });
    let far = (301..=1_000).map(|n| with_text("zarko mipel among other words", doc(n, n)));
    let docs: Vec<IndexDoc> = near.chain(far).collect();
    index.apply(docs, stamp(1_000)).await.unwrap();
    for round in ["memory", "indices"] {
        let request = search("zarko", Some(target.clone()), 5);
        let lists = index.search(&request).await.unwrap();
        for list in [&lists.vector, &lists.text] {
            assert_eq!(list.len(), 5, "{round}");
            assert!(entries(list).iter().all(|entry| *entry > id(300)));
        }
        index.optimise().await.unwrap();
    }
}

#[tokio::test]
async fn vectors_of_another_space_are_never_listed() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let target = Numbers(1).vector(DIMENSIONS);
    let other = SpaceId("other-16".into());
    let foreign = (1..=150).map(|n| IndexDoc {
        embedding: Some(Embedding {
            space: other.clone(),
            values: target.clone(),
        }),
        ..doc(n, n)
    });
    let own = (151..=300).map(|n| doc(n, n));
    let none = (301..=310).map(|n| IndexDoc {
        embedding: None,
        ..doc(n, n)
    });
    let docs = foreign
        .chain(own)
        .chain(none)
        .map(|d| with_text("zarko", d))
        .collect();
    index.apply(docs, stamp(310)).await.unwrap();
    for _ in 0..2 {
        let lists = index
            .search(&search("zarko", Some(target.clone()), 1_000))
            .await
            .unwrap();
        assert_eq!(lists.text.len(), 310, "texts have no space");
        assert!(
            lists.vector.len() <= 150 && lists.vector.len() >= 140,
            "{}",
            lists.vector.len()
        );
        assert!(
            entries(&lists.vector)
                .iter()
                .all(|entry| (id(151)..=id(300)).contains(entry))
        );
        let asked = Embedding {
            space: other.clone(),
            values: target.clone(),
        };
        let strange = SearchRequest {
            embedding: Some(asked),
            ..search("", None, 10)
        };
        assert_eq!(index.search(&strange).await.unwrap().vector, vec![]);
        index.optimise().await.unwrap();
    }
    drop(index);
    another_embedder_finds_no_vectors(directory.path(), other, target).await;
}

async fn another_embedder_finds_no_vectors(
    path: &std::path::Path,
    other: SpaceId,
    target: Vec<f32>,
) {
    // The same files under another embedder: the vectors that were stored count no more.
    let index = LanceIndex::open(
        path,
        LanceConfig {
            space: other.clone(),
            ..config()
        },
    )
    .unwrap();
    let asked = Embedding {
        space: other,
        values: target,
    };
    let lists = index
        .search(&SearchRequest {
            embedding: Some(asked),
            ..search("zarko", None, 1_000)
        })
        .await
        .unwrap();
    assert_eq!((lists.vector.len(), lists.text.len()), (0, 310));
}

#[tokio::test]
async fn vectors_without_a_direction_are_never_listed() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let zero = IndexDoc {
        embedding: Some(embedding(vec![0.0; DIMENSIONS])),
        ..doc(1, 1)
    };
    let broken = IndexDoc {
        embedding: Some(embedding(vec![f32::NAN; DIMENSIONS])),
        ..doc(2, 2)
    };
    let short = IndexDoc {
        embedding: Some(embedding(vec![1.0; 3])),
        ..doc(3, 3)
    };
    index
        .apply(vec![zero, broken, short, doc(4, 4)], stamp(4))
        .await
        .unwrap();
    let lists = index
        .search(&search("", Some(Numbers(1).vector(DIMENSIONS)), 10))
        .await
        .unwrap();
    assert_eq!(entries(&lists.vector), vec![id(4)]);
    for values in [
        vec![0.0; DIMENSIONS],
        vec![f32::NAN; DIMENSIONS],
        vec![1.0; 3],
    ] {
        assert_eq!(
            index
                .search(&search("", Some(values), 10))
                .await
                .unwrap()
                .vector,
            vec![]
        );
    }
}

#[tokio::test]
async fn neighbours_are_alike_live_and_close_enough() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let mut docs = varied(1_500);
    let target = Numbers(77).vector(DIMENSIONS);
    for (near, doc) in docs.iter_mut().step_by(10).enumerate() {
        let mut numbers = Numbers(near as u64);
        let jitter = target
            .iter()
            .map(|v| v + (numbers.below(2_001) as f32 / 1_000.0 - 1.0) * near as f32 / 200.0);
        doc.embedding = Some(embedding(normalised(jitter.collect())));
        doc.table = Table::Observations;
    }
    let mut model = Model::default();
    model.take(&docs);
    index.apply(docs, stamp(1_500)).await.unwrap();
    for round in ["memory", "indices"] {
        for failure in [false, true] {
            for limit in [1, 8, 100] {
                let request = NeighbourRequest {
                    scope: scope("org/acme/project/api"),
                    table: Table::Observations,
                    failure,
                    embedding: embedding(target.clone()),
                    cosine_min: 0.85,
                    limit,
                };
                let (found, expected) = (
                    index.neighbours(&request).await.unwrap(),
                    model.neighbours(&request),
                );
                assert!(!expected.is_empty());
                assert_eq!(
                    entries(&found),
                    entries(&expected),
                    "{round} failure={failure} limit={limit}"
                );
                assert!(
                    found
                        .iter()
                        .zip(&expected)
                        .all(|(a, b)| (a.score - b.score).abs() < 1e-3),
                    "{round}: exact cosines"
                );
            }
        }
        index.optimise().await.unwrap();
    }
}

#[tokio::test]
async fn few_that_are_admitted_are_found_in_whatever_partition_they_lie() {
    let folder = tempfile::tempdir().unwrap();
    let config = LanceConfig {
        partition_rows: 100,
        probes: 1,
        ..config()
    };
    let index = LanceIndex::open(folder.path(), config).unwrap();
    let rare = |n: u64| n.is_multiple_of(20);
    let status = |n| match rare(n) {
        true => Status::Published,
        false => Status::Verified,
    };
    let docs = (1..=600).map(|n| IndexDoc {
        status: status(n),
        ..doc(n, n)
    });
    index.apply(docs.collect(), stamp(600)).await.unwrap();
    index.optimise().await.unwrap();
    let request = SearchRequest {
        statuses: vec![Status::Published],
        ..search("", Some(Numbers(5).vector(DIMENSIONS)), 30)
    };
    let mut found = entries(&index.search(&request).await.unwrap().vector);
    found.sort_unstable();
    let expected: Vec<_> = (1..=600).filter(|n| rare(*n)).map(id).collect();
    assert_eq!(found, expected);
}
