//! What the source files of a work tree say of themselves: symbols, imports, calls, and what depends on what.
//!
//! Owns reading files by their syntax, walking and watching a work tree, and the index of what is found. It must not know
//! entries, decisions, stores or git's history: who asks brings a work tree, and draws conclusions. See ADR 0045.

mod budget;
pub mod cache;
mod calls;
pub mod code_index;
pub mod debounce;
mod dependents;
mod extract;
mod file_index;
pub mod follow;
mod graph;
pub mod ignored;
mod imports;
mod language;
pub mod limits;
mod manifest;
mod named;
pub mod open;
mod read;
mod resolve;
mod rules;
mod scan;
mod settle;
pub mod signature;
mod tables;
mod totals;
pub mod walk;
pub mod watch;
mod work_tree;

pub use calls::Meaning;
pub use code_index::{Changes, CodeIndex};
pub use dependents::{
    CodeNode, CutReason, Dependent, Dependents, DependentsCut, DependentsLimits, Relation,
};
pub use extract::{Error, index};
pub use file_index::{
    Call, FileCut, FileIndex, Fingerprint, Import, Symbol, SymbolId, SymbolKind, own_name,
};
pub use graph::{CodeEdge, CodeEdgeKind, CodeGraph, CodeGraphLimits, GraphCut};
pub use language::Language;
pub use named::Named;
pub use read::{FileHash, OpenFile, Stamp, Unread};
pub use scan::{Plan, Scanned, read_source};
pub use totals::Totals;
pub use walk::{Passed, WalkOptions};
pub use work_tree::{SymbolRef, WorkTree};
