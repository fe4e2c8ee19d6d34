//! An operator's order that a run of a node ends.
//!
//! Owns the row that says so, and that no beat commits behind it. What a node does that finds one is
//! [`crate::cluster`]'s.

use sillok_core::Error;
use sillok_core::id::Incarnation;
use sillok_core::membership::{FenceOrder, NodeRow, check_fence_order};
use sillok_store::{Error as StoreError, Read, Store, Txn, keys};

use super::{all_nodes, node_row, retried};
use crate::protocol::{Protocol, Safeguard};

/// Writes an operator's order that a run of a node ends: no beat of it commits any more. Whoever orders
/// what was ordered before is told of the first order.
///
/// The run is not over by that: the node may answer from memory for the rest of its lease. It is once the
/// node has found out, or the others have found it silent for longer than a lease lasts.
///
/// # Errors
/// What the store answered; inside, the refusal.
pub(crate) async fn order_fence<S: Store, P: Protocol>(
    store: &S,
    node: &str,
    run: Incarnation,
    order: &FenceOrder,
    protocol: P,
) -> Result<Result<FenceOrder, Error>, StoreError> {
    retried(|| async {
        let mut txn = store.begin().await?;
        // Whatever name somebody asks for: only that of a node is part of a key.
        let row = all_nodes(&mut txn).await?.remove(node);
        if row.is_some()
            && let Some(first) = fence_order(&mut txn, node, run).await?
        {
            return Ok(Ok(first));
        }
        if let Err(refused) = check_fence_order(node, run, row.as_ref()) {
            return Ok(Err(refused));
        }
        txn.set(keys::fence::key(node, run), keys::fence::encode(order));
        if !protocol.keeps(Safeguard::FencesBeyondLease)
            && let Some(row) = node_row(&mut txn, node, Read::Conflict).await?
        {
            // Planted bug: the run is over at once, whatever it answers under its lease.
            let over = NodeRow {
                fenced: true,
                ..row
            };
            txn.set(keys::node::key(node), keys::node::encode(&over));
        }
        txn.commit().await?;
        Ok(Ok(order.clone()))
    })
    .await
}

/// The order for a run of a node, if one was given.
pub(crate) async fn fence_order(
    txn: &mut impl Txn,
    node: &str,
    run: Incarnation,
) -> Result<Option<FenceOrder>, StoreError> {
    let key = keys::fence::key(node, run);
    let value = txn.get(&key, Read::Conflict).await?;
    value
        .map(|value| keys::fence::decode(&key, &value))
        .transpose()
}
