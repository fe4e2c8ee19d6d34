//! Tokens, under the hash of their secret.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `t`, [`TokenHash`] (32) | [`Token`] | rewritten when it is revoked |
//!
//! The secret itself is stored nowhere.

use sillok_core::token::{Token, TokenHash};

use super::{Family, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Token;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Hash of the secret.
    pub hash: TokenHash,
}

/// The key of a token.
#[must_use]
pub fn key(hash: &TokenHash) -> Vec<u8> {
    codec::build(FAMILY, &[hash])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let hash = reader.array()?;
    reader.end()?;
    Ok(Key { hash })
}

/// All tokens.
#[must_use]
pub fn range_all() -> KeyRange {
    FAMILY.range()
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Token) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Token, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
