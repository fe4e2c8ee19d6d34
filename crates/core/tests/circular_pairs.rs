//! The labelled pairs against the rules that tell which errors and which approaches are one.

use sillok_circular_pairs::{Report, approach_pairs, error_pairs, judge_approaches, judge_errors};

#[path = "../examples/circular_pairs/rule.rs"]
mod rule;

#[test]
fn of_what_is_held_out_errors_and_approaches_are_told_apart_as_well_as_is_asked() {
    let (errors, approaches) = (error_pairs(), approach_pairs());
    let errors = judge_errors(&errors, rule::hash);
    let approaches = judge_approaches(&approaches, rule::is_repeat);
    let report = Report::of(&errors, &approaches);
    println!("{report}");
    let breaches = report.breaches();
    assert!(breaches.is_empty(), "{breaches:#?}");
}
