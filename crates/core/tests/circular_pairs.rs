//! The labelled pairs against the rules that tell which errors and which approaches are one.

use sillok_circular_pairs::{Halves, approach_pairs, error_pairs, judge_approaches, judge_errors};

#[path = "../examples/circular_pairs/rule.rs"]
mod rule;

#[test]
fn the_same_error_has_one_fingerprint_and_another_one_has_another() {
    let pairs = error_pairs();
    let halves = Halves::of(&judge_errors(&pairs, rule::hash));
    println!("{halves}");
    assert!(halves.breaches().is_empty(), "{:#?}", halves.breaches());
}

#[test]
fn an_approach_is_told_from_others_in_whatever_words() {
    let pairs = approach_pairs();
    let halves = Halves::of(&judge_approaches(&pairs, rule::is_repeat));
    println!("{halves}");
    assert!(halves.breaches().is_empty(), "{:#?}", halves.breaches());
}
