//! What was published in a slot, shown ahead of the indexer.
//!
//! Owns that whoever takes a slot need not wait for the index's disk. What the indexer has not stored of the slot is read
//! beside it and offered to the index, which shows it from its memory; the indexer stores it later, as it would have.

use std::collections::BTreeMap;

use sillok_core::Error;
use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::Store;

use super::SLOT_ROWS;
use super::parts::current;
use crate::commit::Shared;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};
use crate::relay::rows_in;

/// Changed entries of a slot that are shown ahead: each takes two reads, and stays in memory until it is stored.
pub(super) const ENTRIES_MAX: usize = 64;

/// Has the index show all that was published in a slot by now. Whether it does: a slot that the indexer has not read
/// yet, is far behind with, or cannot read is left to it.
pub(crate) async fn shows<S: Store, P: Protocol>(shared: &Shared<S, P>, slot: Slot) -> bool {
    let shown = offer(shared, slot).await;
    shown.unwrap_or_else(|error| {
        tracing::debug!(%error, %slot, "what was published in a slot is left to the indexer");
        false
    })
}

async fn offer<S: Store, P: Protocol>(shared: &Shared<S, P>, slot: Slot) -> Result<bool, Error> {
    let read_through = shared.index_requests.cursors.lock().get(&slot).copied();
    let Some(after) = read_through else {
        return Ok(false);
    };
    let txn = shared.store.begin().await;
    let mut txn = txn.map_err(|error| refusal(&error))?;
    let rows = rows_in(&mut txn, slot, after, SLOT_ROWS).await?;
    if rows.len() == SLOT_ROWS {
        return Ok(false);
    }
    // The last row of each entry counts.
    let mut changed: BTreeMap<(Scope, EntryId), Stamp> = BTreeMap::new();
    for (stamp, row) in rows {
        let entries = row.entries.into_iter();
        changed.extend(entries.map(|entry| ((row.scope.clone(), entry), stamp)));
    }
    if changed.len() > ENTRIES_MAX {
        return Ok(false);
    }
    let mut docs = Vec::with_capacity(changed.len());
    for ((scope, entry), stamp) in changed {
        docs.extend(current(&mut txn, &scope, entry, stamp).await?);
    }
    if !docs.is_empty() {
        if shared.protocol.keeps(Safeguard::ShowsWhatItHolds) {
            shared.ports.index.offer(docs);
        }
        count(&shared.counters.slots_shown_ahead, 1);
    }
    Ok(true)
}
