//! Marks: what a promotion published, so that it publishes once.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `m`, [`ScopeKey`] (16), [`VerificationId`] (16) | [`PublishReport`] | written once |
//!
//! The scope is the source, whose owner differs from the one that writes the mark.

use sillok_core::id::VerificationId;
use sillok_core::promotion::PublishReport;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Mark;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The verification that was promoted.
    pub verification: VerificationId,
}

/// The key of the row.
#[must_use]
pub fn key(scope: &ScopeKey, verification: VerificationId) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), verification.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let verification = VerificationId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key {
        scope,
        verification,
    })
}

/// All marks of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &PublishReport) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<PublishReport, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
