//! Which slots may hold outbox rows that a follower of the outbox has not read.
//!
//! Owns the bookkeeping that makes a follower's cursor safe: a commit marks its slot before it
//! starts and after it has ended, so a follower that looks before and after it takes its snapshot
//! cannot pass over a row that the snapshot shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::channel::Channel;
use sillok_core::slot::Slot;
use tokio::sync::Notify;

#[derive(Debug, Default)]
struct Mark {
    in_flight: usize,
    dirty: bool,
}

/// The marks of one follower.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutboxFeed {
    marks: Arc<Mutex<BTreeMap<Slot, Mark>>>,
    changed: Arc<Notify>,
}

/// A commit under way in a slot.
#[derive(Debug)]
pub(crate) struct InFlight {
    feed: OutboxFeed,
    slot: Slot,
}

impl OutboxFeed {
    /// Marks that a commit in `slot` starts. It ends when the guard is dropped.
    pub(crate) fn begin(&self, slot: Slot) -> InFlight {
        let mut marks = self.marks.lock();
        marks.entry(slot).or_default().in_flight += 1;
        InFlight {
            feed: self.clone(),
            slot,
        }
    }

    /// Marks that `slot` is to be read, whatever happened to it.
    pub(crate) fn mark(&self, slot: Slot) {
        self.marks.lock().entry(slot).or_default().dirty = true;
        self.changed.notify_one();
    }

    /// Wakes the follower, so that it looks again at what is marked.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits until a slot was marked since the last [`take`](Self::take).
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The slots to read, taken before the snapshot. Those without a commit under way are clean
    /// from now on.
    pub(crate) fn take(&self) -> BTreeSet<Slot> {
        let mut marks = self.marks.lock();
        let slots = marks.keys().copied().collect();
        marks.retain(|_, mark| {
            mark.dirty = false;
            mark.in_flight > 0
        });
        slots
    }

    /// Whether any slot is to be read.
    pub(crate) fn has_marks(&self) -> bool {
        !self.marks.lock().is_empty()
    }

    /// The slots that may have been written since: to be read as well, from the same snapshot.
    pub(crate) fn peek(&self) -> BTreeSet<Slot> {
        self.marks.lock().keys().copied().collect()
    }
}

/// The marks of the relays to the streams, one for each channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamFeeds {
    events: OutboxFeed,
    log: OutboxFeed,
}

impl StreamFeeds {
    /// As [`OutboxFeed::begin`], for all of them.
    pub(crate) fn begin(&self, slot: Slot) -> [InFlight; 2] {
        Channel::ALL.map(|channel| self.of(channel).begin(slot))
    }

    /// As [`OutboxFeed::mark`], for all of them.
    pub(crate) fn mark(&self, slot: Slot) {
        for channel in Channel::ALL {
            self.of(channel).mark(slot);
        }
    }

    /// The marks of one channel's relay.
    pub(crate) const fn of(&self, channel: Channel) -> &OutboxFeed {
        match channel {
            Channel::Events => &self.events,
            Channel::Log => &self.log,
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut marks = self.feed.marks.lock();
        let mark = marks.entry(self.slot).or_default();
        mark.in_flight = mark.in_flight.saturating_sub(1);
        mark.dirty = true;
        drop(marks);
        self.feed.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(number: u16) -> Slot {
        Slot::new(number).unwrap()
    }

    #[test]
    fn a_slot_stays_marked_while_a_commit_is_under_way_and_once_after_it() {
        let feed = OutboxFeed::default();
        let commit = feed.begin(slot(7));
        assert!(feed.take().contains(&slot(7)));
        assert!(
            feed.take().contains(&slot(7)),
            "the commit may end after this look"
        );
        drop(commit);
        assert!(
            feed.take().contains(&slot(7)),
            "its row may have come after the last look"
        );
        assert!(feed.take().is_empty());
    }

    #[test]
    fn a_follower_is_woken_by_a_mark_and_by_whoever_wakes_it() {
        use futures::FutureExt as _;

        let feed = OutboxFeed::default();
        assert!(feed.changed().now_or_never().is_none());
        feed.mark(slot(7));
        assert!(feed.changed().now_or_never().is_some());
        feed.wake();
        assert!(feed.changed().now_or_never().is_some());
        assert!(feed.changed().now_or_never().is_none());
    }

    #[test]
    fn a_commit_that_began_after_the_look_is_seen_by_the_second_look() {
        let feed = OutboxFeed::default();
        assert!(feed.take().is_empty() && !feed.has_marks());
        let commit = feed.begin(slot(3));
        assert!(feed.peek().contains(&slot(3)) && feed.has_marks());
        drop(commit);
        assert!(feed.peek().contains(&slot(3)));
    }
}
