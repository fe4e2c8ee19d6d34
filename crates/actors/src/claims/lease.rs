//! The rows of leases: what one run of one node does at a time, for the whole cluster.
//!
//! Owns these transactions. A lease is free like a slot is: nobody has it, or the run that does is over.

use sillok_core::id::Epoch;
use sillok_core::membership::{OwnerRow, is_owner_living};
use sillok_store::{Error as StoreError, Read, Store, Txn, keys};

use super::{node_row, retried};
use crate::ownership::Ownership;

/// Takes a lease for this run, which may have it already. Inside the error: who has it.
///
/// # Errors
/// What the store answered.
pub(crate) async fn take<S: Store>(
    store: &S,
    ownership: &Ownership,
    name: &str,
) -> Result<Result<(), OwnerRow>, StoreError> {
    retried(|| async {
        let (me, run) = (ownership.node(), ownership.incarnation());
        let mut txn = store.begin().await?;
        let held = row(&mut txn, name).await?;
        if let Some(holder) = &held
            && (holder.node.as_str(), holder.incarnation) != (me, run)
        {
            let node = node_row(&mut txn, &holder.node, Read::Conflict).await?;
            if is_owner_living(holder, node.as_ref()) {
                return Ok(Err(holder.clone()));
            }
        }
        let epoch = held.map_or(0, |holder| holder.epoch.0);
        let taken = OwnerRow {
            node: me.to_owned(),
            incarnation: run,
            epoch: Epoch(epoch + 1),
        };
        txn.set(keys::lease::key(name), keys::lease::encode(&taken));
        txn.commit().await?;
        Ok(Ok(()))
    })
    .await
}

/// Gives a lease back, if this run has it.
///
/// # Errors
/// What the store answered; the lease is free once the run is over, whatever that was.
pub(crate) async fn give_back<S: Store>(
    store: &S,
    ownership: &Ownership,
    name: &str,
) -> Result<(), StoreError> {
    retried(|| async {
        let mut txn = store.begin().await?;
        let held = row(&mut txn, name).await?;
        let own = |holder: OwnerRow| {
            (holder.node.as_str(), holder.incarnation)
                == (ownership.node(), ownership.incarnation())
        };
        if held.is_some_and(own) {
            txn.clear(keys::lease::key(name));
            txn.commit().await?;
        }
        Ok(())
    })
    .await
}

async fn row(txn: &mut impl Txn, name: &str) -> Result<Option<OwnerRow>, StoreError> {
    let key = keys::lease::key(name);
    let value = txn.get(&key, Read::Conflict).await?;
    value
        .map(|value| keys::lease::decode(&key, &value))
        .transpose()
}
