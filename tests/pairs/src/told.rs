//! What is printed of judged pairs. Must not know who judged them.

use std::io::{self, Write};

use crate::figures::Report;
use crate::judge::Judged;
use crate::pair::Half;

/// Prints the figures and what lies under a floor; before them, where `is_listed`, each pair of the tuned half.
/// Those held out are counted only. Says whether nothing lies under a floor.
///
/// # Errors
/// `out` takes no more.
pub fn tell(judged: &[Judged], is_listed: bool, out: &mut impl Write) -> io::Result<bool> {
    let tuned = judged
        .iter()
        .filter(|judged| is_listed && judged.pair.half == Half::Tuned);
    for judged in tuned {
        let pair = judged.pair;
        let (label, outcome) = (pair.label.as_str(), judged.outcome.as_str());
        let cosine = judged.cosine;
        writeln!(
            out,
            "{label}\t{outcome}\t{cosine:.3}\t{}\t{}",
            pair.a, pair.b
        )?;
    }
    let report = Report::of(judged);
    write!(out, "{report}")?;
    let breaches = report.breaches();
    for breach in &breaches {
        writeln!(out, "FAILED {breach}")?;
    }
    Ok(breaches.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Outcome;
    use crate::pair::pairs;

    #[test]
    fn what_lies_under_a_floor_is_said_and_what_is_held_out_is_not_listed() {
        let apart = pairs().into_iter().map(|pair| Judged {
            pair,
            cosine: 0.0,
            outcome: Outcome::Apart,
        });
        let apart: Vec<Judged> = apart.collect();
        let mut out = Vec::new();
        assert!(!tell(&apart, true, &mut out).unwrap());
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("FAILED tuned: suggestion recall 0.000"),
            "{text}"
        );
        for judged in &apart {
            let row = format!("\t{}\t{}\n", judged.pair.a, judged.pair.b);
            assert_eq!(text.contains(&row), judged.pair.half == Half::Tuned);
        }
    }
}
