//! Where the rows of one table lie, and what is filtered on: the small columns, in memory.
//!
//! With these, a filter becomes a set of row addresses before an index is searched, and a result
//! becomes an entry without reading a file, and what contradicts a claim is found by its key. About 170 bytes a row beside its set (`classes.rs`), and
//! some 60 more where it claims anything; an entry that left has none. It must not know vectors or texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use sillok_core::entry::ClaimHash;
use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::admission::Admission;
use crate::claims::{Claims, Smallest};
use crate::classes::{Classes, Rows};
use crate::filter::{Attributes, Filter};
use crate::graves::Graves;

/// Empty places that are never worth closing up.
const EMPTY_MIN: usize = 64;

/// One stored row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) entry: EntryId,
    pub(crate) stamp: Stamp,
    pub(crate) attributes: Attributes,
    /// Whether the row has a vector of the space that is searched.
    pub(crate) has_vector: bool,
}

/// All rows of one table.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    scopes: BTreeMap<Scope, ScopeRows>,
    rows: usize,
    /// Rows of each data file.
    files: BTreeMap<u64, usize>,
    graves: Graves,
}

/// The rows of one scope. Addresses mostly come in rising order.
#[derive(Debug, Default)]
struct ScopeRows {
    /// By address, sorted; a row that moved away leaves its place empty.
    places: Vec<(u64, Option<Row>)>,
    empty: usize,
    by_entry: BTreeMap<EntryId, u64>,
    claims: Claims,
    /// What filters take together.
    classes: Classes,
}

impl ScopeRows {
    fn iter(&self) -> impl Iterator<Item = (u64, &Row)> {
        self.places
            .iter()
            .filter_map(|(address, row)| Some((*address, row.as_ref()?)))
    }

    /// The rows that lie in a data file: of the others none is looked at.
    fn of_file(&self, fragment: u64) -> impl Iterator<Item = (u64, &Row)> {
        let from = self
            .places
            .partition_point(|(address, _)| fragment_of(*address) < fragment);
        let rest = &self.places[from..];
        let to = rest.partition_point(|(address, _)| fragment_of(*address) == fragment);
        rest[..to]
            .iter()
            .filter_map(|(address, row)| Some((*address, row.as_ref()?)))
    }

    fn get(&self, address: u64) -> Option<&Row> {
        let place = self
            .places
            .binary_search_by_key(&address, |(known, _)| *known)
            .ok()?;
        self.places[place].1.as_ref()
    }

    fn insert(&mut self, address: u64, row: Row) {
        // A place that is there is empty after that, and counted as such.
        self.remove(address);
        self.claims.insert(row.attributes.claim, row.entry);
        self.classes
            .insert(address, &row.attributes, row.has_vector);
        match self
            .places
            .binary_search_by_key(&address, |(known, _)| *known)
        {
            Ok(place) => {
                self.empty -= 1;
                self.places[place].1 = Some(row);
            }
            Err(place) => self.places.insert(place, (address, Some(row))),
        }
    }

    fn remove(&mut self, address: u64) -> Option<Row> {
        let place = self
            .places
            .binary_search_by_key(&address, |(known, _)| *known)
            .ok()?;
        let row = self.places[place].1.take()?;
        self.claims.remove(row.attributes.claim, row.entry);
        self.classes
            .remove(address, &row.attributes, row.has_vector);
        self.empty += 1;
        if self.empty > EMPTY_MIN && self.empty > self.places.len() / 4 {
            self.places.retain(|(_, row)| row.is_some());
            self.empty = 0;
        }
        Some(row)
    }
}

impl Directory {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Number of rows that have a vector, counted.
    pub(crate) fn vectors(&self) -> usize {
        let rows = self.scopes.values().flat_map(ScopeRows::iter);
        rows.filter(|(_, row)| row.has_vector).count()
    }

    /// The entry's row, with its address.
    pub(crate) fn get(&self, scope: &Scope, entry: EntryId) -> Option<(u64, &Row)> {
        let rows = self.scopes.get(scope)?;
        let address = *rows.by_entry.get(&entry)?;
        let row = rows.get(address).expect("every entry's address has a row");
        Some((address, row))
    }

    /// When an entry left that has no row, if that is known.
    pub(crate) fn left_at(&self, scope: &Scope, entry: EntryId) -> Option<Stamp> {
        let has_row = self.get(scope, entry).is_some();
        self.graves.get(scope, entry).filter(|_| !has_row)
    }

    /// How new what is known of an entry is: its row, which with a vector is newer than without, or that it left.
    pub(crate) fn newness_of(&self, scope: &Scope, entry: EntryId) -> Option<(Stamp, bool)> {
        match self.get(scope, entry) {
            Some((_, row)) => Some((row.stamp, row.has_vector)),
            None => Some((self.graves.get(scope, entry)?, true)),
        }
    }

    /// The entry that lies at `address`, when it is one of `scopes`.
    pub(crate) fn at(&self, scopes: &[Scope], address: u64) -> Option<(&Scope, EntryId)> {
        scopes.iter().find_map(|scope| {
            let (scope, rows) = self.scopes.get_key_value(scope)?;
            rows.get(address).map(|row| (scope, row.entry))
        })
    }

