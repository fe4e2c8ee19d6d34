//! What is recorded of how an agent went about a task.
//!
//! Owns the form. What follows from it is [`crate::bank`]'s.

use serde::{Deserialize, Serialize};

use crate::bank::{Ended, Reward, Step, TaskKind};
use crate::circular::{Approach, Wording};

/// A trajectory, as its orchestrator tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryStored {
    /// What sort of task it was.
    pub kind: TaskKind,
    /// What the task was called, as far as there is room for it.
    pub title: String,
    /// What was done, with secrets masked.
    pub approach: Approach,
    /// What it came to.
    pub ended: Ended,
    /// What it was worth.
    pub reward: Reward,
    /// What is to be known of it, with secrets masked.
    pub lesson: String,
    /// Its steps, in the order of the log.
    pub steps: Vec<Step>,
    /// How the approach is worded, as the build made it that stored it.
    pub wording: Wording,
    /// How the title is, by the same rule.
    pub titled: Wording,
}
