//! The simulated index of a node: exact, slow, and durable as far as it was stored.
//!
//! Owns what outlives a run of its node, and the question whether an index shows what is published.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::protocol::Protocol;
use sillok_builtin::ExactIndex;
use sillok_core::entry::{Embedding, Head, Status, Table};
use sillok_core::id::EntryId;
use sillok_core::membership::OwnerRow;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, EntryColumns, IndexDoc, IndexStats, Lost, NeighbourRequest, PortError,
    Ranked, SearchLists, SearchRequest, VectorIndex, VectorTable, vector_table,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::check::rows;
use crate::heap::{Place, Sim};
use crate::history::Recorder;
use crate::rng::Purpose;
use crate::world::{World, at_once};

/// Time that the index takes to store a batch, in µs, at least and at most.
const INDEX_US: (u64, u64) = (1_000, 200_000);
/// Time that the index takes to answer, in µs, at least and at most.
const SEARCH_US: (u64, u64) = (100, 2_000);
/// How often it does not take a batch, of 1,000.
const FAILS_PERMILLE: u32 = 10;
/// How often a call meets a table that has just gone bad, of 1,000, in worlds where some do.
const DAMAGE_PERMILLE: u32 = 1;

/// How often a call meets a table that has just gone bad, of 1,000, under this seed.
pub(crate) const fn damage_permille(seed: u64) -> u32 {
    if seed % 3 == 2 { DAMAGE_PERMILLE } else { 0 }
}

/// What an index has stored, whatever becomes of its node.
#[derive(Default)]
pub(crate) struct Stored {
    docs: BTreeMap<(Scope, EntryId), IndexDoc>,
    /// Entries that left during the run of the node, as the run remembers them: the next one has never heard of them.
    gone: BTreeMap<(Scope, EntryId), (Table, Stamp)>,
    through: Option<Stamp>,
    is_whole: bool,
    /// Tables whose files went bad, as somebody met.
    damaged: BTreeSet<VectorTable>,
}

impl Stored {
    /// Whether it was noted that every entry has its vector in it.
    pub(crate) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn keep(&mut self, docs: &[IndexDoc], through: Stamp) {
        for doc in docs {
            let key = (doc.scope.clone(), doc.entry);
            // With a vector a state is newer than without.
            let newness = |doc: &IndexDoc| (doc.stamp, doc.embedding.is_some());
            let left = self.gone.get(&key).map(|(_, stamp)| (*stamp, true));
            let known = self.docs.get(&key).map(newness).max(left);
            if known >= Some(newness(doc)) {
                continue;
            }
            if doc.is_gone() {
                self.docs.remove(&key);
                self.gone.insert(key, (doc.table, doc.stamp));
            } else {
                self.gone.remove(&key);
                self.docs.insert(key, doc.clone());
            }
        }
        self.through = self.through.max(Some(through));
    }

    /// Forgets what is lost, with what left it, and the cursor.
    fn forget(&mut self, lost: &Lost) {
        let is_lost = |doc: &IndexDoc| lost.has(&vector_table(&doc.scope, doc.table));
        self.docs.retain(|_, doc| !is_lost(doc));
        self.gone
            .retain(|(scope, _), (table, _)| !lost.has(&vector_table(scope, *table)));
        self.damaged.retain(|table| !lost.has(table));
        self.through = None;
        self.is_whole = false;
    }

    /// What a start finds: tables that are damaged are gone.
    fn reopen(&mut self) {
        self.gone.clear();
        if !self.damaged.is_empty() {
            let damaged = Lost::Tables(self.damaged.clone());
            self.forget(&damaged);
        }
    }
}

/// The tables that documents belong to, each once and in order.
fn tables_of<'a>(docs: impl Iterator<Item = &'a IndexDoc>) -> Vec<VectorTable> {
    let tables = docs.map(|doc| vector_table(&doc.scope, doc.table));
    let tables: BTreeSet<VectorTable> = tables.collect();
    tables.into_iter().collect()
}

/// The exact index, which stores late and answers after a while.
#[derive(Clone)]
pub(crate) struct LaggingIndex {
    sim: Sim,
    place: Place,
    exact: Arc<ExactIndex>,
    stored: Arc<Mutex<Stored>>,
    recorder: Recorder,
    damage_permille: u32,
}

