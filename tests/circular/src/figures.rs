//! Figures over judged pairs, the floors that they are held against, and how they are printed.
//!
//! Floors are those of pairs that are held out. Files for tuning alone were written to be hard, each harder than the one before,
//! so what a rule makes of them says nothing of what it makes of others.
//!
//! Must not know what the pairs hold.

use std::fmt;

use crate::approaches::ApproachPair;
use crate::errors::ErrorPair;
use crate::judge::{Judged, Outcome};
use crate::labelled::{Half, Labelled, Set};

/// Of the pairs that were found, the share that has the positive label: who finds everything misses
/// nothing.
const PRECISION_MIN: f64 = 0.97;
/// Of the pairs with the positive label, the share that was found: who finds nothing errs in nothing.
const RECALL_MIN: f64 = 0.9;

/// How many pairs of half a set had each outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// The set.
    pub set: Set,
    /// Its half.
    pub half: Half,
    /// Of the positive label, and found.
    pub true_positives: usize,
    /// Of the negative label, and found.
    pub false_positives: usize,
    /// Of the positive label, and missed.
    pub false_negatives: usize,
    /// Of the negative label, and left alone.
    pub true_negatives: usize,
}

impl Figures {
    /// Counts the pairs of one half.
    #[must_use]
    pub fn of<P: Labelled>(half: Half, judged: &[Judged<'_, P>]) -> Self {
        let of_half = judged.iter().filter(|judged| judged.pair.half() == half);
        let count = |outcome: Outcome| of_half.clone().filter(|of| of.outcome == outcome).count();
        Self {
            set: P::SET,
            half,
            true_positives: count(Outcome::TruePositive),
            false_positives: count(Outcome::FalsePositive),
            false_negatives: count(Outcome::FalseNegative),
            true_negatives: count(Outcome::TrueNegative),
        }
    }

    /// How many pairs there are.
    #[must_use]
    pub const fn pairs(&self) -> usize {
        self.true_positives + self.false_positives + self.false_negatives + self.true_negatives
    }

    /// Of the pairs that were found, the share that has the positive label; 1 when none was found.
    #[must_use]
    pub fn precision(&self) -> f64 {
        let found = self.true_positives + self.false_positives;
        share(self.true_positives, found)
    }

    /// Of the pairs with the positive label, the share that was found; 1 when there is none.
    #[must_use]
    pub fn recall(&self) -> f64 {
        let positive = self.true_positives + self.false_negatives;
        share(self.true_positives, positive)
    }

    /// What lies under a floor, as sentences; none when all is well.
    #[must_use]
    pub fn breaches(&self) -> Vec<String> {
        let found = [
            under("precision", self.precision(), PRECISION_MIN),
            under("recall", self.recall(), RECALL_MIN),
        ];
        let (set, half) = (self.set.as_str(), self.half.as_str());
        let found = found.into_iter().flatten();
        found
            .map(|breach| format!("{set}, {half}: {breach}"))
            .collect()
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
        let (set, half) = (self.set.as_str(), self.half.as_str());
        let (positive, negative) = (self.set.positive(), self.set.negative());
        let of = format!("{set}, {half}");
        let [found, left] = [positive, negative].map(|label| format!("judged {label}"));
        writeln!(f, "{of:<22}{found:>18}{left:>18}")?;
        for (label, found, left) in [
            (positive, self.true_positives, self.false_negatives),
            (negative, self.false_positives, self.true_negatives),
        ] {
            writeln!(f, "{label:<22}{found:>18}{left:>18}")?;
        }
        writeln!(f, "precision: {:.3}", self.precision())?;
        writeln!(f, "recall: {:.3}", self.recall())
    }
}

/// The figures of those pairs of one file that belong to one half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file.
    pub file: &'static str,
    /// Its figures.
    pub figures: Figures,
}

impl Part {
    /// Counts the pairs of each half of each file, in the order of the files. No half is among them of which a file has no pair.
    fn all<P: Labelled>(judged: &[Judged<'_, P>]) -> Vec<Self> {
        let of_files = judged.chunk_by(|one, next| one.pair.file() == next.pair.file());
        let parts = of_files.flat_map(|of_file| {
            let file = of_file[0].pair.file();
            Half::ALL.map(|half| Self {
                file,
                figures: Figures::of(half, of_file),
            })
        });
        parts.filter(|part| part.figures.pairs() > 0).collect()
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, figures } = self;
        let of = format!("{file}, {}", figures.half.as_str());
        let (precision, recall) = (figures.precision(), figures.recall());
        writeln!(
            f,
            "{of:<32}{:>8}{precision:>12.3}{recall:>10.3}",
            figures.pairs()
        )
    }
}

/// The figures of both halves of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halves {
    /// Those of each file. No floor is held against them.
    pub parts: Vec<Part>,
    /// The half that rules and thresholds were made with in sight.
    pub tuned: Figures,
    /// The other half.
    pub held_out: Figures,
}

