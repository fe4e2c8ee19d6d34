//! Entries that have left a table, and when: no older state of one brings it back.
//!
//! In memory alone, and of the latest only. An older state comes after the one that took an entry out when whoever had
//! read it was slow to offer it, by moments; or when a batch is repeated, whose entries are read anew. After a start
//! there is nobody who read anything before, and the indexer reads each head as it is now: an entry that is gone comes
//! as one that is gone, however old the row of the outbox is that names it. It must not know rows.

use std::collections::BTreeMap;

use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

/// So many are remembered for certain, and up to twice as many: far more than leave while a read is on its way. Each
/// takes some 60 bytes.
const REMEMBERED: usize = 1 << 18;

/// Stamps of entries that have left.
#[derive(Debug, Default)]
pub(crate) struct Graves {
    recent: BTreeMap<Scope, BTreeMap<EntryId, Stamp>>,
    /// Those that came before; forgotten when there are enough recent ones.
    earlier: BTreeMap<Scope, BTreeMap<EntryId, Stamp>>,
    recent_count: usize,
}

impl Graves {
    /// When the entry left, if that is known.
    pub(crate) fn get(&self, scope: &Scope, entry: EntryId) -> Option<Stamp> {
        let of = |graves: &BTreeMap<Scope, BTreeMap<EntryId, Stamp>>| {
            graves.get(scope)?.get(&entry).copied()
        };
        of(&self.recent).max(of(&self.earlier))
    }

    /// The entry left at that stamp, or later.
    pub(crate) fn dig(&mut self, scope: &Scope, entry: EntryId, stamp: Stamp) {
        if self.recent_count >= REMEMBERED {
            self.earlier = core::mem::take(&mut self.recent);
            self.recent_count = 0;
        }
        let graves = self.recent.entry(scope.clone()).or_default();
        let known = graves.get(&entry).copied();
        self.recent_count += usize::from(known.is_none());
        graves.insert(entry, known.map_or(stamp, |known| known.max(stamp)));
    }

    /// The entry is back.
    pub(crate) fn fill(&mut self, scope: &Scope, entry: EntryId) {
        self.recent_count -= usize::from(remove(&mut self.recent, scope, entry));
        remove(&mut self.earlier, scope, entry);
    }
}

/// Whether there was one to remove.
fn remove(
    graves: &mut BTreeMap<Scope, BTreeMap<EntryId, Stamp>>,
    scope: &Scope,
    entry: EntryId,
) -> bool {
    let Some(of_scope) = graves.get_mut(scope) else {
        return false;
    };
    let was_there = of_scope.remove(&entry).is_some();
    if of_scope.is_empty() {
        graves.remove(scope);
    }
    was_there
}
