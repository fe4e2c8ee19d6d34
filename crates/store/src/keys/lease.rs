//! Leases: which run of a node does what only one may do at a time.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `l`, name of the lease | [`OwnerRow`] | rewritten when another run takes it, deleted when it is given back |
//!
//! Must not know what a lease is for, nor when one is free: that is core's rule for slots as well.

use sillok_core::membership::OwnerRow;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Lease;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Name of the lease.
    pub name: String,
}

/// The key of the row. A name has at least one byte.
#[must_use]
pub fn key(name: &str) -> Vec<u8> {
    assert!(!name.is_empty(), "a lease has a name");
    codec::build(FAMILY, &[name.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let reader = codec::KeyReader::new(FAMILY, key)?;
    let name = reader.text_to_end()?.to_owned();
    Ok(Key { name })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &OwnerRow) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<OwnerRow, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
