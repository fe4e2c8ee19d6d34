//! Attempts: how the tries at a promotion went so far, and when the next one comes.
//!
//! Owns the form that is kept beside a job, and how a failure and a wish to try anew change it. They are
//! no history: no event tells of them. It must not know what an attempt does, nor who writes this down.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};
use crate::limits::ATTEMPT_ERROR_BYTES_MAX;
use crate::time::Timestamp;

/// The longest wait between two attempts, in ms.
pub const BACKOFF_MS_MAX: u64 = 60_000;
/// The longest wait for a store or a scope that is out of reach, in ms.
pub const REACH_BACKOFF_MS_MAX: u64 = 5_000;
/// How often a wait doubles at most.
const DOUBLINGS_MAX: u32 = 20;

/// What became of the attempts at a promotion that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// How often somebody wanted it tried anew after it had halted. Whoever remembers another round
    /// than the stored one remembers what does not count any more.
    pub round: u32,
    /// Attempts of this round that failed.
    pub made: u32,
    /// How many of them count. That a store or a scope was out of reach is none of the promotion's.
    pub failures: u32,
    /// When the last attempt failed.
    pub last_failed_at: Option<Timestamp>,
    /// Why it failed.
    pub last_error: Option<LastError>,
    /// Whether it has failed as often as it may, and waits until somebody wants it tried anew.
    pub halted: bool,
    /// When the next attempt is due; none while nothing has failed in this round, and once it has halted.
    pub next_at: Option<Timestamp>,
    /// What the attempts have used, as far as that is known.
    pub spent: Option<Spent>,
}

/// Why an attempt failed, in few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastError {
    /// The name of the error's code, which a later release may know more of.
    pub code: String,
    /// What went wrong, cut to [`ATTEMPT_ERROR_BYTES_MAX`].
    pub message: String,
}

/// What a cognifier used for a promotion, over all its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Name and version of the cognifier that was asked last.
    pub cognifier: String,
    /// Tokens that it was given, where it counts them.
    pub prompt_tokens: Option<u64>,
    /// Tokens that it gave, where it counts them.
    pub completion_tokens: Option<u64>,
    /// What that cost, in millionths of a dollar, where the price is known.
    pub micro_dollars: Option<u64>,
}

/// What one call of a cognifier used, as far as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Tokens that it was given.
    pub prompt_tokens: Option<u64>,
    /// Tokens that it gave.
    pub completion_tokens: Option<u64>,
    /// What that cost, in millionths of a dollar.
    pub micro_dollars: Option<u64>,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// Why.
    pub error: Error,
    /// When, by the wall clock.
    pub at: Timestamp,
    /// Whether it is one of the few failures that a promotion has.
    pub counts: bool,
    /// Whether to fail again costs a model call, so that the next attempt is not to come soon.
    pub is_costly: bool,
    /// Name and version of the cognifier, if it was asked.
    pub asked: Option<String>,
}

/// How often, and how soon, a promotion is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Failures that count before it halts.
    pub failures_max: u32,
    /// The wait before the second attempt, in ms; it doubles with each.
    pub backoff_ms: u64,
}

impl LastError {
    /// What is kept of an error.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        let text = &error.message;
        let mut end = text.len().min(ATTEMPT_ERROR_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self {
            code: error.code.as_str().to_owned(),
            message: text[..end].to_owned(),
        }
    }

    /// The error, as it is told. One that a later release wrote under a code of its own is `internal`.
    #[must_use]
    pub fn to_error(&self) -> Error {
        let known = ErrorCode::ALL
            .iter()
            .find(|code| code.as_str() == self.code);
        match known {
            Some(code) => Error::new(*code, self.message.clone()),
            None => {
                let message = format!("{}: {}", self.code, self.message);
                Error::new(ErrorCode::Internal, message)
            }
        }
    }
}

