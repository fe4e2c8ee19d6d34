//! Parts: what the index is told with one call, of all that a pass has found changed.
//!
//! Owns how much that is, and where the state of an entry comes from.

use std::iter::Peekable;

use sillok_core::entry::Head;
use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Read, Store, Txn};

use super::Indexer;
use super::gone::Known;
use super::requests::Passed;
use crate::documents;
use crate::errors::refusal;
use crate::protocol::Protocol;

/// How many entries that are gone are stored in the room of one that is not: they have neither text nor vector, and
/// take one read where others take two, or none where a commit of this node took them out ([`super::gone`]).
const GONE_PER_ENTRY: usize = 4;

impl<S: Store, P: Protocol> Indexer<S, P> {
    /// The next states that are to be stored together, as they are now.
    ///
    /// # Errors
    /// What the store answered; on a node among others a slot of which something cannot be read is noted instead.
    pub(super) async fn part(
        &self,
        txn: &mut S::Txn,
        changed: &mut Peekable<impl Iterator<Item = ((Scope, EntryId), Stamp)>>,
        known: &mut Known,
        passed: &mut Passed,
    ) -> Result<Vec<IndexDoc>, Error> {
        let batch = self.shared.config.indexer.batch_entries;
        let mut docs = Vec::new();
        let mut weight = 0;
        while weight < batch * GONE_PER_ENTRY {
            let Some((name, stamp)) = changed.next() else {
                break;
            };
            let slot = Slot::of(&name.0);
            let found = if passed.unreadable.contains_key(&slot) {
                Vec::new()
            } else if let Some(doc) = known.left_by(stamp, &name) {
                vec![doc]
            } else {
                match current(txn, &name.0, name.1, stamp).await {
                    Err(error) if !self.shared.is_alone() && error.code == ErrorCode::Internal => {
                        passed.note_unreadable(slot, error);
                        Vec::new()
                    }
                    found => found?,
                }
            };
            let is_gone = found.iter().any(IndexDoc::is_gone);
            weight += if is_gone { 1 } else { GONE_PER_ENTRY };
            docs.extend(found);
        }
        Ok(docs)
    }
}

/// What the index is to hold of an entry, as the store has it now. The stamp is that of the row that names it, and the
/// state may be newer: so what has left comes as gone at each row that names it, and an index that has forgotten when it
/// left, after a start, is never told of it as it was before.
pub(super) async fn current(
    txn: &mut impl Txn,
    scope: &Scope,
    entry: EntryId,
    stamp: Stamp,
) -> Result<Vec<IndexDoc>, Error> {
    let key = keys::head::key(&ScopeKey::of(scope), entry);
    let head = txn.get(&key, Read::Snapshot).await;
    let Some(value) = head.map_err(|error| refusal(&error))? else {
        return Ok(Vec::new());
    };
    let head: Head = keys::head::decode(&key, &value).map_err(|error| refusal(&error))?;
    Ok(vec![documents::load(txn, &head, stamp).await?])
}
