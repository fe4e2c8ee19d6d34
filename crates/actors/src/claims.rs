//! Claims: the rows by which nodes register, beat, fence, take slots and hand them over.
//!
//! Owns these transactions, each of which is safe by what it reads in conflict. When one of them is
//! due is [`crate::cluster`]'s; who may take what is core's.

use std::collections::BTreeMap;
use std::future::Future;

use bytes::Bytes;
use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::reach::homes;
use sillok_core::membership::{NodeRow, Nodes, OwnerRow, Suspect, is_claimable};
use sillok_core::slot::{SLOTS, Slot};
use sillok_store::keys::{self, Family};
use sillok_store::{Error as StoreError, RangeOptions, Read, Store, Txn};

use crate::ownership::Ownership;
use crate::protocol::{Protocol, Safeguard};

mod fence_order;
pub(crate) mod lease;
mod orders;
mod quarantine;
mod registration;

pub(crate) use fence_order::{fence_order, order_fence};
pub use orders::Orders;
pub(crate) use orders::orders;
pub(crate) use quarantine::{all_quarantines, order_quarantine, quarantines};
use registration::NODES_READ_MAX;
pub(crate) use registration::{NODES_MAX, register};

/// Tries at a transaction that meets another writer.
const TRIES_MAX: usize = 8;

/// What became of an attempt to take slots.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// These are held now, under these epochs. Slots of living owners are not among them.
    Taken {
        slots: Vec<(Slot, Epoch)>,
        /// How many of them this claim took from another run, which is over.
        takeovers: u64,
    },
    /// This run of the node is over: it was fenced, or the node was started anew.
    RunOver,
}

/// What became of a beat.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// It committed, and saw these nodes.
    Committed(Nodes),
    /// Another node fenced this run, or an operator has ordered its end.
    Fenced,
    /// Another process runs under this node's name.
    Replaced,
}

/// A slot on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) slot: Slot,
    /// The epoch under which it is held.
    pub(crate) epoch: Epoch,
    /// The node that it goes to.
    pub(crate) to: String,
}

/// What became of an attempt to hand a slot over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// It belongs to the other node now.
    Done,
    /// It is not, or no longer, this run's.
    NotHeld,
    /// The other node is not living, or serves nobody: the slot stays.
    NoReceiver,
}

/// Who owns which slot, as of one moment.
pub(crate) struct Owners {
    pub(crate) nodes: Nodes,
    pub(crate) slots: BTreeMap<Slot, OwnerRow>,
}

/// Runs a transaction anew while it meets other writers.
///
/// # Errors
/// What the last try ended with.
pub(crate) async fn retried<T, F: Future<Output = Result<T, StoreError>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T, StoreError> {
    for _ in 1..TRIES_MAX {
        match attempt().await {
            Err(error) if error.is_retryable() => {}
            result => return result,
        }
    }
    attempt().await
}

/// What a node says of itself with a beat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saying {
    /// Whether it reaches the bus.
    pub(crate) reaches_bus: bool,
    /// Whether it has taken slots that it does not serve yet.
    pub(crate) is_behind: bool,
}

/// Says that this run lives, and how it is, and sees who else does.
///
/// # Errors
/// What the store answered. The beat then counts as missed, whatever became of it.
pub(crate) async fn beat<S: Store, P: Protocol>(
    store: &S,
    ownership: &Ownership,
    says: Saying,
    protocol: P,
) -> Result<Beat, StoreError> {
    let mut txn = store.begin().await?;
    let me = ownership.node();
    let row = node_row(&mut txn, me, Read::Conflict).await?;
    let Some(row) = row.filter(|row| row.incarnation == ownership.incarnation()) else {
        return Ok(Beat::Replaced);
    };
    // In conflict: no beat commits behind the order.
    let is_ordered = fence_order(&mut txn, me, row.incarnation).await?.is_some();
    if is_ordered || (row.fenced && protocol.keeps(Safeguard::BeatsOnlyUnfenced)) {
        return Ok(Beat::Fenced);
    }
    let nodes = all_nodes(&mut txn).await?;
    let next = NodeRow {
        beat: row.beat + 1,
        reaches_bus: says.reaches_bus,
        is_behind: says.is_behind,
        fenced: false,
        ..row
    };
    txn.set(keys::node::key(me), keys::node::encode(&next));
    txn.commit().await?;
    Ok(Beat::Committed(nodes))
}

