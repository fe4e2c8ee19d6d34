//! Attempts as they are kept: what outlives the node that made them.
//!
//! Owns these transactions. Only the slot's owner says that an attempt failed, under its ownership; that
//! a promotion is to be tried anew anybody may say, on any node. Each reads the row that it replaces in
//! conflict, and the job as well: nothing is kept of a promotion that has ended.

use sillok_core::id::VerificationId;
use sillok_core::membership::WireVersion;
use sillok_core::promotion::Attempts;
use sillok_core::slot::Slot;
use sillok_store::{Error as StoreError, Read, Store, Txn, keys};

use crate::commit::Shared;
use crate::protocol::Protocol;

/// Tries at a transaction that meets another writer.
const TRIES_MAX: usize = 8;

/// What became of what was to be kept.
pub(super) enum Kept {
    /// This is stored.
    Stored(Attempts),
    /// Nothing was written: the slot is another's, or a node lives that does not know such rows.
    Not,
    /// The promotion has ended.
    Ended,
}

/// Keeps what the slot's owner knows of the attempts at a promotion.
///
/// # Errors
/// What the store answered. The owner then still knows more than the store does, and says so again.
pub(super) async fn keep<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    slot: Slot,
    id: VerificationId,
    known: &Attempts,
) -> Result<Kept, StoreError> {
    if !shared.speaks(WireVersion::WITH_ATTEMPTS) {
        return Ok(Kept::Not);
    }
    for _ in 1..TRIES_MAX {
        match try_keep(shared, slot, id, known).await {
            Err(error) if error.is_retryable() => {}
            result => return result,
        }
    }
    try_keep(shared, slot, id, known).await
}

async fn try_keep<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    slot: Slot,
    id: VerificationId,
    known: &Attempts,
) -> Result<Kept, StoreError> {
    let mut txn = shared.store.begin().await?;
    let key = keys::owner::key(slot);
    let owner = txn.get(&key, Read::Conflict).await?;
    let owner = owner.map(|value| keys::owner::decode(&key, &value));
    let owner = owner.transpose()?;
    if shared.ownership.confirmed(slot, owner.as_ref()).is_none() {
        return Ok(Kept::Not);
    }
    if !is_under_way(&mut txn, slot, id).await? {
        return Ok(Kept::Ended);
    }
    let stored = stored(&mut txn, slot, id).await?;
    let next = stored.clone().unwrap_or_default().or_remembered(known);
    if stored.as_ref() != Some(&next) {
        txn.set(keys::attempt::key(slot, id), keys::attempt::encode(&next));
        txn.commit().await?;
    }
    Ok(Kept::Stored(next))
}

/// Has a halted promotion tried anew. Whether it had halted.
///
/// # Errors
/// What the store answered. After `OutcomeUnknown`, asking again does no harm.
pub(super) async fn retry<S: Store>(
    store: &S,
    slot: Slot,
    id: VerificationId,
) -> Result<bool, StoreError> {
    for _ in 1..TRIES_MAX {
        match try_retry(store, slot, id).await {
            Err(error) if error.is_retryable() => {}
            result => return result,
        }
    }
    try_retry(store, slot, id).await
}

async fn try_retry<S: Store>(
    store: &S,
    slot: Slot,
    id: VerificationId,
) -> Result<bool, StoreError> {
    let mut txn = store.begin().await?;
    if !is_under_way(&mut txn, slot, id).await? {
        return Ok(false);
    }
    let stored = stored(&mut txn, slot, id).await?;
    let Some(anew) = stored.and_then(|stored| stored.anew()) else {
        return Ok(false);
    };
    txn.set(keys::attempt::key(slot, id), keys::attempt::encode(&anew));
    txn.commit().await?;
    Ok(true)
}

async fn is_under_way(
    txn: &mut impl Txn,
    slot: Slot,
    id: VerificationId,
) -> Result<bool, StoreError> {
    let job = txn.get(&keys::job::key(slot, id), Read::Conflict).await?;
    Ok(job.is_some())
}

/// What is stored of the attempts. A row that does not decode says nothing, and is replaced.
async fn stored(
    txn: &mut impl Txn,
    slot: Slot,
    id: VerificationId,
) -> Result<Option<Attempts>, StoreError> {
    let key = keys::attempt::key(slot, id);
    let value = txn.get(&key, Read::Conflict).await?;
    Ok(value.and_then(|value| read(&key, &value)))
}

/// The attempts of a row, if it decodes.
pub(crate) fn read(key: &[u8], value: &[u8]) -> Option<Attempts> {
    match keys::attempt::decode(key, value) {
        Ok(attempts) => Some(attempts),
        Err(error) => {
            tracing::error!(%error, "how the attempts at a promotion went is not known: the row does not decode");
            None
        }
    }
}
