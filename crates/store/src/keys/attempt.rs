//! Attempts: how the tries at a promotion that is not finished went.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `a`, slot (2), [`VerificationId`] (16) | [`Attempts`] | written by the slot's owner with each failure, and by whoever wants the promotion tried anew; deleted with the job |
//!
//! It has the key of its job but for the letter. No event tells of it: an audit asks only that the job is
//! there.

use sillok_core::id::VerificationId;
use sillok_core::promotion::Attempts;
use sillok_core::slot::Slot;

use super::{Family, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Attempt;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The slot of the task.
    pub slot: Slot,
    /// The verification that is being promoted.
    pub verification: VerificationId,
}

/// The key of the attempts at a promotion.
#[must_use]
pub fn key(slot: Slot, verification: VerificationId) -> Vec<u8> {
    codec::build(FAMILY, &[&codec::slot_bytes(slot), verification.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let slot = reader.slot()?;
    let verification = VerificationId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { slot, verification })
}

/// The attempts at all promotions.
#[must_use]
pub fn range_all() -> KeyRange {
    FAMILY.range()
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Attempts) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Attempts, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
