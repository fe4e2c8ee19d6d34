//! Heads: what changes of an entry while its versions stay.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `h`, [`ScopeKey`] (16), [`EntryId`] (16) | [`Head`] | rewritten with every change of the entry |
//!
//! The text lies in the version that the head names.

use sillok_core::entry::Head;
use sillok_core::id::EntryId;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Head;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The entry.
    pub entry: EntryId,
}

/// The key of the row.
#[must_use]
pub fn key(scope: &ScopeKey, entry: EntryId) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), entry.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let entry = EntryId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { scope, entry })
}

/// All heads of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Head) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Head, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
