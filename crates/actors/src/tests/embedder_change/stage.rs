//! Stages on which an embedder is changed: the other embedder, which can be away and held up, and a store with the nodes
//! that run on it one after the other.
//!
//! Owns what tests of the change share. It must not know what they expect.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use sillok_builtin::HashEmbedder;
use sillok_core::command::{AmendEntry, AnswerBody, Command};
use sillok_core::entry::{Detail, Embedding, Metadata, SpaceId, Status};
use sillok_core::erasure::Erase;
use sillok_core::id::EntryId;
use sillok_core::ports::{
    BoxFuture, Embedder, PortError, SearchRequest, SpaceThresholds, VectorIndex,
};
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::{self, Family, ScopeKey};
use tokio::sync::Semaphore;

use crate::tests::harness::{
    PROJECT, TestNode, TestStore, clock_at, in_time, ports, scope, store, submission,
};
use crate::tests::index::put;
use crate::tests::world::pairs_of;
use crate::{NextSpace, NodeConfig, Ports, audit};

/// What the entries of most stages say.
pub(crate) const TEXTS: [&str; 3] = [
    "the parser stops one line early",
    "the linker wants nine minutes",
    "the cache is stale on mondays",
];

/// So many other texts.
pub(crate) fn lessons(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("lesson number {number}"))
        .collect()
}

/// An embedder of a space of its own, whose vectors point elsewhere; it can be away, and be held up. It refuses what is
/// unspeakable, and what is unthinkable brings a defect out.
pub(crate) struct Other {
    pub(crate) name: &'static str,
    pub(crate) is_away: AtomicBool,
    /// Whether it was ever asked.
    pub(crate) is_asked: AtomicBool,
    /// How often it was.
    pub(crate) asked: AtomicUsize,
    /// Calls that may be answered.
    pub(crate) calls: Semaphore,
    pub(crate) texts: Mutex<Vec<String>>,
    /// The most texts of one call.
    pub(crate) texts_max: AtomicUsize,
}

impl Other {
    pub(crate) fn named(name: &'static str, calls: usize) -> Arc<Self> {
        Arc::new(Self {
            name,
            is_away: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
            calls: Semaphore::new(calls),
            texts: Mutex::default(),
            texts_max: AtomicUsize::new(0),
        })
    }

    pub(crate) fn open(name: &'static str) -> Arc<Self> {
        Self::named(name, Semaphore::MAX_PERMITS)
    }

    pub(crate) fn vector(&self, text: &str) -> Embedding {
        let mut values = HashEmbedder::vector(text);
        let by = self.name.len() % values.len();
        values.rotate_left(by);
        Embedding {
            space: self.space(),
            values,
        }
    }

    /// How often it was given a text.
    pub(crate) fn heard(&self, text: &str) -> usize {
        let texts = self.texts.lock();
        texts.iter().filter(|heard| *heard == text).count()
    }
}

impl Embedder for Other {
    fn space(&self) -> SpaceId {
        SpaceId(self.name.to_owned())
    }

    fn dimensions(&self) -> usize {
        HashEmbedder.dimensions()
    }

    fn thresholds(&self) -> SpaceThresholds {
        HashEmbedder.thresholds()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        Box::pin(async move {
            self.is_asked.store(true, Ordering::Relaxed);
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.texts_max.fetch_max(texts.len(), Ordering::Relaxed);
            let turn = self.calls.acquire().await;
            turn.expect("it is never closed").forget();
            if self.is_away.load(Ordering::Relaxed) {
                return Err(PortError::Unavailable("nobody listens".into()));
            }
            if texts.iter().any(|text| text.contains("unspeakable")) {
                return Err(PortError::Unusable("it cannot be said".into()));
            }
            assert!(
                !texts.iter().any(|text| text.contains("unthinkable")),
                "it has a defect"
            );
            let heard = texts.iter().map(|text| (*text).to_owned());
            self.texts.lock().extend(heard);
            Ok(texts.iter().map(|text| self.vector(text)).collect())
        })
    }
}

