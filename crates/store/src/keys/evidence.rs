//! Evidence: originals that were kept, each as it was told.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `E`, [`ScopeKey`] (16), [`EvidenceId`] (16) | [`Evidence`] | written once, never changed |
//!
//! A large text lies in chunks, which the row names.

use sillok_core::evidence::Evidence;
use sillok_core::id::EvidenceId;

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Evidence;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The evidence.
    pub evidence: EvidenceId,
}

/// The key of a piece of evidence.
#[must_use]
pub fn key(scope: &ScopeKey, evidence: EvidenceId) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), evidence.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let evidence = EvidenceId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { scope, evidence })
}

/// All evidence of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The evidence of a scope behind one piece of it; all of it behind none.
#[must_use]
pub fn range_after(scope: &ScopeKey, after: Option<EvidenceId>) -> KeyRange {
    let all = range_of_scope(scope);
    match after {
        None => all,
        Some(evidence) => KeyRange {
            begin: successor(&key(scope, evidence)),
            ..all
        },
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Evidence) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Evidence, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
