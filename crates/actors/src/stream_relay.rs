//! The relay to a stream that all nodes reach: each slot's outbox, in order, by the slot's owner.
//!
//! Owns the cursor row of each slot and what follows when a stream forgets. The outbox is the truth:
//! whatever the stream lost is told again, and of what it merely let age at most the last message of
//! a slot. A relay whose slot has gone elsewhere does no harm: it can only append what is committed,
//! behind what is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use sillok_bus::stream::{Numbered, SlotEnd, StreamError};
use sillok_bus::{EventStream, Message};
use sillok_core::id::Epoch;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::relay::RelayRow;
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn, keys};

use crate::commit::Shared;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};
use crate::relay::rows_after;

/// Rows of one slot that are read at once.
const PAGE_ROWS: usize = 128;
/// The wait before a slot is told again, in ms.
const RETRY_MS: u64 = 200;
/// How often it is looked whether the stream still holds what it acknowledged, in ms.
const LOOK_EVERY_MS: u64 = 2_000;

/// Slots whose ends are asked for at once.
const ASKED_AT_ONCE: usize = 32;

/// How far a slot was told, and where the stream has that.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    epoch: Epoch,
    created: u64,
    seq: u64,
    stamp: Stamp,
}

/// A message that the stream was seen to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    seq: u64,
    stored_ns: u64,
    slot: Slot,
    stamp: Stamp,
}

impl Held {
    const fn of(numbered: &Numbered) -> Self {
        Self {
            seq: numbered.seq,
            stored_ns: numbered.stored_ns,
            slot: numbered.message.slot,
            stamp: numbered.message.stamp,
        }
    }
}

/// Why a slot was not told.
#[derive(Debug)]
enum Untold {
    /// Something about this slot: the others go on.
    Slot(Error),
    /// The stream or the store does not answer.
    All(Error),
}

impl From<StreamError> for Untold {
    fn from(error: StreamError) -> Self {
        let refusal = Error::new(ErrorCode::Unavailable, error.to_string());
        match error {
            StreamError::Unexpected => Self::Slot(refusal),
            StreamError::NoResponders | StreamError::Unavailable(_) => Self::All(refusal),
        }
    }
}

impl From<Error> for Untold {
    fn from(error: Error) -> Self {
        match error.code {
            ErrorCode::Internal => Self::Slot(error),
            _ => Self::All(error),
        }
    }
}

impl From<StoreError> for Untold {
    fn from(error: StoreError) -> Self {
        refusal(&error).into()
    }
}

struct Relay<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    stream: Arc<dyn EventStream>,
    cursors: BTreeMap<Slot, Cursor>,
    /// What was acknowledged, or found in the stream, since it was last looked.
    unseen: BTreeMap<Slot, Stamp>,
    /// The newest message that was seen. A suffix that the stream loses holds it, or nothing of what
    /// was seen before it.
    newest: Option<Held>,
}

/// Tells the stream of every commit in the slots that this node owns, until the node ends.
pub(crate) async fn run<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    stream: Arc<dyn EventStream>,
) {
    let mut relay = Relay {
        shared: Arc::clone(&shared),
        stream,
        cursors: BTreeMap::new(),
        unseen: BTreeMap::new(),
        newest: None,
    };
    // Whatever an earlier start of this task knew is lost, should it have met a defect.
    for slot in shared.ownership.held() {
        shared.stream_feed.mark(slot);
    }
    let clock = Arc::clone(&shared.ports.clock);
    let mut looked_ms = clock.monotonic_ms();
    loop {
        tokio::select! {
            biased;
            () = shared.stream_feed.changed() => {}
            () = clock.sleep(LOOK_EVERY_MS) => {}
        }
        if clock.monotonic_ms() >= looked_ms + LOOK_EVERY_MS {
            looked_ms = clock.monotonic_ms();
            relay.look().await;
        }
        if !relay.tell_all().await {
            clock.sleep(RETRY_MS).await;
        }
    }
}

