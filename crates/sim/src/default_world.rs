//! The default world: how much has to happen in a world before it counts for the speed of the
//! simulation, so that a figure cannot be had by making worlds smaller.
//!
//! Owns its bounds. It must not know how a world is run.

use crate::plan::Plan;
use crate::world::Outcome;

/// Nodes.
pub const NODES_MIN: u16 = 3;
/// Simulated time, in ms.
pub const SIM_MS_MIN: u64 = 60_000;
/// Commits that wrote events.
pub const COMMITS_MIN: u64 = 1_000;
/// Slots taken from a run that was over.
pub const TAKEOVERS_MIN: u64 = 1;
/// Different effects that only faults bring about.
pub const FAULTS_MIN: usize = 5;

/// Effects that a world sees without any fault: its agents are enough.
pub const WITHOUT_FAULTS: &[&str] = &[
    "answer heard at a later try",
    "append where the stream does not end",
    "batch decided again",
    "conflict",
    "index failed",
    "message heard before",
    "more slots handed over than one round takes",
    "no answer, though nothing was lost",
    "node drained",
    "promotion failed and tried again",
    "repeat answered from its record",
    "run begun after the former one was over",
    "slot handed over",
    "slot taken from an owner whose run was over",
    "turned away during a handover",
];

/// Whether a world came up to it.
#[must_use]
pub fn is_met(plan: &Plan, outcome: &Outcome) -> bool {
    plan.profile.nodes >= NODES_MIN
        && outcome.sim_ms >= SIM_MS_MIN
        && outcome.commits >= COMMITS_MIN
        && outcome.takeovers >= TAKEOVERS_MIN
        && faults_that_took_effect(outcome) >= FAULTS_MIN
}

/// How many different effects of faults a world saw. Two faults of one kind count once, since their
/// effects cannot be told apart.
#[must_use]
pub fn faults_that_took_effect(outcome: &Outcome) -> usize {
    let effects = outcome.effects.iter();
    let is_a_faults = |(effect, _): &(&str, u64)| !WITHOUT_FAULTS.contains(effect);
    effects.filter(is_a_faults).count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Suite;
    use crate::effects::EXPECTED;

    #[test]
    fn what_is_seen_without_faults_is_not_counted_for_them() {
        let suite = Suite::built_in();
        let mut seen = BTreeSet::new();
        for seed in 0..12 {
            let mut plan = Plan::draw_from(&suite, seed);
            plan.profile.faults.clear();
            let outcome = crate::run(&plan, &suite);
            seen.extend(outcome.effects.iter().map(|(effect, _)| effect));
            assert!(!is_met(&plan, &outcome));
        }
        let known: BTreeSet<_> = WITHOUT_FAULTS.iter().copied().collect();
        assert!(seen.is_subset(&known), "{:?}", seen.difference(&known));
        let all: BTreeSet<_> = EXPECTED.into_iter().collect();
        assert!(known.is_subset(&all), "{:?}", known.difference(&all));
    }
}
