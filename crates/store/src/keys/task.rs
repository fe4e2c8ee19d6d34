//! Tasks: the state of each task scope.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `k`, [`ScopeKey`] (16) | [`Task`] | rewritten with every change of the task |
//!
//! Format 1 ends before what failed in the task, and is written while nothing did: builds that know no failures read it. Must
//! not know the status machine: the rules do.

use sillok_core::circular::Failures;
use sillok_core::task::Task;

use super::{Family, ScopeKey, codec};
use crate::Error;

const FAMILY: Family = Family::Task;
/// Without what failed in the task.
const WITHOUT_FAILURES: u8 = 1;
/// The whole task.
const WHOLE: u8 = 2;

/// The stored form of no failures.
const NONE_FAILED: [u8; 4] = [0; 4];

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
    if value.failures != Failures::default() {
        return codec::encode(WHOLE, value);
    }
    // No failures are four zeros.
    codec::encode_without_end(WITHOUT_FAILURES, value, &NONE_FAILED)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Task, Error> {
    match codec::open_any(FAMILY, WITHOUT_FAILURES..=WHOLE, key, value)? {
        (WITHOUT_FAILURES, fields) => {
            let whole = [fields, NONE_FAILED.as_slice()].concat();
            codec::decode_fields(FAMILY, key, &whole)
        }
        (_, fields) => codec::decode_fields(FAMILY, key, fields),
    }
}
