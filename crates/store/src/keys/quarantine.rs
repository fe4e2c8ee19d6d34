//! Quarantines: operators' orders about which scopes nothing is written to.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `z`, [`Slot`] (2), number (8) | [`QuarantineOrder`] | written once, kept for good |
//!
//! The orders of a slot are numbered from 1. Must not know what an order means: core does.

use sillok_core::quarantine::QuarantineOrder;
use sillok_core::slot::Slot;

use super::{Family, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Quarantine;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The slot of the scope.
    pub slot: Slot,
    /// The number of the order.
    pub number: u64,
}

/// The key of an order.
#[must_use]
pub fn key(slot: Slot, number: u64) -> Vec<u8> {
    codec::build(FAMILY, &[&codec::slot_bytes(slot), &number.to_be_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let slot = reader.slot()?;
    let number = reader.u64()?;
    reader.end()?;
    Ok(Key { slot, number })
}

/// The orders of a slot, in order.
#[must_use]
pub fn range_of_slot(slot: Slot) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[&codec::slot_bytes(slot)]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &QuarantineOrder) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<QuarantineOrder, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
