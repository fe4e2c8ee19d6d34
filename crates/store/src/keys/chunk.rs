//! Chunks: pieces of content too large for one event.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `b`, [`ScopeKey`] (16), [`CommandId`] (16), number (4) | raw bytes | written once |
//!
//! Chunks are written before the commit that refers to them, which reads them in conflict.

use bytes::Bytes;
use sillok_core::id::CommandId;

use super::{Family, ScopeKey, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Chunk;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The command that brought the content.
    pub command: CommandId,
    /// Number of the piece within the command, from 0.
    pub number: u32,
}

/// The key of a chunk.
#[must_use]
pub fn key(scope: &ScopeKey, command: CommandId, number: u32) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[scope.as_bytes(), command.as_bytes(), &number.to_be_bytes()],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let command = CommandId::from_bytes(reader.array()?);
    let number = reader.u32()?;
    reader.end()?;
    Ok(Key {
        scope,
        command,
        number,
    })
}

/// The chunks of a command, in order.
#[must_use]
pub fn range_of_command(scope: &ScopeKey, command: CommandId) -> KeyRange {
    KeyRange::prefix(&codec::build(
        FAMILY,
        &[scope.as_bytes(), command.as_bytes()],
    ))
}

/// The chunks of all commands of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of a piece of content.
#[must_use]
pub fn encode(content: &[u8]) -> Vec<u8> {
    codec::encode_raw(FORMAT, content)
}

/// The piece of content stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Bytes, Error> {
    codec::open(FAMILY, FORMAT, key, value).map(Bytes::copy_from_slice)
}
