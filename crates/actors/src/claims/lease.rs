//! The rows of leases: what one run of one node does at a time, for the whole cluster.
//!
//! Owns these transactions. A lease is free like a slot is: nobody has it, or the run that does is over. Whoever was held
//! for dead does not hear that it was taken: it has to look, by the row that it took.

use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::{OwnerRow, is_owner_living};
use sillok_store::{Error as StoreError, Read, Store, Txn, keys};

use super::{node_row, retried};

/// Takes a lease for a run of node `me`, which may have it already: the row by which it is held. Inside the error: who has
/// it.
///
/// # Errors
/// What the store answered.
pub(crate) async fn take<S: Store>(
    store: &S,
    name: &str,
    me: &str,
    run: Incarnation,
) -> Result<Result<OwnerRow, OwnerRow>, StoreError> {
    retried(|| async {
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
        Ok(Ok(taken))
    })
    .await
}

/// Whether a lease is held by the very row that was taken. Read in conflict, the transaction commits only while it is.
///
/// # Errors
/// What the store answered.
pub(crate) async fn is_held(
    txn: &mut impl Txn,
    name: &str,
    taken: &OwnerRow,
    read: Read,
) -> Result<bool, StoreError> {
    let key = keys::lease::key(name);
    let value = txn.get(&key, read).await?;
    // One that cannot be read says of nobody that it is theirs.
    let row = value.and_then(|value| keys::lease::decode(&key, &value).ok());
    Ok(row.as_ref() == Some(taken))
}

/// Gives a lease back, if this run of node `me` has it.
///
/// # Errors
/// What the store answered; the lease is free once the run is over, whatever that was.
pub(crate) async fn give_back<S: Store>(
    store: &S,
    name: &str,
    me: &str,
    run: Incarnation,
) -> Result<(), StoreError> {
    retried(|| async {
        let mut txn = store.begin().await?;
        let held = row(&mut txn, name).await?;
        let own = |holder: OwnerRow| (holder.node.as_str(), holder.incarnation) == (me, run);
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
