//! Scopes: where the chain of each one ends.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `q`, [`ScopeKey`] (16) | [`ScopeRow`] | rewritten by every commit of the scope |
//!
//! Every commit reads the row of each scope that it writes in conflict, so no two can append behind the same event.

use sillok_core::command::ScopeRow;

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Scope;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
}

/// The key of a scope's row.
#[must_use]
pub fn key(scope: &ScopeKey) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    reader.end()?;
    Ok(Key { scope })
}

/// The rows of all scopes behind `scope`, or of all scopes.
#[must_use]
pub fn range_after(scope: Option<&ScopeKey>) -> KeyRange {
    let mut range = FAMILY.range();
    if let Some(scope) = scope {
        range.begin = successor(&key(scope));
    }
    range
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &ScopeRow) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<ScopeRow, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
