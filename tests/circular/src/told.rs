//! What is printed of judged pairs. Must not know who judged them.

use std::io::{self, Write};

use crate::approaches::ApproachPair;
use crate::errors::ErrorPair;
use crate::figures::Report;
use crate::judge::{Judged, Outcome};
use crate::labelled::{Half, Labelled};

/// Prints the figures of both sets and what lies under a floor; before them, where `is_listed`, each
/// pair of a tuned half that was judged wrongly. Those held out are counted only. Says whether
/// nothing lies under a floor.
///
/// # Errors
/// `out` takes no more.
pub fn tell(
    errors: &[Judged<'_, ErrorPair>],
    approaches: &[Judged<'_, ApproachPair>],
    is_listed: bool,
    out: &mut impl Write,
) -> io::Result<bool> {
    if is_listed {
        list(errors, out)?;
        list(approaches, out)?;
    }
    let report = Report::of(errors, approaches);
    write!(out, "{report}")?;
    let breaches = report.breaches();
    for breach in &breaches {
        writeln!(out, "FAILED {breach}")?;
    }
    Ok(breaches.is_empty())
}

fn list<P: Labelled>(judged: &[Judged<'_, P>], out: &mut impl Write) -> io::Result<()> {
    let (positive, negative) = (P::SET.positive(), P::SET.negative());
    let tuned = judged
        .iter()
        .filter(|judged| judged.pair.half() == Half::Tuned);
    for judged in tuned {
        let pair = judged.pair;
        match judged.outcome {
            Outcome::FalsePositive => writeln!(out, "{negative}, judged {positive}, {pair}")?,
            Outcome::FalseNegative => writeln!(out, "{positive}, judged {negative}, {pair}")?,
            Outcome::TruePositive | Outcome::TrueNegative => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approaches::approach_pairs;
    use crate::errors::error_pairs;

    fn judged<P: Labelled>(pairs: &[P], is_right: bool) -> Vec<Judged<'_, P>> {
        let judged = pairs.iter().map(|pair| Judged {
            pair,
            outcome: match (pair.is_positive(), is_right) {
                (true, true) => Outcome::TruePositive,
                (true, false) => Outcome::FalseNegative,
                (false, true) => Outcome::TrueNegative,
                (false, false) => Outcome::FalsePositive,
            },
        });
        judged.collect()
    }

    fn told(is_right: bool, is_listed: bool) -> (bool, String) {
        let (errors, approaches) = (error_pairs(), approach_pairs());
        let errors = judged(&errors, is_right);
        let approaches = judged(&approaches, is_right);
        let mut out = Vec::new();
        let is_well = tell(&errors, &approaches, is_listed, &mut out).unwrap();
        (is_well, String::from_utf8(out).unwrap())
    }

    fn lists_the_tuned_half<P: Labelled>(pairs: &[P], text: &str) {
        for pair in pairs {
            let is_tuned = pair.half() == Half::Tuned;
            assert_eq!(text.contains(&pair.to_string()), is_tuned, "{pair}");
        }
    }

    #[test]
    fn what_lies_under_a_floor_is_said_and_what_is_held_out_is_not_listed() {
        let (is_well, text) = told(false, true);
        assert!(!is_well);
        for set in ["errors", "approaches"] {
            for half in ["tuned", "held out"] {
                for figure in ["precision", "recall"] {
                    let breach = format!("FAILED {set}, {half}: {figure} 0.000");
                    assert!(text.contains(&breach), "{breach}");
                }
            }
        }
        lists_the_tuned_half(&error_pairs(), &text);
        lists_the_tuned_half(&approach_pairs(), &text);
    }

    #[test]
    fn who_does_not_ask_for_the_list_gets_the_tables_alone() {
        let (_, text) = told(false, false);
        assert!(text.starts_with("errors "), "{text}");
        assert!(!text.contains(&error_pairs()[0].why), "{text}");
    }

    #[test]
    fn each_half_of_each_file_has_a_line_of_its_own() {
        let (_, text) = told(true, false);
        let first = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
        let lines: Vec<String> = text.lines().map(first).collect();
        for set in ["errors", "approaches"] {
            for half in ["tuned", "held out"] {
                let line = format!("{set}, {half}");
                // Of the file that is named for the set, and of the set.
                let times = lines.iter().filter(|one| **one == line).count();
                assert_eq!(times, 2, "{line}: {text}");
            }
            for file in ["more", "third", "fourth"] {
                let line = format!("{file}_{set}, tuned");
                let times = lines.iter().filter(|one| **one == line).count();
                assert_eq!(times, 1, "{line}: {text}");
            }
        }
    }

    #[test]
    fn where_all_is_right_no_pair_is_listed_and_nothing_fails() {
        let (is_well, text) = told(true, true);
        assert!(is_well);
        assert!(text.starts_with("errors "), "{text}");
        assert!(!text.contains("FAILED"), "{text}");
        assert_eq!(text.matches("precision: 1.000").count(), 4, "{text}");
    }
}
