//! Jobs: promotions that are not finished.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `j`, slot (2), [`VerificationId`] (16) | [`Job`] | written with the verification, deleted with the note that it was promoted or dropped |
//!
//! Whoever owns the slot finds here what to resume.

use sillok_core::id::VerificationId;
use sillok_core::promotion::Job;
use sillok_core::slot::Slot;

use super::{Family, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Job;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The slot of the task.
    pub slot: Slot,
    /// The verification to promote.
    pub verification: VerificationId,
}

/// The key of a job.
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

/// The jobs of a slot.
#[must_use]
pub fn range_of_slot(slot: Slot) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[&codec::slot_bytes(slot)]))
}

/// The jobs of all slots.
#[must_use]
pub fn range_all() -> KeyRange {
    FAMILY.range()
}

/// What of `range` lies behind a job.
#[must_use]
pub fn range_after(range: KeyRange, slot: Slot, verification: VerificationId) -> KeyRange {
    let after = successor(&key(slot, verification));
    KeyRange {
        begin: range.begin.max(after),
        ..range
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Job) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Job, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
