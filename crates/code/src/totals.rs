//! How much is known of a work tree, in figures.
//!
//! Owns what is counted. It must not know files: each is counted when it comes, and taken off when it goes.

use crate::scan::FileState;

/// What a work tree's files come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Symbols.
    pub symbols: u64,
    /// Files that are listed, and nothing is known of what they hold.
    pub unread: u64,
    /// Files in which the parser met what it could not read.
    pub errors: u64,
    /// Files of which something is not said, because of a bound.
    pub cut_files: u64,
    /// Symbols over a bound of a file.
    pub cut_symbols: u64,
    /// Imports over a bound of a file.
    pub cut_imports: u64,
    /// Calls over a bound of a file.
    pub cut_calls: u64,
    /// Symbols with names that nothing else can say.
    pub unsayable: u64,
}

impl Totals {
    fn of(state: &FileState) -> Self {
        let Ok((_, file)) = &state.content else {
            return Self {
                unread: 1,
                ..Self::default()
            };
        };
        let cut = file.cut;
        let is_cut = cut.symbols > 0 || cut.imports > 0 || cut.calls > 0;
        Self {
            symbols: file.symbols.len() as u64,
            unread: 0,
            errors: u64::from(file.has_errors),
            cut_files: u64::from(is_cut),
            cut_symbols: cut.symbols.into(),
            cut_imports: cut.imports.into(),
            cut_calls: cut.calls.into(),
            unsayable: cut.names.into(),
        }
    }

    pub(crate) fn add(&mut self, state: &FileState) {
        self.change(&Self::of(state), u64::saturating_add);
    }

    pub(crate) fn take_off(&mut self, state: &FileState) {
        self.change(&Self::of(state), u64::saturating_sub);
    }

    fn change(&mut self, by: &Self, change: impl Fn(u64, u64) -> u64) {
        for (total, by) in [
            (&mut self.symbols, by.symbols),
            (&mut self.unread, by.unread),
            (&mut self.errors, by.errors),
            (&mut self.cut_files, by.cut_files),
            (&mut self.cut_symbols, by.cut_symbols),
            (&mut self.cut_imports, by.cut_imports),
            (&mut self.cut_calls, by.cut_calls),
            (&mut self.unsayable, by.unsayable),
        ] {
            *total = change(*total, by);
        }
    }
}
