//! The rules of failures, in another way than core's: all that failed in a task since something passed is kept, and looked
//! through anew for each error.
//!
//! Owns which errors are one where some were erased, what follows from an error, and what a task has to remember. It must not
//! know who was told what.

use serde::Deserialize;
use sillok_core::circular::{ErrorHash, ErrorJudged, ErrorReason, ErrorSeen, Failures, Verdict};
use sillok_core::event::FixFailed;
use sillok_core::id::{Seq, VerificationId};

/// Turns that are remembered.
const TURNS: usize = 3;

/// An error that came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Came {
    /// Its fingerprint; none once that was erased.
    error: Option<ErrorHash>,
    /// The verification that failed with it first.
    first: VerificationId,
    /// The event that says so.
    seq: Seq,
}

/// What failed in a task since something passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tries {
    /// Its errors in the order in which they came up.
    errors: Vec<Came>,
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
    first: VerificationId,
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
    turns: Vec<VerificationId>,
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
    /// The error with which a verification fails now: one that came up before, if the last event of it still says so.
    pub(super) fn seen(&self, error: ErrorHash, verification: VerificationId) -> ErrorSeen {
        let same = self
            .lasts()
            .into_iter()
            .find(|came| came.error == Some(error));
        let first = same.map_or(verification, |came| came.first);
        ErrorSeen { error, first }
    }

    /// What follows from an error that comes up now in a task that is stuck, or is not: a stuck one takes no fix.
    pub(super) fn judged_in(&self, is_stuck: bool, seen: ErrorSeen) -> ErrorJudged {
        let judged = self.judged(seen);
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
    fn judged(&self, seen: ErrorSeen) -> ErrorJudged {
        let ErrorSeen { error, first } = seen;
        let times = self.times(first);
        let turns = self.turns();
        let takes_turns = matches!(turns[..], [.., a, b, c] if a == c && b == first);
        let is_last = turns.last() == Some(&first);
        let (verdict, reason) = match times {
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
            count: times + 1,
        }
    }

    /// Whether an event of this error was erased.
    pub(super) fn is_erased_in_part(&self, seen: ErrorSeen) -> bool {
        let mut same = self.errors.iter().filter(|came| came.first == seen.first);
        same.any(|came| came.error.is_none())
    }

    /// Takes a fix in that failed, by an event at this position.
    pub(super) fn fail(&mut self, failed: &FixFailed, seq: Seq) {
        self.errors.extend(failed.error.map(|seen| Came {
            error: Some(seen.error),
            first: seen.first,
            seq,
        }));
        self.approaches += u32::from(failed.approach.is_some());
    }

    /// Takes in that what these events said was erased.
    pub(super) fn erase(&mut self, events: &[Seq]) {
        let erased = self.errors.iter_mut();
        let erased = erased.filter(|came| events.contains(&came.seq));
        erased.for_each(|came| came.error = None);
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
        let known = self.lasts().into_iter().map(|last| Known {
            error: last.error.unwrap_or(ErrorHash::ERASED),
            first: last.first,
            count: self.times(last.first),
            last: last.seq,
        });
        let errors = known.collect();
        let mut turns = self.turns();
        turns.drain(..turns.len().saturating_sub(TURNS));
        Kept {
            errors,
            turns,
            approaches: self.approaches,
            cleared_through: self.cleared_through,
        }
    }

    /// Of each error the last time that it came up, in their order.
    fn lasts(&self) -> Vec<&Came> {
        let mut lasts: Vec<&Came> = Vec::new();
        for came in self.errors.iter().rev() {
            if lasts.iter().all(|later| later.first != came.first) {
                lasts.push(came);
            }
        }
        lasts.reverse();
        lasts
    }

    fn times(&self, first: VerificationId) -> u32 {
        let same = self.errors.iter().filter(|came| came.first == first);
        u32::try_from(same.count()).expect("a world has fewer fixes")
    }

    fn turns(&self) -> Vec<VerificationId> {
        let errors = self.errors.iter();
        let mut turns: Vec<VerificationId> = errors.map(|came| came.first).collect();
        turns.dedup();
        turns
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::written::Said;
    use super::super::written::tests::{failed, hash, verification};
    use super::*;

    fn fix(id: u8, error: Option<ErrorSeen>, approach: Option<u8>) -> FixFailed {
        match failed(id, None, approach) {
            Said::Failed(failed) => FixFailed { error, ..failed },
            said => panic!("{said:?}"),
        }
    }

    /// The reasons of these errors, which come up one after the other.
    fn reasons(errors: &[u8]) -> Vec<(ErrorReason, u32)> {
        let mut tries = Tries::default();
        let errors = errors.iter().map(|number| 2 * number);
        let reasons = errors.zip(1..).map(|(number, id)| {
            let seen = tries.seen(hash(number), verification(id));
            let judged = tries.judged(seen);
            tries.fail(&fix(id, Some(seen), None), Seq::new(id.into()));
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
    fn an_error_that_is_erased_in_part_counts_on_and_one_that_nothing_tells_any_more_is_another() {
        let mut tries = Tries::default();
        let first = tries.seen(hash(0), verification(1));
        for id in [1, 2] {
            let seen = tries.seen(hash(0), verification(id));
            assert_eq!(seen, first);
            tries.fail(&fix(id, Some(seen), None), Seq::new(id.into()));
        }
        tries.erase(&[Seq::new(1)]);
        assert!(tries.is_erased_in_part(first));
        assert_eq!(tries.seen(hash(0), verification(3)), first);
        assert_eq!(tries.judged(first).count, 3);
        tries.erase(&[Seq::new(2)]);
        let anew = tries.seen(hash(0), verification(3));
        assert_eq!(anew.first, verification(3));
        assert_eq!(tries.judged(anew).reason, ErrorReason::New);
        assert!(!tries.is_erased_in_part(anew));
        assert_eq!(tries.judged(first).count, 3);
    }

    #[test]
    fn a_pass_clears_what_failed_and_one_where_nothing_did_changes_nothing() {
        let mut tries = Tries::default();
        assert!(!tries.pass(Seq::new(3)));
        assert_eq!(tries.kept(), Kept::default());
        tries.fail(&fix(1, None, Some(1)), Seq::new(4));
        assert_eq!(tries.kept().approaches, 1);
        assert!(tries.pass(Seq::new(5)));
        assert!(!tries.pass(Seq::new(7)));
        let kept = Kept {
            cleared_through: Seq::new(5),
            ..Kept::default()
        };
        assert_eq!(tries.kept(), kept);
        let seen = tries.seen(hash(0), verification(2));
        assert_eq!(tries.judged(seen).reason, ErrorReason::New);
    }

    proptest! {
        // What is found here in one way, core finds in another.
        #[test]
        fn core_judges_and_remembers_the_same(said in vec((0_u8..10, any::<u8>()), 0..40)) {
            let (mut tries, mut failures) = (Tries::default(), Failures::default());
            for (id, (number, chance)) in (1_u8..).zip(said) {
                let seq = Seq::new(id.into());
                match number {
                    0..=6 => {
                        let error = (number < 6).then(|| hash(number));
                        let seen = error.map(|error| tries.seen(error, verification(id)));
                        prop_assert_eq!(seen, error.map(|error| failures.seen(error, verification(id))));
                        if let Some(seen) = seen {
                            prop_assert_eq!(tries.judged(seen), failures.judge(seen));
                            failures.came_up(seen, seq);
                        }
                        let approach = (chance % 2 == 0).then_some(number);
                        if approach.is_some() {
                            failures.approach_failed();
                        }
                        tries.fail(&fix(id, seen, approach), seq);
                    }
                    7 => {
                        failures.clear(seq);
                        tries.pass(seq);
                    }
                    _ => {
                        let erased = Seq::new(u64::from(chance % id));
                        failures.fingerprint_erased(erased);
                        tries.erase(&[erased]);
                    }
                }
                prop_assert_eq!(tries.kept(), Kept::of(&failures));
            }
        }
    }
}
