//! Ordered bytes with FoundationDB's semantics: serializable, optimistic transactions with
//! snapshot reads, stamped keys and atomic addition.
//!
//! Owns the `Store` and `Txn` traits, optimistic concurrency, the committer, the engines and the
//! key families. Must not know what a command, a permission or an actor is.

pub mod backup;
pub mod buffered;
pub mod committer;
pub mod conformance;
pub mod erased;
pub mod error;
pub mod fjall_store;
pub mod header;
pub mod key_range;
pub mod keys;
pub mod limits;
pub mod memory;
pub mod occ;
pub mod range_set;
pub mod txn;
pub mod versions;
pub mod write_set;

pub use erased::{AnyStore, AnyTxn};
pub use error::Error;
pub use fjall_store::{FjallConfig, FjallStore};
pub use header::Layout;
pub use key_range::KeyRange;
pub use memory::{MemoryConfig, MemoryStore};
pub use sillok_core::stamp::Stamp;
pub use txn::{Committed, RangeOptions, Read, Store, Txn};

#[cfg(test)]
mod model;
