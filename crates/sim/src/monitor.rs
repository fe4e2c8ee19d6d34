//! The monitor: watches every commit for what no later look at the store could tell.
//!
//! Owns the check that nobody takes a slot from a living owner, and that no run commits to a slot
//! that another one owns. It sees writes in the order in which they happen.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use sillok_core::invariants::{Invariant, Violation, owner_follows};
use sillok_core::membership::{BeatConfig, NodeRow, Nodes, OwnerRow};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family};

use crate::heap::Place;

/// What one transaction writes, as far as the monitor wants to know.
#[derive(Default)]
pub(crate) struct Writes {
    owners: Vec<(Slot, OwnerRow)>,
    nodes: Vec<(String, NodeRow)>,
    forgotten: Vec<String>,
    slots: Vec<Slot>,
    hasher: blake3::Hasher,
}

impl Writes {
    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) {
        self.hash(key, value);
        match Family::of(key) {
            Some(Family::Owner) => {
                let row = keys::owner::decode(key, value).expect("the node wrote it");
                let slot = keys::owner::parse(key).expect("the node wrote it").slot;
                self.owners.push((slot, row));
            }
            Some(Family::Node) => {
                let row = keys::node::decode(key, value).expect("the node wrote it");
                let node = keys::node::parse(key).expect("the node wrote it").node;
                self.nodes.push((node, row));
            }
            _ => {}
        }
    }

    pub(crate) fn cleared(&mut self, key: &[u8]) {
        self.hash(key, b"cleared");
        if Family::of(key) == Some(Family::Node) {
            let node = keys::node::parse(key).expect("the node wrote it").node;
            self.forgotten.push(node);
        }
    }

    pub(crate) fn stamped(&mut self, prefix: &[u8], value: &[u8]) {
        self.hash(prefix, value);
        if let Some(slot) = keys::outbox::slot_of_prefix(prefix) {
            self.slots.push(slot);
        }
    }

    fn hash(&mut self, key: &[u8], value: &[u8]) {
        self.hasher.update(&(key.len() as u64).to_le_bytes());
        self.hasher.update(key);
        self.hasher.update(value);
    }

    pub(crate) fn digest(&self) -> blake3::Hash {
        self.hasher.finalize()
    }
}

/// What people are told of a transaction: the slots that it writes to, and whose rows it changes.
impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for slot in &self.slots {
            write!(f, "events of slot {slot}; ")?;
        }
        for (slot, row) in &self.owners {
            write!(f, "slot {slot} to {} epoch {:?}; ", row.node, row.epoch)?;
        }
        for (name, row) in &self.nodes {
            let fenced = if row.fenced { "fenced" } else { "beats" };
            write!(f, "{name} {fenced}; ")?;
        }
        Ok(())
    }
}

/// Beats of a node that are remembered.
const BEATS_KEPT: usize = 64;
/// By how much a span may look longer or shorter to a node than it was, in µs.
const SLACK_US: u64 = 700_000;

/// What was committed so far, of the rows that decide ownership.
#[derive(Default)]
pub(crate) struct Monitor {
    names: Vec<String>,
    nodes: Nodes,
    owners: BTreeMap<Slot, OwnerRow>,
    /// When each node's beats committed, the newest last, in µs.
    beats: BTreeMap<String, VecDeque<u64>>,
    /// The highest number that a run of each node ever had.
    runs: BTreeMap<String, u64>,
    last: Option<Stamp>,
    commits: u64,
    takeovers: u64,
    /// Nodes that were fenced, with who fenced them, since this was last asked.
    fenced: Vec<(String, Place)>,
    first: Option<Violation>,
}

impl Monitor {
    pub(crate) fn name_nodes(&mut self, names: Vec<String>) {
        self.names = names;
    }

    /// Commits that wrote events.
    pub(crate) fn commits(&self) -> u64 {
        self.commits
    }

    /// Slots that came to another node than before.
    pub(crate) fn takeovers(&self) -> u64 {
        self.takeovers
    }

