//! Spaces: in which one every entry has a vector.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `p`, what the space is for | [`SpaceId`] | written by each node that has come to the end of a change of the embedder |
//!
//! Without a row, the vectors are of the space that the events say. Must not know embedders.

use sillok_core::entry::SpaceId;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Space;
const FORMAT: u8 = 1;

/// What entries are searched by.
pub const OF_ENTRIES: &str = "entries";

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// What the space is for.
    pub name: String,
}

/// The key of the row. A name has at least one byte.
#[must_use]
pub fn key(name: &str) -> Vec<u8> {
    assert!(!name.is_empty(), "a space is for something");
    codec::build(FAMILY, &[name.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let reader = codec::KeyReader::new(FAMILY, key)?;
    let name = reader.text_to_end()?.to_owned();
    Ok(Key { name })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &SpaceId) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<SpaceId, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
