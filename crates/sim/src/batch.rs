//! Batches: many worlds, on several threads, as one report.
//!
//! Owns the order in which results are counted, which does not depend on the threads. It must not
//! know the machine's clock: whoever runs a batch says when to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Serialize;

use crate::default_world;
use crate::effects::{EXPECTED, Effects};
use crate::fault::Profile;
use crate::plan::Plan;
use crate::planted;
use crate::replay::Replay;
use crate::second_opinion::Opinion;
use crate::suite::Suite;
use crate::world::Outcome;

/// A world that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Its faults, which is what to look at first.
    pub profile: Profile,
    /// The seed.
    pub seed: u64,
    /// The invariant.
    pub invariant: String,
    /// What was found instead.
    pub what: String,
    /// The saved plan.
    #[serde(skip)]
    pub replay: Replay,
}

impl Failure {
    /// What failed of a world, under the protocol as it is meant; none if all held.
    #[must_use]
    pub fn of(plan: &Plan, outcome: &Outcome) -> Option<Self> {
        let violation = outcome.violation.as_ref()?;
        Some(Self {
            profile: plan.profile.clone(),
            seed: plan.seed,
            invariant: violation.invariant.clone(),
            what: violation.what.clone(),
            replay: Replay::of(plan.clone(), planted::CORRECT, outcome),
        })
    }
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
    /// Slots that were taken from another node, whose run was over.
    pub takeovers: u64,
    /// Commands that were acknowledged.
    pub acknowledged: u64,
    /// Simulated time, in ms.
    pub sim_ms: u64,
    /// Worlds that came up to the [default world](default_world).
    pub default_worlds: u64,
    /// Digest of all traces, in the order of the seeds.
    pub digest: String,
    /// What faults brought about.
    pub effects: Effects,
    /// What a checker of another make judged as well.
    pub second_opinions: Opinion,
    /// Effects that every large batch must see, and that this one did not.
    pub unseen: Vec<&'static str>,
}

/// Worlds to be run.
#[derive(Clone)]
pub enum Worlds {
    /// Those that the seeds from the first up to, and without, the second draw.
    Seeds(u64, u64),
    /// Those that the seeds draw, all with the same faults.
    Under(u64, u64, Profile),
    /// Those of saved plans.
    Plans(Vec<Plan>),
}

impl Worlds {
    /// The plan, if there is one only.
    #[must_use]
    pub fn only(&self, suite: &Suite) -> Option<Plan> {
        match self {
            Self::Seeds(first, end) | Self::Under(first, end, _)
                if end.checked_sub(*first) != Some(1) =>
            {
                None
            }
            Self::Plans(plans) if plans.len() != 1 => None,
            _ => self.plan(0, suite),
        }
    }

    fn plan(&self, number: u64, suite: &Suite) -> Option<Plan> {
        match self {
            Self::Seeds(first, end) => {
                let seed = first.checked_add(number).filter(|seed| seed < end)?;
                Some(Plan::draw_from(suite, seed))
            }
            Self::Under(first, end, profile) => {
                let seed = first.checked_add(number).filter(|seed| seed < end)?;
                Some(Plan::draw_under(suite, seed, profile.clone()))
            }
            Self::Plans(plans) => plans.get(usize::try_from(number).ok()?).cloned(),
        }
    }
}

/// Runs worlds on `jobs` threads, until all are done or `goes_on` says no. `seen` is shown each of
/// them, in their order.
#[expect(
    clippy::disallowed_methods,
    reason = "each world is alone on its thread; the batch only counts"
)]
pub fn run(
    worlds: &Worlds,
    suite: &Suite,
    jobs: usize,
    goes_on: impl Fn() -> bool + Sync,
    seen: impl FnMut(&Plan, &Outcome) + Send,
) -> Report {
    let next = AtomicU64::new(0);
    let counting = Mutex::new(Counting::new(seen));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while goes_on() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(plan) = worlds.plan(number, suite) else {
                        return;
                    };
                    let outcome = planted::run_correct(&plan, suite, false);
                    counting.lock().add(number, plan, outcome);
                }
            });
        }
    });
    counting.into_inner().end()
}

/// Results, counted in the order of their numbers as soon as all before them are there.
struct Counting<F> {
    next: u64,
    early: BTreeMap<u64, (Plan, Outcome)>,
    report: Report,
    hasher: blake3::Hasher,
    seen: F,
}

impl<F: FnMut(&Plan, &Outcome)> Counting<F> {
    fn new(seen: F) -> Self {
        Self {
            next: 0,
            early: BTreeMap::new(),
            report: Report::default(),
            hasher: blake3::Hasher::new(),
            seen,
        }
    }

    fn add(&mut self, number: u64, plan: Plan, outcome: Outcome) {
        self.early.insert(number, (plan, outcome));
        while let Some((plan, outcome)) = self.early.remove(&self.next) {
            self.next += 1;
            self.count(&plan, &outcome);
        }
    }

    fn count(&mut self, plan: &Plan, outcome: &Outcome) {
        (self.seen)(plan, outcome);
        self.hasher.update(outcome.digest.as_bytes());
        let report = &mut self.report;
        report.seeds += 1;
        report.commits += outcome.commits;
        report.takeovers += outcome.takeovers;
        report.acknowledged += outcome.acknowledged;
        report.sim_ms += outcome.sim_ms;
        report.effects.add(&outcome.effects);
        report.second_opinions.add(&outcome.second_opinion);
        report.default_worlds += u64::from(default_world::is_met(plan, outcome));
        report.failures.extend(Failure::of(plan, outcome));
    }

    fn end(self) -> Report {
        assert!(self.early.is_empty(), "every world before another was run");
        let mut report = self.report;
        report.digest = self.hasher.finalize().to_hex().to_string();
        report.unseen = report.effects.missing(&EXPECTED);
        report
    }
}
