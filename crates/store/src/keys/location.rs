//! Locations: the scope in which an entry lives.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `i`, [`EntryId`] (16) | [`Scope`] | written once |
//!
//! Lets an entry be found by its id alone.

use sillok_core::id::EntryId;
use sillok_core::scope::Scope;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Location;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The entry.
    pub entry: EntryId,
}

/// The key of an entry's location.
#[must_use]
pub fn key(entry: EntryId) -> Vec<u8> {
    codec::build(FAMILY, &[entry.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let entry = EntryId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { entry })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Scope) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Scope, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
