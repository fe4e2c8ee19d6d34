//! One side of a change: an embedder with the index of its space, and what that index still lacks.
//!
//! Owns the names of the entries whose vectors have to be made, and how far the walk over all entries has come. It must
//! not know how vectors are made.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use sillok_core::entry::SpaceId;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder, IndexDoc};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_store::KeyRange;
use sillok_store::keys::Family;
use sillok_store::keys::vector::SpaceKey;

use super::watch::WatchedIndex;

/// Names that are held. With more, all entries are walked again.
pub(super) const NAMES_MAX: usize = 65_536;

/// Names an entry.
pub(super) type Name = (Scope, EntryId);

/// A name, with the number under which it was noted last.
pub(super) type Noted = (Name, u64);

/// An embedder with the index of its space.
pub(super) struct Side {
    pub(super) space: SpaceId,
    pub(super) key: SpaceKey,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) index: WatchedIndex,
    /// Whether the index is filled from nothing, and nobody searches it meanwhile.
    is_to_fill: AtomicBool,
    lacking: Mutex<Lacking>,
    walk: Mutex<Walk>,
    /// The cursor that was handed to the index last.
    through: Mutex<Stamp>,
    /// Whether an index that does not serve yet is offered what is committed, as the one that does.
    is_offered: AtomicBool,
    /// Held by the one question that makes vectors, with when it began, on the boot clock: that stays where it was given
    /// up on the way.
    pub(super) making: tokio::sync::Mutex<Option<u64>>,
}

/// Entries whose vectors the index may lack.
#[derive(Default)]
struct Lacking {
    scopes: BTreeMap<Scope, BTreeMap<EntryId, u64>>,
    /// Those of them that were erased, which wait for no embedder.
    erased: BTreeMap<Name, u64>,
    count: usize,
    /// How often a name was noted.
    noted: u64,
    /// How often one was noted that was erased.
    erasures: u64,
}

/// How far the entries were walked.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// How often all of them had to be walked again.
    turn: u64,
    /// Whether the index is emptied first: nobody knows any more what was erased since it got what it has.
    pub(super) empties: bool,
    /// The heads that are left; none once all were walked.
    pub(super) left: Option<KeyRange>,
    /// Entries so far.
    pub(super) done: u64,
}

impl Walk {
    const fn over() -> Self {
        Self {
            turn: 0,
            empties: false,
            left: None,
            done: 0,
        }
    }

    fn anew(turn: u64, empties: bool) -> Self {
        Self {
            turn,
            empties,
            left: Some(Family::Head.range()),
            ..Self::over()
        }
    }

    /// Whether nothing is left.
    pub(super) const fn is_over(&self) -> bool {
        self.left.is_none()
    }
}

impl Side {
    /// A side whose index has what the events say.
    pub(super) fn serving(embedder: Arc<dyn Embedder>, index: WatchedIndex) -> Self {
        let space = embedder.space();
        Self {
            key: SpaceKey::of(&space),
            space,
            embedder,
            index,
            is_to_fill: AtomicBool::new(false),
            lacking: Mutex::default(),
            walk: Mutex::new(Walk::over()),
            through: Mutex::new(Stamp::ZERO),
            is_offered: AtomicBool::new(true),
            making: tokio::sync::Mutex::default(),
        }
    }

    /// A side whose index has to be filled.
    pub(super) fn to_fill(embedder: Arc<dyn Embedder>, index: WatchedIndex) -> Self {
        Self {
            is_to_fill: AtomicBool::new(true),
            walk: Mutex::new(Walk::anew(0, true)),
            is_offered: AtomicBool::new(false),
            ..Self::serving(embedder, index)
        }
    }

    /// Whether a document has what this side searches by, or is of an entry that is searched no more.
    pub(super) fn suits(&self, doc: &IndexDoc) -> bool {
        let is_of_space = |doc: &IndexDoc| {
            doc.embedding.as_ref().map(|vector| &vector.space) == Some(&self.space)
        };
        doc.is_gone() || is_of_space(doc)
    }

    /// Whether a document has a vector that cannot be compared here.
    pub(super) fn is_foreign(&self, doc: &IndexDoc) -> bool {
        let vector = doc.embedding.as_ref();
        vector.is_some_and(|vector| vector.space != self.space)
    }

    /// Notes that the vector of an entry has to be made, or its state brought.
    pub(super) fn note(&self, name: Name) {
        self.note_as(name, false);
    }

    /// Notes that what an entry had is to be forgotten, before anything else is brought.
    pub(super) fn note_erased(&self, name: Name) {
        self.note_as(name, true);
    }

