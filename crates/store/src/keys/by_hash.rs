//! Entries by their text: the live entry of a table that has a given content.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `d`, [`ScopeKey`] (16), ordinal of the table (1), failure (1), [`ContentHash`] (32) | [`EntryId`] | rewritten, and cleared when no live entry has the text any more |
//!
//! Failures and other entries are kept apart, since they never merge.

use sillok_core::entry::Table;
use sillok_core::facts::HashKey;
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::ByHash;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The table, failure or not, and the text's hash.
    pub content: HashKey,
}

/// The key of the entry that has a text.
#[must_use]
pub fn key(scope: &ScopeKey, content: &HashKey) -> Vec<u8> {
    let table = [content.table.ordinal(), u8::from(content.failure)];
    codec::build(FAMILY, &[scope.as_bytes(), &table, content.hash.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let number = reader.u8()?;
    let table = Table::ALL
        .iter()
        .copied()
        .find(|table| table.ordinal() == number);
    let table = table.ok_or_else(|| reader.corrupt("there is no such table"))?;
    let failure = match reader.u8()? {
        0 => false,
        1 => true,
        _ => return Err(reader.corrupt("neither failure nor not")),
    };
    let hash = ContentHash::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key {
        scope,
        content: HashKey {
            table,
            failure,
            hash,
        },
    })
}

/// The texts of all live entries of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &EntryId) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<EntryId, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
