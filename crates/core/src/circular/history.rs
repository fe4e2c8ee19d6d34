//! What follows from what failed before: whether an error that comes up, or an approach that is proposed, goes in circles.
//!
//! Owns the verdicts, and that on an approach. It must not know how failures are kept, nor how errors and approaches are told
//! apart, nor how much is told.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::approach::{Approach, Likeness, Words};
use super::fingerprint::ErrorHash;
use super::tried::{History, Tried, Weight};
use super::wording::{Wording, words_of};
use crate::id::{Seq, VerificationId};
use crate::limits::{FIX_REWORDED_BYTES_MAX, FIX_TERMS_MAX};
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
    /// The task is stuck, whatever comes up in it.
    Stuck,
}

impl ErrorReason {
    /// All reasons.
    pub const ALL: [Self; 6] = [
        Self::New,
        Self::Repeated,
        Self::CameBack,
        Self::TakesTurns,
        Self::TooOften,
        Self::Stuck,
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
            Self::Stuck => "stuck",
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

/// What follows from an approach that is proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApproachJudged {
    /// What the agent may do.
    pub verdict: Verdict,
    /// What failed before and is like it: what counts in the task first, then what was cleared there, then that of others, and
    /// of these the most alike.
    pub tried: Vec<Tried>,
    /// Whether more failed than was looked at, or more of it is like what is proposed than is told.
    pub cut: bool,
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

/// What may still be looked at to answer one question.
struct Room {
    terms: usize,
    reworded_bytes: usize,
}

impl Room {
    const ALL: Self = Self {
        terms: FIX_TERMS_MAX,
        reworded_bytes: FIX_REWORDED_BYTES_MAX,
    };

    /// How an approach that failed is worded by the rule of this build: as it was recorded, or made anew where another rule did
    /// that or none is kept. None where there is no room for it, or for comparing it with what has so many terms.
    fn worded<'a>(
        &mut self,
        failed: &'a FailedApproach,
        compared_terms: usize,
    ) -> Option<Cow<'a, Wording>> {
        let wording = if failed.wording.is_current() {
            Cow::Borrowed(&failed.wording)
        } else {
            let left = self.reworded_bytes.checked_sub(failed.approach.bytes());
            self.reworded_bytes = left?;
            Cow::Owned(Wording::of(&failed.approach))
        };
        let left = self.terms.checked_sub(wording.terms() + compared_terms);
        self.terms = left?;
        Some(wording)
    }
}

/// Judges an approach to a task by what failed in its project, as far as there is room for looking at it. Of one task the
/// newest failures come first, and those of the task itself before all others.
#[must_use]
pub fn judge_approach(
    proposed: &Approach,
    to: Proposed<'_>,
    failed: &[FailedApproach],
) -> ApproachJudged {
    let own = words_of(to.description);
    let wording = Wording::of(proposed);
    let terms = wording.terms();
    let words = Words::left_of(Cow::Owned(wording), &own);
    let (mut room, mut history, mut cut) = (Room::ALL, History::default(), false);
    for one in failed {
        let Some(wording) = room.worded(one, terms) else {
            cut = true;
            continue;
        };
        let theirs = Words::left_of(wording, &own);
        if let Some(alike) = words.likeness(&theirs) {
            history.take(one, to.weight_of(one), alike);
        }
    }
    let verdict = match history.most() {
        Some((Weight::Counts, Likeness::One)) => Verdict::Reject,
        Some(_) => Verdict::Warn,
        None => Verdict::Allow,
    };
    let (tried, has_more) = history.told();
    ApproachJudged {
        verdict,
        tried,
        cut: cut || has_more,
    }
}

impl Proposed<'_> {
    fn weight_of(&self, failed: &FailedApproach) -> Weight {
        if failed.task != *self.task {
            Weight::Others
        } else if failed.seq > self.cleared_through {
            Weight::Counts
        } else {
            Weight::Cleared
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str, wording: Wording) -> FailedApproach {
        FailedApproach {
            task: Scope::parse("org/a/project/p/worktree/w/task/t").unwrap(),
            seq: Seq::new(3),
            verification: VerificationId::from_bytes([7; 16]),
            approach: Approach {
                text: text.to_owned(),
                ..Approach::default()
            },
            reason: String::new(),
            at: Timestamp::EPOCH,
            wording,
        }
    }

    #[test]
    fn there_is_room_for_so_many_terms_and_for_so_many_bytes_that_are_worded_anew() {
        let text = "cache the parsed headers";
        let kept = failed(text, Wording::default());
        let wording = Wording::of(&kept.approach);
        let (terms, compared) = (wording.terms(), 5);
        assert!(terms > 0);
        let current = failed(text, wording.clone());
        let mut room = Room {
            terms: 2 * (terms + compared) + terms,
            reworded_bytes: text.len() + 1,
        };
        let found = room.worded(&current, compared);
        assert!(matches!(found, Some(Cow::Borrowed(_))));
        assert_eq!(room.reworded_bytes, text.len() + 1);
        let anew = room.worded(&kept, compared);
        assert_eq!(anew.as_deref(), Some(&wording));
        // Nothing more is made anew, and what is worded has no room beside what it is compared with.
        assert_eq!((room.terms, room.reworded_bytes), (terms, 1));
        assert_eq!(room.worded(&kept, 0), None);
        assert_eq!(room.worded(&current, compared), None);
        assert!(room.worded(&current, 0).is_some());
    }
}
