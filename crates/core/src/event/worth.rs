//! What is recorded of what entries are worth: what tasks say of them, what stands behind them, that they came back.
//!
//! Owns the form. Who may say so, and what follows, is [`crate::decide`]'s.

use serde::{Deserialize, Serialize};

use crate::citation::Citation;
use crate::commit::CommitName;
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

/// Where what an entry rests on lies from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CitationsRefreshed {
    /// The entry.
    pub entry: EntryId,
    /// All that it rests on, in its order: what they say of it is as it was.
    pub citations: Vec<Citation>,
    /// The commit at which that was found.
    pub at: CommitName,
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
