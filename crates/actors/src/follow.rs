//! Following events: everything that was committed, slot by slot, in order, each run of events once.
//!
//! Owns the reading of the streams and of the store for what they lack. What is heard is what was
//! committed, whatever a stream repeats, mixes up or forgets.

use std::sync::Arc;

use sillok_bus::follower::{Judged, Look};
use sillok_bus::stream::Page;
use sillok_bus::{EventStream, Follower, Streams};
use sillok_core::channel::Channel;
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, Family};
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn};

use crate::channels::channel_of;
use crate::errors::refusal;
use crate::relay::rows_after;

/// Messages that are asked for at once.
const PAGE: usize = 64;
/// Outbox rows that are read at once.
const ROWS: usize = 256;

/// Outbox rows after which one poll ends that reads all slots; the next one goes on behind them.
const POLL_ROWS_MAX: usize = 4_096;

/// A run of events that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The stream that tells of it.
    pub channel: Channel,
    /// The slot.
    pub slot: Slot,
    /// The commit.
    pub stamp: Stamp,
    /// The scope.
    pub scope: Scope,
    /// The first event.
    pub first: Seq,
    /// The last event.
    pub last: Seq,
}

/// How a follower came by what it heard. For metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowMetrics {
    /// Messages that were heard before.
    pub repeats: u64,
    /// Runs that the stream lacked and the store had.
    pub from_store: u64,
    /// Messages that tell of another history of the store: from before a restore.
    pub of_other_history: u64,
    /// Times that the stream was read anew.
    pub restarts: u64,
    /// Times that the stream had let age what was not read yet.
    pub aged_out: u64,
}

/// Follows all slots, over all streams.
pub struct EventFollower<S: Store> {
    lanes: [Lane<S>; 2],
}

/// Follows one stream.
struct Lane<S: Store> {
    store: S,
    channel: Channel,
    stream: Arc<dyn EventStream>,
    follower: Follower,
    /// What is left of all slots' rows, while the stream lacks what was not heard.
    rest: Option<KeyRange>,
    /// Rows that were read from the store.
    rows: usize,
    metrics: FollowMetrics,
}

impl<S: Store> EventFollower<S> {
    /// A follower that has heard nothing yet.
    #[must_use]
    pub fn new(store: S, streams: &Streams) -> Self {
        Self {
            lanes: Channel::ALL.map(|channel| Lane {
                store: store.clone(),
                channel,
                stream: Arc::clone(streams.of(channel)),
                follower: Follower::default(),
                rest: None,
                rows: 0,
                metrics: FollowMetrics::default(),
            }),
        }
    }

    /// How it came by what it heard.
    #[must_use]
    pub fn metrics(&self) -> FollowMetrics {
        let [events, log] = &self.lanes;
        events.metrics.with(log.metrics)
    }

    /// Asks each stream once for what is new: the runs of events that were not heard yet, those of a slot
    /// and a stream in order, up to some thousands; none when there are none now. What was heard before an
    /// error stays in `into`.
    ///
    /// # Errors
    /// `unavailable` when a stream or the store did not answer: to be asked again.
    pub async fn poll(&mut self, into: &mut Vec<Told>) -> Result<(), Error> {
        let [events, log] = &mut self.lanes;
        let polled = events.poll(into).await;
        // What one stream does not say keeps nobody from hearing the other.
        log.poll(into).await.and(polled)
    }
}

impl FollowMetrics {
    const fn with(self, other: Self) -> Self {
        Self {
            repeats: self.repeats + other.repeats,
            from_store: self.from_store + other.from_store,
            of_other_history: self.of_other_history + other.of_other_history,
            restarts: self.restarts + other.restarts,
            aged_out: self.aged_out + other.aged_out,
        }
    }
}

impl<S: Store> Lane<S> {
    async fn poll(&mut self, into: &mut Vec<Told>) -> Result<(), Error> {
        let page = self.stream.page(self.follower.from(), PAGE).await;
        let page = page.map_err(|error| Error::new(ErrorCode::Unavailable, error.to_string()))?;
        match self.follower.look(&page) {
            Look::Follows => {}
            Look::Restarts => {
                self.metrics.restarts += 1;
                self.follower.restart();
                self.rest = None;
                return Ok(());
            }
            Look::AgedOut => {
                self.metrics.aged_out += u64::from(self.rest.is_none());
                if !self.read_all(into).await? {
                    return Ok(());
                }
            }
        }
        self.hear(&page, into).await?;
        self.follower.read(&page);
        Ok(())
    }

