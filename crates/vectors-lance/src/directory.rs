//! Where the rows of one table lie, and what is filtered on: the small columns, in memory.
//!
//! With these, a filter becomes a set of row addresses before an index is searched, and a result
//! becomes an entry without reading a file. About 150 bytes a row. It must not know vectors or
//! texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::admission::Admission;
use crate::filter::{Attributes, Filter};

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
    stamp_max: Option<Stamp>,
}

/// The rows of one scope. Addresses mostly come in rising order, and every search walks them.
#[derive(Debug, Default)]
struct ScopeRows {
    /// By address, sorted; a row that moved away leaves its place empty.
    places: Vec<(u64, Option<Row>)>,
    empty: usize,
    by_entry: BTreeMap<EntryId, u64>,
}

impl ScopeRows {
    fn iter(&self) -> impl Iterator<Item = (u64, &Row)> {
        self.places
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
        match self
            .places
            .binary_search_by_key(&address, |(known, _)| *known)
        {
            Ok(place) => {
                self.empty -= usize::from(self.places[place].1.is_none());
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

    /// The latest stamp that was ever stored.
    pub(crate) fn stamp_max(&self) -> Option<Stamp> {
        self.stamp_max
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

    /// The entry that lies at `address`, when it is one of `scopes`.
    pub(crate) fn at(&self, scopes: &[Scope], address: u64) -> Option<(&Scope, EntryId)> {
        scopes.iter().find_map(|scope| {
            let (scope, rows) = self.scopes.get_key_value(scope)?;
            rows.get(address).map(|row| (scope, row.entry))
        })
    }

    /// Notes where a row lies now. It takes the place of the entry's earlier row.
    pub(crate) fn insert(&mut self, scope: Scope, address: u64, row: Row) {
        self.stamp_max = self.stamp_max.max(Some(row.stamp));
        let rows = self.scopes.entry(scope).or_default();
        match rows.by_entry.insert(row.entry, address) {
            Some(earlier) => {
                rows.remove(earlier);
            }
            None => self.rows += 1,
        }
        rows.insert(address, row);
    }

    /// Forgets an entry, whose row is gone.
    pub(crate) fn remove(&mut self, scope: &Scope, entry: EntryId) {
        let Some(rows) = self.scopes.get_mut(scope) else {
            return;
        };
        if let Some(address) = rows.by_entry.remove(&entry) {
            rows.remove(address);
            self.rows -= 1;
        }
        if rows.by_entry.is_empty() {
            self.scopes.remove(scope);
        }
    }

    /// Forgets the rows of a data file that is gone and whose rows lie nowhere else.
    pub(crate) fn remove_fragment(&mut self, fragment: u64) {
        for rows in self.scopes.values_mut() {
            let gone: Vec<(u64, EntryId)> = rows
                .iter()
                .filter(|(address, _)| fragment_of(*address) == fragment)
                .map(|(address, row)| (address, row.entry))
                .collect();
            for (address, entry) in gone {
                rows.remove(address);
                rows.by_entry.remove(&entry);
                self.rows -= 1;
            }
        }
    }

    /// Addresses of the rows that `filter` admits and `skip` does not name: all of them, and those
    /// of them that have a vector.
    pub(crate) fn admitted(
        &self,
        filter: &Filter,
        mut skip: impl FnMut(&Scope, EntryId) -> bool,
    ) -> Admitted {
        let (mut all, mut with_vector) = (Vec::new(), Vec::new());
        for scope in filter.scopes() {
            let Some(rows) = self.scopes.get(scope) else {
                continue;
            };
            let (mut run, mut run_with_vector) = (Vec::new(), Vec::new());
            for (address, row) in rows.iter() {
                if filter.admits(&row.attributes) && !skip(scope, row.entry) {
                    run.push(address);
                    if row.has_vector {
                        run_with_vector.push(address);
                    }
                }
            }
            all.push(run);
            with_vector.push(run_with_vector);
        }
        let all_have_one = all
            .iter()
            .map(Vec::len)
            .eq(with_vector.iter().map(Vec::len));
        let all = Admission::of(&all).map(Arc::new);
        let with_vector = if all_have_one {
            all.clone()
        } else {
            Admission::of(&with_vector).map(Arc::new)
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

/// The data file that a row lies in.
pub(crate) const fn fragment_of(address: u64) -> u64 {
    address >> 32
}
