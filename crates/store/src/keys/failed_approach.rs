//! Failed approaches: what was tried in tasks and failed, by the scopes around them.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `F`, [`ScopePath`] of the task (4 times 8), the event (8) | [`FailedApproach`] | written once, cleared where its verification is erased |
//!
//! A row lies inside all scopes around its task, so that whoever asks what failed in a project reads one range. It must not know
//! which approaches are alike.

use sillok_core::circular::FailedApproach;
use sillok_core::id::Seq;
use sillok_core::scope::Scope;

use super::related::ScopePath;
use super::{Family, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::FailedApproach;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The task.
    pub task: ScopePath,
    /// The event that says so.
    pub seq: Seq,
}

impl Key {
    /// Where an approach lies that failed.
    #[must_use]
    pub fn of(failed: &FailedApproach) -> Self {
        Self {
            task: ScopePath::of(&failed.task),
            seq: failed.seq,
        }
    }
}

/// The key of a failed approach.
#[must_use]
pub fn key(place: &Key) -> Vec<u8> {
    let seq = place.seq.get().to_be_bytes();
    codec::build(FAMILY, &[place.task.as_bytes(), &seq])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let task = ScopePath::from_bytes(reader.array()?);
    let seq = Seq::new(reader.u64()?);
    reader.end()?;
    Ok(Key { task, seq })
}

/// What failed in the tasks of a scope and of all inside it, task by task, those of one in their order. What lies in it of
/// another scope, whoever reads it has to tell by what it says: see [`ScopePath`].
#[must_use]
pub fn range_inside(scope: &Scope) -> KeyRange {
    let path = ScopePath::of(scope);
    KeyRange::prefix(&codec::build(FAMILY, &[path.inside(scope)]))
}

/// What failed in a task behind an event; all of it behind none.
#[must_use]
pub fn range_after(task: &Scope, after: Option<Seq>) -> KeyRange {
    let all = range_inside(task);
    let task = ScopePath::of(task);
    let begin = after.map(|seq| successor(&key(&Key { task, seq })));
    KeyRange {
        begin: begin.unwrap_or(all.begin),
        ..all
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &FailedApproach) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<FailedApproach, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
