//! Planted bugs of maintenance, of promotion, of claims, of decisions, of fixes that failed, of what the gate reports and of
//! trajectories, each of which few seeds catch, whatever it takes to shrink the catch.

use sillok_core::invariants::Invariant;
use sillok_sim::planted::{find, first_catch};
use sillok_sim::workload::banking::Banking;
use sillok_sim::workload::deciding::Deciding;
use sillok_sim::workload::fixing::Fixing;
use sillok_sim::workload::gating::Gating;
use sillok_sim::workload::reads::Reads;
use sillok_sim::{Suite, quiet_planted_panics, run};

/// Seeds within which each of them is caught, from seed 0.
const SEEDS: u64 = 100;

/// The invariant that catches a bug first. Its plan breaks nothing under the protocol as it is meant.
fn caught_by(name: &str) -> String {
    caught_in(&Suite::built_in(), name)
}

fn caught_in(suite: &Suite, name: &str) -> String {
    quiet_planted_panics();
    let bug = find(name).expect("the bug is planted");
    let found = first_catch(bug, suite, 0..SEEDS);
    let found = found.unwrap_or_else(|| panic!("{name} was not caught"));
    let correct = run(&found.replay.plan, suite);
    assert_eq!(correct.violation, None, "{name}, seed {}", found.seed);
    found.invariant
}

#[test]
fn a_plan_that_keeps_the_worst_is_caught_by_which_entries_are_left() {
    let invariant = caught_by("worst of each task kept, and not the best");
    assert_eq!(invariant, "the best of each task are kept");
}

#[test]
fn a_promotion_that_is_published_twice_is_caught_by_its_events() {
    let invariant = caught_by("promotion published twice");
    assert_eq!(invariant, Invariant::PublishedOnce.as_str());
}

#[test]
fn a_floor_that_is_raised_before_the_retry_window_is_over_is_caught_by_who_asks_again() {
    let invariant = caught_by("floor raised before the retry window");
    // Whoever asks again is refused; where that is a promotion's own worker, the promotion comes to no end.
    let told = [Invariant::AppliedOnce, Invariant::Drained].map(Invariant::as_str);
    assert!(told.contains(&invariant.as_str()), "{invariant}");
}

#[test]
fn a_claim_that_is_not_looked_up_is_caught_by_whom_nobody_is_asked_about() {
    let invariant = caught_by("claim of the same key not looked up");
    assert_eq!(invariant, "what contradicts is asked about");
}

/// What is said to hold of briefs, and of impacts.
const TOLD: [&str; 2] = [
    "a brief is what stands, in its order",
    "an impact is all that relations lead to",
];

#[test]
fn a_brief_that_loads_too_much_too_little_or_in_another_order_is_caught_by_what_stood() {
    let deciding = Suite::empty().workload(Deciding).check(Deciding);
    for name in [
        "inactive decision loaded",
        "decisions ordered by time and not by strength",
        "global lock forgotten",
        "anchors loaded before decisions",
    ] {
        // Who asks of trajectories asks for briefs as well, and may be the first to be told a wrong one.
        assert_eq!(caught_in(&deciding, name), TOLD[0], "{name}");
    }
}

#[test]
fn a_walk_that_goes_round_and_round_is_caught_by_what_relations_lead_to() {
    let invariant = caught_by("cycle without end");
    assert!(TOLD.contains(&invariant.as_str()), "{invariant}");
}

#[test]
fn rows_that_a_save_leaves_behind_are_caught_by_the_view_or_by_who_was_told_of_them() {
    // Saves that fail for good are few among all that a world does, so here nothing but decisions is at work.
    let deciding = Suite::empty().workload(Deciding).check(Deciding);
    for name in [
        "two active versions of a decision",
        "relation left behind by a failed save",
        "relation that says a former title",
    ] {
        let invariant = caught_in(&deciding, name);
        let is_told = TOLD.contains(&invariant.as_str());
        let is_seen = invariant == Invariant::ViewIsFold.as_str();
        assert!(is_told || is_seen, "{name}: {invariant}");
    }
}

