//! The monitor: watches every commit for what no later look at the store could tell.
//!
//! Owns the check that nobody takes a slot from a living owner, and that nobody commits to a slot
//! but under the epoch by which it is owned, or moves its cursors but its owner; that what a promotion publishes is marked with it; that
//! who fences has listened. It sees writes in the order in which they happen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sillok_core::id::{Incarnation, Seq};
use sillok_core::invariants::{Invariant, Violation, owner_follows};
use sillok_core::membership::{BeatConfig, NodeRow, Nodes, OwnerRow};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::ScopeKey;

use crate::effects::Effects;
use crate::heap::{ClockFacts, Place, Shared};
use crate::sightings::HandedOver;
use crate::writes::Writes;

/// Beats of a node that are remembered.
const BEATS_KEPT: usize = 64;
/// By how much a span may look longer or shorter to a node than it was, in µs.
const SLACK_US: u64 = 700_000;

/// When and where a commit happens.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    /// The world's time, in µs.
    pub(crate) now_us: u64,
    /// Whose commit it is.
    pub(crate) place: Place,
    /// That place's clocks.
    pub(crate) clock: ClockFacts,
}

/// What was committed so far, of the rows that decide ownership.
#[derive(Default)]
pub(crate) struct Monitor {
    names: Vec<String>,
    nodes: Nodes,
    pub(crate) owners: BTreeMap<Slot, OwnerRow>,
    /// When each node's beats committed, the newest last, in µs.
    beats: BTreeMap<String, VecDeque<u64>>,
    /// The highest number that a run of each node ever had.
    runs: BTreeMap<String, u64>,
    /// Runs whose end an operator has ordered.
    pub(crate) ordered: BTreeSet<(String, Incarnation)>,
    last: Option<Stamp>,
    /// The last event of each scope that each node wrote.
    wrote: BTreeMap<(Place, ScopeKey), Seq>,
    commits: u64,
    pub(crate) takeovers: u64,
    pub(crate) handed_over: BTreeMap<Place, HandedOver>,
    /// What the commits showed.
    pub(crate) effects: Effects,
    /// Nodes that were fenced, with who fenced them, since this was last asked.
    fenced: Vec<(String, Place)>,
    /// Nodes that a fault has crashed, until they are started again.
    pub(crate) down: BTreeSet<String>,
    /// Scopes to which nothing may be written.
    quarantined: BTreeSet<ScopeKey>,
    /// Nodes whose watcher died right after it had fenced them, by their names, with the watcher's.
    pub(crate) left_by_watcher: BTreeMap<String, String>,
    first: Option<Violation>,
}

impl Monitor {
    pub(crate) fn name_nodes(&mut self, names: Vec<String>) {
        self.names = names;
    }

    /// Whether there is more than one node.
    pub(crate) fn has_others(&self) -> bool {
        self.names.len() > 1
    }

    /// Commits that wrote events.
    pub(crate) fn commits(&self) -> u64 {
        self.commits
    }

    /// Slots that were taken from another node, whose run was over.
    pub(crate) fn takeovers(&self) -> u64 {
        self.takeovers
    }

    /// The last event of a scope that a node wrote; 0 for none.
    pub(crate) fn last_by(&self, place: Place, scope: &ScopeKey) -> Seq {
        let wrote = self.wrote.get(&(place, *scope));
        wrote.copied().unwrap_or(Seq::ZERO)
    }