impl<S: Store, P: Protocol> Relay<S, P> {
    /// Looks whether the stream still holds what it acknowledged. What it lost is told again.
    ///
    /// Whatever was acknowledged since the last look is looked for slot by slot, and of all that was
    /// seen before, only the newest message: a suffix was lost with it, or is newer.
    async fn look(&mut self) {
        let before = self.newest;
        let seen = self.look_at_ends().await;
        // Asked for last: what was lost while the ends were asked for was lost with it.
        let Some(newest) = before else { return };
        match self.stream.page(newest.seq, 1).await {
            Ok(page) if page.messages.iter().any(|held| Held::of(held) == newest) => {}
            Ok(page) => {
                self.newest = None;
                self.forgot(page.stream.first > newest.seq);
            }
            Err(_) => {
                self.newest = before;
                for (slot, told) in seen {
                    self.unseen.entry(slot).or_insert(told);
                }
            }
        }
    }

    /// Looks for what was acknowledged since the last look, slot by slot. What is there.
    async fn look_at_ends(&mut self) -> Vec<(Slot, Stamp)> {
        let mut found = Vec::new();
        let unseen = std::mem::take(&mut self.unseen);
        let stream = &self.stream;
        let asked = unseen
            .into_iter()
            .map(|(slot, told)| async move { (slot, told, stream.end_of(slot).await) });
        let ends: Vec<_> = stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await;
        for (slot, told, end) in ends {
            match end.map(|end| end.last) {
                Ok(Some(last)) if last.message.stamp >= told => {
                    found.push((slot, told));
                    let seen = Held::of(&last);
                    let is_newer = self.newest.is_none_or(|newest| newest.seq < seen.seq);
                    // A later stamp was told by the next owner, perhaps after a loss.
                    if is_newer && seen.stamp == told {
                        self.newest = Some(seen);
                    }
                }
                Ok(_) if self.shared.ownership.epoch(slot).is_some() => self.lost(slot),
                Ok(_) => {}
                Err(_) => {
                    self.unseen.entry(slot).or_insert(told);
                }
            }
        }
        found
    }

    /// The newest message that was seen is not there any more: every slot is looked at. It has aged,
    /// or was lost and others have aged since; nobody can tell.
    fn forgot(&mut self, may_have_aged: bool) {
        if !may_have_aged {
            tracing::warn!("the stream lost what it had acknowledged; it is told again");
            count(&self.shared.counters.streams_lost, 1);
        }
        self.cursors.clear();
        for slot in self.shared.ownership.held() {
            self.shared.stream_feed.mark(slot);
        }
    }

    /// What was acknowledged of a slot is not there any more: it is told again.
    fn lost(&mut self, slot: Slot) {
        tracing::warn!(%slot, "the stream lost what it had acknowledged of a slot; it is told again");
        count(&self.shared.counters.streams_lost, 1);
        self.cursors.remove(&slot);
        self.shared.stream_feed.mark(slot);
    }

    /// Tells what is marked. Whether all of it was told; the rest is marked again.
    async fn tell_all(&mut self) -> bool {
        let mut is_told = true;
        let mut slots = self.shared.stream_feed.take().into_iter();
        while let Some(slot) = slots.next() {
            let Err(untold) = self.tell(slot).await else {
                continue;
            };
            // Whatever happened to it: where it ends is asked for anew.
            self.cursors.remove(&slot);
            self.shared.stream_feed.mark(slot);
            is_told = false;
            match untold {
                Untold::Slot(error) => {
                    tracing::warn!(%error, %slot, "the stream was not told of a commit; it is told again");
                }
                Untold::All(error) => {
                    tracing::warn!(%error, "the stream was not told of commits; it is told again");
                    slots
                        .by_ref()
                        .for_each(|left| self.shared.stream_feed.mark(left));
                }
            }
        }
        is_told
    }