impl Attempts {
    /// What is known once an attempt has failed.
    #[must_use]
    pub fn after(&self, failed: &FailedAttempt, patience: Patience) -> Self {
        let failures = self.failures.saturating_add(u32::from(failed.counts));
        let made = self.made.saturating_add(1);
        let halted = failures >= patience.failures_max;
        let wait_ms = patience.wait_ms(made, failed.is_costly);
        let asked = failed.asked.as_ref().map(|cognifier| Spent {
            cognifier: cognifier.clone(),
            prompt_tokens: None,
            completion_tokens: None,
            micro_dollars: None,
        });
        Self {
            round: self.round,
            made,
            failures,
            last_failed_at: Some(failed.at),
            last_error: Some(LastError::of(&failed.error)),
            halted,
            next_at: (!halted).then(|| failed.at.plus_ms(wait_ms)),
            spent: match (asked, &self.spent) {
                (Some(asked), Some(before)) => Some(Spent {
                    cognifier: asked.cognifier,
                    ..before.clone()
                }),
                (asked, before) => asked.or_else(|| before.clone()),
            },
        }
    }

    /// What is known once a cognifier has used this for it, whatever comes of the attempt.
    #[must_use]
    pub fn having_used(&self, cognifier: &str, used: Used) -> Self {
        let before = self.spent.as_ref();
        let plus = |before: Option<u64>, more: Option<u64>| match (before, more) {
            (None, None) => None,
            (before, more) => {
                let (before, more) = (before.unwrap_or_default(), more.unwrap_or_default());
                Some(before.saturating_add(more))
            }
        };
        let spent = Spent {
            cognifier: cognifier.to_owned(),
            prompt_tokens: plus(before.and_then(|b| b.prompt_tokens), used.prompt_tokens),
            completion_tokens: plus(
                before.and_then(|b| b.completion_tokens),
                used.completion_tokens,
            ),
            micro_dollars: plus(before.and_then(|b| b.micro_dollars), used.micro_dollars),
        };
        Self {
            spent: Some(spent),
            ..self.clone()
        }
    }

    /// What is known once somebody wants it tried anew: none where it has not halted. Why it failed and
    /// what it used stay known.
    #[must_use]
    pub fn anew(&self) -> Option<Self> {
        self.halted.then(|| Self {
            round: self.round.saturating_add(1),
            made: 0,
            failures: 0,
            halted: false,
            next_at: None,
            ..self.clone()
        })
    }

    /// What holds where `self` is stored and `remembered` is what its owner knows: a later round counts
    /// alone, and within one round the owner has seen at least what it wrote.
    #[must_use]
    pub fn or_remembered(self, remembered: &Self) -> Self {
        let is_known = remembered.round > self.round
            || (remembered.round == self.round && remembered.made >= self.made);
        if is_known { remembered.clone() } else { self }
    }
}

