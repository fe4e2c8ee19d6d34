//! Chunks of large contents, which are written before the transaction that refers to them.
//!
//! Owns when they may be written, and what that transaction, begun anew, has to find as it was.

use sillok_core::command::ScopeRow;
use sillok_core::id::Seq;
use sillok_core::slot::Slot;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, Read, Store, Txn};

use super::decided::Decided;
use super::transaction::{begin, check_owner, get, tip_read};
use super::{Failure, Shared, decisions};
use crate::protocol::{Protocol, Safeguard};

/// Bytes of chunks that are written in one transaction.
const CHUNK_TXN_BYTES: usize = 2 << 20;

/// Writes the chunks of large contents, each transaction under the slot's ownership, and only while the scope is what
/// was decided from: one that commits late does not bring back what was written and erased since.
pub(super) async fn write_chunks<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    (slot, scope_key): (Slot, &ScopeKey),
    before: &ScopeRow,
    chunks: &[(Vec<u8>, Vec<u8>)],
) -> Result<(), Failure> {
    let mut rest = chunks;
    while !rest.is_empty() {
        let mut txn = begin(shared).await?;
        check_owner(shared, &mut txn, slot).await?;
        if shared.protocol.keeps(Safeguard::WritesChunksUnderTip) {
            check_unchanged(shared.protocol, &mut txn, scope_key, before).await?;
        }
        let mut bytes = 0;
        while let Some(((key, value), more)) = rest.split_first() {
            bytes += value.len();
            if bytes > CHUNK_TXN_BYTES {
                break;
            }
            txn.set(key.clone(), value.clone());
            rest = more;
        }
        // Chunks that nothing refers to yet may be written twice: an unknown outcome needs no finding out.
        match txn.commit().await {
            Ok(_) => {}
            Err(StoreError::OutcomeUnknown) => return Err(Failure::Again),
            Err(error) => return Err(Failure::of(&error)),
        }
    }
    Ok(())
}

/// After the chunks: the scope, the commands and the chunks themselves must be what was decided from.
pub(super) async fn look_again<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    scope_key: &ScopeKey,
    before: &ScopeRow,
    decided: &Decided,
) -> Result<(), Failure> {
    check_unchanged(protocol, txn, scope_key, before).await?;
    for (key, seen) in &decided.seen {
        if get(txn, key, Read::Conflict, keys::command::decode).await? != *seen {
            return Err(Failure::Again);
        }
    }
    decided.erasing.look_again(txn).await?;
    decisions::look_again(txn, decided).await?;
    for (key, _) in &decided.chunks {
        txn.conflict_on(&KeyRange::key(key));
    }
    for (source, published) in decided.published() {
        let key = keys::job::key(Slot::of(source), published);
        if lacks(txn, &key).await? {
            return Err(Failure::Again);
        }
    }
    for dropped in decided.dropped() {
        // What was read of it went with the transaction that the chunks have outlived.
        let key = keys::mark::key(scope_key, dropped);
        if !lacks(txn, &key).await? {
            return Err(Failure::Again);
        }
    }
    Ok(())
}

/// # Errors
/// `Again` when a scope is no longer what was decided from.
async fn check_unchanged<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    scope_key: &ScopeKey,
    before: &ScopeRow,
) -> Result<(), Failure> {
    let key = keys::scope::key(scope_key);
    let row = get(txn, &key, tip_read(protocol), keys::scope::decode).await?;
    let is_new = before.tip.seq == Seq::ZERO;
    match row.map_or(is_new, |row| row == *before) {
        true => Ok(()),
        false => Err(Failure::Again),
    }
}

/// Whether a row is not there, which is not to change before the commit.
async fn lacks(txn: &mut impl Txn, key: &[u8]) -> Result<bool, Failure> {
    let value = txn.get(key, Read::Conflict).await;
    Ok(value.map_err(|error| Failure::of(&error))?.is_none())
}
