//! Claims of decisions: the active chains that declare a key.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `C`, [`ScopeKey`] (16), [`ClaimKey`] (16), [`DecisionId`] (16) | number of the active version | rewritten with every change, cleared when the chain is withdrawn or declares the key no longer |
//!
//! Must not know what they declare of it: the head says the key and the value in full.

use sillok_core::id::DecisionId;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::DecisionClaim;
const FORMAT: u8 = 1;

/// The key of a claim inside a key: the first 16 bytes of its BLAKE3 hash, so that keys have one
/// length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimKey([u8; Self::LEN]);

impl ClaimKey {
    /// Bytes of a claim's key inside a key.
    pub const LEN: usize = 16;

    /// The form of a claim's `key` in keys.
    #[must_use]
    pub fn of(key: &str) -> Self {
        Self(codec::short_hash(key))
    }

    /// The bytes that stand in keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The key that is declared.
    pub claim: ClaimKey,
    /// The root of the chain that declares it.
    pub root: DecisionId,
}

/// The key of what a chain declares.
#[must_use]
pub fn key(scope: &ScopeKey, claim: ClaimKey, root: DecisionId) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[scope.as_bytes(), claim.as_bytes(), root.as_bytes()],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let claim = ClaimKey(reader.array()?);
    let root = DecisionId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { scope, claim, root })
}

/// The chains of a scope that declare a key.
#[must_use]
pub fn range_of_claim(scope: &ScopeKey, claim: ClaimKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes(), claim.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &u64) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<u64, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
