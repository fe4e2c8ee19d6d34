//! Makers of entries, and a naive model of the port: a list of states that is searched whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sillok_core::entry::{Claim, ClaimHash, Embedding, SpaceId, Status, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;
use sillok_core::ports::{
    ClaimRequest, IndexDoc, NeighbourRequest, Ranked, SearchLists, SearchRequest, VectorIndex,
};
use sillok_core::retention::Age;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_core::time::Timestamp;
use sillok_vectors_lance::{LanceConfig, LanceIndex};

pub(crate) const DIMENSIONS: usize = 16;
/// Words that no stemmer changes into one another and no list of stop words holds.
pub(crate) const WORDS: [&str; 12] = [
    "zarko", "mipel", "truvon", "kelba", "dorix", "wuntam", "pliko", "garzu", "hebron", "sottel",
    "vimra", "joxan",
];

pub(crate) fn space() -> SpaceId {
    SpaceId("test-16".into())
}

/// Small thresholds, so that few rows reach the indices.
pub(crate) fn config() -> LanceConfig {
    LanceConfig {
        index_rows_min: 100,
        tail_rows_min: 20,
        tail_rows_max: 5_000,
        ..LanceConfig::new(space(), DIMENSIONS)
    }
}

pub(crate) fn open(path: &Path) -> LanceIndex {
    LanceIndex::open(path, config()).unwrap()
}

pub(crate) fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

pub(crate) fn stamp(counter: u64) -> Stamp {
    Stamp {
        generation: 1,
        counter,
        index: 0,
    }
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        let values: Vec<f32> = (0..dimensions)
            .map(|_| self.below(2_000_001) as f32 / 1e6 - 1.0)
            .collect();
        normalised(values)
    }
}

pub(crate) fn normalised(mut values: Vec<f32>) -> Vec<f32> {
    let length = values.iter().map(|v| v * v).sum::<f32>().sqrt();
    values.iter_mut().for_each(|v| *v /= length);
    values
}

pub(crate) fn embedding(values: Vec<f32>) -> Embedding {
    Embedding {
        space: space(),
        values,
    }
}

/// A verified observation in one project, whose vector and text follow from `entry`.
pub(crate) fn doc(entry: u64, counter: u64) -> IndexDoc {
    let mut numbers = Numbers(entry);
    let words: Vec<&str> = (0..4).map(|_| WORDS[numbers.below(12) as usize]).collect();
    with_text(
        &words.join(" "),
        IndexDoc {
            scope: scope("org/acme/project/api"),
            entry: id(entry),
            version: 1,
            table: Table::Observations,
            status: Status::Verified,
            failure: false,
            confidence: 0.8,
            content_hash: ContentHash::of(""),
            content: String::new(),
            claim: None,
            embedding: Some(embedding(numbers.vector(DIMENSIONS))),
            created_at: Timestamp::from_ms(1_700_000_000_000),
            age: Age {
                from: Timestamp::from_ms(1_700_000_000_000 + entry),
                resolved_at: None,
                value: 0.8,
                origin: 1 + entry % 10,
            },
            stamp: stamp(counter),
        },
    )
}

/// The state of an entry that has left recall, as the indexer has it: without text or vector.
pub(crate) fn gone(entry: u64, counter: u64) -> IndexDoc {
    IndexDoc {
        status: Status::Archived,
        content: String::new(),
        embedding: None,
        ..doc(entry, counter)
    }
}

pub(crate) fn with_text(text: &str, doc: IndexDoc) -> IndexDoc {
    IndexDoc {
        content_hash: ContentHash::of(text),
        content: text.into(),
        ..doc
    }
}

pub(crate) fn id(entry: u64) -> EntryId {
    EntryId::from_bytes(u128::from(entry).to_be_bytes())
}

/// A claim in the project, one of few keys and values.
pub(crate) fn claim(key: u64, value: u64) -> ClaimHash {
    let claim = Claim {
        key: format!("key-{key}"),
        value: format!("value-{value}"),
    };
    ClaimHash::of(&claim, &scope("org/acme/project/api"))
}

/// A search of the project for what contradicts a claim.
pub(crate) fn against(claim: ClaimHash, limit: usize) -> ClaimRequest {
    ClaimRequest {
        scope: scope("org/acme/project/api"),
        failure: false,
        claim,
        limit,
    }
}

/// A search of the project with every live status.
pub(crate) fn search(text: &str, vector: Option<Vec<f32>>, limit: usize) -> SearchRequest {
    SearchRequest {
        scopes: vec![scope("org/acme/project/api")],
        tables: Vec::new(),
        statuses: vec![Status::Hypothesis, Status::Verified, Status::Published],
        failures: false,
        confidence_min: 0.0,
        text: text.into(),
        embedding: vector.map(embedding),
        limit,
    }
}

