//! Trajectories: how an agent went about a task, as its orchestrator tells once the task is over.
//!
//! Owns their form. What an agent wrote on its way stays in the log of the task: a trajectory only points there.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::circular::{Approach, Wording};
use crate::citation::Excerpt;
use crate::error::{Error, ErrorCode};
use crate::id::{RecordId, Seq};
use crate::limits::{
    TASK_KIND_BYTES_MAX, TRAJECTORY_APPROACH_BYTES_MAX, TRAJECTORY_LESSON_BYTES_MAX,
    TRAJECTORY_STEPS_MAX, WORDED_BYTES_MAX, WORDING_BYTES_FACTOR,
};
use crate::scope::Scope;
use crate::secret::mask;
use crate::time::Timestamp;
use crate::verification::check_approach;

/// How often what is told is written: in an event, and in a row.
const WRITTEN: usize = 2;

/// What sort of task it was, such as `bugfix`: patterns of one sort say nothing of another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct TaskKind(Arc<str>);

impl TaskKind {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TaskKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fits = !text.is_empty() && text.len() <= TASK_KIND_BYTES_MAX;
        let is_plain =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
        if fits && text.bytes().all(is_plain) {
            return Ok(Self(text.into()));
        }
        let why = format!("a kind of task has 1 to {TASK_KIND_BYTES_MAX} of a-z 0-9 . _ -");
        Err(Error::new(ErrorCode::InvalidArgument, why))
    }
}

impl TryFrom<String> for TaskKind {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for TaskKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// What an approach came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It did what the task asked for.
    Succeeded,
    /// It did not.
    Failed,
}

impl Ended {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Succeeded, Self::Failed];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for Ended {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|ended| ended.as_str() == text);
        let why = "a trajectory ended as succeeded or failed";
        found.ok_or_else(|| Error::new(ErrorCode::InvalidArgument, why))
    }
}

/// What a trajectory was worth: -1 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Reward(f64);

impl Reward {
    /// A reward of this much.
    ///
    /// # Errors
    /// `invalid_argument` for what is no number from -1 to 1.
    pub fn of(value: f64) -> Result<Self, Error> {
        if (-1.0..=1.0).contains(&value) {
            // There is one zero.
            return Ok(Self(value + 0.0));
        }
        let why = "a reward is a number from -1 to 1";
        Err(Error::new(ErrorCode::InvalidArgument, why))
    }

    /// How much.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Reward {
    type Error = Error;

    fn try_from(value: f64) -> Result<Self, Error> {
        Self::of(value)
    }
}

impl From<Reward> for f64 {
    fn from(reward: Reward) -> Self {
        reward.0
    }
}

impl FromStr for Reward {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::of(text.parse().unwrap_or(f64::NAN))
    }
}

/// A step on the way: what a record of the task's log says, whole or in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Step {
    /// The position of the record.
    pub record: Seq,
    /// The first byte of its text that counts, from 0, and the byte behind the last one; none where all of it does.
    pub bytes: Option<(u32, u32)>,
}

impl Step {
    /// The record of `task` that it names.
    #[must_use]
    pub fn record_of(&self, task: &Scope) -> RecordId {
        RecordId {
            scope: task.clone(),
            seq: self.record,
        }
    }

    /// The stretch of that record, where it names one.
    #[must_use]
    pub fn excerpt_of(&self, task: &Scope) -> Option<Excerpt> {
        self.bytes.map(|(from, to)| Excerpt {
            record: self.record_of(task),
            from,
            to,
        })
    }
}

/// A trajectory as an orchestrator hands it over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewTrajectory {
    /// What sort of task it was.
    pub kind: TaskKind,
    /// What was done, with the files and symbols that it touched.
    pub approach: Approach,
    /// What it came to.
    pub ended: Ended,
    /// What it was worth.
    pub reward: Reward,
    /// What is to be known of it: why it failed, or what made it work. May be empty.
    pub lesson: String,
    /// Its steps, in the order of the log.
    pub steps: Vec<Step>,
}

impl NewTrajectory {
    /// Checks the form: how much it says, and that its steps follow one another.
    ///
    /// # Errors
    /// `too_large`, `invalid_argument`.
    pub fn check_form(&self) -> Result<(), Error> {
        if mask(self.kind.as_str()).count > 0 {
            let why = "the kind of the task holds a secret";
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        check_approach(&self.approach)?;
        for (what, limit, given) in [
            (
                "bytes of the approach of a trajectory",
                TRAJECTORY_APPROACH_BYTES_MAX,
                self.approach.bytes(),
            ),
            (
                "bytes of what is to be known of a trajectory",
                TRAJECTORY_LESSON_BYTES_MAX,
                self.lesson.len(),
            ),
            (
                "steps of a trajectory",
                TRAJECTORY_STEPS_MAX,
                self.steps.len(),
            ),
        ] {
            if given > limit {
                return Err(Error::too_large(what, limit as u64, given as u64));
            }
        }
        check_steps(&self.steps)
    }

    /// Bytes that storing it writes.
    #[must_use]
    pub fn written_bytes(&self) -> usize {
        let approach = self.approach.bytes();
        let wording = if approach <= WORDED_BYTES_MAX {
            WORDING_BYTES_FACTOR * approach
        } else {
            0
        };
        WRITTEN * (approach + wording + self.lesson.len()) + size_of_val(self.steps.as_slice())
    }
}

fn check_steps(steps: &[Step]) -> Result<(), Error> {
    let invalid = |why: &str| Err(Error::new(ErrorCode::InvalidArgument, why));
    if steps.is_empty() {
        return invalid("a trajectory has at least one step");
    }
    if !steps.windows(2).all(|pair| pair[0] < pair[1]) {
        return invalid("the steps of a trajectory follow one another in the log, each once");
    }
    Ok(())
}

/// A trajectory, as the project of its task keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// The task.
    pub task: Scope,
    /// The event that says so.
    pub seq: Seq,
    /// When it was stored.
    pub at: Timestamp,
    /// What sort of task it was.
    pub kind: TaskKind,
    /// What the task was called, as far as there is room for it.
    pub title: String,
    /// What was done.
    pub approach: Approach,
    /// What it came to.
    pub ended: Ended,
    /// What it was worth.
    pub reward: Reward,
    /// What is to be known of it.
    pub lesson: String,
    /// How the approach is worded, as the build made it that stored it.
    pub wording: Wording,
    /// How the title is, by the same rule.
    pub titled: Wording,
}

impl Trajectory {
    /// Where it is told.
    #[must_use]
    pub fn record(&self) -> RecordId {
        RecordId {
            scope: self.task.clone(),
            seq: self.seq,
        }
    }
}