    /// The first thing that must not be.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.first.as_ref()
    }

    /// Nodes that were fenced since the last call, with who did it.
    pub(crate) fn take_fenced(&mut self) -> Vec<(String, Place)> {
        std::mem::take(&mut self.fenced)
    }

    pub(crate) fn committed(&mut self, now_us: u64, place: Place, writes: &Writes, stamp: Stamp) {
        let writer = self.names.get(usize::from(place.0)).cloned();
        let writer = writer.unwrap_or_default();
        if self.last.is_some_and(|last| stamp <= last) {
            self.note(Invariant::Chained, format!("stamp {stamp} does not follow"));
        }
        self.last = Some(stamp);
        for slot in &writes.slots {
            self.commits += 1;
            // What a transaction that moves the slot writes is judged by the owner before it.
            let owner = self.owners.get(slot).map(|owner| owner.node.clone());
            if owner.as_deref() != Some(&writer) {
                let what = format!("{writer} committed to slot {slot}, which {owner:?} owns");
                self.note(Invariant::Fenced, what);
            }
        }
        for (slot, row) in &writes.owners {
            let before = self.owners.get(slot);
            let node = before.and_then(|before| self.nodes.get(&before.node));
            if let Err(violation) = owner_follows(before, node, row, &writer) {
                self.first.get_or_insert(violation);
            }
            if before.is_some_and(|before| before.node != row.node) {
                self.takeovers += 1;
            }
            self.owners.insert(*slot, row.clone());
        }
        for (name, row) in &writes.nodes {
            let before = self.nodes.insert(name.clone(), row.clone());
            self.judge_run(name, row, before.as_ref());
            let newly_fenced = row.fenced && before.is_some_and(|before| !before.fenced);
            if !row.fenced && *name == writer {
                self.saw_beat(name, now_us);
            }
            if newly_fenced && *name != writer {
                self.judge_fence(name, &writer);
                self.fenced.push((name.clone(), place));
            }
        }
        for name in &writes.forgotten {
            self.nodes.remove(name);
        }
    }

    fn saw_beat(&mut self, name: &str, now_us: u64) {
        let beats = self.beats.entry(name.to_owned()).or_default();
        beats.push_back(now_us);
        if beats.len() > BEATS_KEPT {
            beats.pop_front();
        }
    }

    /// Whoever fences another node has beaten all along since that one's last beat: a silence in which
    /// its own beats did not commit either says nothing.
    fn judge_fence(&mut self, name: &str, writer: &str) {
        let last_us = self.beats.get(name).and_then(|beats| beats.back().copied());
        let last_us = last_us.unwrap_or(0);
        let own = self.beats.get(writer).into_iter().flatten();
        let own: Vec<u64> = own.copied().filter(|at_us| *at_us >= last_us).collect();
        let config = BeatConfig::default();
        // Clocks differ a little, and a beat takes a while from its start to its commit.
        let gap_us_max = config.every_ms * 2_000 + SLACK_US;
        let heard_us: u64 = own
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|gap_us| *gap_us <= gap_us_max)
            .sum();
        if heard_us + 2 * SLACK_US < config.fence_after_ms * 1_000 {
            let what = format!(
                "{writer} fenced {name} after {} ms in which it could have heard of it",
                heard_us / 1_000
            );
            self.note(Invariant::Fenced, what);
        }
    }

    /// A new run has a number that no earlier run of the node had: what is still on its way from an
    /// earlier one must not pass for its own.
    fn judge_run(&mut self, name: &str, row: &NodeRow, before: Option<&NodeRow>) {
        let number = row.incarnation.0;
        if before.is_some_and(|before| before.incarnation == row.incarnation) {
            return;
        }
        let highest = self.runs.entry(name.to_owned()).or_default();
        let is_new = number > *highest;
        *highest = number.max(*highest);
        if !is_new {
            let what = format!("{name} begins run {number}, which it had before");
            self.note(Invariant::Fenced, what);
        }
    }

    /// A commit's number was given before.
    pub(crate) fn note_stamps(&mut self, counter: u64) {
        let what = format!("commit {counter} does not follow those on the disk");
        self.note(Invariant::Chained, what);
    }

    fn note(&mut self, invariant: Invariant, what: String) {
        self.first.get_or_insert(Violation { invariant, what });
    }
}