impl LaggingIndex {
    /// The index of one run of a node, which begins with what was stored before.
    pub(crate) fn open(
        sim: &Sim,
        place: Place,
        stored: &Arc<Mutex<Stored>>,
        recorder: &Recorder,
        damage_permille: u32,
    ) -> Self {
        let exact = Arc::new(ExactIndex::new());
        let (docs, through) = {
            let mut stored = stored.lock();
            stored.reopen();
            (stored.docs.values().cloned().collect(), stored.through)
        };
        if let Some(through) = through {
            let opened = at_once(exact.apply(docs, through));
            opened.expect("the exact index takes everything");
        }
        Self {
            sim: sim.clone(),
            place,
            exact,
            stored: Arc::clone(stored),
            recorder: recorder.clone(),
            damage_permille,
        }
    }

    /// Whether a search, and a plan of maintenance, see an entry as its head is: one that is gone they do not see.
    fn shows(&self, head: &Head) -> bool {
        let doc = self.exact.get(&head.scope, head.id);
        if head.status == Status::Archived {
            return doc.is_none();
        }
        doc.map_or(head.is_erased(), |doc| {
            let is_found = (doc.version, doc.status, doc.confidence)
                == (head.version, head.status, head.trust.confidence);
            let ages = (doc.age.from, doc.age.resolved_at);
            is_found && ages == (head.age_from(), head.resolved_at())
        })
    }

    /// The text of an entry as a search sees it, with its vector; none where it has none.
    pub(crate) fn vector(&self, head: &Head) -> Option<(String, Embedding)> {
        let doc = self.exact.get(&head.scope, head.id)?;
        Some((doc.content, doc.embedding?))
    }

    /// Whether a search sees a version of an entry, or a later one; nothing, where nothing is left of it. Nobody has
    /// to see one that is gone.
    fn knows(&self, head: &Head) -> bool {
        if head.status == Status::Archived {
            return true;
        }
        let doc = self.exact.get(&head.scope, head.id);
        doc.map_or(head.is_erased(), |doc| doc.version >= head.version)
    }

    /// Whether a table that a call reads goes bad now, or went before. Once faults are over none goes.
    fn meets_damage(&self, tables: &[VectorTable]) -> Result<(), PortError> {
        let (mut shared, mut stored) = (self.sim.lock(), self.stored.lock());
        let known = tables.iter().find(|table| stored.damaged.contains(*table));
        let chance = shared.chance(Purpose::Damage, self.place);
        let goes_bad = chance.permille(self.damage_permille) && !tables.is_empty();
        let met = match known {
            Some(table) => table.clone(),
            None if goes_bad => {
                let met = shared
                    .chance(Purpose::Damage, self.place)
                    .choose(tables)
                    .clone();
                if shared.net.is_healed {
                    return Ok(());
                }
                shared.effects.saw("table of an index gone bad");
                shared.line(self.place, "table goes bad", met.0.as_bytes());
                met
            }
            None => return Ok(()),
        };
        stored.damaged.insert(met.clone());
        Err(PortError::Damaged {
            why: format!("table {}/{}", met.0, met.1),
            lost: Lost::table(met),
        })
    }

    /// The tables that it has.
    fn tables(&self) -> Vec<VectorTable> {
        tables_of(self.stored.lock().docs.values())
    }

    /// Those of them that a search asks, and that are not known to be damaged.
    fn asked(&self, request: &SearchRequest) -> Vec<VectorTable> {
        let mut tables = self.tables();
        let stored = self.stored.lock();
        tables.retain(|table| {
            let is_sound = !stored.damaged.contains(table);
            is_sound && Lost::table(table.clone()).concerns(request)
        });
        tables
    }

    /// Whether a place is in a table that is known to be damaged.
    fn is_damaged(&self, place: &Ranked) -> bool {
        let Some(doc) = self.exact.get(&place.scope, place.entry) else {
            return false;
        };
        let stored = self.stored.lock();
        stored
            .damaged
            .contains(&vector_table(&doc.scope, doc.table))
    }

    /// Whether it does not take a batch. Once faults are over it takes all.
    fn fails(&self) -> bool {
        let mut shared = self.sim.lock();
        let chance = shared.chance(Purpose::Index, self.place);
        let fails = chance.permille(FAILS_PERMILLE) && !shared.net.is_healed;
        if fails {
            shared.effects.saw("index failed");
        }
        fails
    }

    async fn wait(&self, bounds: (u64, u64), what: &'static str) {
        let place = self.place;
        let wait_us = self
            .sim
            .lock()
            .chance(Purpose::Index, self.place)
            .between(bounds.0, bounds.1);
        let woken = self
            .sim
            .after(place, wait_us, move |shared| shared.line(place, what, &[]));
        // The world outlives its tasks.
        let _ = woken.await;
    }
}

impl EntryColumns for LaggingIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index hands ages over").await;
            self.meets_damage(&self.tables())?;
            self.exact.ages(each).await
        })
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index hands worths over").await;
            self.meets_damage(&self.tables())?;
            self.exact.worths(each).await
        })
    }
}

