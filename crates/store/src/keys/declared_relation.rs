//! Kinds of relations that a project or an organisation declared.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `K`, [`ScopeKey`] (16), [`RelationName`] to the end | [`DeclaredRelation`] | written once; only its meaning is ever taken out |
//!
//! The name stands in the key as it is: it is short, and what a scope has declared lies in the order of the names.

use sillok_core::decision::{DeclaredRelation, RelationName};

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::DeclaredRelation;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The name.
    pub name: RelationName,
}

/// The key of a kind of relation.
#[must_use]
pub fn key(scope: &ScopeKey, name: RelationName) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), name.as_str().as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let name = reader.relation_name_to_end()?;
    Ok(Key { scope, name })
}

/// All that a scope has declared.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// What a scope has declared behind one name; all of it behind none.
#[must_use]
pub fn range_after(scope: &ScopeKey, after: Option<RelationName>) -> KeyRange {
    let all = range_of_scope(scope);
    match after {
        None => all,
        Some(name) => KeyRange {
            begin: successor(&key(scope, name)),
            ..all
        },
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &DeclaredRelation) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<DeclaredRelation, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
