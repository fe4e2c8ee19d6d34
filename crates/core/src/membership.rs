//! Membership: which runs of nodes count as living, who watches whom, and where a slot belongs.
//!
//! Owns the rules of fencing, claiming and placement. Pure: beats, silence and rows are arguments.
//! It must not know how a row is read or a beat is kept. No write rests on what is decided here: a commit
//! conflicts with every change of its slot's owner, whatever a clock said. That an answer from memory is
//! fresh does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};
use crate::id::{Epoch, Incarnation};
use crate::principal::Actor;
use crate::slot::Slot;
use crate::time::Timestamp;

pub mod health;
pub mod reach;
pub mod version;

pub use version::WireVersion;

/// What a node says of itself, and what others say of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its current run.
    pub incarnation: Incarnation,
    /// Number of its last beat.
    pub beat: u64,
    /// Whether another node declared this run dead.
    pub fenced: bool,
    /// Whether it reaches the bus, so that others can hand commands over to it.
    pub reaches_bus: bool,
    /// Whether it has taken slots that it does not serve yet: the index lacks what others published there.
    pub is_behind: bool,
    /// The newest version of what nodes tell one another that it reads.
    pub reads: WireVersion,
}

/// Who owns a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRow {
    /// Name of the node.
    pub node: String,
    /// The run of the node that took the slot.
    pub incarnation: Incarnation,
    /// Raised by every change of owner.
    pub epoch: Epoch,
}

/// An operator's order that a run of a node ends. No beat of the run commits once it is given: the node
/// finds out and begins another run, or the others find it silent. It is kept for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceOrder {
    /// Who gave it.
    pub by: Actor,
    /// When, on the wall clock of the node that was asked.
    pub at: Timestamp,
}

/// All nodes that ever registered, by name.
pub type Nodes = BTreeMap<String, NodeRow>;

/// The names of the nodes that are not fenced, in order.
pub fn living(nodes: &Nodes) -> impl DoubleEndedIterator<Item = &str> + Clone {
    nodes
        .iter()
        .filter(|(_, row)| !row.fenced)
        .map(|(name, _)| name.as_str())
}

/// Whether `owner` is a run that counts as living: the node's current one, and not fenced.
#[must_use]
pub fn is_owner_living(owner: &OwnerRow, node: Option<&NodeRow>) -> bool {
    node.is_some_and(|row| row.incarnation == owner.incarnation && !row.fenced)
}

/// Checks that an operator may order the end of a run. It is named by its number, so that an order that
/// comes late or twice does not end the run after it.
///
/// # Errors
/// `not_found` where no such node ever registered, `invalid_state` where that run is not the node's
/// current one, or is over.
pub fn check_fence_order(node: &str, run: Incarnation, row: Option<&NodeRow>) -> Result<(), Error> {
    let Some(row) = row else {
        let why = format!("no node {node} ever registered");
        return Err(Error::new(ErrorCode::NotFound, why));
    };
    if row.incarnation != run {
        let why = format!("node {node} is in run {}, not {}", row.incarnation.0, run.0);
        return Err(Error::new(ErrorCode::InvalidState, why));
    }
    if row.fenced {
        let why = format!("run {} of node {node} is over", run.0);
        return Err(Error::new(ErrorCode::InvalidState, why));
    }
    Ok(())
}

/// Whether anybody may take a slot: it has no owner, or its owner's run is over. Nobody takes a slot
/// from a living owner.
#[must_use]
pub fn is_claimable(owner: Option<&OwnerRow>, node: Option<&NodeRow>) -> bool {
    owner.is_none_or(|owner| !is_owner_living(owner, node))
}

/// The node that a slot belongs on, by rendezvous hashing (Thaler and Ravishankar, 1998): the one
/// with the highest weight, where the weight is the first eight bytes of BLAKE3 of the slot's number
/// and the node's name. A node that joins or leaves moves only the slots that it gains or loses.
pub fn home<'a>(slot: Slot, nodes: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nodes
        .into_iter()
        .max_by_key(|name| (weight(slot, name), *name))
}