    /// Tells the stream what it lacks of a slot.
    async fn tell(&mut self, slot: Slot) -> Result<(), Untold> {
        let Some(epoch) = self.shared.ownership.epoch(slot) else {
            self.cursors.remove(&slot);
            return Ok(());
        };
        let known = self.cursors.get(&slot).copied();
        let mut cursor = match known.filter(|cursor| cursor.epoch == epoch) {
            Some(cursor) => cursor,
            None => self.find(slot, epoch).await?,
        };
        loop {
            let rows = rows_after(&self.shared.store, slot, cursor.stamp, PAGE_ROWS).await?;
            for (stamp, row) in &rows {
                let message = Message {
                    slot,
                    stamp: *stamp,
                    previous: cursor.stamp,
                    scope: row.scope.clone(),
                    first: row.first,
                    last: row.last,
                };
                cursor.seq = self.stream.append(message, cursor.seq).await?;
                cursor.stamp = *stamp;
                self.unseen.insert(slot, *stamp);
                count(&self.shared.counters.streamed, 1);
            }
            self.cursors.insert(slot, cursor);
            if !rows.is_empty() && !self.keep(slot, &cursor).await? {
                self.cursors.remove(&slot);
                return Ok(());
            }
            if rows.len() < PAGE_ROWS {
                return Ok(());
            }
        }
    }

    /// Where to go on in a slot, from what the stream holds and what it was told before.
    async fn find(&mut self, slot: Slot, epoch: Epoch) -> Result<Cursor, Untold> {
        let end = self.stream.end_of(slot).await?;
        let row = self.row(slot).await?;
        let resumes = Safeguard::ResumesWhereStreamEnds;
        let stamp = if self.shared.protocol.keeps(resumes) {
            self.told(slot, &end, row.as_ref()).await?
        } else {
            self.before(slot, None).await?
        };
        if let Some(last) = &end.last {
            self.unseen.insert(slot, last.message.stamp);
        }
        Ok(Cursor {
            epoch,
            created: end.stream.created,
            seq: end.seq,
            stamp,
        })
    }

    /// The last row of a slot that needs not be told.
    async fn told(
        &self,
        slot: Slot,
        end: &SlotEnd,
        row: Option<&RelayRow>,
    ) -> Result<Stamp, Untold> {
        match (row, &end.last) {
            (_, Some(last)) => Ok(last.message.stamp),
            (None, None) => Ok(Stamp::ZERO),
            // What was told last has aged, or was lost: it is told again, since nobody can tell which
            // for certain. One message is enough: whoever has not heard what lay before it sees the
            // gap.
            (Some(row), None) => self.before(slot, Some(row.stamp)).await,
        }
    }

    /// The last row of a slot's outbox before a stamp, or of all.
    async fn before(&self, slot: Slot, stamp: Option<Stamp>) -> Result<Stamp, Untold> {
        let mut range = keys::outbox::range_of_slot(slot);
        if let Some(stamp) = stamp {
            range = KeyRange {
                end: keys::outbox::key(slot, stamp).into(),
                ..range
            };
        }
        let mut txn = self.shared.store.begin().await?;
        let rows = txn
            .range(&range, RangeOptions::last(1, Read::Snapshot))
            .await?;
        match rows.first() {
            Some((key, _)) => Ok(keys::outbox::parse(key)?.stamp),
            None => Ok(Stamp::ZERO),
        }
    }

    async fn row(&self, slot: Slot) -> Result<Option<RelayRow>, Untold> {
        let key = keys::relay::key(slot, self.stream.name());
        let mut txn = self.shared.store.begin().await?;
        let value = txn.get(&key, Read::Snapshot).await?;
        let row = value.map(|value| keys::relay::decode(&key, &value));
        Ok(row.transpose()?)
    }

    /// Keeps how far a slot was told, if it is still this run's: whether it is.
    async fn keep(&self, slot: Slot, cursor: &Cursor) -> Result<bool, Untold> {
        let mut txn = self.shared.store.begin().await?;
        let owner_key = keys::owner::key(slot);
        let owner = txn.get(&owner_key, Read::Conflict).await?;
        let owner = owner.map(|value| keys::owner::decode(&owner_key, &value));
        let owner = owner.transpose()?;
        if self.shared.ownership.confirmed(slot, owner.as_ref()) != Some(cursor.epoch) {
            return Ok(false);
        }
        let row = RelayRow {
            created: cursor.created,
            stamp: cursor.stamp,
            seq: cursor.seq,
        };
        let key = keys::relay::key(slot, self.stream.name());
        txn.set(key, keys::relay::encode(&row));
        txn.commit().await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