/// Declares a silent run dead, unless it has beaten since. Whether it did so.
///
/// # Errors
/// What the store answered.
pub(crate) async fn fence<S: Store>(store: &S, suspect: &Suspect) -> Result<bool, StoreError> {
    let mut txn = store.begin().await?;
    let row = node_row(&mut txn, &suspect.node, Read::Conflict).await?;
    let silent = row.filter(|row| {
        row.incarnation == suspect.incarnation && row.beat == suspect.beat && !row.fenced
    });
    let Some(row) = silent else { return Ok(false) };
    let fenced = NodeRow {
        fenced: true,
        ..row
    };
    txn.set(keys::node::key(&suspect.node), keys::node::encode(&fenced));
    txn.commit().await?;
    Ok(true)
}

/// Planted bug: removes the row of a fenced run, as garbage.
///
/// # Errors
/// What the store answered.
pub(crate) async fn collect<S: Store>(store: &S, node: &str) -> Result<(), StoreError> {
    let mut txn = store.begin().await?;
    txn.clear(keys::node::key(node));
    txn.commit().await.map(drop)
}

/// Says that this run is over, so that nobody has to wait until it is found silent.
///
/// # Errors
/// What the store answered.
pub(crate) async fn leave<S: Store>(store: &S, ownership: &Ownership) -> Result<(), StoreError> {
    retried(|| async {
        let mut txn = store.begin().await?;
        let row = node_row(&mut txn, ownership.node(), Read::Conflict).await?;
        let Some(row) = row.filter(|row| row.incarnation == ownership.incarnation()) else {
            return Ok(());
        };
        let over = NodeRow {
            fenced: true,
            ..row
        };
        txn.set(keys::node::key(ownership.node()), keys::node::encode(&over));
        txn.commit().await.map(drop)
    })
    .await
}

/// Takes those of `slots` that have no living owner, in one transaction. A slot that is this run's
/// already, as after a claim of unknown outcome, is among what was taken.
///
/// # Errors
/// What the store answered.
pub(crate) async fn claim<S: Store, P: Protocol>(
    store: &S,
    ownership: &Ownership,
    slots: &[Slot],
    protocol: P,
) -> Result<Claim, StoreError> {
    retried(|| async {
        let mut txn = store.begin().await?;
        let nodes = all_nodes(&mut txn).await?;
        let me = ownership.node();
        let incarnation = ownership.incarnation();
        let lives = nodes
            .get(me)
            .is_some_and(|row| row.incarnation == incarnation && !row.fenced);
        if !lives {
            return Ok(Claim::RunOver);
        }
        let mut taken = Vec::with_capacity(slots.len());
        let (mut writes, mut takeovers) = (false, 0);
        for slot in slots {
            // That a run is over is never taken back, so the nodes' rows need no conflict; the
            // slot's own row does.
            let owner = owner_row(&mut txn, *slot, Read::Conflict).await?;
            if let Some(row) = owner.as_ref().filter(|row| ownership.is_ours(row)) {
                taken.push((*slot, row.epoch));
                continue;
            }
            let node = owner.as_ref().and_then(|row| nodes.get(&row.node));
            if protocol.keeps(Safeguard::RespectsLivingOwners)
                && !is_claimable(owner.as_ref(), node)
            {
                continue;
            }
            takeovers += u64::from(owner.is_some());
            let epoch = Epoch(owner.map_or(1, |row| row.epoch.0 + 1));
            write_owner(&mut txn, *slot, me, incarnation, epoch);
            taken.push((*slot, epoch));
            writes = true;
        }
        if writes {
            txn.commit().await?;
        }
        Ok(Claim::Taken {
            slots: taken,
            takeovers,
        })
    })
    .await
}

