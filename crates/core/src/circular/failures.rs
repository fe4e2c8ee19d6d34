//! What a task remembers of its failures, as one value that is stored with it.
//!
//! Owns how often each error came up since a verification passed, which came last, and what follows for the one that comes up
//! now. It must not know when two errors are one, nor what an approach says.

use serde::{Deserialize, Serialize};

use super::fingerprint::ErrorHash;
use super::history::{ErrorJudged, ErrorReason, Verdict};
use crate::id::Seq;
use crate::limits::{ERROR_TIMES_MAX, ERROR_TURNS_KEPT, ERRORS_KEPT_MAX};

/// An error that came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    error: ErrorHash,
    /// How often it did.
    count: u32,
    /// The last event that says so.
    last: Seq,
}

/// The failures of a task since its last passed verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Errors; the one that came up last stands last.
    errors: Vec<Known>,
    /// The last errors, without those that are the same as the one before.
    turns: Vec<ErrorHash>,
    /// How many approaches failed.
    approaches: u32,
    /// Approaches that failed up to this position count against the task no more.
    pub cleared_through: Seq,
}

impl Failures {
    /// Judges an error that comes up now.
    #[must_use]
    pub fn judge(&self, error: ErrorHash) -> ErrorJudged {
        let known = self.errors.iter().find(|known| known.error == error);
        let seen = known.map_or(0, |known| known.count);
        let count = seen.saturating_add(1);
        let takes_turns = matches!(*self.turns, [a, b, c] if a == c && b == error);
        let (verdict, reason) = if count >= ERROR_TIMES_MAX {
            (Verdict::Block, ErrorReason::TooOften)
        } else if takes_turns {
            (Verdict::Block, ErrorReason::TakesTurns)
        } else if seen > 0 && self.turns.last() != Some(&error) {
            (Verdict::Warn, ErrorReason::CameBack)
        } else if seen > 0 {
            (Verdict::Allow, ErrorReason::Repeated)
        } else {
            (Verdict::Allow, ErrorReason::New)
        };
        ErrorJudged {
            verdict,
            reason,
            error,
            count,
        }
    }

    /// Remembers that an error came up, by an event at this position.
    pub fn came_up(&mut self, error: ErrorHash, last: Seq) {
        let known = self.errors.iter().position(|known| known.error == error);
        let seen = known.map_or(0, |at| self.errors.remove(at).count);
        if self.errors.len() == ERRORS_KEPT_MAX {
            self.errors.remove(0);
        }
        let count = seen.saturating_add(1);
        self.errors.push(Known { error, count, last });
        if self.turns.last() != Some(&error) {
            if self.turns.len() == ERROR_TURNS_KEPT {
                self.turns.remove(0);
            }
            self.turns.push(error);
        }
    }

    /// Remembers that an approach failed.
    pub const fn approach_failed(&mut self) {
        self.approaches = self.approaches.saturating_add(1);
    }

    /// Knows the error by another name from now on that came up last by the event at this position: what the event said was
    /// erased. It counts as it did.
    pub fn renamed(&mut self, at: Seq, name: ErrorHash) {
        let Some(known) = self.errors.iter_mut().find(|known| known.last == at) else {
            return;
        };
        let before = core::mem::replace(&mut known.error, name);
        let turns = self.turns.iter_mut().filter(|turn| **turn == before);
        turns.for_each(|turn| *turn = name);
    }

    /// Forgets all of them: a verification passed that speaks for all up to here. Where nothing failed, nothing changes.
    pub fn clear(&mut self, through: Seq) {
        if self.errors.is_empty() && self.approaches == 0 {
            return;
        }
        *self = Self {
            cleared_through: through,
            ..Self::default()
        };
    }
}
