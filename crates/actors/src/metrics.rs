//! What a node counts about itself.
//!
//! Owns the counters and the snapshot of them. How they are shown is the server's matter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sillok_core::{Error, ErrorCode};

/// Counters that any part of the node adds to.
#[derive(Debug, Default)]
pub struct Counters {
    pub(crate) batches: AtomicU64,
    pub(crate) commands: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) unknown_outcomes: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) activations: AtomicU64,
    pub(crate) passivations: AtomicU64,
    pub(crate) relayed: AtomicU64,
    pub(crate) streamed: AtomicU64,
    pub(crate) streams_lost: AtomicU64,
    pub(crate) indexed: AtomicU64,
    pub(crate) promotions: AtomicU64,
    pub(crate) promotion_failures: AtomicU64,
    pub(crate) forwarded: AtomicU64,
    pub(crate) reads_from_memory: AtomicU64,
    pub(crate) announced_slots: AtomicU64,
    pub(crate) heard_slots: AtomicU64,
    pub(crate) sweeps: AtomicU64,
    pub(crate) slots_taken: AtomicU64,
    pub(crate) slots_handed_over: AtomicU64,
    pub(crate) handover_waits: AtomicU64,
    pub(crate) turns_waited_for: AtomicU64,
    pub(crate) beats: AtomicU64,
    pub(crate) missed_beats: AtomicU64,
    pub(crate) fences: AtomicU64,
    pub(crate) fenced_runs: AtomicU64,
    pub(crate) cut_offs: AtomicU64,
    refusals: Mutex<BTreeMap<(ErrorCode, String), u64>>,
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeMetrics {
    /// Transactions that were committed.
    pub batches: u64,
    /// Commands that were applied.
    pub commands: u64,
    /// Events that were written.
    pub events: u64,
    /// Commits that met another writer.
    pub conflicts: u64,
    /// Commits whose outcome had to be found out.
    pub unknown_outcomes: u64,
    /// Commands that panicked.
    pub panics: u64,
    /// Scope actors that were started.
    pub activations: u64,
    /// Scope actors that were put away.
    pub passivations: u64,
    /// Runs of events that were told to the bus.
    pub relayed: u64,
    /// Runs of events that were told to the streams that all nodes reach.
    pub streamed: u64,
    /// Times that a stream had lost what it had acknowledged.
    pub streams_lost: u64,
    /// Entries that were stored in the index.
    pub indexed: u64,
    /// Promotions that were finished.
    pub promotions: u64,
    /// Attempts at a promotion that failed.
    pub promotion_failures: u64,
    /// Commands that were handed to the nodes that own their slots.
    pub forwarded: u64,
    /// Reads that were answered without asking the store.
    pub reads_from_memory: u64,
    /// Slots with commits of which the other nodes were told, each as often as it was.
    pub announced_slots: u64,
    /// Slots with commits of which other nodes told this one, each as often as they did.
    pub heard_slots: u64,
    /// Times that all slots of others were looked at without word of a commit.
    pub sweeps: u64,
    /// Slots that were taken.
    pub slots_taken: u64,
    /// Slots that were handed over to another node.
    pub slots_handed_over: u64,
    /// Times that a command was not taken since its slot was on its way to another node. It is tried again.
    pub handover_waits: u64,
    /// Batches that waited for others on their way to the store.
    pub turns_waited_for: u64,
    /// Beats that committed.
    pub beats: u64,
    /// Beats that did not, as far as is known.
    pub missed_beats: u64,
    /// Silent nodes that this one fenced.
    pub fences: u64,
    /// Runs of this node that others fenced.
    pub fenced_runs: u64,
    /// Times that this node did not reach the bus while others did, and gave its slots up.
    pub cut_offs: u64,
    /// Refusals by code and rule; the rule is empty where none is named.
    pub refusals: BTreeMap<(ErrorCode, String), u64>,
    /// Scope actors that are there.
    pub active_scopes: u64,
    /// Commands that wait or are under way.
    pub queued_commands: u64,
    /// Bytes of those.
    pub queued_bytes: u64,
}

pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn refused(&self, error: &Error) {
        let rule = error.rule().unwrap_or_default().to_owned();
        *self.refusals.lock().entry((error.code, rule)).or_default() += 1;
    }

    pub(crate) fn snapshot(&self) -> NodeMetrics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NodeMetrics {
            batches: read(&self.batches),
            commands: read(&self.commands),
            events: read(&self.events),
            conflicts: read(&self.conflicts),
            unknown_outcomes: read(&self.unknown_outcomes),
            panics: read(&self.panics),
            activations: read(&self.activations),
            passivations: read(&self.passivations),
            relayed: read(&self.relayed),
            streamed: read(&self.streamed),
            streams_lost: read(&self.streams_lost),
            indexed: read(&self.indexed),
            promotions: read(&self.promotions),
            promotion_failures: read(&self.promotion_failures),
            forwarded: read(&self.forwarded),
            reads_from_memory: read(&self.reads_from_memory),
            announced_slots: read(&self.announced_slots),
            heard_slots: read(&self.heard_slots),
            sweeps: read(&self.sweeps),
            slots_taken: read(&self.slots_taken),
            slots_handed_over: read(&self.slots_handed_over),
            handover_waits: read(&self.handover_waits),
            turns_waited_for: read(&self.turns_waited_for),
            beats: read(&self.beats),
            missed_beats: read(&self.missed_beats),
            fences: read(&self.fences),
            fenced_runs: read(&self.fenced_runs),
            cut_offs: read(&self.cut_offs),
            refusals: self.refusals.lock().clone(),
            ..NodeMetrics::default()
        }
    }
}
