//! The rules of failures, in another way than core's: all that failed in a task since something passed is kept, and looked
//! through anew for each error.
//!
//! Owns what follows from an error, and what a task has to remember. It must not know who was told what.

use serde::Deserialize;
use sillok_core::circular::{ErrorHash, ErrorJudged, ErrorReason, Failures, Verdict};
use sillok_core::event::FixFailed;
use sillok_core::id::Seq;

/// Turns that are remembered.
const TURNS: usize = 3;

/// What failed in a task since something passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tries {
    /// Its errors in the order in which they came up, each with the event that says so.
    errors: Vec<(ErrorHash, Seq)>,
    /// How many approaches failed.
    approaches: u32,
    /// The pass that cleared something last.
    cleared_through: Seq,
}

/// An error that a task remembers, by the names of its fields.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    error: ErrorHash,
    count: u32,
    last: Seq,
}

/// What a task remembers of it, by the names of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    /// Errors; the one that came up last stands last.
    errors: Vec<Known>,
    /// The last errors, without those that are the same as the one before.
    turns: Vec<ErrorHash>,
    approaches: u32,
    cleared_through: Seq,
}

impl Kept {
    /// What is stored with a task.
    pub(super) fn of(failures: &Failures) -> Self {
        let written = serde_json::to_value(failures).expect("failures are data");
        serde_json::from_value(written).expect("failures have these fields")
    }
}

impl Tries {
    /// What follows from an error that comes up now in a task that is stuck, or is not: a stuck one takes no fix.
    pub(super) fn judged_in(&self, is_stuck: bool, error: ErrorHash) -> ErrorJudged {
        let judged = self.judged(error);
        if is_stuck {
            let (verdict, reason) = (Verdict::Block, ErrorReason::Stuck);
            return ErrorJudged {
                verdict,
                reason,
                ..judged
            };
        }
        judged
    }

    /// The same of one that is not.
    fn judged(&self, error: ErrorHash) -> ErrorJudged {
        let seen = self.times(error);
        let turns = self.turns();
        let takes_turns = matches!(turns[..], [.., a, b, c] if a == c && b == error);
        let is_last = turns.last() == Some(&error);
        let (verdict, reason) = match seen {
            2.. => (Verdict::Block, ErrorReason::TooOften),
            _ if takes_turns => (Verdict::Block, ErrorReason::TakesTurns),
            1 if is_last => (Verdict::Allow, ErrorReason::Repeated),
            1 => (Verdict::Warn, ErrorReason::CameBack),
            0 => (Verdict::Allow, ErrorReason::New),
        };
        ErrorJudged {
            verdict,
            reason,
            error,
            count: seen + 1,
        }
    }

    /// Takes a fix in that failed, by an event at this position.
    pub(super) fn fail(&mut self, failed: &FixFailed, seq: Seq) {
        self.errors.extend(failed.error.map(|error| (error, seq)));
        self.approaches += u32::from(failed.approach.is_some());
    }

    /// Takes a pass in: whether there was anything to clear.
    pub(super) fn pass(&mut self, seq: Seq) -> bool {
        let clears = !self.errors.is_empty() || self.approaches > 0;
        if clears {
            *self = Self {
                cleared_through: seq,
                ..Self::default()
            };
        }
        clears
    }

    /// What the task has to remember.
    pub(super) fn kept(&self) -> Kept {
        let mut errors: Vec<Known> = Vec::new();
        for (error, last) in self.errors.iter().rev().copied() {
            if errors.iter().all(|known| known.error != error) {
                let count = self.times(error);
                errors.push(Known { error, count, last });
            }
        }
        errors.reverse();
        let mut turns = self.turns();
        turns.drain(..turns.len().saturating_sub(TURNS));
        Kept {
            errors,
            turns,
            approaches: self.approaches,
            cleared_through: self.cleared_through,
        }
    }

    fn times(&self, error: ErrorHash) -> u32 {
        let same = self.errors.iter().filter(|(one, _)| *one == error);
        u32::try_from(same.count()).expect("a world has fewer fixes")
    }

    fn turns(&self) -> Vec<ErrorHash> {
        let errors = self.errors.iter();
        let mut turns: Vec<ErrorHash> = errors.map(|(error, _)| *error).collect();
        turns.dedup();
        turns
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::written::Said;
    use super::super::written::tests::{failed, hash};
    use super::*;

    fn fix(error: Option<u8>, approach: Option<u8>) -> FixFailed {
        match failed(1, error, approach) {
            Said::Failed(failed) => failed,
            said => panic!("{said:?}"),
        }
    }

    /// The reasons of these errors, which come up one after the other.
    fn reasons(errors: &[u8]) -> Vec<(ErrorReason, u32)> {
        let mut tries = Tries::default();
        let errors = errors.iter().map(|number| 2 * number);
        let reasons = errors.zip(1..).map(|(number, seq)| {
            let judged = tries.judged(hash(number));
            tries.fail(&fix(Some(number), None), Seq::new(seq));
            (judged.reason, judged.count)
        });
        reasons.collect()
    }

    #[test]
    fn errors_are_judged_as_the_specification_says() {
        use ErrorReason::{CameBack, New, Repeated, TakesTurns, TooOften};
        assert_eq!(
            reasons(&[0, 1, 0, 1, 0]),
            [
                (New, 1),
                (New, 1),
                (CameBack, 2),
                (TakesTurns, 2),
                (TooOften, 3)
            ]
        );
        assert_eq!(
            reasons(&[0, 0, 0]),
            [(New, 1), (Repeated, 2), (TooOften, 3)]
        );
        assert_eq!(
            reasons(&[0, 1, 2, 0]),
            [(New, 1), (New, 1), (New, 1), (CameBack, 2)]
        );
        assert_eq!(
            reasons(&[0, 1, 1, 0]),
            [(New, 1), (New, 1), (Repeated, 2), (CameBack, 2)]
        );
    }

    #[test]
    fn a_pass_clears_what_failed_and_one_where_nothing_did_changes_nothing() {
        let mut tries = Tries::default();
        assert!(!tries.pass(Seq::new(3)));
        assert_eq!(tries.kept(), Kept::default());
        tries.fail(&fix(None, Some(1)), Seq::new(4));
        assert_eq!(tries.kept().approaches, 1);
        assert!(tries.pass(Seq::new(5)));
        assert!(!tries.pass(Seq::new(7)));
        let kept = Kept {
            cleared_through: Seq::new(5),
            ..Kept::default()
        };
        assert_eq!(tries.kept(), kept);
        assert_eq!(tries.judged(hash(0)).reason, ErrorReason::New);
    }

    proptest! {
        // What is found here in one way, core finds in another.
        #[test]
        fn core_judges_and_remembers_the_same(said in vec((0_u8..8, any::<bool>()), 0..40)) {
            let (mut tries, mut failures) = (Tries::default(), Failures::default());
            for (seq, (number, has_approach)) in (1..).zip(said) {
                let error = (number < 6).then_some(number);
                if number == 7 {
                    failures.clear(Seq::new(seq));
                    tries.pass(Seq::new(seq));
                    continue;
                }
                if let Some(error) = error.map(hash) {
                    prop_assert_eq!(tries.judged(error), failures.judge(error));
                    failures.came_up(error, Seq::new(seq));
                }
                if has_approach {
                    failures.approach_failed();
                }
                let approach = has_approach.then_some(number);
                tries.fail(&fix(error, approach), Seq::new(seq));
                prop_assert_eq!(tries.kept(), Kept::of(&failures));
            }
            prop_assert_eq!(tries.kept(), Kept::of(&failures));
        }
    }
}
