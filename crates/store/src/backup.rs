//! The form of a backup: a head, blocks of rows in the order of their keys, and an end.
//!
//! Owns the bytes and the proof that they are whole. Each frame carries a hash over itself and the hash
//! before it, so that none can be changed, cut off, moved, repeated or left out; the last hash names the
//! backup. Must not know what a row means, nor where the bytes lie: a writer hands out pieces, and a reader
//! takes any [`std::io::Read`].
//!
//! ```text
//! magic (16) | format version (4)
//! frame:  tag (1) | bytes as stored (4) | bytes as they were (4) | payload | hash (32)
//! block:  key length (2) | value length (4) | key | value, again and again
//! ```
//!
//! Numbers are big-endian. Head and end are in postcard. A block is compressed (LZ4) where that makes it
//! smaller, and stored as it is where both lengths are equal.

mod reader;
mod writer;

use std::io;

use serde::{Deserialize, Serialize};
use sillok_core::time::Timestamp;

use crate::Stamp;
use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

pub use reader::Reader;
pub use writer::Writer;

/// The form that this build writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;
/// The first bytes of every backup.
pub const MAGIC: &[u8; 16] = b"sillok backup\r\n\x1a";

/// Bytes of rows at which a block ends.
const BLOCK_BYTES: usize = 1 << 20;
/// Bytes of a row's lengths.
const ROW_HEAD_BYTES: usize = 6;
/// Bytes that a block has at most: one row more than it was to have.
const BLOCK_BYTES_MAX: usize = BLOCK_BYTES + ROW_HEAD_BYTES + KEY_BYTES_MAX + VALUE_BYTES_MAX;
/// Bytes of a frame before its payload.
const FRAME_HEAD_BYTES: usize = 9;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Head = 1,
    Block = 2,
    End = 3,
}

/// What stands before the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The format of the store's records.
    pub store_format: u32,
    /// Number of slots that scopes are spread over.
    pub slot_count: u32,
    /// Name of the function that spreads them.
    pub slot_hash: String,
    /// The generation of the store's stamps.
    pub generation: u32,
    /// When the backup was begun.
    pub created: Timestamp,
    /// The version of the program that wrote it.
    pub version: String,
}

/// What stands behind the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The last commit that the backup holds.
    pub cut: Stamp,
    /// How many rows there are.
    pub rows: u64,
    /// How many events are among them.
    pub events: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

/// The hash over everything up to and with a frame.
pub type Hash = blake3::Hash;

/// Why a backup cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It does not begin as one.
    #[error("the file is no backup of Sillok's")]
    Foreign,
    /// A newer build wrote it.
    #[error("the backup has format {found}; this build reads up to format {supported}")]
    NewerFormat {
        /// The format that it has.
        found: u32,
        /// The newest that this build reads.
        supported: u32,
    },
    /// It ends before its end: it was cut off, or never finished.
    #[error("the backup is cut off: {read} bytes are there, and its end is not among them")]
    CutOff {
        /// How many bytes there are.
        read: u64,
    },
    /// Some bytes are not what was written.
    #[error("the backup is damaged in what begins at byte {at}: {what}")]
    Damaged {
        /// Where the frame begins that does not hold.
        at: u64,
        /// What does not fit.
        what: &'static str,
    },
    /// The bytes could not be read.
    #[error("the backup cannot be read")]
    Io(#[source] io::Error),
}

impl Error {
    /// Whether a newer build could read it.
    #[must_use]
    pub const fn is_newer(&self) -> bool {
        matches!(self, Self::NewerFormat { .. })
    }
}

/// The hash that the first frame follows.
fn hash_of_start(version: u32) -> Hash {
    let mut start = MAGIC.to_vec();
    start.extend_from_slice(&version.to_be_bytes());
    blake3::derive_key("sillok 2026 backup", &start).into()
}

/// The hash of a frame that follows `before`.
fn hash_of_frame(before: &Hash, head: &[u8; FRAME_HEAD_BYTES], payload: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new_keyed(before.as_bytes());
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests;
