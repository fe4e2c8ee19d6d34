//! What is recorded where an entry is judged anew: by what tasks say of it, by a person's answer, or as it comes back.
//!
//! Owns the forms. What follows from them is decided before.

use serde::{Deserialize, Serialize};

use crate::citation::Citation;
use crate::entry::Status;
use crate::id::EntryId;
use crate::reuse::{ReuseOutcome, Usage};
use crate::scope::Scope;
use crate::trust::Trust;

/// What a task said of an entry, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReuseReported {
    /// The entry.
    pub entry: EntryId,
    /// The task.
    pub task: Scope,
    /// What it says.
    pub outcome: ReuseOutcome,
    /// What all tasks say from now on.
    pub usage: Usage,
    /// The entry's status from now on.
    pub status: Status,
}

/// What stands behind an entry from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustRevised {
    /// The entry.
    pub entry: EntryId,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Its status.
    pub status: Status,
    /// Its trust.
    pub trust: Trust,
}

/// What an entry is from now on that was brought back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryRestored {
    /// The entry.
    pub entry: EntryId,
    /// Its status.
    pub status: Status,
    /// Its trust, whose time begins anew.
    pub trust: Trust,
    /// Why.
    pub reason: String,
}
