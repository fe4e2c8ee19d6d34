//! Figures over judged pairs, the floors that they are held against, and how they are printed.

use std::fmt;

use crate::judge::{Judged, Outcome};
use crate::pair::{Half, Label};

/// Of the pairs that were merged, the share that says the same.
const MERGE_PRECISION_MIN: f64 = 0.99;
/// Of the pairs that say the same, the share that is merged or suggested.
const SUGGESTION_RECALL_MIN: f64 = 0.7;
/// Of the pairs labelled `same`, the share that is merged: who merges nothing errs in nothing.
const SAME_MERGED_MIN: f64 = 0.5;
/// Of the pairs that have nothing to do with one another, the share that is suggested: who suggests
/// everything misses nothing.
const OTHER_SUGGESTED_MAX: f64 = 0.05;

/// How many pairs of each label had each outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    half: Half,
    counts: [[usize; Outcome::ALL.len()]; Label::ALL.len()],
}

impl Figures {
    /// Counts the pairs of one half.
    #[must_use]
    pub fn of(half: Half, judged: &[Judged]) -> Self {
        let mut counts = [[0; Outcome::ALL.len()]; Label::ALL.len()];
        for judged in judged.iter().filter(|judged| judged.pair.half == half) {
            counts[judged.pair.label as usize][judged.outcome as usize] += 1;
        }
        Self { half, counts }
    }

    /// Of the pairs that were merged, the share that says the same; 1 when none was merged.
    #[must_use]
    pub fn merge_precision(&self) -> f64 {
        let right = self.count(Label::is_one, &[Outcome::Merged]);
        share(right, self.count(|_| true, &[Outcome::Merged]))
    }

    /// Negations and contradictions that were merged.
    #[must_use]
    pub fn opposites_merged(&self) -> usize {
        self.count(Label::is_opposite, &[Outcome::Merged])
    }

    /// Of the pairs that say the same, the share that was merged or suggested.
    #[must_use]
    pub fn suggestion_recall(&self) -> f64 {
        self.share_of(Label::is_one, &[Outcome::Merged, Outcome::Suggested])
    }

    /// What lies under a floor, as sentences; none when all is well.
    #[must_use]
    pub fn breaches(&self) -> Vec<String> {
        let opposites = self.opposites_merged();
        let precision = self.merge_precision();
        let recall = self.suggestion_recall();
        let same = self.share_of(|label| label == Label::Same, &[Outcome::Merged]);
        let other = self.share_of(|label| label == Label::Other, &[Outcome::Suggested]);
        let found = [
            (opposites > 0)
                .then(|| format!("{opposites} opposites were merged, where none may be")),
            under("merge precision", precision, MERGE_PRECISION_MIN),
            under("suggestion recall", recall, SUGGESTION_RECALL_MIN),
            under("same pairs merged", same, SAME_MERGED_MIN),
            under(
                "other pairs not suggested",
                1.0 - other,
                1.0 - OTHER_SUGGESTED_MAX,
            ),
        ];
        let half = self.half.as_str();
        let found = found.into_iter().flatten();
        found.map(|breach| format!("{half}: {breach}")).collect()
    }

    fn count(&self, label: impl Fn(Label) -> bool, outcomes: &[Outcome]) -> usize {
        let rows = Label::ALL.iter().filter(|of| label(**of));
        rows.flat_map(|of| {
            outcomes
                .iter()
                .map(|to| self.counts[*of as usize][*to as usize])
        })
        .sum()
    }

    fn share_of(&self, label: impl Fn(Label) -> bool, outcomes: &[Outcome]) -> f64 {
        let all = self.count(&label, &Outcome::ALL);
        share(self.count(label, outcomes), all)
    }
}

fn under(what: &str, found: f64, floor: f64) -> Option<String> {
    (found < floor).then(|| format!("{what} {found:.3} is under the floor of {floor:.3}"))
}

/// 1 when there is nothing to have a share of.
fn share(part: usize, whole: usize) -> f64 {
    let exact = |count: usize| f64::from(u32::try_from(count).expect("pairs fit in memory"));
    if whole == 0 {
        1.0
    } else {
        exact(part) / exact(whole)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<14}", self.half.as_str())?;
        for outcome in Outcome::ALL {
            write!(f, "{:>15}", outcome.as_str())?;
        }
        writeln!(f)?;
        for (label, counts) in Label::ALL.iter().zip(&self.counts) {
            write!(f, "{:<14}", label.as_str())?;
            for count in counts {
                write!(f, "{count:>15}")?;
            }
            writeln!(f)?;
        }
        let opposites = self.opposites_merged();
        writeln!(f, "negations and contradictions merged: {opposites}")?;
        writeln!(f, "merge precision: {:.3}", self.merge_precision())?;
        writeln!(f, "suggestion recall: {:.3}", self.suggestion_recall())
    }
}

/// The figures of both halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The half that rules and thresholds were made with in sight.
    pub tuned: Figures,
    /// The other half.
    pub held_out: Figures,
}

impl Report {
    /// Counts all pairs.
    #[must_use]
    pub fn of(judged: &[Judged]) -> Self {
        Self {
            tuned: Figures::of(Half::Tuned, judged),
            held_out: Figures::of(Half::HeldOut, judged),
        }
    }

    /// What lies under a floor in either half.
    #[must_use]
    pub fn breaches(&self) -> Vec<String> {
        [self.tuned.breaches(), self.held_out.breaches()].concat()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.tuned, self.held_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::Pair;

    fn judged(label: Label, outcome: Outcome) -> Judged {
        let pair = Pair {
            label,
            half: Half::Tuned,
            a: "a",
            b: "b",
        };
        Judged {
            pair,
            cosine: 0.5,
            outcome,
        }
    }

    fn breaches(judged: &[(Label, Outcome)]) -> Vec<String> {
        let judged: Vec<Judged> = judged
            .iter()
            .map(|(label, outcome)| self::judged(*label, *outcome))
            .collect();
        Figures::of(Half::Tuned, &judged).breaches()
    }

    #[test]
    fn each_floor_can_be_missed() {
        use Label::*;
        use Outcome::*;
        assert!(breaches(&[(Same, Merged), (Paraphrase, Suggested), (Other, Apart)]).is_empty());
        for (wrong, told) in [
            (vec![(Negation, Merged)], "1 opposites"),
            (vec![(Contradiction, Merged)], "1 opposites"),
            (
                vec![(Same, Merged), (Related, Merged)],
                "merge precision 0.500",
            ),
            (
                vec![(Same, Merged), (Paraphrase, Apart)],
                "suggestion recall 0.500",
            ),
            (vec![(Same, Suggested)], "same pairs merged 0.000"),
            (vec![(Other, Suggested)], "other pairs not suggested 0.000"),
        ] {
            let found = breaches(&wrong);
            assert!(found[0].starts_with(&format!("tuned: {told}")), "{found:?}");
        }
    }

    #[test]
    fn each_half_is_counted_alone() {
        let held_out = Figures::of(Half::HeldOut, &[judged(Label::Negation, Outcome::Merged)]);
        assert_eq!(held_out.opposites_merged(), 0);
    }
}
