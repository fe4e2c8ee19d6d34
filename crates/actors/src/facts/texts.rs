//! Which events of a scope hold the texts of some entries.
//!
//! Owns reading them: all before the transaction begins, and in it what came since.

use sillok_core::erasure::Texts;
use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use crate::long_reads::LongReads;
use crate::row_stream::RowStream;

/// What the events of a scope say of the texts of some entries. All of them are read.
pub(super) async fn texts<S: Store>(
    store: &S,
    scope: &Scope,
    entries: &[EntryId],
) -> Result<Texts, StoreError> {
    let scope = ScopeKey::of(scope);
    let mut txn = LongReads::of(store).begin().await?;
    let mut texts = Texts::default();
    read_on(&mut txn, &scope, entries, &mut texts).await?;
    Ok(texts)
}

/// Reads the events that came since.
pub(super) async fn read_on(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    entries: &[EntryId],
    texts: &mut Texts,
) -> Result<(), StoreError> {
    let mut rows = RowStream::new(keys::event::range_after(scope, texts.through));
    while let Some((key, value)) = rows.next(txn).await? {
        let event = keys::event::decode(&key, &value)?;
        let read = texts.read(&event, entries);
        read.map_err(|broken| StoreError::Corrupt {
            family: keys::Family::Event.as_str(),
            key: hex::encode(&key),
            reason: broken.to_string(),
        })?;
    }
    Ok(())
}
