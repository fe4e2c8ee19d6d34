//! Owners: which node a slot belongs to, and in which epoch.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `o`, slot (2) | [`OwnerRow`] | rewritten by a takeover, never deleted |
//!
//! Every commit reads the row of its slot in conflict: that is what keeps a stale owner from writing.

use sillok_core::membership::OwnerRow;
use sillok_core::slot::Slot;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Owner;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The slot.
    pub slot: Slot,
}

/// The key of a slot's owner.
#[must_use]
pub fn key(slot: Slot) -> Vec<u8> {
    codec::build(FAMILY, &[&codec::slot_bytes(slot)])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let slot = reader.slot()?;
    reader.end()?;
    Ok(Key { slot })
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
