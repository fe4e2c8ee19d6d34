//! The indexer: from the outbox to the durable part of the index, off the write path.
//!
//! Owns the passes and their cursor. A commit is visible in the index's memory before it is
//! acknowledged; here it is stored, in batches, together with the cursor, so that a crash between
//! two passes repeats work and loses none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sillok_core::entry::Head;
use sillok_core::id::EntryId;
use sillok_core::ports::PortError;
use sillok_core::scope::Scope;
use sillok_core::slot::{SLOTS, Slot};
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Read, Store, Txn};
use tokio::sync::watch;

use crate::commit::Shared;
use crate::documents;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::relay::rows_in;

/// Outbox rows of one slot that one pass reads.
const SLOT_ROWS: usize = 512;

/// How far a slot was read: everything up to the stamp is stored or on its way.
type Cursors = BTreeMap<Slot, Stamp>;

/// Follows the outbox from where the index left off.
pub(crate) struct Indexer<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    /// The watermark that the index had at the start.
    floor: Stamp,
    cursors: Cursors,
    stored_since_optimised: u64,
}

impl<S: Store, P: Protocol> Indexer<S, P> {
    /// Reads the index's watermark, and brings the index up to the store before anybody searches.
    ///
    /// # Errors
    /// What the index or the store answered.
    pub(crate) async fn start(shared: Arc<Shared<S, P>>) -> Result<Self, Error> {
        let watermark = shared
            .ports
            .index
            .watermark()
            .await
            .map_err(|error| unavailable(&error))?;
        let floor = watermark.unwrap_or(Stamp::ZERO);
        let mut indexer = Self {
            shared,
            floor,
            cursors: Cursors::new(),
            stored_since_optimised: 0,
        };
        for slot in (0..SLOTS).filter_map(Slot::new) {
            indexer.shared.index_feed.mark(slot);
        }
        while indexer.pass().await? {}
        Ok(indexer)
    }

    /// Follows the outbox until the node ends, and then stores what is left.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let config = self.shared.config.indexer;
        let clock = Arc::clone(&self.shared.ports.clock);
        while !*stop.borrow() {
            tokio::select! {
                biased;
                _ = stop.changed() => {}
                () = self.shared.index_feed.changed() => clock.sleep(config.gather_ms).await,
            }
            if let Err(error) = self.drain().await {
                tracing::warn!(%error, "the index did not take a batch; it is handed over again");
                clock.sleep(config.retry_after_ms).await;
                self.shared.index_feed.wake();
            }
            if self.stored_since_optimised >= config.optimise_after_entries {
                self.optimise().await;
            }
        }
    }

    /// Stores everything that is committed now.
    ///
    /// # Errors
    /// What the index or the store answered; nothing is skipped by it.
    pub(crate) async fn drain(&mut self) -> Result<(), Error> {
        while self.pass().await? {}
        Ok(())
    }

    async fn optimise(&mut self) {
        match self.shared.ports.index.optimise().await {
            Ok(()) => self.stored_since_optimised = 0,
            Err(error) => {
                tracing::warn!(%error, "the index was not optimised; it is tried again later")
            }
        }
    }

    /// Reads what is new, stores it, and moves the cursors. Whether more waits.
    async fn pass(&mut self) -> Result<bool, Error> {
        let taken = self.shared.index_feed.take();
        let result = self.read_and_store(&taken).await;
        if !matches!(result, Ok(false)) {
            // What was taken but not read to its end is to be read again.
            taken
                .iter()
                .for_each(|slot| self.shared.index_feed.mark(*slot));
        }
        result
    }

    async fn read_and_store(&mut self, taken: &BTreeSet<Slot>) -> Result<bool, Error> {
        let mut txn = self
            .shared
            .store
            .begin()
            .await
            .map_err(|error| refusal(&error))?;
        let slots: BTreeSet<Slot> = taken
            .union(&self.shared.index_feed.peek())
            .copied()
            .collect();
        let mut rows: Vec<(Stamp, Slot, OutboxRow)> = Vec::new();
        // Beyond the first row that was left unread nothing may be passed over.
        let mut readable_through: Option<Stamp> = None;
        for slot in slots {
            let after = self.cursors.get(&slot).copied().unwrap_or(self.floor);
            let found = rows_in(&mut txn, slot, after, SLOT_ROWS).await?;
            if found.len() == SLOT_ROWS {
                let end = found.last().map(|(stamp, _)| *stamp);
                readable_through = match (readable_through, end) {
                    (Some(known), Some(end)) => Some(known.min(end)),
                    (known, end) => known.or(end),
                };
            }
            rows.extend(found.into_iter().map(|(stamp, row)| (stamp, slot, row)));
        }
        rows.sort_by_key(|(stamp, ..)| *stamp);
        let more = readable_through.is_some();
        if let Some(through) = readable_through {
            rows.retain(|(stamp, ..)| *stamp <= through);
        }
        let Some(through) = rows.last().map(|(stamp, ..)| *stamp) else {
            return Ok(more);
        };
        let mut changed: BTreeMap<(Scope, EntryId), Stamp> = BTreeMap::new();
        for (stamp, _, row) in &rows {
            for entry in &row.entries {
                changed.insert((row.scope.clone(), *entry), *stamp);
            }
        }
        if !changed.is_empty() {
            self.store(&mut txn, changed, through).await?;
        }
        for (stamp, slot, _) in rows {
            self.cursors.insert(slot, stamp);
        }
        Ok(more)
    }

    async fn store(
        &mut self,
        txn: &mut S::Txn,
        changed: BTreeMap<(Scope, EntryId), Stamp>,
        through: Stamp,
    ) -> Result<(), Error> {
        let mut docs = Vec::with_capacity(changed.len());
        for ((scope, entry), stamp) in changed {
            let key = keys::head::key(&ScopeKey::of(&scope), entry);
            let head = txn
                .get(&key, Read::Snapshot)
                .await
                .map_err(|error| refusal(&error))?;
            let head: Option<Head> = head
                .map(|value| keys::head::decode(&key, &value))
                .transpose()
                .map_err(|e| refusal(&e))?;
            if let Some(head) = head {
                docs.extend(documents::load(txn, &head, stamp).await?);
            }
        }
        let count_docs = docs.len() as u64;
        // The cursor goes with the last part: a crash in between repeats the parts before it.
        let batch = self.shared.config.indexer.batch_entries;
        while docs.len() > batch {
            let rest = docs.split_off(batch);
            let cursor = self.stored_through();
            self.apply(std::mem::replace(&mut docs, rest), cursor)
                .await?;
        }
        self.apply(docs, through).await?;
        count(&self.shared.counters.indexed, count_docs);
        self.stored_since_optimised += count_docs;
        Ok(())
    }

    async fn apply(
        &self,
        docs: Vec<sillok_core::ports::IndexDoc>,
        through: Stamp,
    ) -> Result<(), Error> {
        self.shared
            .ports
            .index
            .apply(docs, through)
            .await
            .map_err(|error| unavailable(&error))
    }

    /// The cursor that the index holds.
    fn stored_through(&self) -> Stamp {
        self.cursors.values().copied().max().unwrap_or(self.floor)
    }
}

fn unavailable(error: &PortError) -> Error {
    Error::new(ErrorCode::Unavailable, error.to_string())
}
