//! Checkpoints: reading the ends of all chains, and holding a store against ends that were read before.
//!
//! Owns the reading. What a checkpoint says and proves is core's.

use bytes::Bytes;
use sillok_core::Error;
use sillok_core::checkpoint::ChainEnd;
use sillok_core::invariants::Invariant;
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use super::Difference;
use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::row_stream::RowStream;

/// The ends of all chains, in the order of the scopes' keys. They need not be of one moment: each chain is bound by
/// itself.
///
/// # Errors
/// What the store answers.
pub async fn chain_ends<S: Store>(store: &S) -> Result<Vec<ChainEnd>, Error> {
    read(store).await.map_err(|error| refusal(&error))
}

async fn read<S: Store>(store: &S) -> Result<Vec<ChainEnd>, StoreError> {
    let mut txn = LongReads::of(store).begin().await?;
    let mut rows = RowStream::new(Family::Scope.range());
    let mut ends = Vec::new();
    while let Some((key, value)) = rows.next(&mut txn).await? {
        let row = keys::scope::decode(&key, &value)?;
        ends.push(ChainEnd {
            scope: row.scope,
            seq: row.tip.seq,
            hash: row.tip.hash,
        });
    }
    Ok(ends)
}

/// The first of these ends that is not in its chain: something before it was changed, or it was cut off. It proves
/// what it proves together with an audit, which follows each chain from its beginning to its end.
///
/// # Errors
/// What the store answers.
pub async fn against<S: Store>(store: &S, ends: &[ChainEnd]) -> Result<Option<Difference>, Error> {
    let found = compare(store, ends).await;
    found.map_err(|error| refusal(&error))
}

async fn compare<S: Store>(store: &S, ends: &[ChainEnd]) -> Result<Option<Difference>, StoreError> {
    let mut txn = LongReads::of(store).begin().await?;
    for end in ends {
        let key = keys::event::key(&ScopeKey::of(&end.scope), end.seq);
        let value = txn.get(&key, Read::Snapshot).await?;
        if let Some(what) = differs(end, &key, value.as_ref()) {
            return Ok(Some(Difference {
                scope: Some(end.scope.clone()),
                seq: Some(end.seq),
                family: Family::Event.as_str().to_owned(),
                key: Some(hex::encode(&key)),
                what: what.to_owned(),
                invariant: Invariant::Chained,
            }));
        }
    }
    Ok(None)
}

/// What is wrong with the event that should be the end of a checkpoint's chain.
fn differs(end: &ChainEnd, key: &[u8], value: Option<&Bytes>) -> Option<&'static str> {
    let Some(value) = value else {
        return Some("the checkpoint has an event here, and the chain ends before it");
    };
    match keys::event::decode(key, value) {
        Ok(event) if event.hash() == end.hash => None,
        Ok(_) => {
            Some("the event is not the one that the checkpoint has, or follows another history")
        }
        Err(_) => Some("the event cannot be read"),
    }
}