pub(crate) fn entries(list: &[Ranked]) -> Vec<EntryId> {
    list.iter().map(|ranked| ranked.entry).collect()
}

pub(crate) async fn found_by_text(index: &LanceIndex, text: &str) -> Vec<EntryId> {
    entries(&index.search(&search(text, None, 1_000)).await.unwrap().text)
}

/// Data files of all tables, by path from the root.
pub(crate) fn files(root: &Path, part: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_str().unwrap().contains(part) {
                found.insert(path.to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// Newest state of each entry.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) docs: BTreeMap<(Scope, EntryId), IndexDoc>,
}

impl Model {
    pub(crate) fn take(&mut self, docs: &[IndexDoc]) {
        for doc in docs {
            let key = (doc.scope.clone(), doc.entry);
            if self
                .docs
                .get(&key)
                .is_none_or(|known| known.stamp < doc.stamp)
            {
                self.docs.insert(key, doc.clone());
            }
        }
    }

    pub(crate) fn search(&self, request: &SearchRequest) -> SearchLists {
        let admitted: Vec<&IndexDoc> = self
            .docs
            .values()
            .filter(|doc| admits(request, doc))
            .collect();
        let vector = request.embedding.as_ref().map_or_else(Vec::new, |query| {
            let scored = admitted
                .iter()
                .filter_map(|doc| Some(ranked(doc, doc.embedding.as_ref()?.cosine(query)?)));
            best(scored.collect(), request.limit)
        });
        let words: Vec<&str> = request.text.split_whitespace().collect();
        let holds = |doc: &IndexDoc| {
            doc.content
                .split_whitespace()
                .any(|word| words.contains(&word))
        };
        let text = admitted
            .iter()
            .filter(|doc| holds(doc))
            .map(|doc| ranked(doc, 1.0))
            .collect();
        SearchLists {
            vector,
            text: best(text, request.limit),
            ..SearchLists::default()
        }
    }

    pub(crate) fn neighbours(&self, request: &NeighbourRequest) -> Vec<Ranked> {
        let alike = self.docs.values().filter(|doc| {
            doc.scope == request.scope
                && doc.table == request.table
                && doc.failure == request.failure
                && doc.status.is_live()
        });
        let scored = alike.filter_map(|doc| {
            Some(ranked(
                doc,
                doc.embedding.as_ref()?.cosine(&request.embedding)?,
            ))
        });
        best(
            scored
                .filter(|ranked| ranked.score >= request.cosine_min)
                .collect(),
            request.limit,
        )
    }
}

impl Model {
    pub(crate) fn claimants(&self, request: &ClaimRequest) -> Vec<EntryId> {
        let against = self.docs.values().filter(|doc| {
            doc.scope == request.scope
                && doc.failure == request.failure
                && doc.status.is_live()
                && doc
                    .claim
                    .is_some_and(|claim| claim.contradicts(request.claim))
        });
        let mut found: Vec<EntryId> = against.map(|doc| doc.entry).collect();
        found.sort_unstable();
        found.truncate(request.limit);
        found
    }
}

fn admits(request: &SearchRequest, doc: &IndexDoc) -> bool {
    request.scopes.contains(&doc.scope)
        && (request.tables.is_empty() || request.tables.contains(&doc.table))
        && request.statuses.contains(&doc.status)
        && request.failures == doc.failure
        && doc.confidence >= request.confidence_min
}

fn ranked(doc: &IndexDoc, score: f32) -> Ranked {
    Ranked {
        scope: doc.scope.clone(),
        entry: doc.entry,
        score,
    }
}

fn best(mut found: Vec<Ranked>, limit: usize) -> Vec<Ranked> {
    found.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.entry, &a.scope).cmp(&(b.entry, &b.scope)))
    });
    found.truncate(limit);
    found
}

/// Asserts that `found` holds what the model expects: the same texts, and the same vectors but for
/// the few that an approximate index may miss, each with nearly its true cosine.
pub(crate) fn assert_alike(found: &SearchLists, expected: &SearchLists, what: &str) {
    let set = |list: &[Ranked]| entries(list).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(set(&found.text), set(&expected.text), "{what}: texts");
    assert_vectors_alike(&found.vector, &expected.vector, what);
}

pub(crate) fn assert_vectors_alike(found: &[Ranked], expected: &[Ranked], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: vectors");
    assert!(
        found.is_sorted_by(|a, b| a.score >= b.score),
        "{what}: {found:?}"
    );
    for (place, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(
            (a.score - b.score).abs() < 0.03,
            "{what}: place {place} has {} and not {}",
            a.score,
            b.score
        );
    }
}