    fn note_as(&self, name: Name, is_erased: bool) {
        let mut lacking = self.lacking.lock();
        if lacking.count >= NAMES_MAX {
            *lacking = Lacking {
                noted: lacking.noted,
                erasures: lacking.erasures,
                ..Lacking::default()
            };
            let mut walk = self.walk.lock();
            *walk = Walk::anew(walk.turn + 1, self.is_to_fill.load(Ordering::Acquire));
        }
        lacking.noted += 1;
        let number = lacking.noted;
        if is_erased {
            lacking.erased.insert(name.clone(), number);
            lacking.erasures += 1;
        }
        let (scope, entry) = name;
        let entries = lacking.scopes.entry(scope).or_default();
        let is_new = entries.insert(entry, number).is_none();
        lacking.count += usize::from(is_new);
    }

    /// Some of the noted names that were erased.
    pub(super) fn erased(&self, most: usize) -> Vec<Noted> {
        let lacking = self.lacking.lock();
        let erased = lacking.erased.iter().take(most);
        erased
            .map(|(name, number)| (name.clone(), *number))
            .collect()
    }

    /// How often something was noted that was erased: whoever makes vectors meanwhile has something to do first.
    pub(super) fn erasures(&self) -> u64 {
        self.lacking.lock().erasures
    }

    /// Some of the noted names.
    pub(super) fn noted(&self, most: usize) -> Vec<Noted> {
        let lacking = self.lacking.lock();
        let scopes = lacking.scopes.iter();
        let names = scopes.flat_map(|(scope, entries)| {
            let name = move |(entry, number): (&EntryId, &u64)| ((scope.clone(), *entry), *number);
            entries.iter().map(name)
        });
        names.take(most).collect()
    }

    /// Some of the noted names in a scope.
    pub(super) fn noted_in(&self, scope: &Scope, most: usize) -> Vec<Noted> {
        let lacking = self.lacking.lock();
        let entries = lacking.scopes.get(scope).into_iter().flatten();
        let names = entries.map(|(entry, number)| ((scope.clone(), *entry), *number));
        names.take(most).collect()
    }

    /// Forgets names, but for those that were noted again since.
    pub(super) fn brought(&self, names: &[Noted]) {
        let mut lacking = self.lacking.lock();
        for (name, number) in names {
            if lacking.erased.get(name) == Some(number) {
                lacking.erased.remove(name);
            }
            let (scope, entry) = name;
            let Some(entries) = lacking.scopes.get_mut(scope) else {
                continue;
            };
            if entries.get(entry) != Some(number) {
                continue;
            }
            entries.remove(entry);
            if entries.is_empty() {
                lacking.scopes.remove(scope);
            }
            lacking.count -= 1;
        }
    }

    /// Whether any of these names is noted still as it was then.
    pub(super) fn lacks_of_before(&self, number: u64) -> bool {
        let lacking = self.lacking.lock();
        let mut numbers = lacking.scopes.values().flat_map(BTreeMap::values);
        numbers.any(|noted| *noted <= number)
    }

    /// The number of what was noted last.
    pub(super) fn noted_last(&self) -> u64 {
        self.lacking.lock().noted
    }

    /// How many names are noted.
    pub(super) fn lacks(&self) -> usize {
        self.lacking.lock().count
    }

    /// How far the walk has come.
    pub(super) fn walk(&self) -> Walk {
        self.walk.lock().clone()
    }

    /// The walk has come so far, unless it was begun anew meanwhile.
    pub(super) fn walked(&self, further: Walk) {
        let mut walk = self.walk.lock();
        if walk.turn == further.turn {
            *walk = further;
        }
    }

    /// The cursor to hand to the index together with what was committed up to `through`: that of before, while vectors
    /// are to be made of which only this process knows.
    pub(super) fn cursor(&self, through: Stamp) -> Stamp {
        let mut known = self.through.lock();
        if self.lacks() == 0 {
            *known = through.max(*known);
        }
        *known
    }

    /// The index has forgotten its cursor: what is told again moves it anew.
    pub(super) fn forget_cursor(&self) {
        *self.through.lock() = Stamp::ZERO;
    }

    /// The index has forgotten something: all entries are walked again, and it is not told at once what is committed.
    pub(super) fn walk_anew(&self) {
        self.forget_cursor();
        let mut walk = self.walk.lock();
        *walk = Walk::anew(walk.turn + 1, walk.empties);
    }

