//! What follows from what failed before: whether an error that comes up, or an approach that is proposed, goes in circles.
//!
//! Owns the verdicts, and that on an approach. It must not know how failures are kept, nor how errors and approaches are told apart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::approach::{Approach, Words};
use super::fingerprint::ErrorHash;
use super::wording::{Wording, words_of};
use crate::id::{Seq, VerificationId};
use crate::scope::Scope;
use crate::time::Timestamp;

/// What an agent may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Go on, and know this.
    Warn,
    /// Stop: this error keeps coming back.
    Block,
    /// Try something else: this failed.
    Reject,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Warn, Self::Block, Self::Reject];

    /// The verdict's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Block => "block",
            Self::Reject => "reject",
        }
    }
}

/// Why an error is judged as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorReason {
    /// It was not seen before in this task.
    New,
    /// It was, just before or once.
    Repeated,
    /// Another one was in between: a fix brought it back.
    CameBack,
    /// Two errors take turns.
    TakesTurns,
    /// It came up for the third time, or more often.
    TooOften,
}

impl ErrorReason {
    /// All reasons.
    pub const ALL: [Self; 5] = [
        Self::New,
        Self::Repeated,
        Self::CameBack,
        Self::TakesTurns,
        Self::TooOften,
    ];

    /// The reason's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Repeated => "repeated",
            Self::CameBack => "came_back",
            Self::TakesTurns => "takes_turns",
            Self::TooOften => "too_often",
        }
    }
}

/// What follows from an error that comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorJudged {
    /// What the agent may do.
    pub verdict: Verdict,
    /// Why.
    pub reason: ErrorReason,
    /// The error.
    pub error: ErrorHash,
    /// How often it came up since the counters were cleared, this time too.
    pub count: u32,
}

/// An approach that failed, as the scope of its task keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedApproach {
    /// The task in which it did.
    pub task: Scope,
    /// The event that says so.
    pub seq: Seq,
    /// The verification that failed.
    pub verification: VerificationId,
    /// The approach.
    pub approach: Approach,
    /// How it failed, in short.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// How the approach is worded, as the build made it that recorded it.
    pub wording: Wording,
}

impl FailedApproach {
    /// How it is worded by the rule of this build: as it was recorded, or made anew where another rule did that.
    fn worded(&self) -> Cow<'_, Wording> {
        if self.wording.is_current() {
            Cow::Borrowed(&self.wording)
        } else {
            Cow::Owned(Wording::of(&self.approach))
        }
    }
}

/// Approaches that failed and that are one, by their words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The task in which they did.
    pub task: Scope,
    /// The one that is most like what is proposed.
    pub approach: Approach,
    /// How much like it, from 0 to 1.
    pub similarity: f64,
    /// How often it was tried.
    pub attempts: u32,
    /// When the last time.
    pub last: Timestamp,
    /// How it failed, the first time first, each reason once.
    pub reasons: Vec<String>,
}

/// What follows from an approach that is proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApproachJudged {
    /// What the agent may do.
    pub verdict: Verdict,
    /// What failed before and is like it: those of the task first, then the most alike.
    pub tried: Vec<Tried>,
}

/// The task that an approach is proposed to.
#[derive(Clone, Copy, Debug)]
pub struct Proposed<'a> {
    /// Its scope.
    pub task: &'a Scope,
    /// What it was opened with: words of that say nothing of an approach.
    pub description: &'a str,
    /// What failed up to here counts against it no more.
    pub cleared_through: Seq,
}

/// Judges an approach to a task by what failed in its project.
#[must_use]
pub fn judge_approach(
    proposed: &Approach,
    to: Proposed<'_>,
    failed: &[FailedApproach],
) -> ApproachJudged {
    let own = words_of(to.description);
    let words = Words::left_of(Cow::Owned(Wording::of(proposed)), &own);
    let mut tried: Vec<(bool, Tried)> = Vec::new();
    for one in failed {
        let theirs = Words::left_of(one.worded(), &own);
        let Some(similarity) = words.likeness(&theirs) else {
            continue;
        };
        let counts = one.task == *to.task && one.seq > to.cleared_through;
        let known = tried
            .iter_mut()
            .find(|(known_counts, known)| *known_counts == counts && known.task == one.task);
        match known {
            Some((_, known)) => known.take(one, similarity),
            None => tried.push((counts, Tried::of(one, similarity))),
        }
    }
    tried.sort_by(|(a_counts, a), (b_counts, b)| {
        b_counts
            .cmp(a_counts)
            .then(b.similarity.total_cmp(&a.similarity))
            .then_with(|| a.task.cmp(&b.task))
    });
    let verdict = match tried.first() {
        Some((true, _)) => Verdict::Reject,
        Some((false, _)) => Verdict::Warn,
        None => Verdict::Allow,
    };
    ApproachJudged {
        verdict,
        tried: tried.into_iter().map(|(_, tried)| tried).collect(),
    }
}

impl Tried {
    fn of(failed: &FailedApproach, similarity: f64) -> Self {
        Self {
            task: failed.task.clone(),
            approach: failed.approach.clone(),
            similarity,
            attempts: 1,
            last: failed.at,
            reasons: vec![failed.reason.clone()],
        }
    }

    /// Counts one more attempt.
    fn take(&mut self, failed: &FailedApproach, similarity: f64) {
        self.attempts += 1;
        self.last = self.last.max(failed.at);
        if similarity > self.similarity {
            self.similarity = similarity;
            self.approach = failed.approach.clone();
        }
        if !self.reasons.contains(&failed.reason) {
            self.reasons.push(failed.reason.clone());
        }
    }
}
