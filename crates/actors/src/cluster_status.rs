//! The state of a cluster, as one of its nodes sees it: nodes, slots, epochs, and what is wrong.
//!
//! Owns how it is gathered. What counts as wrong is core's rule. It changes nothing, and is a moment late
//! by nature: what was read first may have changed since.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use sillok_core::Error;
use sillok_core::channel::Channel;
use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::health::{Reason, Sight, UNTOLD_MAX, reasons};
use sillok_core::membership::{FenceOrder, Nodes, OwnerRow, WireVersion, is_owner_living};
use sillok_core::quarantine::QuarantineOrder;
use sillok_core::slot::Slot;
use sillok_store::{Error as StoreError, RangeOptions, Read, Store, Txn, keys};

use crate::claims::{self, Owners};
use crate::commit::Shared;
use crate::errors::refusal;
use crate::protocol::Protocol;
use crate::stream_relay::cursors::kept;

/// Slots that one transaction looks at: its reads must end well before the store's limit for a
/// transaction.
const SLOTS_AT_ONCE: usize = 32;
/// Transactions that look at once.
const COUNTED_AT_ONCE: usize = 16;

/// A cluster, as one node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStatus {
    /// The node that says so.
    pub node: String,
    /// Whether it has its store to itself.
    pub is_alone: bool,
    /// The version of what it writes to the others now.
    pub spoken: WireVersion,
    /// All nodes that ever registered, by name.
    pub nodes: Vec<NodeStatus>,
    /// All slots that were ever owned, in order.
    pub slots: Vec<SlotStatus>,
    /// What is quarantined, by scope.
    pub quarantines: Vec<QuarantineOrder>,
    /// What is wrong; nothing if all is well.
    pub reasons: Vec<Reason>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its newest run.
    pub incarnation: Incarnation,
    /// Whether that run counts as living.
    pub is_living: bool,
    /// Slots that this run owns.
    pub slots: u64,
    /// The newest version of what nodes tell one another that it reads.
    pub reads: WireVersion,
    /// How long ago a new beat of it was seen, in ms. None of the node that is asked, or before two of its
    /// own beats.
    pub silent_ms: Option<u64>,
    /// The operator's order that ended, or will end, its newest run or the one before it, with the run.
    pub fence: Option<(Incarnation, FenceOrder)>,
}

/// A slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotStatus {
    /// Which.
    pub slot: Slot,
    /// The node that took it last.
    pub node: String,
    /// The run that took it.
    pub incarnation: Incarnation,
    /// Under which epoch.
    pub epoch: Epoch,
    /// Whether that run is the node's current one, and counts as living.
    pub is_owned: bool,
    /// Commits that a stream of all nodes was not told of, counted up to [`UNTOLD_MAX`]. None where
    /// there are no such streams. It is exact within two seconds of the last commit.
    pub untold: Option<u64>,
}

/// What a node sees of the cluster now.
///
/// # Errors
/// What the store answered.
pub(crate) async fn of<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
) -> Result<ClusterStatus, Error> {
    let Owners { mut nodes, slots } = claims::owners(&shared.store)
        .await
        .map_err(|error| refusal(&error))?;
    // Of itself a node knows more than its last beat said.
    if let Some(row) = nodes.get_mut(shared.ownership.node()) {
        row.is_behind = shared.members.slots_behind() > 0;
    }
    let untold = if shared.ports.streams.is_some() {
        let all: Vec<Slot> = slots.keys().copied().collect();
        let counted = count_untold(&shared.store, &all).await;
        Some(counted.map_err(|error| refusal(&error))?)
    } else {
        None
    };
    let mut fences = fences(&shared.store, &nodes)
        .await
        .map_err(|error| refusal(&error))?;
    let quarantines = claims::all_quarantines(&shared.store)
        .await
        .map_err(|error| refusal(&error))?;
    let now_ms = shared.ports.clock.monotonic_ms();
    let silent_ms = shared.members.silent_ms(now_ms);
    let none = BTreeMap::new();
    let sight = Sight {
        nodes: &nodes,
        owners: &slots,
        silent_ms: &silent_ms,
        untold: untold.as_ref().unwrap_or(&none),
    };
    let reasons = reasons(&sight, &shared.config.beat);
    let is_owned = |owner: &OwnerRow| is_owner_living(owner, nodes.get(&owner.node));
    let nodes = nodes.iter().map(|(name, row)| {
        let own = slots.values().filter(|owner| &owner.node == name);
        NodeStatus {
            name: name.clone(),
            incarnation: row.incarnation,
            is_living: !row.fenced,
            slots: own.filter(|owner| is_owned(owner)).count() as u64,
            reads: row.reads,
            silent_ms: silent_ms.get(name).copied(),
            fence: fences.remove(name),
        }
    });
    let shown = slots.iter().map(|(slot, owner)| SlotStatus {
        slot: *slot,
        node: owner.node.clone(),
        incarnation: owner.incarnation,
        epoch: owner.epoch,
        is_owned: is_owned(owner),
        untold: untold
            .as_ref()
            .map(|untold| untold.get(slot).copied().unwrap_or(0)),
    });
    Ok(ClusterStatus {
        node: shared.ownership.node().to_owned(),
        is_alone: shared.is_alone(),
        spoken: shared.spoken(),
        nodes: nodes.collect(),
        slots: shown.collect(),
        quarantines: quarantines.iter().cloned().collect(),
        reasons,
    })
}

/// The orders for the newest run of each node, or for the one before it.
async fn fences<S: Store>(
    store: &S,
    nodes: &Nodes,
) -> Result<BTreeMap<String, (Incarnation, FenceOrder)>, StoreError> {
    let mut fences = BTreeMap::new();
    let mut txn = store.begin().await?;
    for (name, row) in nodes {
        let newest = row.incarnation.0;
        for run in [newest, newest.saturating_sub(1)].map(Incarnation) {
            if let Some(order) = claims::fence_order(&mut txn, name, run).await? {
                fences.insert(name.clone(), (run, order));
                break;
            }
        }
    }
    Ok(fences)
}

/// Outbox rows of each slot behind what its relays told the streams or passed over: those of the stream
/// that is further behind.
async fn count_untold<S: Store>(
    store: &S,
    slots: &[Slot],
) -> Result<BTreeMap<Slot, u64>, StoreError> {
    // Each read waits for a store that may be a network away: not one after the other.
    let parts = slots.chunks(SLOTS_AT_ONCE);
    let counts: Vec<_> = parts.map(|some| untold_of(store, some)).collect();
    let counted = stream::iter(counts).buffered(COUNTED_AT_ONCE);
    let counted: Vec<Vec<(Slot, u64)>> = counted.try_collect().await?;
    Ok(counted.into_iter().flatten().collect())
}

async fn untold_of<S: Store>(store: &S, slots: &[Slot]) -> Result<Vec<(Slot, u64)>, StoreError> {
    let limit = usize::try_from(UNTOLD_MAX).expect("a small number");
    let mut untold = Vec::with_capacity(slots.len());
    let mut txn = store.begin().await?;
    for slot in slots {
        let mut most = 0;
        for channel in Channel::ALL {
            let told = kept(&mut txn, *slot, channel).await?.told_through();
            let behind = keys::outbox::range_after(*slot, told);
            let rows = txn.range(&behind, RangeOptions::first(limit, Read::Snapshot));
            most = most.max(rows.await?.len() as u64);
        }
        untold.push((*slot, most));
    }
    Ok(untold)
}

#[cfg(test)]
mod tests;