impl Patience {
    /// The wait after so many attempts of a round have failed, in ms.
    #[must_use]
    pub fn wait_ms(self, made: u32, is_costly: bool) -> u64 {
        let doublings = made.saturating_sub(1).min(DOUBLINGS_MAX);
        let wait_ms = self.backoff_ms.saturating_mul(1 << doublings);
        wait_ms.min(if is_costly {
            BACKOFF_MS_MAX
        } else {
            REACH_BACKOFF_MS_MAX
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATIENCE: Patience = Patience {
        failures_max: 3,
        backoff_ms: 200,
    };

    fn failed(at_ms: u64, counts: bool) -> FailedAttempt {
        let code = if counts {
            ErrorCode::Internal
        } else {
            ErrorCode::Unavailable
        };
        FailedAttempt {
            error: Error::new(code, "not now"),
            at: Timestamp::from_ms(at_ms),
            counts,
            is_costly: counts,
            asked: counts.then(|| "rules 1".to_owned()),
        }
    }

    #[test]
    fn only_what_counts_halts_and_only_a_halted_one_is_tried_anew() {
        let mut attempts = Attempts::default();
        for at in 0..50 {
            attempts = attempts.after(&failed(at, false), PATIENCE);
        }
        assert_eq!((attempts.made, attempts.failures), (50, 0));
        assert_eq!(attempts.anew(), None, "it has not halted");
        for at in 50..53 {
            assert!(!attempts.halted);
            attempts = attempts.after(&failed(at, true), PATIENCE);
        }
        assert!(attempts.halted && attempts.next_at.is_none());
        let anew = attempts.anew().unwrap();
        assert_eq!((anew.round, anew.made, anew.failures), (1, 0, 0));
        assert_eq!(anew.last_error, attempts.last_error, "why is still known");
        assert_eq!(anew.spent.as_ref().unwrap().cognifier, "rules 1");
    }

    #[test]
    fn what_calls_used_is_added_up_over_attempts_and_rounds() {
        let used = |prompt, completion, dollars| Used {
            prompt_tokens: prompt,
            completion_tokens: completion,
            micro_dollars: dollars,
        };
        let mut attempts = Attempts::default().having_used("m 1", used(Some(10), None, None));
        for at in 0..3 {
            attempts = attempts.after(&failed(at, true), PATIENCE);
            attempts = attempts.having_used("m 2", used(Some(5), Some(1), None));
        }
        let spent = attempts.anew().unwrap().spent.unwrap();
        let expected = Spent {
            cognifier: "m 2".to_owned(),
            prompt_tokens: Some(25),
            completion_tokens: Some(3),
            micro_dollars: None,
        };
        assert_eq!(spent, expected);
        let most = attempts.having_used("m 2", used(Some(u64::MAX), None, Some(7)));
        let spent = most.spent.unwrap();
        assert_eq!(
            (spent.prompt_tokens, spent.micro_dollars),
            (Some(u64::MAX), Some(7))
        );
    }

    #[test]
    fn waits_double_up_to_what_another_failure_costs() {
        let waits = |is_costly| [1, 2, 3, 40].map(|made| PATIENCE.wait_ms(made, is_costly));
        assert_eq!(waits(true), [200, 400, 800, BACKOFF_MS_MAX]);
        assert_eq!(waits(false), [200, 400, 800, REACH_BACKOFF_MS_MAX]);
        let huge = Patience {
            backoff_ms: 1 << 60,
            ..PATIENCE
        };
        assert_eq!(huge.wait_ms(9, true), BACKOFF_MS_MAX);
    }

    #[test]
    fn a_code_that_nobody_knows_is_told_all_the_same() {
        let last = LastError {
            code: "overspent".to_owned(),
            message: "the budget is gone".to_owned(),
        };
        let error = last.to_error();
        assert_eq!(error.code, ErrorCode::Internal);
        assert_eq!(error.message, "overspent: the budget is gone");
    }

    proptest! {
        #[test]
        fn an_error_is_kept_by_its_code_and_cut_at_a_character(
            code in 0..ErrorCode::ALL.len(), text in ".{0,1500}",
        ) {
            let error = Error::new(ErrorCode::ALL[code], text);
            let kept = LastError::of(&error);
            prop_assert!(kept.message.len() <= ATTEMPT_ERROR_BYTES_MAX);
            prop_assert!(error.message.starts_with(&kept.message));
            prop_assert_eq!(kept.to_error().code, error.code);
        }

        /// Whatever fails and is tried anew in whatever order: what is stored and what its owner
        /// remembers never make less of it than happened since the last wish to try it anew.
        #[test]
        fn nothing_that_counts_is_forgotten_within_a_round(
            steps in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 0..40),
        ) {
            let (mut stored, mut remembered) = (Attempts::default(), Attempts::default());
            let (mut failures, mut round) = (0, 0);
            for (number, (retries, counts, arrives)) in steps.into_iter().enumerate() {
                if retries {
                    // Somebody else writes this, and the owner hears of it with its next look.
                    if let Some(anew) = stored.anew() {
                        stored = anew;
                        failures = 0;
                        round += 1;
                    }
                    continue;
                }
                let known = stored.clone().or_remembered(&remembered);
                if known.halted {
                    remembered = known.clone();
                    stored = known;
                    continue;
                }
                remembered = known.after(&failed(number as u64, counts), PATIENCE);
                failures += u32::from(counts);
                if arrives {
                    stored = remembered.clone();
                }
                prop_assert_eq!((remembered.failures, remembered.round), (failures, round));
                prop_assert_eq!(remembered.halted, failures >= PATIENCE.failures_max);
                prop_assert_eq!(remembered.next_at.is_some(), !remembered.halted);
            }
        }
    }
}
