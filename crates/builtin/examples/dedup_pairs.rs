//! Prints what deduplication makes of the labelled pairs, with the built-in embedder.
//!
//! Exits with 1 under a floor. With `--list`, each pair of the tuned half is printed as well; those
//! held out are counted only.

use std::io::{self, Write as _};
use std::process::ExitCode;

use sillok_builtin::HashEmbedder;
use sillok_pairs::{Half, Report, at_once, judge, pairs};

fn main() -> io::Result<ExitCode> {
    let judged = at_once(judge(&HashEmbedder, &pairs())).expect("it does no I/O");
    let mut out = io::stdout().lock();
    if std::env::args().any(|argument| argument == "--list") {
        let tuned = judged
            .iter()
            .filter(|judged| judged.pair.half == Half::Tuned);
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
    }
    let report = Report::of(&judged);
    write!(out, "{report}")?;
    let breaches = report.breaches();
    for breach in &breaches {
        writeln!(out, "FAILED {breach}")?;
    }
    Ok(if breaches.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
