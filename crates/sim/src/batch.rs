//! Batches: many seeds, on several threads, as one report.
//!
//! Owns the order in which results are counted, which does not depend on the threads. It must not
//! know the machine's clock: whoever runs a batch says when to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use sillok_actors::protocol::Protocol;

use crate::effects::{EXPECTED, Effects};
use crate::plan::Plan;
use crate::second_opinion::Opinion;
use crate::world::{Outcome, World};

/// A seed that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The invariant.
    pub invariant: String,
    /// What was found instead.
    pub what: String,
}

/// What became of a batch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Seeds that were run.
    pub seeds: u64,
    /// Seeds that failed.
    pub failures: Vec<Failure>,
    /// Commits that wrote events.
    pub commits: u64,
    /// Slots that came to another node.
    pub takeovers: u64,
    /// Commands that were acknowledged.
    pub acknowledged: u64,
    /// Simulated time, in ms.
    pub sim_ms: u64,
    /// What faults brought about.
    pub effects: Effects,
    /// What a checker of another make judged as well.
    pub second_opinions: Opinion,
    /// Effects that every large batch must see, and that this one did not.
    pub unseen: Vec<&'static str>,
}

/// Runs the seeds from `first` up to, and without, `end` on `jobs` threads, until all are done or
/// `goes_on` says no.
#[expect(
    clippy::disallowed_methods,
    reason = "each world is alone on its thread; the batch only counts"
)]
pub fn run<P: Protocol>(
    protocol: P,
    first: u64,
    end: u64,
    jobs: usize,
    goes_on: impl Fn() -> bool + Sync,
) -> Report {
    let next = AtomicU64::new(first);
    let outcomes: Mutex<BTreeMap<u64, Outcome>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while goes_on() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let outcome = World::new(&Plan::draw(seed), protocol, false).run();
                    outcomes.lock().insert(seed, outcome);
                }
            });
        }
    });
    count(outcomes.into_inner())
}

fn count(outcomes: BTreeMap<u64, Outcome>) -> Report {
    let mut report = Report::default();
    for (seed, outcome) in outcomes {
        report.seeds += 1;
        report.commits += outcome.commits;
        report.takeovers += outcome.takeovers;
        report.acknowledged += outcome.acknowledged;
        report.sim_ms += outcome.sim_ms;
        report.effects.add(&outcome.effects);
        report.second_opinions.add(&outcome.second_opinion);
        if let Some(violation) = outcome.violation {
            report.failures.push(Failure {
                seed,
                invariant: violation.invariant,
                what: violation.what,
            });
        }
    }
    report.unseen = report.effects.missing(&EXPECTED);
    report
}
