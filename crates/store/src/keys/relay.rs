//! Relay cursors: how far the outbox of a slot was told to a stream.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `r`, slot (2), name of the stream | [`RelayRow`] | rewritten by the relay, with the slot's owner in its conflict set |
//!
//! Must not know what a stream is: the bus, an indexer.

use serde::{Deserialize, Serialize};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Relay;
const FORMAT: u8 = 1;

/// How far a stream was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayRow {
    /// When the stream was created, as it says itself: another value means another stream.
    pub created: u64,
    /// The last row of the outbox that was told.
    pub stamp: Stamp,
    /// The stream's own number of the last message.
    pub seq: u64,
}

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The slot.
    pub slot: Slot,
    /// Name of the stream.
    pub stream: String,
}

/// The key of a cursor. A stream's name has at least one byte.
#[must_use]
pub fn key(slot: Slot, stream: &str) -> Vec<u8> {
    assert!(!stream.is_empty(), "a stream has a name");
    codec::build(FAMILY, &[&codec::slot_bytes(slot), stream.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let slot = reader.slot()?;
    Ok(Key {
        slot,
        stream: reader.text_to_end()?.to_owned(),
    })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &RelayRow) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<RelayRow, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
