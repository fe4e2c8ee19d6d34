//! Fences: operators' orders that a run of a node ends.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `f`, run (8), name of the node | [`FenceOrder`] | written once, kept for good |
//!
//! Each beat reads its run's in conflict. Must not know what an order means: the shells do.

use sillok_core::id::Incarnation;
use sillok_core::membership::FenceOrder;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Fence;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Name of the node.
    pub node: String,
    /// The run.
    pub run: Incarnation,
}

/// The key of the order for a run of a node. A name has at least one byte.
#[must_use]
pub fn key(node: &str, run: Incarnation) -> Vec<u8> {
    assert!(!node.is_empty(), "a node has a name");
    codec::build(FAMILY, &[&run.0.to_be_bytes(), node.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let run = Incarnation(reader.u64()?);
    let node = reader.text_to_end()?.to_owned();
    Ok(Key { node, run })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &FenceOrder) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<FenceOrder, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
