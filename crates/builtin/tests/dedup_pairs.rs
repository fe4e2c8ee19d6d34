//! The labelled pairs against the rules of deduplication, with the built-in embedder.

use sillok_builtin::HashEmbedder;
use sillok_pairs::{Report, at_once, judge, pairs};

#[test]
fn what_says_the_same_is_found_and_no_opposites_are_merged() {
    let judged = at_once(judge(&HashEmbedder, &pairs())).expect("it does no I/O");
    let report = Report::of(&judged);
    println!("{report}");
    assert!(report.breaches().is_empty(), "{:#?}", report.breaches());
}
