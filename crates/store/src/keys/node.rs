//! Nodes: who runs, and whether it lives.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `n`, name of the node | [`NodeRow`] | rewritten by its node at each beat, and by whoever fences it |
//!
//! The number of the beat has the version that the node reads, less 1, in its upper byte, and in the bit below
//! it whether the node is behind. Builds that know but the first version, or no such bit, decode the row, and
//! compare the number whole: a row of theirs reads as that of a node that reads the first version, and is not
//! behind. A field more they would not read.
//!
//! Must not know what fencing means: the shells do.

use serde::{Deserialize, Serialize};
use sillok_core::id::Incarnation;
use sillok_core::membership::{NodeRow, WireVersion};

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Node;
const FORMAT: u8 = 1;

/// Bits of a beat's number. At one a second a run does not end in these.
const BEAT_BITS: u32 = 55;
/// The largest number of a beat.
pub(super) const BEAT_MAX: u64 = (1 << BEAT_BITS) - 1;
/// Set where the node is behind.
const BEHIND: u64 = 1 << BEAT_BITS;
/// Where the version begins.
const READS_FROM: u32 = BEAT_BITS + 1;

/// The fields, as they are stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    incarnation: Incarnation,
    reads_and_beat: u64,
    fenced: bool,
    reaches_bus: bool,
}

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Name of the node.
    pub node: String,
}

/// The key of a node. A name has at least one byte.
#[must_use]
pub fn key(node: &str) -> Vec<u8> {
    assert!(!node.is_empty(), "a node has a name");
    codec::build(FAMILY, &[node.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let node = codec::KeyReader::new(FAMILY, key)?
        .text_to_end()?
        .to_owned();
    Ok(Key { node })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &NodeRow) -> Vec<u8> {
    assert!(value.beat <= BEAT_MAX, "a run has fewer beats");
    let reads = u64::from(value.reads.get() - WireVersion::FIRST.get());
    let behind = if value.is_behind { BEHIND } else { 0 };
    let stored = Stored {
        incarnation: value.incarnation,
        reads_and_beat: (reads << READS_FROM) | behind | value.beat,
        fenced: value.fenced,
        reaches_bus: value.reaches_bus,
    };
    codec::encode(FORMAT, &stored)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<NodeRow, Error> {
    let stored: Stored = codec::decode(FAMILY, FORMAT, key, value)?;
    let [reads, ..] = stored.reads_and_beat.to_be_bytes();
    let reads = reads.checked_add(WireVersion::FIRST.get());
    let reads = reads.and_then(|reads| WireVersion::try_from(reads).ok());
    let reads = reads.ok_or_else(|| codec::corrupt(FAMILY, key, "no version".to_owned()))?;
    Ok(NodeRow {
        incarnation: stored.incarnation,
        beat: stored.reads_and_beat & BEAT_MAX,
        fenced: stored.fenced,
        reaches_bus: stored.reaches_bus,
        is_behind: stored.reads_and_beat & BEHIND != 0,
        reads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What builds that know but the first version decode.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Earlier {
        incarnation: Incarnation,
        beat: u64,
        fenced: bool,
        reaches_bus: bool,
    }

    fn row(beat: u64, reads: u8) -> NodeRow {
        NodeRow {
            incarnation: Incarnation(3),
            beat,
            fenced: false,
            reaches_bus: true,
            is_behind: false,
            reads: WireVersion::try_from(reads).unwrap(),
        }
    }

    fn earlier(value: &[u8]) -> Earlier {
        codec::decode(FAMILY, FORMAT, &key("ada"), value).unwrap()
    }

    #[test]
    fn a_row_of_an_earlier_build_reads_the_first_version() {
        let before = Earlier {
            incarnation: Incarnation(3),
            beat: 7,
            fenced: false,
            reaches_bus: true,
        };
        let value = codec::encode(FORMAT, &before);
        assert_eq!(decode(&key("ada"), &value).unwrap(), row(7, 1));
        assert_eq!(encode(&row(7, 1)), value, "and is written the same");
    }

    #[test]
    fn an_earlier_build_decodes_what_is_written_now_and_sees_each_beat() {
        let (one, next) = (earlier(&encode(&row(7, 2))), earlier(&encode(&row(8, 2))));
        assert_eq!((one.incarnation, one.fenced), (Incarnation(3), false));
        assert_eq!(next.beat, one.beat + 1);
        let behind = NodeRow {
            is_behind: true,
            ..row(8, 2)
        };
        assert_ne!(earlier(&encode(&behind)).beat, next.beat);
        assert_eq!(decode(&key("ada"), &encode(&behind)).unwrap(), behind);
        // It fences a silent run by writing what it read.
        let fenced = Earlier {
            fenced: true,
            ..next
        };
        let value = codec::encode(FORMAT, &fenced);
        let expected = NodeRow {
            fenced: true,
            ..row(8, 2)
        };
        assert_eq!(decode(&key("ada"), &value).unwrap(), expected);
    }
}
