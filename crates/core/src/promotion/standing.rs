//! Standing: how the promotions of one task stand, and what a task is left with when one is dropped.
//!
//! Owns that nothing is lost by a drop: what only the dropped verification spoke for is spoken for by the
//! next one. It must not know how it is found out how a promotion stands.

use crate::id::{Seq, VerificationId};
use crate::task::{Task, TaskStatus};
use crate::verification::Outcome;

/// How one promotion of a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The verification that started it.
    pub verification: VerificationId,
    /// How the work was judged.
    pub outcome: Outcome,
    /// The last position that the verification speaks for.
    pub through: Seq,
    /// Whether it is finished, and how.
    pub stands: Stands,
}

/// Whether a promotion is finished, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It is under way, and nothing of it is published.
    Pending,
    /// It is published, whether that is noted in the task's log or not.
    Published,
    /// It was given up.
    Dropped,
}

/// What a task is left with once a promotion is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The task's status.
    pub status: TaskStatus,
    /// The last position that a passed verification speaks for.
    pub verified_through: Seq,
}

/// What `task` is left with once the promotion `dropped` is, where `all` of them stand like this.
///
/// Records stay where they are. Verifications pin one stretch of the log after the other, so what is
/// verified ends with the last passed one that was not dropped. If that is a later one than this, nothing
/// moves: its own stretch begins behind this one's, and pins are never taken apart. If there is none
/// later, the end goes back to the last one before this that was not dropped either (mostly this
/// one's own beginning), and the next passed verification pins those records again. So the order in which
/// several are dropped does not matter. A failed verification pins nothing for others, and gives nothing
/// back.
///
/// A task that was verifying is open again once a passed promotion is dropped, unless another passed one of it is
/// still under way. With the last one that failed, what passed before is done.
#[must_use]
pub fn given_back(task: &Task, dropped: VerificationId, all: &[Standing]) -> Given {
    let is_passed = |one: &&Standing| one.outcome == Outcome::Passed;
    let gives = all
        .iter()
        .filter(is_passed)
        .any(|one| one.verification == dropped);
    let others = || {
        let others = all.iter().filter(is_passed);
        others.filter(|one| one.verification != dropped && one.stands != Stands::Dropped)
    };
    let last = others().map(|one| one.through).max().unwrap_or(Seq::ZERO);
    let is_under_way = others().any(|one| one.stands == Stands::Pending);
    Given {
        status: match task.status {
            TaskStatus::Verifying if gives && !is_under_way => TaskStatus::Open,
            TaskStatus::Verifying if !gives => task.status_after_promotion(),
            status => status,
        },
        verified_through: if gives {
            last.min(task.verified_through)
        } else {
            task.verified_through
        },
    }
}
