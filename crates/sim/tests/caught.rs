//! Planted bugs of maintenance and of promotion, each of which few seeds catch, whatever it takes to shrink the catch.

use sillok_sim::planted::{find, first_catch};
use sillok_sim::{Suite, quiet_planted_panics};

/// Seeds within which each of them is caught, from seed 0.
const SEEDS: u64 = 100;

/// The invariant that catches a bug first.
fn caught_by(name: &str) -> String {
    quiet_planted_panics();
    let bug = find(name).expect("the bug is planted");
    let found = first_catch(bug, &Suite::built_in(), 0..SEEDS);
    let found = found.unwrap_or_else(|| panic!("{name} was not caught"));
    found.invariant
}

#[test]
fn a_plan_that_keeps_the_worst_is_caught_by_which_entries_are_left() {
    let invariant = caught_by("worst of each task kept, and not the best");
    assert_eq!(invariant, "the best of each task are kept");
}

#[test]
fn a_promotion_that_is_published_twice_is_caught() {
    caught_by("promotion published twice");
}

#[test]
fn a_floor_that_is_raised_before_the_retry_window_is_over_is_caught() {
    caught_by("floor raised before the retry window");
}
