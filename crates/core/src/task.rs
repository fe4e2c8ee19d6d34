//! Tasks: their status, and which commands each status allows.
//!
//! Owns the state machine `open -> verifying -> done | open`, `open <-> stuck`, `-> done | failed ->
//! archived`. It must not know who may act: that is [`crate::permission`].

use serde::{Deserialize, Serialize};

use crate::circular::{ErrorJudged, ErrorReason, ErrorSeen, Failures, Verdict};
use crate::error::{Error, ErrorCode};
use crate::id::Seq;
use crate::principal::Actor;
use crate::time::Timestamp;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Work goes on.
    Open,
    /// A passed verification is being promoted.
    Verifying,
    /// Work has come to a halt until somebody clears it.
    Stuck,
    /// It was verified, or closed as done.
    Done,
    /// It was closed as failed.
    Failed,
    /// It takes nothing any more.
    Archived,
}

impl TaskStatus {
    /// All statuses.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Verifying,
        Self::Stuck,
        Self::Done,
        Self::Failed,
        Self::Archived,
    ];

    /// The status's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Verifying => "verifying",
            Self::Stuck => "stuck",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Archived => "archived",
        }
    }
}

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// Its aim was reached.
    Done,
    /// It was given up.
    Failed,
}

/// A task's current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, in full.
    pub description: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// Why it is stuck, while it is.
    pub stuck_reason: Option<String>,
    /// The last position that a passed verification spoke for.
    pub verified_through: Seq,
    /// Passed verifications whose promotion is not finished.
    pub promotions_pending: u32,
    /// Who opened it.
    pub opened_by: Actor,
    /// When.
    pub opened_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
    /// What failed in it since a verification passed.
    pub failures: Failures,
}

/// What a task was opened with, as one text that can be cited: its title, a line break, its description.
#[must_use]
pub fn opening_text(title: &str, description: &str) -> String {
    format!("{title}\n{description}")
}

/// What a command wants of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskAction {
    /// Append to its log.
    Append,
    /// Record a verification.
    Verify,
    /// Mark it stuck.
    MarkStuck,
    /// Clear that mark.
    ClearStuck,
    /// Close it.
    Close,
    /// Archive it.
    Archive,
    /// Store how it went.
    StoreTrajectory,
}

impl TaskAction {
    /// All actions.
    pub const ALL: [Self; 7] = [
        Self::Append,
        Self::Verify,
        Self::MarkStuck,
        Self::ClearStuck,
        Self::Close,
        Self::Archive,
        Self::StoreTrajectory,
    ];

    /// Whether a task in `status` takes the action. A log takes records until the task is
    /// archived: a late record is still evidence, and refusing it would lose it.
    #[must_use]
    pub const fn allowed_in(self, status: TaskStatus) -> bool {
        use TaskStatus as S;
        match self {
            Self::Append => !matches!(status, S::Archived),
            Self::Verify => matches!(status, S::Open | S::Verifying | S::Stuck | S::Done),
            Self::MarkStuck => matches!(status, S::Open),
            Self::ClearStuck => matches!(status, S::Stuck),
            Self::Close => matches!(status, S::Open | S::Verifying | S::Stuck),
            Self::Archive => matches!(status, S::Done | S::Failed),
            // What it came to is known once it was verified or closed.
            Self::StoreTrajectory => matches!(status, S::Verifying | S::Done | S::Failed),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Append => "append to",
            Self::Verify => "verify",
            Self::MarkStuck => "mark stuck",
            Self::ClearStuck => "clear",
            Self::Close => "close",
            Self::Archive => "archive",
            Self::StoreTrajectory => "store a trajectory of",
        }
    }
}

impl Task {
    /// Checks that the task's status takes the action.
    ///
    /// # Errors
    /// `invalid_state`, naming the status.
    pub fn check(&self, action: TaskAction) -> Result<(), Error> {
        if action.allowed_in(self.status) {
            return Ok(());
        }
        let message = format!(
            "a task that is {} is not one to {}",
            self.status.as_str(),
            action.as_str()
        );
        Err(Error::new(ErrorCode::InvalidState, message))
    }

    /// The status once a promotion is finished: done when it was the last one of a verifying task.
    #[must_use]
    pub const fn status_after_promotion(&self) -> TaskStatus {
        match self.status {
            TaskStatus::Verifying if self.promotions_pending <= 1 => TaskStatus::Done,
            status => status,
        }
    }

    /// Judges an error that comes up now: by what failed before, and where the task is stuck, which takes no fix, by that.
    #[must_use]
    pub fn judge(&self, seen: ErrorSeen) -> ErrorJudged {
        let judged = self.failures.judge(seen);
        if self.status != TaskStatus::Stuck {
            return judged;
        }
        ErrorJudged {
            verdict: Verdict::Block,
            reason: ErrorReason::Stuck,
            ..judged
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_machine_is_that_of_the_specification() {
        let allowed = |action: TaskAction| -> Vec<TaskStatus> {
            TaskStatus::ALL
                .into_iter()
                .filter(|status| action.allowed_in(*status))
                .collect()
        };
        use TaskStatus as S;
        assert_eq!(allowed(TaskAction::MarkStuck), [S::Open]);
        assert_eq!(allowed(TaskAction::ClearStuck), [S::Stuck]);
        assert_eq!(allowed(TaskAction::Archive), [S::Done, S::Failed]);
        assert_eq!(
            allowed(TaskAction::StoreTrajectory),
            [S::Verifying, S::Done, S::Failed]
        );
        assert_eq!(
            allowed(TaskAction::Close),
            [S::Open, S::Verifying, S::Stuck]
        );
        for action in TaskAction::ALL {
            assert!(
                !action.allowed_in(S::Archived),
                "an archived task takes nothing"
            );
        }
    }
}
