//! The lease protocol, every interleaving of it: two nodes, one slot, small bounds.
//!
//! A model of what `claims.rs` and `cluster.rs` do, checked exhaustively. Whatever can be asked of the
//! production code is: who lives, what may be claimed, and whose silence counts are core's own
//! functions and its own `Watcher`. Each variant leaves one safeguard out, and the checker must then
//! find the sequence of steps that breaks a property: a model that cannot fail proves nothing.

mod model;
mod state;

use model::Lease;
use stateright::{Checker as _, Expectation, HasDiscoveries, Model as _};

/// The protocol as it is, or without one of its safeguards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Variant {
    Correct,
    /// A claim does not look whether the owner lives.
    ClaimsFromTheLiving,
    /// A commit neither reads the owner nor conflicts on it.
    CommitsWithoutOwner,
    /// The row of a fenced run is removed.
    CollectsFences,
    /// Silence counts while the watcher's own beats do not commit.
    FencesDuringOutage,
    /// A run that was fenced and does not hear that its successor was registered beats on.
    BeatsOnAfterLostRegistration,
}

/// Bounds within which everything is tried.
const BOUNDS: Lease = Lease {
    variant: Variant::Correct,
    rounds: 6,
    epochs: 3,
    faults: 1,
};

/// Bounds without a change of owner: what is tried is who is registered, beats and is fenced.
const REGISTRATION: Lease = Lease {
    rounds: 7,
    epochs: 0,
    faults: 2,
    ..BOUNDS
};

#[test]
fn the_protocol_holds_in_every_interleaving() {
    let checker = BOUNDS.checker().spawn_bfs().join();
    println!(
        "{} states, {} of them different, {} steps deep",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
    assert!(checker.is_done());
    assert!(
        checker.unique_state_count() > 100_000,
        "the model is not empty"
    );
}

/// What a run takes itself for only comes apart after two faults, so the protocol has to hold there too.
/// Nobody claims anything within these bounds: of slots this says nothing.
#[test]
fn no_run_takes_itself_for_another_through_two_faults() {
    let checker = REGISTRATION.checker().spawn_bfs().join();
    println!("{} different states", checker.unique_state_count());
    // No slot changes hands within these bounds: what has to be seen at some time is not.
    for property in REGISTRATION.properties() {
        if property.expectation == Expectation::Always {
            checker.assert_no_discovery(property.name);
        }
    }
    assert!(checker.is_done());
    assert!(
        checker.unique_state_count() > 10_000,
        "the model is not empty"
    );
}

/// The checker finds the property broken within these bounds, and says how.
fn breaks(bounds: Lease, property: &'static str) -> String {
    let checker = bounds
        .checker()
        .finish_when(HasDiscoveries::AllOf([property].into()))
        .spawn_bfs()
        .join();
    let path = checker.assert_any_discovery(property);
    let steps = path.into_actions();
    format!("{:?} in {} steps: {steps:?}", bounds.variant, steps.len())
}

#[test]
fn a_claim_that_does_not_ask_who_lives_takes_from_the_living() {
    let steps = breaks(
        Lease {
            variant: Variant::ClaimsFromTheLiving,
            ..BOUNDS
        },
        "nobody takes from the living",
    );
    println!("{steps}");
}

#[test]
fn a_commit_that_does_not_read_the_owner_comes_after_the_takeover() {
    let steps = breaks(
        Lease {
            variant: Variant::CommitsWithoutOwner,
            ..BOUNDS
        },
        "nobody commits under an epoch that is over",
    );
    println!("{steps}");
}

#[test]
fn a_fence_that_is_collected_gives_a_dead_run_its_name_back() {
    let steps = breaks(
        Lease {
            variant: Variant::CollectsFences,
            ..BOUNDS
        },
        "one run commits under an epoch",
    );
    println!("{steps}");
}

#[test]
fn silence_that_counts_during_an_outage_fences_who_beats() {
    let steps = breaks(
        Lease {
            variant: Variant::FencesDuringOutage,
            epochs: 0,
            ..BOUNDS
        },
        "whoever beats is not fenced",
    );
    println!("{steps}");
}

#[test]
fn a_run_that_beats_on_after_a_lost_registration_takes_itself_for_another() {
    let steps = breaks(
        Lease {
            variant: Variant::BeatsOnAfterLostRegistration,
            ..REGISTRATION
        },
        "no node is replaced by itself",
    );
    println!("{steps}");
}