    /// The first thing that must not be.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.first.as_ref()
    }

    /// Nodes that were fenced since the last call, with who did it.
    pub(crate) fn take_fenced(&mut self) -> Vec<(String, Place)> {
        std::mem::take(&mut self.fenced)
    }

    /// A fault has crashed a node.
    pub(crate) fn crashed(&mut self, place: Place) {
        self.down.insert(self.name_of(place));
    }

    /// A node is started.
    pub(crate) fn started(&mut self, place: Place) {
        let name = self.name_of(place);
        self.down.remove(&name);
        // Whoever finds its next run silent is another watcher.
        self.left_by_watcher.remove(&name);
    }

    /// Whoever fenced a node has crashed before it could do more.
    pub(crate) fn watcher_died(&mut self, silent: &str, watcher: Place) {
        let watcher = self.name_of(watcher);
        self.left_by_watcher.insert(silent.to_owned(), watcher);
    }

    /// For how long a node has not beaten whose run goes on as far as anybody said, in µs.
    pub(crate) fn silent_us(&self, place: Place, now_us: u64) -> Option<u64> {
        let name = self.name_of(place);
        self.nodes.get(&name).filter(|row| !row.fenced)?;
        let last_us = self.beats.get(&name)?.back()?;
        Some(now_us - last_us)
    }

    pub(crate) fn name_of(&self, place: Place) -> String {
        let name = self.names.get(usize::from(place.0)).cloned();
        name.unwrap_or_default()
    }

    /// Whether a transaction is its slot's owner's: by the node's name, and by the epoch under which
    /// its events were decided, so that what an earlier run of the node left behind is not.
    pub(crate) fn is_by_owner(owner: &OwnerRow, writer: &str, writes: &Writes) -> bool {
        let mut epochs = writes.events.iter().map(|(epoch, _)| *epoch);
        owner.node == writer && epochs.all(|epoch| epoch == owner.epoch)
    }

    pub(crate) fn committed(&mut self, moment: Moment, writes: &Writes, stamp: Stamp) {
        let writer = self.name_of(moment.place);
        if self.last.is_some_and(|last| stamp <= last) {
            self.note(Invariant::Chained, format!("stamp {stamp} does not follow"));
        }
        self.last = Some(stamp);
        for (scope, seq) in &writes.positions {
            if self.quarantined.contains(scope) {
                let what = format!("{writer} wrote event {seq} of a scope behind its quarantine");
                self.note(Invariant::Fenced, what);
            }
            self.wrote.insert((moment.place, *scope), *seq);
        }
        self.sight_commit(moment, writes);
        let [published, marked] = writes.published;
        if published != marked {
            let what = format!("{published} promotions were published and {marked} marked at once");
            self.note(Invariant::Marked, what);
        }
        for slot in &writes.slots {
            self.commits += 1;
            // What a transaction that moves the slot writes is judged by the owner before it.
            let owner = self.owners.get(slot);
            if !owner.is_some_and(|owner| Self::is_by_owner(owner, &writer, writes)) {
                let epochs: Vec<u64> = writes.events.iter().map(|(epoch, _)| epoch.0).collect();
                let what = format!(
                    "{writer} committed to slot {slot} under epochs {epochs:?}, which {owner:?} owns"
                );
                self.note(Invariant::Fenced, what);
            }
        }
        for (slot, row) in &writes.owners {
            let before = self.owners.insert(*slot, row.clone());
            let node = before.as_ref();
            let node = node
                .and_then(|before| self.nodes.get(&before.node))
                .cloned();
            if let Err(violation) = owner_follows(before.as_ref(), node.as_ref(), row, &writer) {
                self.first.get_or_insert(violation);
            }
            if let Some(before) = before {
                self.sight_owner(moment, &before, node.as_ref(), row);
            }
        }
        for slot in &writes.relayed {
            let owner = self.owners.get(slot);
            if owner.is_none_or(|owner| owner.node != writer) {
                let what =
                    format!("{writer} wrote how far slot {slot} was told, which {owner:?} owns");
                self.note(Invariant::Fenced, what);
            }
        }
        for (name, row) in &writes.nodes {
            // Whoever fences in one go with the order listens to nobody: what reads miss tells of it.
            let by_order = writes.fences.contains(&(name.clone(), row.incarnation));
            self.node_changed(moment, &writer, name, row, by_order);
        }
        self.ordered.extend(writes.fences.iter().cloned());
        for order in &writes.quarantines {
            let scope = ScopeKey::of(&order.scope);
            match order.reason {
                Some(_) => self.quarantined.insert(scope),
                None => self.quarantined.remove(&scope),
            };
        }
        for name in &writes.forgotten {
            self.nodes.remove(name);
        }
    }

    fn node_changed(
        &mut self,
        moment: Moment,
        writer: &str,
        name: &str,
        row: &NodeRow,
        by_order: bool,
    ) {
        let before = self.nodes.insert(name.to_owned(), row.clone());
        self.judge_run(name, row, before.as_ref());
        self.judge_order(name, row, before.as_ref());
        let newly_fenced = row.fenced && before.as_ref().is_some_and(|before| !before.fenced);
        if !row.fenced && name == writer {
            let silent_us = self.saw_beat(name, moment.now_us);
            if let Some(before) = &before {
                self.sight_node(row, before, silent_us);
            }
        }
        if newly_fenced && !by_order && name != writer {
            self.judge_fence(name, writer);
            self.sight_fence(moment);
            self.fenced.push((name.to_owned(), moment.place));
        }
    }

    /// Notes a beat: how long it was since the one before, in µs.
    fn saw_beat(&mut self, name: &str, now_us: u64) -> u64 {
        let beats = self.beats.entry(name.to_owned()).or_default();
        let silent_us = beats.back().map_or(0, |last_us| now_us - last_us);
        beats.push_back(now_us);
        if beats.len() > BEATS_KEPT {
            beats.pop_front();
        }
        silent_us
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

    /// A run beats no more once an operator has ordered its end, and ends.
    fn judge_order(&mut self, name: &str, row: &NodeRow, before: Option<&NodeRow>) {
        let is_ordered = |run| self.ordered.contains(&(name.to_owned(), run));
        if !row.fenced && is_ordered(row.incarnation) {
            let what = format!("{name} beats in run {} that is to end", row.incarnation.0);
            return self.note(Invariant::Fenced, what);
        }
        let Some(before) = before.filter(|before| is_ordered(before.incarnation)) else {
            return;
        };
        if before.fenced {
            return;
        }
        self.effects.saw(if row.fenced {
            "run that an operator ended found silent"
        } else {
            "run that an operator ended found out"
        });
    }

    /// A run that was fenced beats no more. A new run has a number that no earlier run of the node had: what is still on its way from an
    /// earlier one must not pass for its own.
    fn judge_run(&mut self, name: &str, row: &NodeRow, before: Option<&NodeRow>) {
        let number = row.incarnation.0;
        if let Some(before) = before.filter(|before| before.incarnation == row.incarnation) {
            if before.fenced && !row.fenced {
                let what = format!("{name} beats in run {number}, which was fenced");
                self.note(Invariant::Fenced, what);
            }
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

impl Shared {
    fn moment(&self, place: Place) -> Moment {
        Moment {
            now_us: self.now_us,
            place,
            clock: self.clocks.get(&place).copied().unwrap_or_default(),
        }
    }

    /// A transaction of a place has committed.
    pub(crate) fn committed(&mut self, place: Place, writes: &Writes, stamp: Stamp) {
        // The stamp of what only read is that of what it saw.
        if writes.told().is_empty() {
            return;
        }
        let moment = self.moment(place);
        self.monitor.committed(moment, writes, stamp);
    }

    /// A transaction of a place has met another writer.
    pub(crate) fn conflicted(&mut self, place: Place, writes: &Writes, is_slow: bool) {
        let moment = self.moment(place);
        self.monitor.sight_conflict(moment, writes, is_slow);
    }
}

#[cfg(test)]
mod tests;
