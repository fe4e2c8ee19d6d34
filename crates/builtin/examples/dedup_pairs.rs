//! Prints what deduplication makes of the labelled pairs, with the built-in embedder.
//!
//! Exits with 1 under a floor. With `--list`, each pair of the tuned half is printed as well; those
//! held out are counted only.

use std::io;
use std::process::ExitCode;

use sillok_builtin::HashEmbedder;
use sillok_pairs::{at_once, judge, pairs, tell};

fn main() -> io::Result<ExitCode> {
    let judged = at_once(judge(&HashEmbedder, &pairs())).expect("it does no I/O");
    let is_listed = std::env::args().any(|argument| argument == "--list");
    let is_well = tell(&judged, is_listed, &mut io::stdout().lock())?;
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
