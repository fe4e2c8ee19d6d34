//! Tasks: the state of each task scope.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `k`, [`ScopeKey`] (16) | [`Task`] | rewritten with every change of the task |
//!
//! Must not know the status machine: the rules do.

use sillok_core::task::Task;

use super::{Family, ScopeKey, codec};
use crate::Error;

const FAMILY: Family = Family::Task;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope of the task.
    pub scope: ScopeKey,
}

/// The key of a task.
#[must_use]
pub fn key(scope: &ScopeKey) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    reader.end()?;
    Ok(Key { scope })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Task) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Task, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
