//! Following events: everything that was committed, slot by slot, in order, each run of events once.
//!
//! Owns the reading of a stream and of the store for what the stream lacks. What is heard is what was
//! committed, whatever the stream repeats, mixes up or forgets.

use std::sync::Arc;

use sillok_bus::follower::{Judged, Look};
use sillok_bus::stream::Page;
use sillok_bus::{EventStream, Follower};
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, Family};
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn};

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

/// Follows all slots.
pub struct EventFollower<S: Store> {
    store: S,
    stream: Arc<dyn EventStream>,
    follower: Follower,
    /// What is left of all slots' rows, while the stream lacks what was not heard.
    rest: Option<KeyRange>,
    metrics: FollowMetrics,
}

impl<S: Store> EventFollower<S> {
    /// A follower that has heard nothing yet.
    #[must_use]
    pub fn new(store: S, stream: Arc<dyn EventStream>) -> Self {
        Self {
            store,
            stream,
            follower: Follower::default(),
            rest: None,
            metrics: FollowMetrics::default(),
        }
    }

    /// How it came by what it heard.
    #[must_use]
    pub const fn metrics(&self) -> FollowMetrics {
        self.metrics
    }

    /// Asks once for what is new: the runs of events that were not heard yet, each slot's in order, up
    /// to some thousands; none when there are none now. What was heard before an error stays in `into`.
    ///
    /// # Errors
    /// `unavailable` when the stream or the store did not answer: to be asked again.
    pub async fn poll(&mut self, into: &mut Vec<Told>) -> Result<(), Error> {
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
                self.metrics.from_store += 1;
                self.follower.hear(slot, stamp);
                into.push(told(slot, stamp, row));
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
        let enough = into.len() + POLL_ROWS_MAX;
        let mut is_whole = self.rest.is_none();
        let mut rest = self.rest.clone().unwrap_or_else(|| all.clone());
        while into.len() < enough {
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
            self.metrics.from_store += 1;
            self.follower.hear(at.slot, at.stamp);
            behind = Some((at.slot, at.stamp));
            into.push(told(at.slot, at.stamp, row));
        }
        Ok(behind.filter(|_| !is_last).map(|(slot, stamp)| KeyRange {
            begin: keys::outbox::range_after(slot, stamp).begin,
            ..range
        }))
    }
}

fn told(slot: Slot, stamp: Stamp, row: OutboxRow) -> Told {
    Told {
        slot,
        stamp,
        scope: row.scope,
        first: row.first,
        last: row.last,
    }
}

#[cfg(test)]
mod tests;
