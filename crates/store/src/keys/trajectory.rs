//! Trajectories: how agents went about tasks, by the project and the time.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `T`, the project's half of the task's [`ScopePath`] (2 times 8), the time in ms (8), the other half (2 times 8), the event (8) | [`Trajectory`] | written once, cleared where it is erased |
//!
//! Those of a project are one range, and its end is the newest: whoever reads no more than some reads the last ones. It must not
//! know which of them are of one pattern.

use sillok_core::bank::Trajectory;
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

use super::related::ScopePath;
use super::{Family, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Trajectory;
const FORMAT: u8 = 1;
/// Bytes of a path that name an organisation and a project; behind them stand a worktree and a task.
const PROJECT_LEN: usize = ScopePath::LEN / 2;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The task.
    pub task: ScopePath,
    /// When it was stored.
    pub at: Timestamp,
    /// The event that says so.
    pub seq: Seq,
}

impl Key {
    /// Where a trajectory lies.
    #[must_use]
    pub fn of(trajectory: &Trajectory) -> Self {
        Self {
            task: ScopePath::of(&trajectory.task),
            at: trajectory.at,
            seq: trajectory.seq,
        }
    }
}

/// The key of a trajectory.
#[must_use]
pub fn key(place: &Key) -> Vec<u8> {
    let (project, inside) = place.task.as_bytes().split_at(PROJECT_LEN);
    let at = place.at.ms().to_be_bytes();
    let seq = place.seq.get().to_be_bytes();
    codec::build(FAMILY, &[project, &at, inside, &seq])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let project: [u8; PROJECT_LEN] = reader.array()?;
    let at = Timestamp::from_ms(reader.u64()?);
    let inside: [u8; ScopePath::LEN - PROJECT_LEN] = reader.array()?;
    let seq = Seq::new(reader.u64()?);
    reader.end()?;
    let mut task = [0; ScopePath::LEN];
    task[..PROJECT_LEN].copy_from_slice(&project);
    task[PROJECT_LEN..].copy_from_slice(&inside);
    let task = ScopePath::from_bytes(task);
    Ok(Key { task, at, seq })
}

/// Those of all tasks of a project, the oldest first. What lies in it of another project, whoever reads it has to tell by what it
/// says: see [`ScopePath`].
#[must_use]
pub fn range_of_project(project: &Scope) -> KeyRange {
    let path = ScopePath::of(project);
    KeyRange::prefix(&codec::build(FAMILY, &[&path.as_bytes()[..PROJECT_LEN]]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Trajectory) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Trajectory, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