/// A store with entries, and the nodes that run on it one after the other.
pub(crate) struct Stage {
    pub(crate) store: TestStore,
    pub(crate) runs: u64,
    pub(crate) commands: u64,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            store: store(),
            runs: 0,
            commands: 0,
        }
    }

    pub(crate) async fn start(&mut self, ports: Ports) -> TestNode {
        self.runs += 1;
        let clock = clock_at(self.runs * 3_600_000);
        let ports = Ports { clock, ..ports };
        let node = TestNode::start(self.store.clone(), ports, NodeConfig::default());
        node.await.unwrap()
    }

    /// A node that changes from the built-in embedder to another one.
    pub(crate) async fn change(
        &mut self,
        to: &Arc<Other>,
        index: &Arc<impl VectorIndex>,
    ) -> TestNode {
        let next = NextSpace {
            embedder: Arc::clone(to) as Arc<dyn Embedder>,
            index: Arc::clone(index) as Arc<dyn VectorIndex>,
        };
        let next = Some(next);
        self.start(Ports { next, ..ports() }).await
    }

    pub(crate) async fn give(&mut self, node: &TestNode, command: Command) -> AnswerBody {
        self.commands += 1;
        let given = submission(self.commands, PrincipalKind::Human, PROJECT, command);
        node.submit(given).await.unwrap().result
    }

    pub(crate) async fn put(&mut self, node: &TestNode, content: &str) -> EntryId {
        match self.give(node, put(content)).await {
            AnswerBody::Entry { id, .. } => id,
            other => panic!("an entry was answered with {other:?}"),
        }
    }

    /// Entries that a node of before wrote.
    pub(crate) async fn with_entries(&mut self, contents: &[impl AsRef<str>]) -> Vec<EntryId> {
        let node = self.start(ports()).await;
        let mut ids = Vec::new();
        for content in contents {
            ids.push(self.put(&node, content.as_ref()).await);
        }
        node.shutdown().await;
        ids
    }

    pub(crate) async fn assert_sound(&self) {
        let report = audit::verify(&self.store, &|_| {}).await.unwrap();
        assert_eq!(report.first, None);
    }

    pub(crate) async fn vectors(&self) -> Vec<(EntryId, keys::vector::Row)> {
        let rows = pairs_of(&self.store).await;
        let rows = rows
            .iter()
            .filter(|(key, _)| Family::of(key) == Some(Family::Vector));
        rows.map(|(key, value)| {
            let at = keys::vector::parse(key).unwrap();
            assert_eq!(at.scope, ScopeKey::of(&scope(PROJECT)));
            (at.entry, keys::vector::decode(key, value).unwrap())
        })
        .collect()
    }
}

pub(crate) fn amend(entry: EntryId, content: &str) -> Command {
    let vector = match put(content) {
        Command::PutEntry { entry, .. } => entry.embedding,
        _ => unreachable!("it puts an entry"),
    };
    Command::AmendEntry(Box::new(AmendEntry {
        entry,
        expected_version: 1,
        content: content.into(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        embedding: vector,
        verification: None,
    }))
}

pub(crate) fn erase(entry: EntryId) -> Command {
    Command::Erase(Box::new(Erase {
        records: Vec::new(),
        entries: vec![entry],
        offers: Vec::new(),
        reason: "nobody is to read it".into(),
    }))
}

/// Entries that are found by what they mean alone, by whatever serves.
pub(crate) async fn by_meaning(node: &TestNode, question: &str) -> Vec<EntryId> {
    let ports = node.ports();
    let embedding = ports.embedder.embed(&[question]).await.unwrap().pop();
    found(&*ports.index, embedding).await
}

/// Each of [`TEXTS`] is found by what it means, and nothing else is.
pub(crate) async fn assert_found(node: &TestNode, ids: &[EntryId], when: &str) {
    for (text, id) in TEXTS.iter().zip(ids) {
        assert_eq!(by_meaning(node, text).await, [*id], "{when}");
    }
}

pub(crate) async fn found(index: &dyn VectorIndex, embedding: Option<Embedding>) -> Vec<EntryId> {
    let request = SearchRequest {
        scopes: vec![scope(PROJECT)],
        tables: Vec::new(),
        statuses: vec![Status::Hypothesis, Status::Verified, Status::Published],
        failures: false,
        confidence_min: 0.0,
        text: String::new(),
        embedding,
        limit: 100,
    };
    let lists = index.search(&request).await.unwrap();
    assert!(lists.text.is_empty());
    let close = lists.vector.iter().filter(|ranked| ranked.score > 0.9);
    close.map(|ranked| ranked.entry).collect()
}

pub(crate) async fn until<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    in_time(async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Until the change is over, and all that was left to do after it.
pub(crate) async fn over(node: &TestNode, to: &Arc<Other>) {
    let is_over = || async {
        let change = node.embedder_change().await;
        change.is_some_and(|change| change.is_over)
    };
    until(is_over).await;
    assert_eq!(node.ports().embedder.space(), to.space());
}
