//! What of conversations the memory does not get.
//!
//! Owns what is counted of it, and the words for it. It must not know how it came to be lost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What of a conversation the memory does not get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Commands, by why they are lost.
    #[serde(default)]
    pub commands: BTreeMap<String, u64>,
    /// Commands that there was no room for.
    #[serde(default)]
    pub left: u64,
    /// Stretches of the spool that hold no whole note.
    #[serde(default)]
    pub damaged: u64,
    /// Notes that this version does not know. They stay, and with them their spool.
    #[serde(default)]
    pub foreign: u64,
}

impl Lost {
    /// Whether it is nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Counts something else that is lost as well.
    pub fn add(&mut self, other: &Self) {
        for (why, count) in &other.commands {
            let known = self.commands.entry(why.clone()).or_default();
            *known = known.saturating_add(*count);
        }
        self.left = self.left.saturating_add(other.left);
        self.damaged = self.damaged.saturating_add(other.damaged);
        self.foreign = self.foreign.saturating_add(other.foreign);
    }

    /// It in words, a line for each sort.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let told = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let refused = self
            .commands
            .iter()
            .map(|(why, count)| format!("{count} commands are given up: {why}"));
        let rest = [
            told(self.left, "commands had no room to be written down"),
            told(
                self.damaged,
                "stretches of the spool are damaged and were passed over",
            ),
            told(
                self.foreign,
                "notes of the spool are of another version and stay",
            ),
        ];
        refused.chain(rest.into_iter().flatten()).collect()
    }
}
