//! Runs: what is known of the runs of a schedule.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `s`, name of the schedule | [`Runs`] | written when a node first keeps the schedule, rewritten by every run |
//!
//! No event tells of it: what a run did, events of the scopes tell. Must not know when something is due: that is core's rule.

use sillok_core::schedule::Runs;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Run;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Name of the schedule.
    pub name: String,
}

/// The key of the row. A name has at least one byte.
#[must_use]
pub fn key(name: &str) -> Vec<u8> {
    assert!(!name.is_empty(), "a schedule has a name");
    codec::build(FAMILY, &[name.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let reader = codec::KeyReader::new(FAMILY, key)?;
    let name = reader.text_to_end()?.to_owned();
    Ok(Key { name })
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Runs) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Runs, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
