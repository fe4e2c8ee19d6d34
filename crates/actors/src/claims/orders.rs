//! All orders that operators ever gave: fences and quarantines, those too that are over or lifted.
//!
//! Owns the reading of both families. What an order does is told where it is written.

use sillok_core::id::Incarnation;
use sillok_core::membership::FenceOrder;
use sillok_core::quarantine::QuarantineOrder;
use sillok_store::keys::{self, Family};
use sillok_store::{Error as StoreError, Store};

use crate::row_stream::RowStream;

/// All orders, each kind from the first one on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Ends of runs: the node, its run, and the order.
    pub fences: Vec<(String, Incarnation, FenceOrder)>,
    /// Quarantines; an order without a reason lifts one.
    pub quarantines: Vec<QuarantineOrder>,
}

/// Reads all orders that were ever given.
///
/// # Errors
/// What the store answered.
pub(crate) async fn orders<S: Store>(store: &S) -> Result<Orders, StoreError> {
    let mut txn = store.begin().await?;
    let mut orders = Orders::default();
    let rows = RowStream::new(Family::Fence.range())
        .collect(&mut txn)
        .await?;
    for (key, value) in &rows {
        let of = keys::fence::parse(key)?;
        let order = keys::fence::decode(key, value)?;
        orders.fences.push((of.node, of.run, order));
    }
    let rows = RowStream::new(Family::Quarantine.range())
        .collect(&mut txn)
        .await?;
    for (key, value) in &rows {
        orders
            .quarantines
            .push(keys::quarantine::decode(key, value)?);
    }
    orders.fences.sort_by_key(|(_, _, order)| order.at);
    orders.quarantines.sort_by_key(|order| order.at);
    Ok(orders)
}