    /// Brings those entries of a scope into `found` that are admitted and declare the key of a claim with another value.
    pub(crate) fn claimants(
        &self,
        scope: &Scope,
        claim: ClaimHash,
        admits: impl Fn(EntryId, &Attributes) -> bool,
        found: &mut Smallest,
    ) {
        let Some(rows) = self.scopes.get(scope) else {
            return;
        };
        let admits = |entry| {
            let row = self.get(scope, entry);
            row.is_some_and(|(_, row)| admits(entry, &row.attributes))
        };
        rows.claims.against(claim, admits, found);
    }

    /// Notes where a row lies now. It takes the place of the entry's earlier row.
    pub(crate) fn insert(&mut self, scope: Scope, address: u64, row: Row) {
        self.graves.fill(&scope, row.entry);
        let rows = self.scopes.entry(scope).or_default();
        match rows.by_entry.insert(row.entry, address) {
            Some(earlier) => {
                rows.remove(earlier);
                left(&mut self.files, earlier);
            }
            None => self.rows += 1,
        }
        rows.insert(address, row);
        *self.files.entry(fragment_of(address)).or_default() += 1;
    }

    /// Forgets the rows of a data file that is gone and whose rows lie nowhere else.
    pub(crate) fn remove_fragment(&mut self, fragment: u64) {
        self.remove_of(fragment, |_| true);
        self.files.remove(&fragment);
    }

    /// Forgets those rows of a data file that `is_gone` names by their place in it, and that lie nowhere else.
    pub(crate) fn remove_of(&mut self, fragment: u64, is_gone: impl Fn(u32) -> bool) {
        for rows in self.scopes.values_mut() {
            let of_file = rows
                .of_file(fragment)
                .filter(|(address, _)| is_gone(place_of(*address)));
            let gone: Vec<(u64, EntryId)> =
                of_file.map(|(address, row)| (address, row.entry)).collect();
            for (address, entry) in gone {
                rows.remove(address);
                rows.by_entry.remove(&entry);
                left(&mut self.files, address);
                self.rows -= 1;
            }
        }
        self.scopes.retain(|_, rows| !rows.by_entry.is_empty());
    }

    /// Forgets the entry's row, if it lies at this address.
    pub(crate) fn remove(&mut self, scope: &Scope, entry: EntryId, address: u64) {
        let Some(rows) = self.scopes.get_mut(scope) else {
            return;
        };
        if rows.by_entry.get(&entry) == Some(&address) {
            rows.by_entry.remove(&entry);
            rows.remove(address);
            left(&mut self.files, address);
            self.rows -= 1;
        }
        if rows.by_entry.is_empty() {
            self.scopes.remove(scope);
        }
    }

    /// Remembers that the entry, which has no row, left at that stamp.
    pub(crate) fn bury(&mut self, scope: &Scope, entry: EntryId, stamp: Stamp) {
        if self.get(scope, entry).is_none() {
            self.graves.dig(scope, entry, stamp);
        }
    }

    /// How many rows each data file will have once these have moved to where they lie now, and those are gone.
    pub(crate) fn rows_after(
        &self,
        moved: &[(Scope, u64, Row)],
        gone: &[Gone],
    ) -> BTreeMap<u64, usize> {
        let mut files = self.files.clone();
        for (scope, address, row) in moved {
            if let Some((earlier, _)) = self.get(scope, row.entry) {
                left(&mut files, earlier);
            }
            *files.entry(fragment_of(*address)).or_default() += 1;
        }
        for Gone { address, .. } in gone {
            left(&mut files, *address);
        }
        files
    }

    /// Addresses of the rows that `filter` admits, but those of entries that `newer` names of a scope: all of them, and
    /// those of them that have a vector.
    pub(crate) fn admitted<I: Iterator<Item = EntryId>>(
        &self,
        filter: &Filter,
        newer: impl Fn(&Scope) -> I,
    ) -> Admitted {
        let mut admitted = Rows::default();
        for scope in filter.scopes() {
            let Some(rows) = self.scopes.get(scope) else {
                continue;
            };
            let confidence_of = |address| Some(rows.get(address)?.attributes.confidence);
            rows.classes.admitted(filter, confidence_of, &mut admitted);
            // What is told of and not stored yet.
            for address in newer(scope).filter_map(|entry| rows.by_entry.get(&entry)) {
                admitted.remove(*address);
            }
        }
        let all = Admission::of(&admitted.all).map(Arc::new);
        let with_vector = if admitted.all.len() == admitted.with_vector.len() {
            all.clone()
        } else {
            Admission::of(&admitted.with_vector).map(Arc::new)
        };
        Admitted { all, with_vector }
    }
}

/// The rows that a request admits; none instead of no row.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) all: Option<Arc<Admission>>,
    pub(crate) with_vector: Option<Arc<Admission>>,
}

/// A row that is no longer there.
#[derive(Debug)]
pub(crate) struct Gone {
    pub(crate) scope: Scope,
    pub(crate) entry: EntryId,
    pub(crate) address: u64,
}

/// A row left the data file that it lay in.
fn left(files: &mut BTreeMap<u64, usize>, address: u64) {
    let rows = files.get_mut(&fragment_of(address));
    *rows.expect("a row lies in a file that is known") -= 1;
}

/// The data file that a row lies in.
pub(crate) const fn fragment_of(address: u64) -> u64 {
    address >> 32
}

/// Where in its data file a row lies.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half of an address is the place"
)]
pub(crate) const fn place_of(address: u64) -> u32 {
    address as u32
}
