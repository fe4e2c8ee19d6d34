//! What the source files of a work tree say of themselves: symbols, imports, calls, and what depends on what.
//!
//! Owns reading files by their syntax, walking and watching a work tree, and the index of what is found. It must not know
//! entries, decisions, stores or git's history: who asks brings a work tree, and draws conclusions. See ADR 0045.

mod extract;
mod file_index;
mod language;
pub mod limits;
mod manifest;
mod rules;
pub mod signature;

pub use extract::{Error, index};
pub use file_index::{
    Call, FileCut, FileIndex, Fingerprint, Import, Symbol, SymbolId, SymbolKind, own_name,
};
pub use language::Language;
