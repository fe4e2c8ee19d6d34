//! The exact index behind a hook that sees each search for neighbours, and that can refuse to store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sillok_builtin::embedder::HashEmbedder;
use sillok_builtin::index::ExactIndex;
use sillok_core::command::Command;
use sillok_core::entry::{Embedding, Table};
use sillok_core::ports::{
    BoxFuture, Embedder as _, EntryColumns, IndexDoc, IndexStats, NeighbourRequest, PortError,
    Ranked, SearchLists, SearchRequest, VectorIndex,
};
use sillok_core::promotion::NewEntry;
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::stamp::Stamp;

use super::world::entry;

type Hook = Box<dyn Fn(&NeighbourRequest) + Send + Sync>;

/// The index behind the hook.
pub(crate) struct HookedIndex {
    index: ExactIndex,
    before_neighbours: Hook,
    refuses: AtomicBool,
}

impl HookedIndex {
    pub(crate) fn new(
        before_neighbours: impl Fn(&NeighbourRequest) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            index: ExactIndex::new(),
            before_neighbours: Box::new(before_neighbours),
            refuses: AtomicBool::new(false),
        })
    }

    /// It stores nothing from now on.
    pub(crate) fn refuse(&self) {
        self.refuses.store(true, Ordering::Relaxed);
    }

    /// It stores again what it is given.
    pub(crate) fn accept(&self) {
        self.refuses.store(false, Ordering::Relaxed);
    }
}

impl EntryColumns for HookedIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.index.ages(each)
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.index.worths(each)
    }
}

impl VectorIndex for HookedIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        self.index.offer(docs);
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        if self.refuses.load(Ordering::Relaxed) {
            return Box::pin(async { Err(PortError::Unavailable("not now".into())) });
        }
        self.index.apply(docs, through)
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        self.index.watermark()
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        self.index.search(request)
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        Box::pin(async {
            (self.before_neighbours)(request);
            self.index.neighbours(request).await
        })
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.optimise()
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        self.index.is_whole()
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.note_whole()
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.clear()
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.index.stats()
    }
}

/// Writes an entry for which the index is searched.
pub(crate) fn put(content: &str) -> Command {
    let embedding = Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(content),
    };
    Command::PutEntry {
        entry: Box::new(NewEntry {
            embedding: Some(embedding),
            ..entry(Table::Observations, content)
        }),
        verification: None,
    }
}
