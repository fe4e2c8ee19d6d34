//! The relay to a stream that all nodes reach: each slot's outbox, in order, by the slot's owner.
//!
//! Owns the cursor row of each slot and what follows when a stream forgets. The outbox is the truth:
//! whatever the stream lost is told again, and what it merely let age is not. A relay whose slot has
//! gone elsewhere does no harm: it can only append what is committed, behind what is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use sillok_bus::stream::{Numbered, SlotEnd, StreamError};
use sillok_bus::{EventStream, Message};
use sillok_core::id::Epoch;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::relay::RelayRow;
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn, keys};

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

/// How far a slot was told, and where the stream has that.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    epoch: Epoch,
    created: u64,
    seq: u64,
    stamp: Stamp,
}

/// The newest message that the stream is known to hold.
#[derive(Clone, Copy, Debug)]
struct Newest {
    seq: u64,
    slot: Slot,
    stamp: Stamp,
}

struct Relay<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    stream: Arc<dyn EventStream>,
    cursors: BTreeMap<Slot, Cursor>,
    newest: Option<Newest>,
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
        newest: None,
    };
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
        let mut slots = shared.stream_feed.take().into_iter();
        while let Some(slot) = slots.next() {
            let Err(error) = relay.tell(slot).await else {
                continue;
            };
            tracing::warn!(%error, %slot, "the stream was not told of a commit; it is told again");
            // Whatever happened to it: where it ends is asked for anew, for every slot.
            relay.cursors.clear();
            for left in std::iter::once(slot).chain(slots.by_ref()) {
                shared.stream_feed.mark(left);
            }
            clock.sleep(RETRY_MS).await;
        }
    }
}

impl<S: Store, P: Protocol> Relay<S, P> {
    /// Looks whether the stream still holds the newest message that it acknowledged. If not, every
    /// slot is looked at.
    async fn look(&mut self) {
        let Some(newest) = self.newest else { return };
        let Ok(page) = self.stream.page(newest.seq, 1).await else {
            return;
        };
        let is_newest = |numbered: &Numbered| {
            let message = &numbered.message;
            numbered.seq == newest.seq
                && (message.slot, message.stamp) == (newest.slot, newest.stamp)
        };
        if page.messages.iter().any(is_newest) {
            return;
        }
        self.newest = None;
        if page.stream.first > newest.seq {
            return;
        }
        tracing::warn!("the stream lost what it had acknowledged; it is told again");
        count(&self.shared.counters.streams_lost, 1);
        self.cursors.clear();
        for slot in self.shared.ownership.held() {
            self.shared.stream_feed.mark(slot);
        }
    }

    /// Tells the stream what it lacks of a slot.
    async fn tell(&mut self, slot: Slot) -> Result<(), Error> {
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
                let appended = self.stream.append(message, cursor.seq).await;
                cursor.seq = appended.map_err(|error| unavailable(&error))?;
                cursor.stamp = *stamp;
                self.holds(cursor.seq, slot, *stamp);
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

    fn holds(&mut self, seq: u64, slot: Slot, stamp: Stamp) {
        if self.newest.is_none_or(|newest| newest.seq <= seq) {
            self.newest = Some(Newest { seq, slot, stamp });
        }
    }

    /// Where to go on in a slot, from what the stream holds and what it was told before.
    async fn find(&mut self, slot: Slot, epoch: Epoch) -> Result<Cursor, Error> {
        let end = self.stream.end_of(slot).await;
        let end = end.map_err(|error| unavailable(&error))?;
        let row = self.row(slot).await?;
        let stamp = if self
            .shared
            .protocol
            .keeps(Safeguard::ResumesWhereStreamEnds)
        {
            self.told(slot, &end, row.as_ref()).await?
        } else {
            self.before(slot, None).await?
        };
        if let Some(last) = &end.last {
            self.holds(last.seq, slot, last.message.stamp);
        }
        Ok(Cursor {
            epoch,
            created: end.stream.created,
            seq: end.last.map_or(0, |last| last.seq),
            stamp,
        })
    }

    /// The last row of a slot that needs not be told.
    async fn told(
        &self,
        slot: Slot,
        end: &SlotEnd,
        row: Option<&RelayRow>,
    ) -> Result<Stamp, Error> {
        match (row, &end.last) {
            (_, Some(last)) => Ok(last.message.stamp),
            (None, None) => Ok(Stamp::ZERO),
            (Some(row), None) => {
                let has_aged = row.created == end.stream.created && row.seq < end.stream.first;
                if has_aged {
                    return Ok(row.stamp);
                }
                // One message is enough: whoever has not heard what lay before it sees the gap.
                self.before(slot, Some(row.stamp)).await
            }
        }
    }

    /// The last row of a slot's outbox before a stamp, or of all.
    async fn before(&self, slot: Slot, stamp: Option<Stamp>) -> Result<Stamp, Error> {
        let mut range = keys::outbox::range_of_slot(slot);
        if let Some(stamp) = stamp {
            range = KeyRange {
                end: keys::outbox::key(slot, stamp).into(),
                ..range
            };
        }
        let txn = self.shared.store.begin().await;
        let mut txn = txn.map_err(|error| refusal(&error))?;
        let rows = txn.range(&range, RangeOptions::last(1, Read::Snapshot));
        let rows = rows.await.map_err(|error| refusal(&error))?;
        let Some((key, _)) = rows.first() else {
            return Ok(Stamp::ZERO);
        };
        let key = keys::outbox::parse(key).map_err(|error| refusal(&error))?;
        Ok(key.stamp)
    }

    async fn row(&self, slot: Slot) -> Result<Option<RelayRow>, Error> {
        let key = keys::relay::key(slot, self.stream.name());
        let txn = self.shared.store.begin().await;
        let mut txn = txn.map_err(|error| refusal(&error))?;
        let value = txn.get(&key, Read::Snapshot).await;
        let value = value.map_err(|error| refusal(&error))?;
        let row = value.map(|value| keys::relay::decode(&key, &value));
        row.transpose().map_err(|error| refusal(&error))
    }

    /// Keeps how far a slot was told, if it is still this run's: whether it is.
    async fn keep(&self, slot: Slot, cursor: &Cursor) -> Result<bool, Error> {
        let txn = self.shared.store.begin().await;
        let mut txn = txn.map_err(|error| refusal(&error))?;
        let owner_key = keys::owner::key(slot);
        let owner = txn.get(&owner_key, Read::Conflict).await;
        let owner = owner.map_err(|error| refusal(&error))?;
        let owner = owner.map(|value| keys::owner::decode(&owner_key, &value));
        let owner = owner.transpose().map_err(|error| refusal(&error))?;
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
        txn.commit().await.map_err(|error| refusal(&error))?;
        Ok(true)
    }
}

fn unavailable(error: &StreamError) -> Error {
    Error::new(ErrorCode::Unavailable, error.to_string())
}
