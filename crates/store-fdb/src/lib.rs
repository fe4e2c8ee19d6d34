//! The store over FoundationDB, which the nodes of a cluster share.
//!
//! Owns the client library and how transactions, stamps and errors are said in its terms. Must not know
//! what a key means: all rules about keys, bounds and the header are `sillok-store`'s.
//!
//! Each installation lies under a prefix of its own, so that several share a cluster. The library runs
//! one thread for its network in a process: the first [`FdbStore::open`] starts it, and whoever ends the
//! process calls [`stop_network`] before.

mod config;
mod error;
mod header;
mod network;
mod stamps;
mod store;
mod txn;

pub use config::{FdbConfig, Installation, LIFETIME_MS, NotAName};
pub use error::OpenError;
pub use network::stop_network;
pub use store::FdbStore;
pub use txn::FdbTxn;
