//! What one transaction does, as the trace and the monitor want to know it.
//!
//! Owns the bytes that tell one transaction from another, and the rows that decide ownership. It must
//! not know what follows from them.

use std::fmt;

use bytes::Bytes;
use sillok_core::command::CommandRecord;
use sillok_core::event::EventKind;
use sillok_core::id::{Epoch, Incarnation, Seq};
use sillok_core::membership::{NodeRow, OwnerRow};
use sillok_core::quarantine::QuarantineOrder;
use sillok_core::schedule::Runs;
use sillok_core::slot::Slot;
use sillok_core::staging::Content;
use sillok_core::time::Timestamp;
use sillok_store::KeyRange;
use sillok_store::keys::{self, Family, ScopeKey};

/// What one transaction writes.
#[derive(Default)]
pub(crate) struct Writes {
    /// Owners' rows.
    pub(crate) owners: Vec<(Slot, OwnerRow)>,
    /// Nodes' rows.
    pub(crate) nodes: Vec<(String, NodeRow)>,
    /// Nodes whose rows are removed.
    pub(crate) forgotten: Vec<String>,
    /// Runs whose end an operator orders.
    pub(crate) fences: Vec<(String, Incarnation)>,
    /// Operators' orders about what may be written.
    pub(crate) quarantines: Vec<QuarantineOrder>,
    /// Slots of which it is written down how far a stream was told.
    pub(crate) relayed: Vec<Slot>,
    /// What it writes down of runs of maintenance.
    pub(crate) runs: Vec<Runs>,
    /// Slots whose outboxes are told of events.
    pub(crate) slots: Vec<Slot>,
    /// The epoch and the time of each event.
    pub(crate) events: Vec<(Epoch, Timestamp)>,
    /// Where each event stands.
    pub(crate) positions: Vec<(ScopeKey, Seq)>,
    commands: Vec<(Bytes, Bytes)>,
    /// Originals that lie in chunks.
    pub(crate) originals: usize,
    /// Promotions that are published, and marks of what promotions published.
    pub(crate) published: [usize; 2],
    /// All operations, byte for byte.
    told: Vec<u8>,
    /// The line of the trace that tells of all operations.
    pub(crate) departed: u64,
    /// Whether what is written means nothing: no node writes it.
    is_foreign: bool,
}

impl Writes {
    /// Those of a node, or of somebody else.
    pub(crate) fn by(is_foreign: bool) -> Self {
        Self {
            is_foreign,
            ..Self::default()
        }
    }

    pub(crate) fn set(&mut self, key: &Bytes, value: &Bytes) {
        self.tell(b's', &[key, value]);
        match Family::of(key).filter(|_| !self.is_foreign) {
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
            Some(Family::Fence) => {
                let order = keys::fence::parse(key).expect("the node wrote it");
                self.fences.push((order.node, order.run));
            }
            Some(Family::Quarantine) => {
                let order = keys::quarantine::decode(key, value).expect("the node wrote it");
                self.quarantines.push(order);
            }
            Some(Family::Relay) => {
                let cursor = keys::relay::parse(key).expect("the node wrote it");
                if !cursor.is_read() {
                    self.relayed.push(cursor.slot);
                }
            }
            Some(Family::Event) => {
                let event = keys::event::decode(key, value).expect("the node wrote it");
                if event.sealed.is_none() {
                    // It stood there before, and its content is erased.
                    return;
                }
                let header = event.decode_header().expect("the node sealed it");
                let at = keys::event::parse(key).expect("the node wrote it");
                self.positions.push((at.scope, at.seq));
                self.events.push((header.epoch, header.time));
                self.published[0] += usize::from(header.kind == EventKind::Published);
            }
            Some(Family::Run) => {
                let runs = keys::run::decode(key, value).expect("the node wrote it");
                self.runs.push(runs);
            }
            Some(Family::Evidence) => {
                let evidence = keys::evidence::decode(key, value).expect("the node wrote it");
                let lies_in_chunks = matches!(evidence.content, Content::Chunked { .. });
                self.originals += usize::from(lies_in_chunks);
            }
            Some(Family::Mark) => self.published[1] += 1,
            Some(Family::Command) => self.commands.push((key.clone(), value.clone())),
            _ => {}
        }
    }

    pub(crate) fn cleared(&mut self, key: &[u8]) {
        self.tell(b'c', &[key]);
        if Family::of(key) == Some(Family::Node) && !self.is_foreign {
            let node = keys::node::parse(key).expect("the node wrote it").node;
            self.forgotten.push(node);
        }
    }

    pub(crate) fn cleared_range(&mut self, range: &KeyRange) {
        self.tell(b'r', &[&range.begin, &range.end]);
    }

    pub(crate) fn added(&mut self, key: &[u8], delta: i64) {
        self.tell(b'a', &[key, &delta.to_le_bytes()]);
    }

    pub(crate) fn stamped(&mut self, prefix: &[u8], value: &[u8]) {
        self.tell(b't', &[prefix, value]);
        if let Some(slot) = keys::outbox::slot_of_prefix(prefix)
            && !self.is_foreign
        {
            self.slots.push(slot);
        }
    }

    pub(crate) fn conflicts_on(&mut self, range: &KeyRange) {
        self.tell(b'x', &[&range.begin, &range.end]);
    }

    fn tell(&mut self, operation: u8, parts: &[&[u8]]) {
        self.told.push(operation);
        for part in parts {
            self.told
                .extend_from_slice(&(part.len() as u64).to_le_bytes());
            self.told.extend_from_slice(part);
        }
    }

    /// All operations so far: two transactions that say the same are the same.
    pub(crate) fn told(&self) -> &[u8] {
        &self.told
    }

    /// Commands that this transaction bars, without carrying any out.
    pub(crate) fn barred(&self) -> usize {
        if !self.slots.is_empty() {
            return 0;
        }
        let is_barred = |(key, value): &&(Bytes, Bytes)| {
            let record = keys::command::decode(key, value).expect("the node wrote it");
            matches!(record, CommandRecord::Aborted { .. })
        };
        self.commands.iter().filter(is_barred).count()
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
        for (name, run) in &self.fences {
            write!(f, "run {} of {name} is to end; ", run.0)?;
        }
        for order in &self.quarantines {
            write!(f, "quarantine of {}: {:?}; ", order.scope, order.reason)?;
        }
        for (name, row) in &self.nodes {
            let fenced = if row.fenced { "fenced" } else { "beats" };
            write!(f, "{name} {fenced}; ")?;
        }
        Ok(())
    }
}
