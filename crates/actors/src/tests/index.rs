//! The exact index behind hooks that see each search for neighbours, and that it is optimised, and that count what it is
//! asked, and can refuse to store or to be optimised, or lose tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use sillok_builtin::embedder::HashEmbedder;
use sillok_builtin::index::ExactIndex;
use sillok_core::command::Command;
use sillok_core::entry::{Embedding, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, Embedder as _, EntryColumns, IndexDoc, IndexStats, Lost,
    NeighbourRequest, PortError, Ranked, SearchLists, SearchRequest, VectorIndex, vector_table,
};
use sillok_core::promotion::NewEntry;
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::stamp::Stamp;

use super::world::entry;

type Hook = Box<dyn Fn(&NeighbourRequest) + Send + Sync>;
type Told = Box<dyn Fn() + Send + Sync>;

/// The index behind the hook.
pub(crate) struct HookedIndex {
    index: ExactIndex,
    before_neighbours: Hook,
    before_optimised: Mutex<Option<Told>>,
    refuses: AtomicBool,
    is_tired: AtomicBool,
    damaged: Mutex<Damaged>,
    asked: AtomicU64,
    optimised: AtomicU64,
    batches: AtomicU64,
}

impl HookedIndex {
    pub(crate) fn new(
        before_neighbours: impl Fn(&NeighbourRequest) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            index: ExactIndex::new(),
            before_neighbours: Box::new(before_neighbours),
            before_optimised: Mutex::default(),
            refuses: AtomicBool::new(false),
            is_tired: AtomicBool::new(false),
            damaged: Mutex::default(),
            asked: AtomicU64::new(0),
            optimised: AtomicU64::new(0),
            batches: AtomicU64::new(0),
        })
    }

    /// How often it was asked for what it holds.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was asked to optimise itself.
    pub(crate) fn optimised(&self) -> u64 {
        self.optimised.load(Ordering::Relaxed)
    }

    /// How many batches with entries it was given.
    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    /// It stores nothing from now on.
    pub(crate) fn refuse(&self) {
        self.refuses.store(true, Ordering::Relaxed);
    }

    /// Somebody hears of it before it is optimised.
    pub(crate) fn before_optimised(&self, hook: impl Fn() + Send + Sync + 'static) {
        *self.before_optimised.lock() = Some(Box::new(hook));
    }

    /// It cannot be optimised from now on.
    pub(crate) fn tire(&self) {
        self.is_tired.store(true, Ordering::Relaxed);
    }

    /// It stores again what it is given.
    pub(crate) fn accept(&self) {
        self.refuses.store(false, Ordering::Relaxed);
    }

    /// What it has cannot be read any more, until it forgets that.
    pub(crate) fn damage(&self, lost: &Lost) {
        self.damaged.lock().lost.add(lost);
    }

    /// The answer to a call, unless it is about something that is damaged.
    fn unless_damaged<'a, T: Send + 'a>(
        &'a self,
        concerns: impl Fn(&Lost) -> bool + Send + 'a,
        call: BoxFuture<'a, Result<T, PortError>>,
    ) -> BoxFuture<'a, Result<T, PortError>> {
        Box::pin(async move {
            let lost = self.damaged.lock().lost.clone();
            if concerns(&lost) {
                return Err(torn(lost));
            }
            call.await
        })
    }
}

/// What an index lost.
#[derive(Default)]
struct Damaged {
    lost: Lost,
    /// What of it a search has met: the next ones pass over that.
    met: Lost,
}

fn torn(lost: Lost) -> PortError {
    PortError::Damaged {
        why: "a page is torn".into(),
        lost,
    }
}

/// Takes out of lists what is in tables that are lost.
pub(crate) fn pass_over(lists: &mut SearchLists, index: &ExactIndex, lost: &Lost) {
    for list in [&mut lists.vector, &mut lists.text] {
        list.retain(|place| {
            let doc = index.get(&place.scope, place.entry);
            doc.is_none_or(|doc| !lost.has(&vector_table(&doc.scope, doc.table)))
        });
    }
}

fn anything(lost: &Lost) -> bool {
    !lost.is_nothing()
}

impl EntryColumns for HookedIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.count();
        self.unless_damaged(anything, self.index.ages(each))
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.count();
        self.unless_damaged(anything, self.index.worths(each))
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
        if !docs.is_empty() {
            self.batches.fetch_add(1, Ordering::Relaxed);
        }
        let tables: Vec<_> = docs
            .iter()
            .map(|doc| vector_table(&doc.scope, doc.table))
            .collect();
        let concerns = move |lost: &Lost| tables.iter().any(|table| lost.has(table));
        self.unless_damaged(concerns, self.index.apply(docs, through))
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        self.index.watermark()
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        self.count();
        Box::pin(async move {
            let lost = {
                let mut damaged = self.damaged.lock();
                let lost = damaged.lost.clone();
                if lost.concerns(request) && !damaged.met.has_all_of(&lost) {
                    // Of one that is lost as a whole, nothing is passed over.
                    if lost != Lost::All {
                        damaged.met.add(&lost);
                    }
                    return Err(torn(lost));
                }
                lost
            };
            let mut lists = self.index.search(request).await?;
            pass_over(&mut lists, &self.index, &lost);
            Ok(lists)
        })
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        self.count();
        Box::pin(async {
            (self.before_neighbours)(request);
            let concerns = |lost: &Lost| lost.concerns_neighbours(request);
            self.unless_damaged(concerns, self.index.neighbours(request))
                .await
        })
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        self.count();
        let concerns = move |lost: &Lost| lost.concerns_claimants(request);
        self.unless_damaged(concerns, self.index.claimants(request))
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        if let Some(hook) = &*self.before_optimised.lock() {
            hook();
        }
        self.optimised.fetch_add(1, Ordering::Relaxed);
        if self.is_tired.load(Ordering::Relaxed) {
            return Box::pin(async { Err(PortError::Unavailable("not now".into())) });
        }
        self.unless_damaged(anything, self.index.optimise())
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        self.index.is_whole()
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.note_whole()
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        *self.damaged.lock() = Damaged::default();
        self.index.clear()
    }

    fn forget<'a>(&'a self, lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        {
            let mut damaged = self.damaged.lock();
            *damaged = Damaged::default();
        }
        self.index.forget(lost)
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.index.stats()
    }
}

/// Writes an entry for which the index is searched.
pub(crate) fn put(content: &str) -> Command {
    put_in(Table::Observations, content)
}

/// The same in a table.
pub(crate) fn put_in(table: Table, content: &str) -> Command {
    let embedding = Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(content),
    };
    Command::PutEntry {
        entry: Box::new(NewEntry {
            embedding: Some(embedding),
            ..entry(table, content)
        }),
        verification: None,
    }
}
