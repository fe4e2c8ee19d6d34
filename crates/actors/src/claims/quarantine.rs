//! The rows of operators' quarantines, and the order that its slot's owner cannot miss.
//!
//! Owns these transactions. What an order covers is core's; who hears of it is [`crate::quarantines`]'s.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::id::Epoch;
use sillok_core::membership::WireVersion;
use sillok_core::membership::version::all_read;
use sillok_core::quarantine::{QuarantineOrder, Quarantines};
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, Family};
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn};

use super::{all_nodes, owner_row, retried, write_owner};
use crate::protocol::{Protocol, Safeguard};
use crate::row_stream::RowStream;

/// Writes an operator's order about what may be written to a scope. Whoever quarantines what is quarantined
/// is told of the first order. Gives the order, and whether it is new.
///
/// The slot's owner finds itself fenced by its next commit, though nobody else has the slot: it takes the
/// slot again, and hears of the order by that. What it commits before comes before the order.
///
/// # Errors
/// What the store answered; inside, the refusal.
pub(crate) async fn order_quarantine<S: Store, P: Protocol>(
    store: &S,
    order: &QuarantineOrder,
    protocol: P,
) -> Result<Result<(QuarantineOrder, bool), Error>, StoreError> {
    retried(|| async {
        let slot = Slot::of(&order.scope);
        let mut txn = store.begin().await?;
        let last = RangeOptions::last(1, Read::Conflict);
        let last = txn
            .range(&keys::quarantine::range_of_slot(slot), last)
            .await?;
        let number = match last.first() {
            Some((key, _)) => keys::quarantine::parse(key)?.number + 1,
            None => 1,
        };
        let nodes = all_nodes(&mut txn).await?;
        if !all_read(WireVersion::WITH_QUARANTINES, &nodes) {
            let why = "a node of an earlier release lives, which heeds no quarantine";
            return Ok(Err(Error::new(ErrorCode::InvalidState, why)));
        }
        let in_force = quarantines_of(&mut txn, slot).await?;
        match in_force.check_order(order) {
            Err(refused) => return Ok(Err(refused)),
            Ok(Some(first)) => return Ok(Ok((first.clone(), false))),
            Ok(None) => {}
        }
        let owner = owner_row(&mut txn, slot, Read::Conflict).await?;
        let key = keys::quarantine::key(slot, number);
        txn.set(key, keys::quarantine::encode(order));
        if let Some(owner) = owner.filter(|_| protocol.keeps(Safeguard::TellsOwnerOfQuarantine)) {
            let epoch = Epoch(owner.epoch.0 + 1);
            write_owner(&mut txn, slot, &owner.node, owner.incarnation, epoch);
        }
        txn.commit().await?;
        Ok(Ok((order.clone(), true)))
    })
    .await
}

/// What is quarantined in some slots; those without a quarantine are not among them.
///
/// # Errors
/// What the store answered.
pub(crate) async fn quarantines<S: Store>(
    store: &S,
    slots: &BTreeSet<Slot>,
) -> Result<BTreeMap<Slot, Quarantines>, StoreError> {
    let mut txn = store.begin().await?;
    // All orders in one go: there are few, and there may be thousands of slots.
    let mut rows = RowStream::new(Family::Quarantine.range());
    let mut orders: BTreeMap<Slot, Vec<QuarantineOrder>> = BTreeMap::new();
    while let Some((key, value)) = rows.next(&mut txn).await? {
        let slot = keys::quarantine::parse(&key)?.slot;
        if slots.contains(&slot) {
            let order = keys::quarantine::decode(&key, &value)?;
            orders.entry(slot).or_default().push(order);
        }
    }
    let in_force = orders
        .into_iter()
        .map(|(slot, orders)| (slot, Quarantines::after(orders)));
    Ok(in_force
        .filter(|(_, in_force)| !in_force.is_empty())
        .collect())
}

/// What is quarantined anywhere, by scope.
///
/// # Errors
/// What the store answered.
pub(crate) async fn all_quarantines<S: Store>(store: &S) -> Result<Quarantines, StoreError> {
    let mut txn = store.begin().await?;
    quarantines_in(&mut txn, Family::Quarantine.range()).await
}

async fn quarantines_of(txn: &mut impl Txn, slot: Slot) -> Result<Quarantines, StoreError> {
    quarantines_in(txn, keys::quarantine::range_of_slot(slot)).await
}

async fn quarantines_in(txn: &mut impl Txn, range: KeyRange) -> Result<Quarantines, StoreError> {
    let rows = RowStream::new(range).collect(txn).await?;
    let orders = rows
        .iter()
        .map(|(key, value)| keys::quarantine::decode(key, value));
    let orders: Vec<QuarantineOrder> = orders.collect::<Result<_, _>>()?;
    Ok(Quarantines::after(orders))
}
