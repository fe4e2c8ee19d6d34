//! Symbols by their names.
//!
//! Owns looking them up, within bounds. It must not know what code means by a name: that is up to calls.

use std::sync::Arc;

use crate::budget::Budget;
use crate::file_index::own_name;
use crate::limits::{DEPENDENTS_LOOKUPS_MAX, NAMED_MAX};
use crate::tables::FileNumber;
use crate::work_tree::{SymbolRef, WorkTree};

/// The symbols of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// In order of path and place.
    pub symbols: Vec<SymbolRef>,
    /// Whether a bound was reached, or the time was over: some are not there then.
    pub is_cut: bool,
}

impl WorkTree {
    /// The symbols of this name: the qualified one, or the last part of it. `is_over` is asked before the first thing that is
    /// looked at and each further 1,024; once it says so no more is.
    #[must_use]
    pub fn find_named(&self, name: &str, is_over: &dyn Fn() -> bool) -> Named {
        let mut budget = Budget::new(DEPENDENTS_LOOKUPS_MAX, is_over);
        let mut symbols = Vec::new();
        let own = name.rsplit(['.', ':']).next().unwrap_or(name);
        for number in self.tables().defining(own) {
            if symbols.len() > NAMED_MAX || !budget.take(1) {
                break;
            }
            self.named_in(number, name, &mut budget, &mut symbols);
        }
        symbols.sort_unstable();
        let is_cut = symbols.len() > NAMED_MAX || budget.ended().is_some();
        symbols.truncate(NAMED_MAX);
        Named { symbols, is_cut }
    }

    /// The same for whoever takes what there is, however long it takes.
    #[must_use]
    pub fn symbols_named(&self, name: &str) -> Vec<SymbolRef> {
        self.find_named(name, &|| false).symbols
    }

    /// The symbols of a file that have this name, in order; none where it is not listed, or could not be read.
    #[must_use]
    pub fn symbols_in(&self, path: &str, name: &str) -> Vec<SymbolRef> {
        let mut symbols = Vec::new();
        if let Some(number) = self.number(path) {
            let mut budget = Budget::new(DEPENDENTS_LOOKUPS_MAX, &|| false);
            self.named_in(number, name, &mut budget, &mut symbols);
        }
        symbols
    }

    fn named_in(
        &self,
        number: FileNumber,
        name: &str,
        budget: &mut Budget<'_>,
        symbols: &mut Vec<SymbolRef>,
    ) {
        let (Some(path), Some(file)) = (self.path(number), self.file_at(number)) else {
            return;
        };
        let own = own_name(name, file.language);
        let places = file.symbols_called(own);
        if !budget.take(places.len()) {
            return;
        }
        let is_named = |place: &&u32| {
            let symbol = file.symbols.get(**place as usize);
            symbol.is_some_and(|symbol| &*symbol.name == name || own == name)
        };
        symbols.extend(places.iter().filter(is_named).map(|place| SymbolRef {
            path: Arc::clone(path),
            place: *place,
        }));
    }
}
