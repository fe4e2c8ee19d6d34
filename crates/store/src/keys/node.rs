//! Nodes: who runs, and whether it lives.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `n`, name of the node | [`NodeRow`] | rewritten by its node at each beat, and by whoever fences it |
//!
//! Must not know what fencing means: the shells do.

use sillok_core::membership::NodeRow;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Node;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Name of the node.
    pub node: String,
}

/// The key of a node. A name has at least one byte.
#[must_use]
pub fn key(node: &str) -> Vec<u8> {
    assert!(!node.is_empty(), "a node has a name");
    codec::build(FAMILY, &[node.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let node = codec::KeyReader::new(FAMILY, key)?
        .text_to_end()?
        .to_owned();
    Ok(Key { node })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &NodeRow) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<NodeRow, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
