//! Prints how well the rules tell which errors, and which approaches to a task, are one: by the labelled pairs.
//!
//! Exits with 1 under a floor. With `--list`, each pair of the tuned half that is judged wrongly is printed as well; those
//! held out are counted only.

mod rule;

use std::io;
use std::process::ExitCode;

use sillok_circular_pairs::{approach_pairs, error_pairs, judge_approaches, judge_errors, tell};

fn main() -> io::Result<ExitCode> {
    let (errors, approaches) = (error_pairs(), approach_pairs());
    let errors = judge_errors(&errors, rule::hash);
    let approaches = judge_approaches(&approaches, rule::is_repeat);
    let is_listed = std::env::args().any(|argument| argument == "--list");
    let is_well = tell(&errors, &approaches, is_listed, &mut io::stdout().lock())?;
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