impl Halves {
    /// Counts all pairs of a set.
    #[must_use]
    pub fn of<P: Labelled>(judged: &[Judged<'_, P>]) -> Self {
        Self {
            parts: Part::all(judged),
            tuned: Figures::of(Half::Tuned, judged),
            held_out: Figures::of(Half::HeldOut, judged),
        }
    }
}

impl fmt::Display for Halves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.tuned.set.as_str();
        writeln!(
            f,
            "{set:<32}{:>8}{:>12}{:>10}",
            "pairs", "precision", "recall"
        )?;
        for part in &self.parts {
            write!(f, "{part}")?;
        }
        write!(f, "\n{}\n{}", self.tuned, self.held_out)
    }
}

/// The figures of both sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Pairs of error outputs.
    pub errors: Halves,
    /// Pairs of approaches.
    pub approaches: Halves,
}

impl Report {
    /// Counts all pairs.
    #[must_use]
    pub fn of(errors: &[Judged<'_, ErrorPair>], approaches: &[Judged<'_, ApproachPair>]) -> Self {
        Self {
            errors: Halves::of(errors),
            approaches: Halves::of(approaches),
        }
    }

    /// What lies under a floor.
    #[must_use]
    pub fn breaches(&self) -> Vec<String> {
        [self.errors.held_out, self.approaches.held_out]
            .iter()
            .flat_map(Figures::breaches)
            .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.errors, self.approaches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approaches::approach_pairs;
    use crate::errors::error_pairs;

    /// True positives, false positives, false negatives, true negatives.
    fn figures(set: Set, half: Half, counts: [usize; 4]) -> Figures {
        let [
            true_positives,
            false_positives,
            false_negatives,
            true_negatives,
        ] = counts;
        Figures {
            set,
            half,
            true_positives,
            false_positives,
            false_negatives,
            true_negatives,
        }
    }

    fn report(of: impl Fn(Set, Half) -> [usize; 4]) -> Report {
        let halves = |set| {
            let of_half = |half| figures(set, half, of(set, half));
            Halves {
                parts: Vec::new(),
                tuned: of_half(Half::Tuned),
                held_out: of_half(Half::HeldOut),
            }
        };
        Report {
            errors: halves(Set::Errors),
            approaches: halves(Set::Approaches),
        }
    }

    #[test]
    fn precision_is_of_what_was_found_and_recall_of_what_was_to_be_found() {
        let figures = figures(Set::Errors, Half::Tuned, [6, 2, 18, 100]);
        assert!((figures.precision() - 0.75).abs() < 1e-12);
        assert!((figures.recall() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn at_the_floors_all_is_well() {
        let report = report(|_, _| [873, 27, 97, 0]);
        assert!(report.breaches().is_empty(), "{:#?}", report.breaches());
    }

    #[test]
    fn each_floor_can_be_missed_by_the_pairs_of_each_set_that_are_held_out() {
        for of in [Set::Errors, Set::Approaches] {
            for (counts, told) in [
                ([96, 4, 0, 100], "precision 0.960 is under the floor of"),
                ([89, 0, 11, 100], "recall 0.890 is under the floor of"),
            ] {
                let report = report(|set, half| match (set == of, half) {
                    (true, Half::HeldOut) => counts,
                    (true, Half::Tuned) => [0, 100, 100, 0],
                    (false, _) => [100, 0, 0, 100],
                });
                let breaches = report.breaches();
                assert_eq!(breaches.len(), 1, "{breaches:?}");
                let expected = format!("{}, held out: {told}", of.as_str());
                assert!(breaches[0].starts_with(&expected), "{breaches:?}");
            }
        }
    }

    #[test]
    fn who_finds_nothing_misses_the_floor_of_recall_alone() {
        let found = figures(Set::Approaches, Half::HeldOut, [0, 0, 5, 5]).breaches();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("recall 0.000"), "{found:?}");
    }

    #[test]
    fn each_pair_is_counted_once_in_its_own_half() {
        let (errors, approaches) = (error_pairs(), approach_pairs());
        let all_found = Report::of(
            &crate::judge::judge_errors(&errors, |_| [0; 32]),
            &crate::judge::judge_approaches(&approaches, |_, _, _| true),
        );
        holds_all(&errors, &all_found.errors);
        holds_all(&approaches, &all_found.approaches);
    }

    fn holds_all<P: Labelled>(pairs: &[P], halves: &Halves) {
        let of_all = [halves.tuned, halves.held_out].map(|figures| (None, figures));
        let of_files = halves.parts.iter();
        let of_files = of_files.map(|part| (Some(part.file), part.figures));
        for (file, found) in of_all.into_iter().chain(of_files) {
            let is_here = |pair: &&P| {
                pair.half() == found.half && file.is_none_or(|file| pair.file() == file)
            };
            let of_part = pairs.iter().filter(is_here);
            let positive = of_part.clone().filter(|pair| pair.is_positive()).count();
            let negative = of_part.count() - positive;
            assert!(positive + negative > 0, "{file:?}");
            let counts = [positive, negative, 0, 0];
            assert_eq!(found, figures(P::SET, found.half, counts), "{file:?}");
        }
        let of_files: usize = halves.parts.iter().map(|part| part.figures.pairs()).sum();
        assert_eq!(of_files, pairs.len());
    }
}
