//! Versions of decisions: what each version of a chain says, written once.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `V`, [`ScopeKey`] (16), [`DecisionId`] (16), number (8) | [`DecisionVersion`] | written once |
//!
//! Must not know which version is active: the head does.

use sillok_core::decision::DecisionVersion;
use sillok_core::id::DecisionId;

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::DecisionVersion;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The root of the chain.
    pub root: DecisionId,
    /// Number of the version, from 1.
    pub number: u64,
}

/// The key of a version.
#[must_use]
pub fn key(scope: &ScopeKey, root: DecisionId, number: u64) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[scope.as_bytes(), root.as_bytes(), &number.to_be_bytes()],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let root = DecisionId::from_bytes(reader.array()?);
    let number = reader.u64()?;
    reader.end()?;
    Ok(Key {
        scope,
        root,
        number,
    })
}

/// The versions of a chain behind a number, oldest first; all of them behind none.
#[must_use]
pub fn range_after(scope: &ScopeKey, root: DecisionId, after: Option<u64>) -> KeyRange {
    let all = KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes(), root.as_bytes()]));
    match after {
        None => all,
        Some(number) => KeyRange {
            begin: successor(&key(scope, root, number)),
            ..all
        },
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &DecisionVersion) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<DecisionVersion, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
