//! What a rule makes of each pair.
//!
//! Must not know what is expected of a pair beyond its label, nor how the rule decides.

use crate::approaches::{ApproachPair, Task, Tried};
use crate::errors::ErrorPair;
use crate::labelled::Labelled;

/// How what a rule said compares with the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Of the positive label, and found.
    TruePositive,
    /// Of the negative label, and taken for the other.
    FalsePositive,
    /// Of the positive label, and missed.
    FalseNegative,
    /// Of the negative label, and left alone.
    TrueNegative,
}

impl Outcome {
    /// Whether the rule contradicts the label.
    #[must_use]
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::FalsePositive | Self::FalseNegative)
    }

    const fn of(is_positive: bool, is_found: bool) -> Self {
        match (is_positive, is_found) {
            (true, true) => Self::TruePositive,
            (false, true) => Self::FalsePositive,
            (true, false) => Self::FalseNegative,
            (false, false) => Self::TrueNegative,
        }
    }
}

/// A pair and what became of it.
#[derive(Debug)]
pub struct Judged<'a, P> {
    /// The pair.
    pub pair: &'a P,
    /// What became of it.
    pub outcome: Outcome,
}

/// Judges pairs of error outputs: two outputs of one hash are counted as the same.
#[must_use]
pub fn judge_errors(
    pairs: &[ErrorPair],
    hash: impl Fn(&str) -> [u8; 32],
) -> Vec<Judged<'_, ErrorPair>> {
    judge(pairs, |pair| hash(&pair.a) == hash(&pair.b))
}

/// Judges pairs of approaches. `is_repeat` says of a task, of what failed and of what is proposed,
/// in this order, whether what is proposed was tried before.
#[must_use]
pub fn judge_approaches(
    pairs: &[ApproachPair],
    is_repeat: impl Fn(&Task, &Tried, &Tried) -> bool,
) -> Vec<Judged<'_, ApproachPair>> {
    judge(pairs, |pair| {
        is_repeat(&pair.task, &pair.failed, &pair.proposed)
    })
}

fn judge<P: Labelled>(pairs: &[P], is_found: impl Fn(&P) -> bool) -> Vec<Judged<'_, P>> {
    let judged = pairs.iter().map(|pair| Judged {
        pair,
        outcome: Outcome::of(pair.is_positive(), is_found(pair)),
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approaches::approach_pairs;
    use crate::errors::error_pairs;

    fn positives<P: Labelled>(pairs: &[P]) -> usize {
        pairs.iter().filter(|pair| pair.is_positive()).count()
    }

    fn count<P>(judged: &[Judged<'_, P>], outcome: Outcome) -> usize {
        judged.iter().filter(|each| each.outcome == outcome).count()
    }

    #[test]
    fn a_hash_of_everything_finds_all_and_one_of_the_text_none() {
        let pairs = error_pairs();
        let constant = judge_errors(&pairs, |_| [7; 32]);
        assert_eq!(count(&constant, Outcome::TruePositive), positives(&pairs));
        assert_eq!(count(&constant, Outcome::FalseNegative), 0);
        assert_eq!(count(&constant, Outcome::TrueNegative), 0);

        let exact = judge_errors(&pairs, |text| *blake3::hash(text.as_bytes()).as_bytes());
        assert_eq!(count(&exact, Outcome::FalseNegative), positives(&pairs));
        assert_eq!(count(&exact, Outcome::TruePositive), 0);
        assert_eq!(count(&exact, Outcome::FalsePositive), 0);
    }

    #[test]
    fn the_rule_is_asked_of_the_task_then_what_failed_then_what_is_proposed() {
        let pairs = approach_pairs();
        let judged = judge_approaches(&pairs, |task, failed, proposed| {
            pairs.iter().any(|pair| {
                pair.is_positive()
                    && (&pair.task, &pair.failed, &pair.proposed) == (task, failed, proposed)
            })
        });
        assert!(judged.iter().all(|each| !each.outcome.is_wrong()));
        assert_eq!(count(&judged, Outcome::TruePositive), positives(&pairs));
    }
}
