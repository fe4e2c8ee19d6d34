//! Verifications, as the scope of the task recorded them.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `y`, [`ScopeKey`] (16), [`VerificationId`] (16) | [`Verification`] | written once, and again where what it says is erased |
//!
//! The same facts stand in an event; this row answers for them by id.

use sillok_core::id::VerificationId;
use sillok_core::verification::Verification;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Verification;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The verification.
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

/// All verifications of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Verification) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Verification, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
