//! What a task remembers of its failures, as one value that is stored with it.
//!
//! Owns how often each error came up since a verification passed, which came last, and what follows for the one that comes up
//! now. An error counts under the verification that failed with it first, so that it goes on counting where its fingerprint is
//! erased. It must not know when two errors are one, nor what an approach says.

use serde::{Deserialize, Serialize};

use super::fingerprint::ErrorHash;
use super::history::{ErrorJudged, ErrorReason, Verdict};
use crate::id::{Seq, VerificationId};
use crate::limits::{ERROR_TIMES_MAX, ERROR_TURNS_KEPT, ERRORS_KEPT_MAX};

/// An error with which a fix failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSeen {
    /// Its fingerprint; [`ErrorHash::ERASED`] once that was erased.
    pub error: ErrorHash,
    /// The verification that failed with it first, as far as the task remembered when it came up: under that it counts.
    pub first: VerificationId,
}

/// An error that came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// Its fingerprint, as the last event tells it: by that it is known again.
    error: ErrorHash,
    /// The verification that failed with it first.
    first: VerificationId,
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
    /// The last errors, without those that are the same as the one before, each by the verification that failed with it first.
    turns: Vec<VerificationId>,
    /// How many approaches failed.
    approaches: u32,
    /// Approaches that failed up to this position count against the task no more.
    pub cleared_through: Seq,
}

impl Failures {
    /// The error with which a verification fails now, by its fingerprint: one that is remembered, or else a new one.
    #[must_use]
    pub fn seen(&self, error: ErrorHash, verification: VerificationId) -> ErrorSeen {
        let known = self.errors.iter().find(|known| known.error == error);
        let first = known.map_or(verification, |known| known.first);
        ErrorSeen { error, first }
    }

    /// Whether the error of a verification that fails now may have been seen so. Of some errors the fingerprints may have been
    /// erased since, and of this one as well: one that has none may be any that was known when it came up.
    #[must_use]
    pub fn may_be(&self, seen: ErrorSeen, verification: VerificationId) -> bool {
        let same = self.errors.iter().find(|known| known.first == seen.first);
        let fits = match same {
            Some(known) => {
                let told = [known.error, seen.error];
                told.contains(&ErrorHash::ERASED) || known.error == seen.error
            }
            None => seen.first == verification,
        };
        let mut others = self.errors.iter().filter(|known| known.first != seen.first);
        let is_told = seen.error != ErrorHash::ERASED;
        fits && !(is_told && others.any(|known| known.error == seen.error))
    }

    /// Judges an error that comes up now.
    #[must_use]
    pub fn judge(&self, seen: ErrorSeen) -> ErrorJudged {
        let ErrorSeen { error, first } = seen;
        let known = self.errors.iter().find(|known| known.first == first);
        let times = known.map_or(0, |known| known.count);
        let count = times.saturating_add(1);
        let takes_turns = matches!(*self.turns, [a, b, c] if a == c && b == first);
        let (verdict, reason) = if count >= ERROR_TIMES_MAX {
            (Verdict::Block, ErrorReason::TooOften)
        } else if takes_turns {
            (Verdict::Block, ErrorReason::TakesTurns)
        } else if times > 0 && self.turns.last() != Some(&first) {
            (Verdict::Warn, ErrorReason::CameBack)
        } else if times > 0 {
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
    pub fn came_up(&mut self, seen: ErrorSeen, last: Seq) {
        let ErrorSeen { error, first } = seen;
        let known = self.errors.iter().position(|known| known.first == first);
        let times = known.map_or(0, |at| self.errors.remove(at).count);
        if self.errors.len() == ERRORS_KEPT_MAX {
            self.errors.remove(0);
        }
        self.errors.push(Known {
            error,
            first,
            count: times.saturating_add(1),
            last,
        });
        if self.turns.last() != Some(&first) {
            if self.turns.len() == ERROR_TURNS_KEPT {
                self.turns.remove(0);
            }
            self.turns.push(first);
        }
    }

    /// Remembers that an approach failed.
    pub const fn approach_failed(&mut self) {
        self.approaches = self.approaches.saturating_add(1);
    }

    /// Forgets the fingerprint of the error that came up last by the event at this position, since what that said was erased.
    /// The error counts as it did. When it comes up again, it is another one.
    pub fn fingerprint_erased(&mut self, at: Seq) {
        let known = self.errors.iter_mut().find(|known| known.last == at);
        if let Some(known) = known {
            known.error = ErrorHash::ERASED;
        }
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
