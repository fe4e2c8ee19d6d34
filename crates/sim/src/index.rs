//! The simulated index of a node: exact, slow, and durable as far as it was stored.
//!
//! Owns when a call happens, and the question whether an index shows what is published. What a call changes is `stored`'s.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::protocol::Protocol;
use sillok_builtin::ExactIndex;
use sillok_core::entry::{Embedding, Head, Status};
use sillok_core::id::EntryId;
use sillok_core::membership::OwnerRow;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, EntryColumns, IndexDoc, IndexStats, Lost, NeighbourRequest, PortError,
    Ranked, SearchLists, SearchRequest, VectorIndex, VectorTable, vector_table,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family, ScopeKey};

use self::stored::Held;
use crate::check::rows;
use crate::heap::{Place, Shared, Sim};
use crate::history::Recorder;
use crate::rng::Purpose;
use crate::world::{World, at_once};

mod stored;

pub(crate) use stored::Stored;

/// Time that the index takes to store a batch, in µs, at least and at most.
const INDEX_US: (u64, u64) = (1_000, 200_000);
/// Time that the index takes to answer, in µs, at least and at most.
const SEARCH_US: (u64, u64) = (100, 2_000);
/// How often a call meets a table that has just gone bad, of 1,000, in worlds where some do.
const DAMAGE_PERMILLE: u32 = 1;

/// How often a call meets a table that has just gone bad, of 1,000, under this seed.
pub(crate) const fn damage_permille(seed: u64) -> u32 {
    if seed % 3 == 2 { DAMAGE_PERMILLE } else { 0 }
}

/// The exact index, which stores late and answers after a while.
#[derive(Clone)]
pub(crate) struct LaggingIndex {
    sim: Sim,
    held: Held,
    recorder: Recorder,
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
        let held = Held {
            place,
            exact: Arc::new(ExactIndex::new()),
            stored: Arc::clone(stored),
            damage_permille,
        };
        let (docs, through) = held.reopen();
        if let Some(through) = through {
            let opened = at_once(held.exact.apply(docs, through));
            opened.expect("the exact index takes everything");
        }
        Self {
            sim: sim.clone(),
            held,
            recorder: recorder.clone(),
        }
    }

    /// Whether a search, and a plan of maintenance, see an entry as its head is: one that is gone they do not see.
    fn shows(&self, head: &Head) -> bool {
        let doc = self.held.exact.get(&head.scope, head.id);
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
        let doc = self.held.exact.get(&head.scope, head.id)?;
        Some((doc.content, doc.embedding?))
    }

    /// Whether a search sees a version of an entry, or a later one; nothing, where nothing is left of it. Nobody has
    /// to see one that is gone.
    fn knows(&self, head: &Head) -> bool {
        if head.status == Status::Archived {
            return true;
        }
        let doc = self.held.exact.get(&head.scope, head.id);
        doc.map_or(head.is_erased(), |doc| doc.version >= head.version)
    }

    /// Whether a table that a call reads goes bad now, or went before.
    fn meets_damage(&self, tables: &[VectorTable]) -> Result<(), PortError> {
        self.held.meets_damage(&mut self.sim.lock(), tables)
    }

    /// Those of its tables that a search asks, and that are not known to be damaged.
    fn asked(&self, request: &SearchRequest) -> Vec<VectorTable> {
        let (mut tables, damaged) = (self.held.tables(), self.held.damaged());
        tables.retain(|table| {
            !damaged.contains(table) && Lost::table(table.clone()).concerns(request)
        });
        tables
    }

    /// Whether a place is in a table that is known to be damaged.
    fn is_damaged(&self, place: &Ranked) -> bool {
        let Some(doc) = self.held.exact.get(&place.scope, place.entry) else {
            return false;
        };
        let damaged = self.held.damaged();
        damaged.contains(&vector_table(&doc.scope, doc.table))
    }

    /// Does something after a while, in the event that ends the wait: a process that ends before it has done nothing, and
    /// one that ends right after it has done all of it and heard of nothing.
    async fn does<T: Send + 'static>(
        &self,
        bounds: (u64, u64),
        what: &'static str,
        act: impl FnOnce(&Held, &mut Shared) -> T + Send + 'static,
    ) -> Result<T, PortError> {
        let (place, held) = (self.held.place, self.held.clone());
        let wait_us = self.sim.lock().draw_us(Purpose::Index, place, bounds);
        let done = self.sim.after(place, wait_us, move |shared| {
            shared.line(place, what, &[]);
            act(&held, shared)
        });
        let over = |_| PortError::Unavailable("the world is over".into());
        done.await.map_err(over)
    }

    /// Waits as long as an answer takes that changes nothing.
    async fn wait(&self, bounds: (u64, u64), what: &'static str) {
        // The world outlives its tasks.
        let _ = self.does(bounds, what, |_, _| ()).await;
    }
}

