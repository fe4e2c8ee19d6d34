//! Heads: what changes of an entry while its versions stay.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `h`, [`ScopeKey`] (16), [`EntryId`] (16) | [`Head`] | rewritten with every change of the entry |
//!
//! The text lies in the version that the head names. Format 1 ends before what tasks say of the entry, and is
//! written while none says anything: builds that know no reports read it.

use sillok_core::entry::Head;
use sillok_core::id::EntryId;
use sillok_core::reuse::Usage;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Head;
/// Without what tasks say of the entry.
const WITHOUT_USAGE: u8 = 1;
/// The whole head.
const WHOLE: u8 = 2;

/// The stored form of a usage that nobody reported.
const UNUSED: [u8; 4] = [0; 4];

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
    if value.usage != Usage::default() {
        return codec::encode(WHOLE, value);
    }
    // A usage without reports is four zeros.
    codec::encode_without_end(WITHOUT_USAGE, value, &UNUSED)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Head, Error> {
    match codec::open_any(FAMILY, WITHOUT_USAGE..=WHOLE, key, value)? {
        (WITHOUT_USAGE, fields) => {
            let whole = [fields, UNUSED.as_slice()].concat();
            codec::decode_fields(FAMILY, key, &whole)
        }
        (_, fields) => codec::decode_fields(FAMILY, key, fields),
    }
}
