//! Claims of decisions: the active chains that declare a key.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `C`, [`ScopeKey`] (16), [`ClaimKey`] (16), [`DecisionId`] (16) | [`Declared`] | rewritten with every change, cleared when the chain is withdrawn or declares the key no longer |
//!
//! Format 1 is the number of the version alone. Nothing writes it any more; a row in it stays until its chain changes. Must
//! not know what they declare of it: the head says the key and the value in full.

use sillok_core::id::DecisionId;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::DecisionClaim;
/// The number of the active version alone.
const WITHOUT_VALUE: u8 = 1;
/// Behind that, what stands for the value.
const WHOLE: u8 = 2;

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

/// A declared value inside a row: the first 16 bytes of its BLAKE3 hash, by which values are told apart without reading a
/// head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueHash([u8; Self::LEN]);

impl ValueHash {
    /// Bytes of a value inside a row.
    pub const LEN: usize = 16;

    /// What stands for a claim's `value` in rows.
    #[must_use]
    pub fn of(value: &str) -> Self {
        Self(codec::short_hash(value))
    }
}

/// What is declared, as far as the row says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// The number of the active version.
    pub version: u64,
    /// What stands for the value; none in a row of format 1.
    pub value: Option<ValueHash>,
}

impl Declared {
    /// That version `version` declares `value`.
    #[must_use]
    pub fn of(version: u64, value: &str) -> Self {
        Self {
            version,
            value: Some(ValueHash::of(value)),
        }
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
pub fn encode(value: &Declared) -> Vec<u8> {
    match value.value {
        Some(ValueHash(hash)) => codec::encode(WHOLE, &(value.version, hash)),
        None => codec::encode(WITHOUT_VALUE, &value.version),
    }
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Declared, Error> {
    match codec::open_any(FAMILY, WITHOUT_VALUE..=WHOLE, key, value)? {
        (WITHOUT_VALUE, fields) => {
            let version = codec::decode_fields(FAMILY, key, fields)?;
            Ok(Declared {
                version,
                value: None,
            })
        }
        (_, fields) => {
            let (version, hash) = codec::decode_fields(FAMILY, key, fields)?;
            Ok(Declared {
                version,
                value: Some(ValueHash(hash)),
            })
        }
    }
}
