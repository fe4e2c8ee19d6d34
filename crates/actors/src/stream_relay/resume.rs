//! Where a relay goes on in a slot that it has not told yet: after a start, a takeover, an error, or once
//! the stream has lost something.
//!
//! Owns the comparison of what the stream holds with what it was told before. It appends nothing.

use sillok_bus::stream::{Numbered, SlotEnd};
use sillok_core::channel::Channel;
use sillok_core::id::Epoch;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::ScopeKey;
use sillok_store::keys::relay::RelayRow;
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn, keys};

use super::cursors::{self, Kept, kept};
use super::{Cursor, PAGE_ROWS, Relay, Untold};
use crate::protocol::{Protocol, Safeguard};

impl<S: Store, P: Protocol> Relay<S, P> {
    /// Where to go on in a slot, from what the stream holds and what it was told before.
    pub(super) async fn find(&mut self, slot: Slot, epoch: Epoch) -> Result<Cursor, Untold> {
        let mut end = self.stream.end_of(slot).await?;
        // What was told before the store was restored is no part of what it tells now.
        let generation = self.shared.store.generation();
        end.last = end
            .last
            .filter(|last| last.message.stamp.generation == generation);
        let kept = self.kept(slot).await?;
        let resumes = match self.channel {
            Channel::Events => Safeguard::ResumesWhereStreamEnds,
            Channel::Log => Safeguard::ResumesWhereLogEnds,
        };
        let stamp = if self.shared.protocol.keeps(resumes) {
            self.told(slot, &end, kept.told.as_ref()).await?
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
            read: stamp,
            void: kept.void,
            skipped: 0,
        })
    }

    /// The last row of a slot that needs not be told.
    async fn told(
        &self,
        slot: Slot,
        end: &SlotEnd,
        row: Option<&RelayRow>,
    ) -> Result<Stamp, Untold> {
        let last = end.last.as_ref().map(|last| last.message.stamp);
        let Some(row) = row else {
            return Ok(last.unwrap_or(Stamp::ZERO));
        };
        if let Some(last) = last.filter(|last| *last >= row.stamp) {
            return Ok(last);
        }
        if row.seq == 0 {
            return Ok(row.stamp);
        }
        let is_same = row.created == end.stream.created;
        if is_same && row.seq < end.seq && self.is_held(slot, row).await? {
            // Somebody else wrote behind it: what is no message, or one that was told long ago.
            return Ok(row.stamp);
        }
        let is_gone = !is_same || row.seq >= end.stream.first;
        match last {
            // What lay behind it was lost, or a stream that was made anew is not filled to its end yet.
            Some(last) if is_gone => Ok(last),
            None if is_gone && self.shared.protocol.keeps(Safeguard::FillsNewStreams) => {
                // However old it is, what never was told is told.
                let kept = self.before_kept(slot, end.stream.keeps_ms).await?;
                Ok(kept.min(row.stamp))
            }
            // What was told last has aged, or was lost and others have aged since: it is told again,
            // since nobody can tell which for certain. One message is enough: whoever has not heard
            // what lay before it sees the gap.
            _ => self.before(slot, Some(row.stamp)).await,
        }
    }

    /// The last row of a slot before what a stream keeps that lost all of it; where nobody knows how long it keeps
    /// anything, all is told again. Ages are those of events, so up to a page of rows more is told.
    async fn before_kept(&self, slot: Slot, keeps_ms: u64) -> Result<Stamp, Untold> {
        if keeps_ms == 0 {
            return Ok(Stamp::ZERO);
        }
        let now = self.shared.ports.clock.now();
        let oldest_ms = now.ms().saturating_sub(keeps_ms);
        let mut range = keys::outbox::range_of_slot(slot);
        loop {
            let mut txn = self.shared.store.begin().await?;
            let page = RangeOptions::last(PAGE_ROWS, Read::Snapshot);
            let rows = txn.range(&range, page).await?;
            let Some((key, value)) = rows.last() else {
                return Ok(Stamp::ZERO);
            };
            let row = keys::outbox::decode(key, value)?;
            let event_key = keys::event::key(&ScopeKey::of(&row.scope), row.last);
            let event = txn.get(&event_key, Read::Snapshot).await?;
            // What cannot be read says nothing of its age.
            let event = event.and_then(|value| keys::event::decode(&event_key, &value).ok());
            let header = event.and_then(|event| event.decode_header().ok());
            if header.is_some_and(|header| header.time.ms() < oldest_ms) {
                return Ok(keys::outbox::parse(key)?.stamp);
            }
            range.end = key.clone();
        }
    }

    /// Whether the stream still holds what a slot was told last.
    async fn is_held(&self, slot: Slot, row: &RelayRow) -> Result<bool, Untold> {
        let page = self.stream.page(row.seq, 1).await?;
        let is_it = |held: &Numbered| {
            let (message, seq) = (&held.message, held.seq);
            (seq, message.slot, message.stamp) == (row.seq, slot, row.stamp)
        };
        Ok(page.stream.created == row.created && page.messages.iter().any(is_it))
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

    async fn kept(&self, slot: Slot) -> Result<Kept, Untold> {
        let mut txn = self.shared.store.begin().await?;
        let kept = kept(&mut txn, slot, self.channel).await?;
        if let (Channel::Events, Some(told), None) = (self.channel, &kept.told, kept.void) {
            cursors::part(&self.shared.store, slot, told.stamp).await?;
        }
        Ok(kept)
    }
}