    /// The index was filled, and is searched from now on: it is never emptied again.
    pub(super) fn serves(&self) {
        self.is_to_fill.store(false, Ordering::Release);
    }

    pub(super) fn is_offered(&self) -> bool {
        self.is_offered.load(Ordering::Acquire)
    }

    pub(super) fn set_offered(&self, is_offered: bool) {
        self.is_offered.store(is_offered, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use sillok_builtin::{ExactIndex, HashEmbedder};

    use super::super::watch::Menders;
    use super::*;

    fn index() -> WatchedIndex {
        WatchedIndex::new(Arc::new(ExactIndex::new()), &Menders::default())
    }

    fn side() -> Side {
        Side::serving(Arc::new(HashEmbedder), index())
    }

    fn name(number: u8) -> Name {
        let scope = Scope::parse(&format!("org/o{}", number % 3)).unwrap();
        let mut id = [0; 16];
        id[15] = number / 3;
        (scope, EntryId::from_bytes(id))
    }

    proptest! {
        #[test]
        fn a_name_stays_until_it_is_brought_as_it_was_noted_last(
            steps in proptest::collection::vec((any::<bool>(), 0_u8..12), 0..60),
        ) {
            let side = side();
            let mut model: BTreeMap<Name, bool> = BTreeMap::new();
            let mut picked: Vec<Noted> = Vec::new();
            for (notes, number) in steps {
                if notes {
                    side.note(name(number));
                    model.insert(name(number), true);
                } else if picked.is_empty() {
                    picked = side.noted(usize::from(number));
                    for (name, _) in &picked {
                        model.insert(name.clone(), false);
                    }
                } else {
                    side.brought(&picked);
                    // Whatever was noted again stays.
                    for (name, _) in picked.drain(..) {
                        if model.get(&name) == Some(&false) {
                            model.remove(&name);
                        }
                    }
                }
                prop_assert_eq!(side.lacks(), model.len());
                let noted: Vec<Name> = side.noted(usize::MAX).into_iter().map(|(name, _)| name).collect();
                prop_assert_eq!(noted, model.keys().cloned().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_cursor_stays_while_a_vector_is_lacking() {
        let side = side();
        let at = |counter| Stamp {
            counter,
            ..Stamp::ZERO
        };
        assert_eq!(side.cursor(at(3)), at(3));
        side.note(name(1));
        assert_eq!(side.cursor(at(5)), at(3));
        side.brought(&side.noted(9));
        assert_eq!(side.cursor(at(6)), at(6));
        assert_eq!(side.cursor(at(4)), at(6), "it never goes back");
        side.forget_cursor();
        assert_eq!(side.cursor(at(2)), at(2), "unless all is told again");
    }

    #[test]
    fn what_was_erased_is_known_apart_from_the_rest() {
        let side = side();
        (0..9).for_each(|number| side.note(name(number)));
        assert_eq!((side.erased(9).len(), side.erasures()), (0, 0));
        side.note_erased(name(7));
        let first = side.erased(9);
        assert_eq!(first.len(), 1);
        assert_eq!((&first[0].0, side.erasures()), (&name(7), 1));
        side.brought(&first);
        assert!(side.erased(9).is_empty());
        assert_eq!((side.lacks(), side.noted(99).len()), (8, 8));
    }

    #[test]
    fn names_have_a_bound_beyond_which_everything_is_walked() {
        let side = side();
        assert!(side.walk().is_over());
        let scope = Scope::parse("org/o").unwrap();
        for number in 0..=NAMES_MAX as u128 {
            side.note((scope.clone(), EntryId::from_bytes(number.to_be_bytes())));
        }
        assert_eq!(side.lacks(), 1);
        assert!(!side.walk().is_over());
    }

    #[test]
    fn what_serves_is_not_emptied_though_all_is_walked_again() {
        let side = Side::to_fill(Arc::new(HashEmbedder), index());
        side.serves();
        let scope = Scope::parse("org/o").unwrap();
        for number in 0..=NAMES_MAX as u128 {
            side.note((scope.clone(), EntryId::from_bytes(number.to_be_bytes())));
        }
        let walk = side.walk();
        assert!(!walk.is_over() && !walk.empties);
    }

    #[test]
    fn a_walk_that_was_begun_anew_is_not_ended_by_the_former_one() {
        let side = Side::to_fill(Arc::new(HashEmbedder), index());
        let mut former = side.walk();
        former.left = None;
        side.walked(former.clone());
        assert!(side.walk().is_over());
        *side.walk.lock() = Walk::anew(1, true);
        side.walked(former);
        assert!(!side.walk().is_over());
    }
}
