//! Counters of what faults brought about: effects, not injections.
//!
//! A fault that never takes effect proves nothing, so a batch prints these and fails where one that
//! must not be 0 is.

use std::collections::BTreeMap;

/// How often each effect was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Effects(BTreeMap<&'static str, u64>);

impl Effects {
    /// Counts one.
    pub fn saw(&mut self, effect: &'static str) {
        *self.0.entry(effect).or_default() += 1;
    }

    /// How often an effect was seen.
    #[must_use]
    pub fn count(&self, effect: &str) -> u64 {
        self.0.get(effect).copied().unwrap_or(0)
    }

    /// Each effect with how often it was seen, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(effect, count)| (*effect, *count))
    }

    /// Adds those of another world.
    pub fn add(&mut self, other: &Self) {
        for (effect, count) in &other.0 {
            *self.0.entry(effect).or_default() += count;
        }
    }

    /// Those of `expected` that were never seen.
    #[must_use]
    pub fn missing(&self, expected: &[&'static str]) -> Vec<&'static str> {
        let unseen = |effect: &&&'static str| self.count(effect) == 0;
        expected.iter().filter(unseen).copied().collect()
    }
}

/// What every batch of 1,000 seeds must have seen.
pub const EXPECTED: [&str; 25] = [
    "actor killed with a command in flight",
    "call without an answer",
    "clock drifted",
    "clock jumped",
    "clock offset",
    "cognifier failed",
    "commit slowed down",
    "committed after the outcome was unknown",
    "committed and unheard of",
    "conflict",
    "conflict without a writer",
    "crash",
    "not committed and unheard of",
    "panic in a command",
    "parcel delayed",
    "paused while there was work",
    "refused after the outcome was unknown",
    "reply cut off",
    "reply dropped",
    "request cut off",
    "request dropped",
    "request duplicated",
    "restart within the fencing time",
    "store out of reach",
    "watcher died in mid-takeover",
];
