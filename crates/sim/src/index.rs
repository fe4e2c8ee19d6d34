//! The simulated index of a node: exact, slow, and durable as far as it was stored.
//!
//! Owns what outlives a run of its node, and the question whether an index shows what is published.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::protocol::Protocol;
use sillok_builtin::ExactIndex;
use sillok_core::entry::Head;
use sillok_core::id::EntryId;
use sillok_core::membership::OwnerRow;
use sillok_core::ports::{
    BoxFuture, IndexDoc, IndexStats, NeighbourRequest, PortError, Ranked, SearchLists,
    SearchRequest, VectorIndex,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::check::rows;
use crate::heap::{Place, Sim};
use crate::rng::Purpose;
use crate::world::{World, at_once};

/// Time that the index takes to store a batch, in µs, at least and at most.
const INDEX_US: (u64, u64) = (1_000, 200_000);
/// Time that the index takes to answer, in µs, at least and at most.
const SEARCH_US: (u64, u64) = (100, 2_000);
/// How often it does not take a batch, of 1,000.
const FAILS_PERMILLE: u32 = 10;

/// What an index has stored, whatever becomes of its node.
#[derive(Default)]
pub(crate) struct Stored {
    docs: BTreeMap<(Scope, EntryId), IndexDoc>,
    through: Option<Stamp>,
}

impl Stored {
    fn keep(&mut self, docs: &[IndexDoc], through: Stamp) {
        for doc in docs {
            let key = (doc.scope.clone(), doc.entry);
            let is_newer = self.docs.get(&key).is_none_or(|old| old.stamp <= doc.stamp);
            if is_newer {
                self.docs.insert(key, doc.clone());
            }
        }
        self.through = self.through.max(Some(through));
    }
}

/// The exact index, which stores late and answers after a while.
#[derive(Clone)]
pub(crate) struct LaggingIndex {
    sim: Sim,
    place: Place,
    exact: Arc<ExactIndex>,
    stored: Arc<Mutex<Stored>>,
}

impl LaggingIndex {
    /// The index of one run of a node, which begins with what was stored before.
    pub(crate) fn open(sim: &Sim, place: Place, stored: &Arc<Mutex<Stored>>) -> Self {
        let exact = Arc::new(ExactIndex::new());
        let (docs, through) = {
            let stored = stored.lock();
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
        }
    }

    /// Whether a search, and a plan of maintenance, see an entry as its head is.
    fn shows(&self, head: &Head) -> bool {
        let doc = self.exact.get(&head.scope, head.id);
        doc.is_some_and(|doc| {
            let is_found = (doc.version, doc.status, doc.confidence)
                == (head.version, head.status, head.trust.confidence);
            let ages = (doc.age.from, doc.age.resolved_at);
            is_found && ages == (head.age_from(), head.resolved_at())
        })
    }

    /// Whether a search sees a version of an entry, or a later one.
    fn knows(&self, head: &Head) -> bool {
        let doc = self.exact.get(&head.scope, head.id);
        doc.is_some_and(|doc| doc.version >= head.version)
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

impl VectorIndex for LaggingIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        self.exact.offer(docs);
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(INDEX_US, "index stores").await;
            if self.fails() {
                return Err(PortError::Unavailable("the index is elsewhere".into()));
            }
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
            self.exact.search(request).await
        })
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index compares").await;
            self.exact.neighbours(request).await
        })
    }

    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index hands ages over").await;
            self.exact.ages(each).await
        })
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index hands worths over").await;
            self.exact.worths(each).await
        })
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.exact.optimise()
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.exact.clear()
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.exact.stats()
    }
}

/// An entry that a former owner of its slot published and that the index of a node which holds the slot has never heard
/// of, if there is one. Whoever decides in a slot has to know all that was published there before.
pub(crate) fn unknown<P: Protocol>(world: &World<P>, place: Place) -> Option<String> {
    let (node, index) = (world.node(place)?, world.index(place)?);
    let heads = rows(&world.store, Family::Head).into_iter();
    let unknown: Vec<Head> = heads
        .map(|(key, value)| keys::head::decode(&key, &value).expect("the audit reads it"))
        .filter(|head| !index.knows(head))
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
