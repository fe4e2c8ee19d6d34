//! What a simulated index holds: in memory for one run of its node, and stored, whatever becomes of that.
//!
//! Owns what a call changes, and that it changes it within one event, so that a process which ends there leaves all of the
//! change or nothing of it. It must not know when that event is due.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_builtin::ExactIndex;
use sillok_core::entry::Table;
use sillok_core::id::EntryId;
use sillok_core::ports::{IndexDoc, Lost, PortError, VectorIndex as _, VectorTable, vector_table};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::heap::{Place, Shared};
use crate::rng::Purpose;
use crate::world::at_once;

/// How often it does not take a batch, of 1,000.
const FAILS_PERMILLE: u32 = 10;

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

    /// How many entries are stored, and through which commit.
    pub(crate) fn extent(&self) -> (usize, Option<Stamp>) {
        (self.docs.len(), self.through)
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

/// What the index of one run of a node holds. It has no handle of the world, whose events hold it.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) place: Place,
    pub(super) exact: Arc<ExactIndex>,
    pub(super) stored: Arc<Mutex<Stored>>,
    pub(super) damage_permille: u32,
}

impl Held {
    /// Takes a batch and stores it, or refuses all of it.
    pub(super) fn apply(
        &self,
        shared: &mut Shared,
        docs: Vec<IndexDoc>,
        through: Stamp,
    ) -> Result<(), PortError> {
        if self.fails(shared) {
            return Err(PortError::Unavailable("the index is elsewhere".into()));
        }
        self.meets_damage(shared, &tables_of(docs.iter()))?;
        self.stored.lock().keep(&docs, through);
        at_once(self.exact.apply(docs, through))
    }

    /// Notes that every entry has its vector in it.
    pub(super) fn note_whole(&self) {
        self.stored.lock().is_whole = true;
    }

    /// Empties it.
    pub(super) fn clear(&self) -> Result<(), PortError> {
        *self.stored.lock() = Stored::default();
        at_once(self.exact.clear())
    }

    /// Begins anew with what is lost.
    pub(super) fn forget(&self, shared: &mut Shared, lost: &Lost) -> Result<(), PortError> {
        shared.effects.saw("index begun anew after damage");
        self.stored.lock().forget(lost);
        at_once(self.exact.forget(lost))
    }

    /// Whether a table that a call reads goes bad now, or went before. Once faults are over none goes.
    pub(super) fn meets_damage(
        &self,
        shared: &mut Shared,
        tables: &[VectorTable],
    ) -> Result<(), PortError> {
        let mut stored = self.stored.lock();
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

    /// Whether it does not take a batch. Once faults are over it takes all.
    fn fails(&self, shared: &mut Shared) -> bool {
        let chance = shared.chance(Purpose::Index, self.place);
        let fails = chance.permille(FAILS_PERMILLE) && !shared.net.is_healed;
        if fails {
            shared.effects.saw("index failed");
        }
        fails
    }

    /// The tables that it has.
    pub(super) fn tables(&self) -> Vec<VectorTable> {
        tables_of(self.stored.lock().docs.values())
    }

    /// The tables whose files are known to have gone bad.
    pub(super) fn damaged(&self) -> BTreeSet<VectorTable> {
        self.stored.lock().damaged.clone()
    }

    /// All that was stored and is there still, and through which commit.
    pub(super) fn reopen(&self) -> (Vec<IndexDoc>, Option<Stamp>) {
        let mut stored = self.stored.lock();
        stored.reopen();
        (stored.docs.values().cloned().collect(), stored.through)
    }
}
