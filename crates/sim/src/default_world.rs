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

/// Kinds of faults, each with what nothing else brings about. What several kinds can bring about, such
/// as that a node is fenced, tells none of them.
pub const EFFECTS_OF: &[(&str, &[&str])] = &[
    (
        "crash",
        &[
            "crash with commands under way",
            "slot of a crashed node taken by another",
        ],
    ),
    ("pause", &["request waited for a paused node"]),
    (
        "watcher dies",
        &["takeover finished by another than the watcher that died"],
    ),
    (
        "partition",
        &[
            "no answer, since a partition cut off the reply",
            "no answer, since a partition cut off the request",
        ],
    ),
    (
        "one way",
        &[
            "no answer, since one way cut off the reply",
            "no answer, since one way cut off the request",
        ],
    ),
    (
        "swizzle",
        &[
            "no answer, since a swizzle cut off the reply",
            "no answer, since a swizzle cut off the request",
        ],
    ),
    (
        "drop",
        &[
            "no answer, since the reply was dropped",
            "no answer, since the request was dropped",
        ],
    ),
    (
        "duplicate",
        &[
            "doubled message recognised by the stream",
            "request carried out twice",
        ],
    ),
    ("delay", &["answer came after its caller had given up"]),
    (
        "reorder",
        &[
            "reply overtaken by a later one",
            "request overtaken by a later one",
        ],
    ),
    ("store cut", &["store out of reach of a node"]),
    ("store outage", &["store out of reach of everybody"]),
    ("conflict storm", &["conflict without a writer"]),
    ("committed unheard", &["committed and unheard of"]),
    ("lost unheard", &["commit lost and unheard of"]),
    (
        "commits late",
        &[
            "committed after the outcome was unknown",
            "refused after the outcome was unknown",
        ],
    ),
    (
        "slow disk",
        &[
            "commits gathered behind a slow sync",
            "slow commit met another writer",
        ],
    ),
    (
        "clock offset",
        &["event dated by the one before it under a wrong clock"],
    ),
    (
        "clock jump",
        &["event dated by the one before it after a clock jump"],
    ),
    ("clock drift", &["silence judged by a drifting clock"]),
    ("full mailbox", &["mailbox full"]),
    ("cognifier fails", &["cognifier failed"]),
    ("panic", &["panic in a command"]),
    ("kill actors", &["actor killed with a command in flight"]),
    ("stream down", &["stream without responders"]),
    (
        "stream one way",
        &["word from the stream lost", "word to the stream lost"],
    ),
    ("loses suffix", &["message of a lost suffix told again"]),
    (
        "stream recreated",
        &[
            "append to a stream that was created anew",
            "message told again to a stream that was created anew",
        ],
    ),
    ("disk fails", &["disk failed"]),
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

/// How many kinds of faults took effect. Two faults of one kind count once, since their effects cannot
/// be told apart.
#[must_use]
pub fn faults_that_took_effect(outcome: &Outcome) -> usize {
    let is_seen = |(_, effects): &&(&str, &[&str])| {
        let mut effects = effects.iter();
        effects.any(|effect| outcome.effects.count(effect) > 0)
    };
    EFFECTS_OF.iter().filter(is_seen).count()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::Suite;
    use crate::effects::EXPECTED;
    use crate::fault::Fault;

    /// Worlds that are run with the faults of one kind alone.
    const WORLDS_OF_A_KIND: u32 = 2;
    /// The same, for a kind that has not taken effect yet.
    const WORLDS_MAX: u32 = 16;

    #[test]
    fn without_faults_none_takes_effect() {
        let suite = Suite::built_in();
        for seed in 0..12 {
            let mut plan = Plan::draw_from(&suite, seed);
            plan.profile.faults.clear();
            let outcome = crate::run(&plan, &suite);
            assert_eq!(
                faults_that_took_effect(&outcome),
                0,
                "{:?}",
                outcome.effects
            );
            assert!(!is_met(&plan, &outcome));
        }
    }

    /// The kind of a fault, as [`EFFECTS_OF`] calls it.
    fn name_of(fault: &Fault) -> String {
        let fault = serde_json::to_value(fault).unwrap();
        fault["kind"].as_str().unwrap().replace('_', " ")
    }

    #[test]
    fn a_kind_alone_brings_about_what_tells_it_and_what_tells_no_other() {
        let suite = Suite::built_in();
        let mut runs: BTreeMap<String, u32> = BTreeMap::new();
        let (mut told, mut wrong) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..400 {
            let drawn = Plan::draw_from(&suite, seed);
            let kinds: BTreeSet<String> = drawn.profile.faults.iter().map(name_of).collect();
            for kind in kinds {
                let count = runs.entry(kind.clone()).or_default();
                let is_told = told.contains(&kind);
                if *count == WORLDS_MAX || (is_told && *count >= WORLDS_OF_A_KIND) {
                    continue;
                }
                *count += 1;
                let mut plan = drawn.clone();
                plan.profile.faults.retain(|fault| name_of(fault) == kind);
                let outcome = crate::run(&plan, &suite);
                assert_eq!(outcome.violation, None, "{kind} alone, seed {seed}");
                for (other, effects) in EFFECTS_OF {
                    let seen = effects
                        .iter()
                        .find(|effect| outcome.effects.count(effect) > 0);
                    if *other == kind {
                        told.extend(seen.map(|_| kind.clone()));
                    } else if let Some(effect) = seen {
                        wrong.insert(format!("{effect:?} by {kind} alone, seed {seed}"));
                    }
                }
            }
        }
        assert_eq!(wrong, BTreeSet::new());
        let all: BTreeSet<String> = EFFECTS_OF.iter().map(|(kind, _)| (*kind).into()).collect();
        assert_eq!(runs.into_keys().collect::<BTreeSet<_>>(), all);
        // Who fences, and so who watches, and whose clock judges, takes a node that falls silent.
        let need_another = ["clock drift", "watcher dies"];
        let silent: Vec<_> = all.difference(&told).collect();
        assert!(
            silent
                .iter()
                .all(|kind| need_another.contains(&kind.as_str())),
            "{silent:?}"
        );
    }

    #[test]
    fn an_effect_tells_one_kind_and_is_one_that_is_seen() {
        let told = EFFECTS_OF.iter().flat_map(|(_, effects)| *effects);
        let distinct: BTreeSet<_> = told.clone().collect();
        assert_eq!(distinct.len(), told.count());
        assert!(distinct.iter().all(|effect| EXPECTED.contains(effect)));
    }
}