fn weight(slot: Slot, node: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&slot.number().to_be_bytes());
    hasher.update(node.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// How beats are kept and judged. All spans in ms, of the boot clock of whoever measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BeatConfig {
    /// From the end of one beat to the start of the next.
    pub every_ms: u64,
    /// Silence after which a watcher fences.
    pub fence_after_ms: u64,
    /// How long after the start of its last good beat a node answers reads from memory.
    pub lease_ms: u64,
    /// How many living nodes each node watches: the next ones in the ring of names.
    pub watched: usize,
}

impl Default for BeatConfig {
    fn default() -> Self {
        Self {
            every_ms: 1_000,
            fence_after_ms: 4_000,
            lease_ms: 2_000,
            watched: 3,
        }
    }
}

impl BeatConfig {
    /// Checks that a lease ends well before anybody fences its holder, and that there are beats.
    ///
    /// # Errors
    /// `invalid_argument`, naming the field.
    pub fn check(&self) -> Result<(), Error> {
        let refused = |why: &str| Err(Error::new(ErrorCode::InvalidArgument, why));
        if self.every_ms == 0 || self.watched == 0 {
            return refused("configuration beat.every_ms and beat.watched are at least 1");
        }
        if self.every_ms >= self.lease_ms {
            return refused("configuration beat.lease_ms is longer than beat.every_ms");
        }
        // The last beat that a watcher sees may have been made while the watcher's own was under way.
        let earliest_ms = self.fence_after_ms.saturating_sub(self.every_ms);
        if self.lease_ms.saturating_mul(3) > earliest_ms.saturating_mul(2) {
            let why = "configuration beat.fence_after_ms is at least beat.every_ms and one and a half \
                       times beat.lease_ms";
            return refused(why);
        }
        Ok(())
    }
}

/// A run that a watcher holds for dead, as it last saw it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Suspect {
    /// Name of the node.
    pub node: String,
    /// The run.
    pub incarnation: Incarnation,
    /// Its last beat. Whoever fences conflicts with the next one.
    pub beat: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
    incarnation: Incarnation,
    beat: u64,
    silent_ms: u64,
}

/// Watches the neighbours of one node.
///
/// Silence counts on the watcher's own boot clock, and only between two beats of its own that
/// followed one another as they should: a watcher that could not beat, was paused or was suspended
/// has heard nobody in that time, which says nothing about the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watcher {
    seen: BTreeMap<String, Seen>,
    last_beat_ms: Option<u64>,
}

impl Watcher {
    /// After a beat of one's own that was started at `started_ms` and committed, and that saw
    /// `nodes`: whom to fence.
    pub fn after_beat(
        &mut self,
        me: &str,
        started_ms: u64,
        nodes: &Nodes,
        config: &BeatConfig,
    ) -> Vec<Suspect> {
        let passed_ms = self
            .last_beat_ms
            .and_then(|last| started_ms.checked_sub(last))
            .filter(|passed| *passed <= config.every_ms.saturating_mul(2))
            .unwrap_or(0);
        self.last_beat_ms = Some(started_ms);
        let watched = neighbours(me, nodes, config.watched);
        self.seen.retain(|name, _| watched.contains(&name.as_str()));
        let mut suspects = Vec::new();
        for name in watched {
            let row = &nodes[name];
            let fresh = Seen {
                incarnation: row.incarnation,
                beat: row.beat,
                silent_ms: 0,
            };
            // Only who was seen before can have been silent since.
            let seen = match self.seen.get_mut(name) {
                Some(seen) if (seen.incarnation, seen.beat) == (row.incarnation, row.beat) => {
                    seen.silent_ms = seen.silent_ms.saturating_add(passed_ms);
                    *seen
                }
                _ => {
                    self.seen.insert(name.to_owned(), fresh);
                    fresh
                }
            };
            if seen.silent_ms >= config.fence_after_ms {
                suspects.push(Suspect {
                    node: name.to_owned(),
                    incarnation: row.incarnation,
                    beat: row.beat,
                });
            }
        }
        suspects
    }

    /// After a beat of one's own that did not commit: the time until the next good one does not
    /// count.
    pub fn beat_failed(&mut self) {
        self.last_beat_ms = None;
    }
}

/// The next `count` living nodes behind `me` in the ring of names.
fn neighbours<'a>(me: &str, nodes: &'a Nodes, count: usize) -> Vec<&'a str> {
    let behind = living(nodes).filter(|name| *name > me);
    let before = living(nodes).filter(|name| *name < me);
    behind.chain(before).take(count).collect()
}

#[cfg(test)]
mod tests;
