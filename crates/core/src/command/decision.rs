//! The commands about decisions that have a form of their own.

use serde::{Deserialize, Serialize};

use crate::decision::NewDecision;
use crate::id::DecisionId;

/// A decision that is to be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveDecision {
    /// The decision that it changes; none begins a chain.
    pub change: Option<DecisionRef>,
    /// What it says.
    pub text: NewDecision,
    /// Why. May be empty when a chain begins.
    pub reason: String,
}

/// A decision, in the version that the caller has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionRef {
    /// Its root.
    pub root: DecisionId,
    /// That version.
    pub expected_version: u64,
}
