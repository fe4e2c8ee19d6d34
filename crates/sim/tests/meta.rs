//! The meta test: a simulation proves nothing unless the same seed gives the same world, in every
//! process, alone and among others.

use std::process::Command;

use sillok_actors::protocol::Without;
use sillok_sim::{Outcome, Plan, World, quiet_planted_panics};

/// Lines that the trace of a world has at least.
const LINES_MIN: u64 = 10_000;

fn world(seed: u64) -> Outcome {
    World::new(&Plan::draw(seed), Without::default(), false).run()
}

/// The digest that another process gives for a seed.
fn elsewhere(seed: u64) -> String {
    let replayed = Command::new(env!("CARGO_BIN_EXE_sillok-sim"))
        .args(["replay", "--seed", &seed.to_string(), "--until", "0"])
        .output()
        .expect("the binary of this package was built");
    let said = String::from_utf8(replayed.stdout).expect("a digest is text");
    let digest = said.trim().rsplit(' ').next().unwrap_or_default();
    digest.to_owned()
}

#[test]
fn a_seed_gives_the_same_trace_in_every_process_alone_and_within_a_batch() {
    quiet_planted_panics();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let within = world(seed);
        assert!(
            within.violation.is_none(),
            "seed {seed}: {:?}",
            within.violation
        );
        assert!(
            within.lines >= LINES_MIN,
            "seed {seed}: {} lines",
            within.lines
        );
        assert_eq!(elsewhere(seed), within.digest, "seed {seed}");
        assert!(
            seen.insert(within.digest),
            "seed {seed} is another world than those before"
        );
    }
}