/// Writes slots that are held under epochs over to living nodes, in one transaction. What became of each.
///
/// # Errors
/// What the store answered. After `OutcomeUnknown` the slots' rows tell.
pub(crate) async fn hand_over<S: Store>(
    store: &S,
    ownership: &Ownership,
    leaving: &[Leaving],
) -> Result<Vec<HandOver>, StoreError> {
    retried(|| async {
        let mut txn = store.begin().await?;
        // One that others are better places than serves nobody, or ends.
        let nodes = all_nodes(&mut txn).await?;
        let homes = homes(&nodes);
        let mut became = Vec::with_capacity(leaving.len());
        for Leaving { slot, epoch, to } in leaving {
            let owner = owner_row(&mut txn, *slot, Read::Conflict).await?;
            if ownership.confirmed(*slot, owner.as_ref()) != Some(*epoch) {
                became.push(HandOver::NotHeld);
                continue;
            }
            let to = to.as_str();
            let Some(receiver) = nodes.get(to).filter(|_| homes.contains(&to)) else {
                became.push(HandOver::NoReceiver);
                continue;
            };
            write_owner(
                &mut txn,
                *slot,
                to,
                receiver.incarnation,
                Epoch(epoch.0 + 1),
            );
            became.push(HandOver::Done);
        }
        if became.contains(&HandOver::Done) {
            txn.commit().await?;
        }
        Ok(became)
    })
    .await
}

/// The owner of a slot, and all nodes.
///
/// # Errors
/// What the store answered.
pub(crate) async fn owner_of<S: Store>(
    store: &S,
    slot: Slot,
) -> Result<(Option<OwnerRow>, Nodes), StoreError> {
    let mut txn = store.begin().await?;
    let owner = owner_row(&mut txn, slot, Read::Snapshot).await?;
    Ok((owner, all_nodes(&mut txn).await?))
}

/// All owners and all nodes.
///
/// # Errors
/// What the store answered.
pub(crate) async fn owners<S: Store>(store: &S) -> Result<Owners, StoreError> {
    let mut txn = store.begin().await?;
    let nodes = all_nodes(&mut txn).await?;
    let mut slots = BTreeMap::new();
    for (key, value) in owner_rows(&mut txn).await? {
        slots.insert(
            keys::owner::parse(&key)?.slot,
            keys::owner::decode(&key, &value)?,
        );
    }
    Ok(Owners { nodes, slots })
}

/// The slots that ever had an owner, in order: nothing was committed in any other.
///
/// # Errors
/// What the store answered.
pub(crate) async fn owned_slots<S: Store>(store: &S) -> Result<Vec<Slot>, StoreError> {
    let mut txn = store.begin().await?;
    let rows = owner_rows(&mut txn).await?;
    let slots = rows.iter().map(|(key, _)| keys::owner::parse(key));
    slots.map(|parsed| Ok(parsed?.slot)).collect()
}

async fn owner_rows(txn: &mut impl Txn) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
    let options = RangeOptions::first(usize::from(SLOTS), Read::Snapshot);
    txn.range(&Family::Owner.range(), options).await
}

async fn node_row(
    txn: &mut impl Txn,
    node: &str,
    read: Read,
) -> Result<Option<NodeRow>, StoreError> {
    let key = keys::node::key(node);
    let value = txn.get(&key, read).await?;
    value
        .map(|value| keys::node::decode(&key, &value))
        .transpose()
}

async fn owner_row(
    txn: &mut impl Txn,
    slot: Slot,
    read: Read,
) -> Result<Option<OwnerRow>, StoreError> {
    let key = keys::owner::key(slot);
    let value = txn.get(&key, read).await?;
    value
        .map(|value| keys::owner::decode(&key, &value))
        .transpose()
}

fn write_owner(txn: &mut impl Txn, slot: Slot, node: &str, incarnation: Incarnation, epoch: Epoch) {
    let row = OwnerRow {
        node: node.to_owned(),
        incarnation,
        epoch,
    };
    txn.set(keys::owner::key(slot), keys::owner::encode(&row));
}

async fn all_nodes(txn: &mut impl Txn) -> Result<Nodes, StoreError> {
    let options = RangeOptions::first(NODES_READ_MAX, Read::Snapshot);
    let mut nodes = Nodes::new();
    for (key, value) in txn.range(&Family::Node.range(), options).await? {
        nodes.insert(
            keys::node::parse(&key)?.node,
            keys::node::decode(&key, &value)?,
        );
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests;
