//! Vectors: those of entries' active versions in another space than their events have.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `g`, [`ScopeKey`] (16), [`EntryId`] (16), [`SpaceKey`] (16) | [`Row`] | rewritten when the entry's text changes, cleared when it is erased, or when nobody searches the space any more |
//!
//! No event tells of it: it follows from the text and from what made the vector. It is kept so that a text is given to an
//! embedder once for a whole cluster. Must not know which spaces are searched.

use serde::{Deserialize, Serialize};
use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Vector;
const FORMAT: u8 = 1;

/// A space inside a key: the first 16 bytes of the BLAKE3 hash of its name, so that keys have one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpaceKey([u8; Self::LEN]);

impl SpaceKey {
    /// Bytes of a space inside a key.
    pub const LEN: usize = 16;

    /// The key of `space`.
    #[must_use]
    pub fn of(space: &SpaceId) -> Self {
        Self(codec::short_hash(&space.0))
    }

    /// The bytes that stand in keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// The vector of an entry's text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The version of the entry that has the text.
    pub version: u64,
    /// The hash of the text.
    pub content_hash: ContentHash,
    /// Its vector.
    pub embedding: Embedding,
}

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The entry's scope.
    pub scope: ScopeKey,
    /// The entry.
    pub entry: EntryId,
    /// The space.
    pub space: SpaceKey,
}

/// The key of the row.
#[must_use]
pub fn key(scope: &ScopeKey, entry: EntryId, space: &SpaceKey) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[scope.as_bytes(), entry.as_bytes(), space.as_bytes()],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let entry = EntryId::from_bytes(reader.array()?);
    let space = SpaceKey(reader.array()?);
    reader.end()?;
    Ok(Key {
        scope,
        entry,
        space,
    })
}

/// All vectors of an entry.
#[must_use]
pub fn range_of_entry(scope: &ScopeKey, entry: EntryId) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes(), entry.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Row) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Row, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
