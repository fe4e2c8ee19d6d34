//! The labelled pairs against the rules that tell which errors and which approaches are one.

use sillok_circular_pairs::{Report, approach_pairs, error_pairs, judge_approaches, judge_errors};

#[path = "../examples/circular_pairs/rule.rs"]
mod rule;

/// Precision and recall of approaches that are held out, under which no change may bring them. That the precision is to be 0.97,
/// `make circular-pairs` says.
const APPROACHES_MIN: (f64, f64) = (0.96, 0.9);

#[test]
fn the_same_error_has_one_fingerprint_and_another_one_has_another() {
    let (errors, approaches) = (error_pairs(), approach_pairs());
    let errors = judge_errors(&errors, rule::hash);
    let approaches = judge_approaches(&approaches, rule::is_repeat);
    let report = Report::of(&errors, &approaches);
    println!("{report}");
    let breaches = report.errors.held_out.breaches();
    assert!(breaches.is_empty(), "{breaches:#?}");
    let approaches = report.approaches.held_out;
    assert!(approaches.precision() >= APPROACHES_MIN.0);
    assert!(approaches.recall() >= APPROACHES_MIN.1);
}
