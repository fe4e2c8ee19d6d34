//! Where a relay goes on in a slot that it has not told yet: after a start, a takeover, an error, or once
//! the stream has lost something.
//!
//! Owns the comparison of what the stream holds with what it was told before. It appends nothing.

use sillok_bus::stream::{Numbered, SlotEnd};
use sillok_core::channel::Channel;
use sillok_core::id::Epoch;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::relay::RelayRow;
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn, keys};

use super::cursors::{self, Kept, kept};
use super::{Cursor, Relay, Untold};
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
        match last {
            // What lay behind it was lost.
            Some(last) if is_same && row.seq >= end.stream.first => Ok(last),
            // What was told last has aged, or was lost: it is told again, since nobody can tell which
            // for certain. One message is enough: whoever has not heard what lay before it sees the
            // gap.
            _ => self.before(slot, Some(row.stamp)).await,
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
