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
pub const EXPECTED: [&str; 47] = [
    "actor killed with a command in flight",
    "append where the stream does not end",
    "call without an answer",
    "clock drifted",
    "clock jumped",
    "clock offset",
    "cognifier failed",
    "commit slowed down",
    "commits that share one sync",
    "committed after the outcome was unknown",
    "committed and unheard of",
    "conflict",
    "conflict without a writer",
    "crash",
    "crashed before the sync",
    "disk failed",
    "gap of the stream read from the store",
    "message heard before",
    "message left out",
    "message recognised by the stream",
    "messages out of order",
    "node drained",
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
    "stream aged out unheard",
    "stream created anew",
    "stream lost what it had acknowledged",
    "stream read anew",
    "stream without responders",
    "swizzled way mended",
    "synced and unheard of",
    "transaction too old",
    "turned away as busy",
    "watcher died in mid-takeover",
    "word from the stream lost",
    "word to the stream doubled",
    "word to the stream lost",
];