    async fn hear(&mut self, page: &Page, into: &mut Vec<Told>) -> Result<(), Error> {
        for numbered in &page.messages {
            let message = &numbered.message;
            if message.stamp.generation != self.store.generation() {
                self.metrics.of_other_history += 1;
                continue;
            }
            match self.follower.judge(message) {
                Judged::Repeat => self.metrics.repeats += 1,
                Judged::Next => {
                    self.follower.hear(message.slot, message.stamp);
                    into.push(Told {
                        channel: self.channel,
                        slot: message.slot,
                        stamp: message.stamp,
                        scope: message.scope.clone(),
                        first: message.first,
                        last: message.last,
                    });
                }
                Judged::Gap(_) => {
                    self.read_store(message.slot, message.stamp, into).await?;
                }
            }
        }
        Ok(())
    }

    /// Hears a slot's rows from the store, up to a stamp.
    async fn read_store(
        &mut self,
        slot: Slot,
        through: Stamp,
        into: &mut Vec<Told>,
    ) -> Result<(), Error> {
        loop {
            let after = self.follower.heard_of(slot);
            let rows = rows_after(&self.store, slot, after, ROWS).await?;
            let is_last = rows.len() < ROWS;
            for (stamp, row) in rows {
                if stamp > through {
                    return Ok(());
                }
                self.rows += 1;
                let told = self.if_ours(slot, stamp, row).await?;
                self.metrics.from_store += u64::from(told.is_some());
                self.follower.hear(slot, stamp);
                into.extend(told);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Hears every slot's rows from the store, a bounded number in one poll. Whether all was heard that
    /// was committed before this poll.
    async fn read_all(&mut self, into: &mut Vec<Told>) -> Result<bool, Error> {
        let all = Family::Outbox.range();
        let enough = self.rows + POLL_ROWS_MAX;
        let mut is_whole = self.rest.is_none();
        let mut rest = self.rest.clone().unwrap_or_else(|| all.clone());
        while self.rows < enough {
            match self.read_some(rest, into).await? {
                Some(more) => rest = more,
                None if is_whole => {
                    self.rest = None;
                    return Ok(true);
                }
                // More may have aged since in the slots that an earlier poll has read.
                None => {
                    rest = all.clone();
                    is_whole = true;
                }
            }
            self.rest = Some(rest.clone());
        }
        Ok(false)
    }

    /// Hears the next rows of a range that holds all slots' or the end of them; gives what is left.
    /// What was heard of a slot is skipped.
    async fn read_some(
        &mut self,
        range: KeyRange,
        into: &mut Vec<Told>,
    ) -> Result<Option<KeyRange>, Error> {
        let txn = self.store.begin().await;
        let mut txn = txn.map_err(|error| refusal(&error))?;
        let rows = txn.range(&range, RangeOptions::first(ROWS, Read::Snapshot));
        let rows = rows.await.map_err(|error| refusal(&error))?;
        let mut is_last = rows.len() < ROWS;
        let mut behind = None;
        for (key, value) in &rows {
            let at = keys::outbox::parse(key).map_err(|error| refusal(&error))?;
            let heard = self.follower.heard_of(at.slot);
            if at.stamp <= heard {
                behind = Some((at.slot, heard));
                is_last = false;
                break;
            }
            let row = keys::outbox::decode(key, value).map_err(|error| refusal(&error))?;
            self.rows += 1;
            let told = self.if_ours(at.slot, at.stamp, row).await?;
            self.metrics.from_store += u64::from(told.is_some());
            self.follower.hear(at.slot, at.stamp);
            behind = Some((at.slot, at.stamp));
            into.extend(told);
        }
        Ok(behind.filter(|_| !is_last).map(|(slot, stamp)| KeyRange {
            begin: keys::outbox::range_after(slot, stamp).begin,
            ..range
        }))
    }

    /// What a row tells of, if it belongs to this stream.
    async fn if_ours(
        &self,
        slot: Slot,
        stamp: Stamp,
        row: OutboxRow,
    ) -> Result<Option<Told>, Error> {
        let channel = channel_of(&self.store, &row).await;
        let channel = channel.map_err(|error| refusal(&error))?;
        Ok((channel == self.channel).then_some(Told {
            channel,
            slot,
            stamp,
            scope: row.scope,
            first: row.first,
            last: row.last,
        }))
    }
}

#[cfg(test)]
mod tests;