impl EntryColumns for LaggingIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index hands ages over").await;
            self.meets_damage(&self.held.tables())?;
            self.held.exact.ages(each).await
        })
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index hands worths over").await;
            self.meets_damage(&self.held.tables())?;
            self.held.exact.worths(each).await
        })
    }
}

impl VectorIndex for LaggingIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        let now_us = self.sim.lock().now_us;
        for doc in &docs {
            self.recorder.told(doc.entry, now_us);
        }
        self.held.exact.offer(docs);
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let apply = move |held: &Held, shared: &mut Shared| held.apply(shared, docs, through);
            self.does(INDEX_US, "index stores", apply).await?
        })
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        self.held.exact.watermark()
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index searches").await;
            self.meets_damage(&self.asked(request))?;
            let mut lists = self.held.exact.search(request).await?;
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
            self.held.exact.neighbours(request).await
        })
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        Box::pin(async move {
            self.wait(SEARCH_US, "index looks claims up").await;
            let mut tables = self.held.tables();
            tables.retain(|table| Lost::table(table.clone()).concerns_claimants(request));
            self.meets_damage(&tables)?;
            self.held.exact.claimants(request).await
        })
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            self.wait(INDEX_US, "index optimises").await;
            self.held.exact.optimise().await
        })
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        Box::pin(core::future::ready(Ok(self.held.stored.lock().is_whole())))
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let note = |held: &Held, _: &mut Shared| held.note_whole();
            self.does(INDEX_US, "index is noted to be whole", note)
                .await
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let clear = |held: &Held, _: &mut Shared| held.clear();
            self.does(INDEX_US, "index is emptied", clear).await?
        })
    }

    fn forget<'a>(&'a self, lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let lost = lost.clone();
            let forget = move |held: &Held, shared: &mut Shared| held.forget(shared, &lost);
            self.does(INDEX_US, "index forgets", forget).await?
        })
    }

    fn passed_over(&self) -> Lost {
        Lost::Tables(self.held.damaged())
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.held.exact.stats()
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

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::heap::Due;

    #[test]
    fn what_a_call_changes_is_changed_in_its_event_though_nobody_hears_of_it() {
        let sim = Sim::new(1, false);
        // An index that is healed takes everything.
        sim.lock().net.heal();
        let stored = Arc::<Mutex<Stored>>::default();
        let index = LaggingIndex::open(&sim, Place(0), &stored, &Recorder::default(), 0);
        let mut call = index.apply(Vec::new(), Stamp::ZERO);
        assert!((&mut call).now_or_never().is_none());
        let due = sim.lock().pop();
        let Some(Due::Act(_, act)) = due else {
            panic!("the call is no event");
        };
        assert_eq!(stored.lock().extent().1, None);
        act(&mut sim.lock());
        drop(call);
        assert_eq!(stored.lock().extent().1, Some(Stamp::ZERO));
        assert_eq!(at_once(index.watermark()).unwrap(), Some(Stamp::ZERO));
    }
}
