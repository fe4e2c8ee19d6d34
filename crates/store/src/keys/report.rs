//! Reports: what a task says of an entry that it used.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `u`, [`ScopeKey`] (16), [`EntryId`] (16), [`ScopeKey`] (16) | [`Report`] | rewritten when the task changes its mind |
//!
//! The first scope is the entry's, the second one the task's.

use sillok_core::id::EntryId;
use sillok_core::reuse::Report;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Report;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The entry's scope.
    pub scope: ScopeKey,
    /// The entry.
    pub entry: EntryId,
    /// The task.
    pub task: ScopeKey,
}

/// The key of the row.
#[must_use]
pub fn key(scope: &ScopeKey, entry: EntryId, task: &ScopeKey) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[scope.as_bytes(), entry.as_bytes(), task.as_bytes()],
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
    let task = reader.scope()?;
    reader.end()?;
    Ok(Key { scope, entry, task })
}

/// All reports on entries of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Report) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Report, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