/// The invariant that catches a bug first where agents read beside what they record of fixes and ask about them, so that there
/// are no more promotions than a world comes to the end of.
fn caught_in_fixing(name: &str) -> String {
    let suite = Suite::empty().workload(Reads).workload(Fixing);
    caught_in(&suite.check(Fixing), name)
}

#[test]
fn failures_that_are_forgotten_or_never_cleared_are_caught_by_what_the_events_lead_to() {
    for name in [
        "failure counted by the process that saw it",
        "pass that clears no failure",
    ] {
        let invariant = caught_in_fixing(name);
        // The next failure counts under a verification that it should not; until then only the task's row is wrong.
        let seen = [Invariant::Chained, Invariant::ViewIsFold].map(Invariant::as_str);
        assert!(seen.contains(&invariant.as_str()), "{name}: {invariant}");
    }
}

#[test]
fn a_failure_that_its_own_batch_does_not_count_is_caught_by_what_was_answered_without_it() {
    let invariant = caught_in_fixing("failure of the same batch not counted");
    assert_eq!(invariant, Invariant::AppliedOnce.as_str());
}

#[test]
fn what_an_erasure_leaves_of_a_verification_is_caught_by_what_the_events_lead_to() {
    for (name, invariant) in [
        (
            "row of an erased approach left behind",
            Invariant::ViewIsFold,
        ),
        ("wording of an erased approach left", Invariant::Backed),
        (
            "hash of an erased error left in its answer",
            Invariant::AppliedOnce,
        ),
    ] {
        assert_eq!(caught_in_fixing(name), invariant.as_str(), "{name}");
    }
}

#[test]
fn an_approach_that_is_rejected_where_it_only_warns_is_caught_by_what_failed_before() {
    for name in [
        "approach of another task rejected",
        "approach that a pass cleared rejected",
    ] {
        let invariant = caught_in_fixing(name);
        assert_eq!(
            invariant, "an approach is judged by what failed before",
            "{name}"
        );
    }
}

#[test]
fn a_report_that_is_carried_out_otherwise_than_it_was_told_is_caught_by_what_was_looked_at() {
    let suite = Suite::empty().workload(Gating).check(Gating);
    for name in [
        "report of a former version that counts for the newest",
        "what moved cited in another file",
    ] {
        let invariant = caught_in(&suite, name);
        assert_eq!(
            invariant, "a report of the gate is of what was looked at",
            "{name}"
        );
    }
}

/// The invariant that catches a bug first where agents read beside what they store of trajectories and ask of the bank.
fn caught_in_banking(name: &str) -> String {
    let suite = Suite::empty().workload(Reads).workload(Banking);
    caught_in(&suite.check(Banking), name)
}

#[test]
fn a_trajectory_that_a_retry_stores_again_is_caught_by_its_command() {
    let invariant = caught_in_banking("trajectory counted twice on a retry");
    let seen = [Invariant::AppliedOnce.as_str(), "a trajectory counts once"];
    assert!(seen.contains(&invariant.as_str()), "{invariant}");
}

#[test]
fn a_pattern_of_another_project_is_caught_by_what_it_cites_or_counts() {
    let invariant = caught_in_banking("pattern of another project found");
    // A brief warns by the same trajectories.
    let seen = [
        "a pattern is what its trajectories say",
        "a warning is of what failed elsewhere",
    ];
    assert!(seen.contains(&invariant.as_str()), "{invariant}");
}

#[test]
fn a_warning_that_takes_the_room_of_a_decision_is_caught_by_what_holds() {
    let invariant = caught_in_banking("warning in the room of a decision");
    assert_eq!(invariant, "a warning moves no decision");
}

#[test]
fn a_row_that_an_erasure_leaves_of_a_trajectory_is_caught_by_what_the_events_lead_to() {
    let invariant = caught_in_banking("row of an erased trajectory left behind");
    let seen = [Invariant::ViewIsFold.as_str(), "each trajectory is one row"];
    assert!(seen.contains(&invariant.as_str()), "{invariant}");
}
