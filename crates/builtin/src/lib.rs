//! Engines without I/O: an exact vector index, a feature-hash embedder, a deterministic
//! cognifier and a history of commits.
//!
//! Each stands behind a port of [`sillok_core::ports`]. They need no network, no disk and no
//! clock, and the same input always gives the same output. This crate must not know actors,
//! stores or transports.

pub mod cognifier;
pub mod commits;
pub mod embedder;
pub mod index;

pub use cognifier::RuleCognifier;
pub use commits::CommitGraph;
pub use embedder::HashEmbedder;
pub use index::ExactIndex;