impl VectorIndex for LaggingIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        let now_us = self.sim.lock().now_us;
        for doc in &docs {
            self.recorder.told(doc.entry, now_us);
        }
        self.exact.offer(docs);
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(INDEX_US, "index stores").await;
            if self.fails() {
                return Err(PortError::Unavailable("the index is elsewhere".into()));
            }
            self.meets_damage(&tables_of(docs.iter()))?;
            self.stored.lock().keep(&docs, through);
            self.exact.apply(docs, through).await
        })
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        self.exact.watermark()
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index searches").await;
            self.meets_damage(&self.asked(request))?;
            let mut lists = self.exact.search(request).await?;
            lists.vector.retain(|place| !self.is_damaged(place));
            lists.text.retain(|place| !self.is_damaged(place));
            lists.partial = self.passed_over().concerns(request);
            Ok(lists)
        })
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index compares").await;
            self.meets_damage(&[vector_table(&request.scope, request.table)])?;
            self.exact.neighbours(request).await
        })
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index looks claims up").await;
            let mut tables = self.tables();
            tables.retain(|table| Lost::table(table.clone()).concerns_claimants(request));
            self.meets_damage(&tables)?;
            self.exact.claimants(request).await
        })
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.exact.optimise()
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        Box::pin(core::future::ready(Ok(self.stored.lock().is_whole)))
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(INDEX_US, "index is noted to be whole").await;
            self.stored.lock().is_whole = true;
            Ok(())
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        *self.stored.lock() = Stored::default();
        self.exact.clear()
    }

    fn forget<'a>(&'a self, lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(INDEX_US, "index forgets").await;
            self.sim.lock().effects.saw("index begun anew after damage");
            self.stored.lock().forget(lost);
            self.exact.forget(lost).await
        })
    }

    fn passed_over(&self) -> Lost {
        Lost::Tables(self.stored.lock().damaged.clone())
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.exact.stats()
    }
}

/// An entry that a former owner of its slot published and that the index of a node which holds the slot has never heard
/// of, if there is one. Whoever decides in a slot has to know all that was published there before.
pub(crate) fn unknown<P: Protocol>(world: &World<P>, place: Place) -> Option<String> {
    let (node, index) = (world.node(place)?, world.index(place)?);
    let lacks = node.index_lacks();
    let heads = rows(&world.store, Family::Head).into_iter();
    let unknown: Vec<Head> = heads
        .map(|(key, value)| keys::head::decode(&key, &value).expect("the audit reads it"))
        // Nobody decides by what a damaged index lacks.
        .filter(|head| !lacks.has(&vector_table(&head.scope, head.table)) && !index.knows(head))
        .collect();
    if unknown.is_empty() {
        return None;
    }
    let owners: BTreeMap<Slot, OwnerRow> = rows(&world.store, Family::Owner)
        .into_iter()
        .filter_map(|(key, value)| {
            let slot = keys::owner::parse(&key).ok()?.slot;
            Some((slot, keys::owner::decode(&key, &value).ok()?))
        })
        .collect();
    let events: BTreeMap<bytes::Bytes, bytes::Bytes> =
        rows(&world.store, Family::Event).into_iter().collect();
    unknown.into_iter().find_map(|head| {
        let slot = Slot::of(&head.scope);
        let epoch = node.ownership().confirmed(slot, owners.get(&slot))?;
        let event = keys::event::key(&ScopeKey::of(&head.scope), head.version_seq);
        let event = keys::event::decode(&event, &events[event.as_slice()]);
        let header = event.expect("the audit reads it").decode_header();
        let is_former = header.expect("the audit reads it").epoch < epoch;
        is_former.then(|| {
            let (node, entry) = (place.0, head.id);
            format!("node {node} holds slot {slot} and has never heard of entry {entry}")
        })
    })
}

/// An entry that the index of a node does not show as it is, if there is one: any node answers for all,
/// whoever published it.
pub(crate) fn unindexed<P: Protocol>(world: &World<P>) -> Option<String> {
    let indices: Vec<(Place, &LaggingIndex)> = world
        .places()
        .into_iter()
        .filter(|place| world.node(*place).is_some())
        .filter_map(|place| Some((place, world.index(place)?)))
        .collect();
    rows(&world.store, Family::Head)
        .into_iter()
        .find_map(|(key, value)| {
            let head = keys::head::decode(&key, &value).ok()?;
            let mut lacking = indices.iter().filter(|(_, index)| !index.shows(&head));
            let (place, _) = lacking.next()?;
            let (entry, node) = (head.id, place.0);
            Some(format!(
                "entry {entry} is not in the index of node {node} as it is"
            ))
        })
}
