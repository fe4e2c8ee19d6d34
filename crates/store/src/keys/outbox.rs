//! The outbox: one row for each commit and scope, pointing at a run of events.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `x`, slot (2), [`Stamp`] (14) | [`OutboxRow`] | written once, kept as long as the events |
//!
//! Rows are written by `set_stamped` under [`prefix`], so a slot's rows lie in the order of commits.

use serde::{Deserialize, Serialize};
use sillok_core::id::{EntryId, Seq};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

use super::{Family, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Outbox;
const FORMAT: u8 = 1;

/// The events that one commit appended to one scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    /// The scope.
    pub scope: Scope,
    /// The first of the events.
    pub first: Seq,
    /// The last of them; the same one where there is only one.
    pub last: Seq,
    /// The entries that they changed, so that an index need not read the events to find out.
    pub entries: Vec<EntryId>,
}

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The slot of the scope.
    pub slot: Slot,
    /// The commit.
    pub stamp: Stamp,
}

/// The key of a row.
#[must_use]
pub fn key(slot: Slot, stamp: Stamp) -> Vec<u8> {
    codec::build(FAMILY, &[&codec::slot_bytes(slot), &stamp.to_bytes()])
}

/// What stands before the stamp: the prefix for `set_stamped`.
#[must_use]
pub fn prefix(slot: Slot) -> Vec<u8> {
    codec::build(FAMILY, &[&codec::slot_bytes(slot)])
}

/// The slot of a prefix for `set_stamped`; none when it is no prefix of the outbox.
#[must_use]
pub fn slot_of_prefix(prefix: &[u8]) -> Option<Slot> {
    let mut reader = codec::KeyReader::new(FAMILY, prefix).ok()?;
    let slot = reader.slot().ok()?;
    reader.end().ok()?;
    Some(slot)
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let slot = reader.slot()?;
    let stamp: [u8; Stamp::LEN] = reader.array()?;
    let stamp = Stamp::from_bytes(&stamp).ok_or_else(|| reader.corrupt("not a stamp"))?;
    reader.end()?;
    Ok(Key { slot, stamp })
}

/// The rows of a slot behind `stamp`; behind [`Stamp::ZERO`], all of them.
#[must_use]
pub fn range_after(slot: Slot, stamp: Stamp) -> KeyRange {
    KeyRange {
        begin: successor(&key(slot, stamp)),
        ..range_of_slot(slot)
    }
}

/// The rows of a slot.
#[must_use]
pub fn range_of_slot(slot: Slot) -> KeyRange {
    KeyRange::prefix(&prefix(slot))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &OutboxRow) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<OutboxRow, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
