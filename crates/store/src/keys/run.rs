//! Runs: what is known of the runs of a schedule.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `s`, name of the schedule | [`Runs`] | written when a node first keeps the schedule, rewritten by every run |
//!
//! No event tells of it: what a run did, events of the scopes tell. Format 1 ends before the checkpoint that a run
//! signed, and is written where it signed none: builds that sign none read it. Must not know when something is due:
//! that is core's rule.

use sillok_core::schedule::{Outcome, Run, Runs};
use sillok_core::time::Timestamp;

use super::{Family, codec};
use crate::Error;

const FAMILY: Family = Family::Run;
/// Without the checkpoint of the last run.
const UNSIGNED: u8 = 1;
/// All of it.
const WHOLE: u8 = 2;

/// What format 1 says of a run: the node, when it began and ended, and what it did.
type Unsigned = (String, Timestamp, Timestamp, Outcome);

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
    let unsigned = |run: &Run| -> Unsigned { (run.node.clone(), run.began, run.ended, run.did) };
    match &value.last {
        Some(run) if run.checkpoint.is_some() => codec::encode(WHOLE, value),
        last => codec::encode(UNSIGNED, &(value.through, last.as_ref().map(unsigned))),
    }
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Runs, Error> {
    let (format, fields) = codec::open_any(FAMILY, UNSIGNED..=WHOLE, key, value)?;
    if format == WHOLE {
        return codec::decode_fields(FAMILY, key, fields);
    }
    let (through, last): (Timestamp, Option<Unsigned>) = codec::decode_fields(FAMILY, key, fields)?;
    let last = last.map(|(node, began, ended, did)| Run {
        node,
        began,
        ended,
        did,
        checkpoint: None,
    });
    Ok(Runs { through, last })
}
