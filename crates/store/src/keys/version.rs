//! Versions: the texts of an entry, each written once.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `v`, [`ScopeKey`] (16), [`EntryId`] (16), number (8) | [`Version`] | written once |
//!
//! Must not know which version is active: the head does.

use sillok_core::entry::Version;
use sillok_core::id::EntryId;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Version;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The entry.
    pub entry: EntryId,
    /// Number of the version, from 1.
    pub number: u64,
}

/// The key of a version.
#[must_use]
pub fn key(scope: &ScopeKey, entry: EntryId, number: u64) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[scope.as_bytes(), entry.as_bytes(), &number.to_be_bytes()],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let entry = EntryId::from_bytes(reader.array()?);
    let number = reader.u64()?;
    reader.end()?;
    Ok(Key {
        scope,
        entry,
        number,
    })
}

/// The versions of an entry, oldest first.
#[must_use]
pub fn range_of_entry(scope: &ScopeKey, entry: EntryId) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes(), entry.as_bytes()]))
}

/// The versions of all entries of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Version) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Version, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
