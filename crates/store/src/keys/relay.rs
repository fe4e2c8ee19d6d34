//! Relay cursors: how far the outbox of a slot was told to a stream.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `r`, slot (2), name of the stream | [`RelayRow`] | rewritten by the relay, with the slot's owner in its conflict set |
//! | `r`, slot (2), name of the stream, `.read` | [`ReadRow`] | rewritten by any relay: it stays true |
//!
//! The second row has the form of the first: a version that knows nothing of it takes it for the row of one
//! more stream.
//!
//! Must not know what a stream is: the bus, an indexer.

use serde::{Deserialize, Serialize};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Relay;
const FORMAT: u8 = 1;
/// What the names of a [`ReadRow`] end with.
const READ_SUFFIX: &str = ".read";

/// How far a stream was told; with the number 0, from where on it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayRow {
    /// When the stream was created, as it says itself: another value means another stream.
    pub created: u64,
    /// The last row of the outbox that was told.
    pub stamp: Stamp,
    /// The stream's own number of the last message.
    pub seq: u64,
}

/// Where the outbox of a slot holds nothing for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRow {
    /// Behind this row.
    pub told: Stamp,
    /// Up to this one.
    pub read: Stamp,
}

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The slot.
    pub slot: Slot,
    /// Name of the stream.
    pub stream: String,
}

impl Key {
    /// Whether the key is that of a [`ReadRow`].
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.stream.ends_with(READ_SUFFIX)
    }
}

/// The key of a cursor. A stream's name has at least one byte.
#[must_use]
pub fn key(slot: Slot, stream: &str) -> Vec<u8> {
    assert!(!stream.is_empty(), "a stream has a name");
    codec::build(FAMILY, &[&codec::slot_bytes(slot), stream.as_bytes()])
}

/// The key of how far a slot's outbox was read for a stream.
#[must_use]
pub fn read_key(slot: Slot, stream: &str) -> Vec<u8> {
    key(slot, &format!("{stream}{READ_SUFFIX}"))
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

/// The stored form of a [`ReadRow`]: that of a [`RelayRow`] with `read` as its stamp, the counter of `told`
/// as its creation, and what is left of it as its number.
#[must_use]
pub fn encode_read(value: &ReadRow) -> Vec<u8> {
    let ReadRow { told, read } = *value;
    encode(&RelayRow {
        created: told.counter,
        stamp: read,
        seq: (u64::from(told.generation) << 16) | u64::from(told.index),
    })
}

/// The value stored under a [`read_key`].
///
/// # Errors
/// `Corrupt`.
pub fn decode_read(key: &[u8], value: &[u8]) -> Result<ReadRow, Error> {
    let row = decode(key, value)?;
    let Ok(generation) = u32::try_from(row.seq >> 16) else {
        return Err(codec::KeyReader::new(FAMILY, key)?.corrupt("not the rest of a stamp"));
    };
    let [.., high, low] = row.seq.to_be_bytes();
    let told = Stamp {
        generation,
        counter: row.created,
        index: u16::from_be_bytes([high, low]),
    };
    Ok(ReadRow {
        told,
        read: row.stamp,
    })
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<RelayRow, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_row_has_the_form_of_a_cursor_and_survives_it() {
        let slot = Slot::new(7).unwrap();
        let key = read_key(slot, "EVT");
        assert_eq!(parse(&key).unwrap().stream, "EVT.read");
        let stamp = |generation, counter, index| Stamp {
            generation,
            counter,
            index,
        };
        let all = (u32::MAX, u64::MAX, u16::MAX);
        for told in [Stamp::ZERO, stamp(1, 2, 3), stamp(all.0, all.1, all.2)] {
            let row = ReadRow {
                told,
                read: stamp(4, 5, 6),
            };
            let value = encode_read(&row);
            assert_eq!(decode_read(&key, &value).unwrap(), row);
            assert_eq!(decode(&key, &value).unwrap().stamp, row.read);
        }
        let row = RelayRow {
            created: 0,
            stamp: Stamp::ZERO,
            seq: u64::MAX,
        };
        decode_read(&key, &encode(&row)).unwrap_err();
    }
}
