//! The relay to a stream that all nodes reach: what belongs to its channel of each slot's outbox, in
//! order, by the slot's owner.
//!
//! Owns the cursor of each slot and what follows when a stream forgets. The outbox is the truth:
//! whatever the stream lost is told again, as far back as it keeps anything, and of what it merely let
//! age at most the last message of a slot. A relay whose slot has gone elsewhere does no harm: it can only append what is committed,
//! behind what is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use sillok_bus::EventStream;
use sillok_bus::stream::{Numbered, SlotEnd, StreamState};
use sillok_core::channel::Channel;
use sillok_core::id::Epoch;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::trace::SpanKind;
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::relay::{ReadRow, RelayRow};
use sillok_store::{Read, Store, Txn, keys};

use crate::channels::channel_of;
use crate::commit::Shared;
use crate::outbox_feed::OutboxFeed;
use crate::protocol::{Protocol, Safeguard};
use crate::relay::{message_of, rows_after};

pub(crate) mod cursors;
mod outcome;
mod passed_over;
mod resume;

use cursors::passed;
use outcome::{Round, Untold};

/// Rows of one slot that are read at once.
const PAGE_ROWS: usize = 128;
/// The same, while others wait for their turn.
const TURN_ROWS: usize = 16;
/// The wait before a slot is told again, in ms.
const RETRY_MS: u64 = 200;
/// How often it is looked whether the stream still holds what it acknowledged, in ms.
const LOOK_EVERY_MS: u64 = 2_000;

/// Rows of other channels in one slot after which it is written down that they were read.
const SKIPPED_MAX: usize = 64;

/// Slots whose ends are asked for at once.
const ASKED_AT_ONCE: usize = 32;

/// How far a slot was told, and where the stream has that.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    epoch: Epoch,
    created: u64,
    seq: u64,
    stamp: Stamp,
    /// How far the outbox was read: behind `stamp` it holds nothing for this stream up to there.
    read: Stamp,
    /// Where the outbox is known to hold nothing for this stream.
    void: Option<ReadRow>,
    /// Rows that were read since it was written down how far.
    skipped: usize,
}

impl Cursor {
    /// Passes over what is known to hold nothing. Whether there was any.
    fn pass(&mut self) -> bool {
        let before = self.read;
        self.read = self.void.map_or(before, |void| passed(before, void));
        self.read > before
    }

    /// What is known by now to hold nothing.
    const fn now_void(&self) -> ReadRow {
        ReadRow {
            told: self.stamp,
            read: self.read,
        }
    }
}

/// A message that the stream was seen to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    created: u64,
    seq: u64,
    stored_ns: u64,
    slot: Slot,
    stamp: Stamp,
}

impl Held {
    const fn of(stream: &StreamState, numbered: &Numbered) -> Self {
        Self {
            created: stream.created,
            seq: numbered.seq,
            stored_ns: numbered.stored_ns,
            slot: numbered.message.slot,
            stamp: numbered.message.stamp,
        }
    }
}

struct Relay<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    channel: Channel,
    stream: Arc<dyn EventStream>,
    cursors: BTreeMap<Slot, Cursor>,
    /// What was acknowledged, or found in the stream, since it was last looked.
    unseen: BTreeMap<Slot, Stamp>,
    /// The newest message that was seen. A suffix that the stream loses holds it, or nothing of what
    /// was seen before it.
    newest: Option<Held>,
    /// When the stream was asked last that was then seen to hold it, in ms.
    newest_ms: u64,
}

/// Tells a channel's stream of every commit in the slots that this node owns, until the node ends.
pub(crate) async fn run<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    channel: Channel,
    stream: Arc<dyn EventStream>,
) {
    let mut relay = Relay {
        shared: Arc::clone(&shared),
        channel,
        stream,
        cursors: BTreeMap::new(),
        unseen: BTreeMap::new(),
        newest: None,
        newest_ms: 0,
    };
    let feed = shared.stream_feeds.of(channel);
    // Whatever an earlier start of this task knew is lost, should it have met a defect.
    for slot in shared.ownership.held() {
        feed.mark(slot);
    }
    let clock = Arc::clone(&shared.ports.clock);
    let mut looked_ms = clock.monotonic_ms();
    loop {
        tokio::select! {
            biased;
            () = feed.changed() => {}
            () = clock.sleep(LOOK_EVERY_MS) => {}
        }
        let behind = shared.counters.behind(channel);
        if feed.has_marks() {
            behind.begins(clock.monotonic_ms());
        }
        if clock.monotonic_ms() >= looked_ms + LOOK_EVERY_MS {
            looked_ms = clock.monotonic_ms();
            relay.look().await;
            relay.keep_reads().await;
        }
        match relay.tell_all().await {
            Round::Whole => behind.ends(),
            Round::GoesOn => {}
            Round::Refused => clock.sleep(RETRY_MS).await,
        }
    }
}

impl<S: Store, P: Protocol> Relay<S, P> {
    /// The slots that may hold what was not told.
    fn feed(&self) -> &OutboxFeed {
        self.shared.stream_feeds.of(self.channel)
    }

    /// Looks whether the stream still holds what it acknowledged. What it lost is told again.
    ///
    /// Whatever was acknowledged since the last look is looked for slot by slot, and of all that was
    /// seen before, only the newest message: a suffix was lost with it, or is newer.
    async fn look(&mut self) {
        let before = self.newest;
        let seen_ms = self.newest_ms;
        let seen = self.look_at_ends().await;
        // Asked for last: what was lost while the ends were asked for was lost with it.
        let Some(newest) = before else { return };
        let now_ms = self.shared.ports.clock.monotonic_ms();
        match self.stream.page(newest.seq, 1).await {
            Ok(page) => {
                let stream = &page.stream;
                let mut messages = page.messages.iter();
                if messages.any(|held| Held::of(stream, held) == newest) {
                    if self.newest == before {
                        self.newest_ms = now_ms;
                    }
                } else if has_aged(&newest, stream, now_ms.saturating_sub(seen_ms)) {
                    self.newest = self.newest.filter(|seen| *seen != newest);
                    self.cursors.clear();
                } else {
                    self.newest = None;
                    self.forgot(stream.first > newest.seq);
                }
            }
            Err(_) => {
                self.newest = before;
                self.newest_ms = seen_ms;
                for (slot, told) in seen {
                    self.unseen.entry(slot).or_insert(told);
                }
            }
        }
    }

    /// Looks for what was acknowledged since the last look, slot by slot. What is there.
    ///
    /// A stream that leaves one unanswered may hang, and each question then takes its whole time: what
    /// was not asked by then is asked at the next look.
    async fn look_at_ends(&mut self) -> Vec<(Slot, Stamp)> {
        let mut found = Vec::new();
        let mut unseen = std::mem::take(&mut self.unseen).into_iter();
        let mut is_answered = true;
        while is_answered {
            let asked_ms = self.shared.ports.clock.monotonic_ms();
            let stream = &self.stream;
            let asked = unseen.by_ref().take(ASKED_AT_ONCE);
            let asked =
                asked.map(|(slot, told)| async move { (slot, told, stream.end_of(slot).await) });
            let ends = join_all(asked).await;
            if ends.is_empty() {
                break;
            }
            for (slot, told, end) in ends {
                let Ok(end) = end else {
                    is_answered = false;
                    self.unseen.insert(slot, told);
                    continue;
                };
                if self.looked_at(slot, told, &end, asked_ms) {
                    found.push((slot, told));
                }
            }
        }
        self.unseen.extend(unseen);
        found
    }

    /// Takes in where a slot ends. Whether the stream holds what it acknowledged of it.
    fn looked_at(&mut self, slot: Slot, told: Stamp, end: &SlotEnd, asked_ms: u64) -> bool {
        match &end.last {
            Some(last) if last.message.stamp >= told => {
                let seen = Held::of(&end.stream, last);
                let is_newer = self.newest.is_none_or(|newest| newest.seq < seen.seq);
                // A later stamp was told by the next owner, perhaps after a loss.
                if is_newer && seen.stamp == told {
                    self.newest = Some(seen);
                    self.newest_ms = asked_ms;
                }
                true
            }
            _ => {
                if self.shared.ownership.epoch(slot).is_some() {
                    self.lost(slot);
                }
                false
            }
        }
    }

    /// The newest message that was seen is not there any more: every slot is looked at. It has aged,
    /// or was lost and others have aged since; nobody can tell.
    fn forgot(&mut self, may_have_aged: bool) {
        if !may_have_aged {
            let stream = self.stream.name();
            tracing::warn!(
                stream,
                "the stream lost what it had acknowledged; it is told again"
            );
            self.shared.counters.lost(self.channel);
        }
        self.cursors.clear();
        for slot in self.shared.ownership.held() {
            self.feed().mark(slot);
        }
    }

    /// What was acknowledged of a slot is not there any more: it is told again.
    fn lost(&mut self, slot: Slot) {
        let stream = self.stream.name();
        tracing::warn!(stream, %slot, "the stream lost what it had acknowledged of a slot; it is told again");
        self.shared.counters.lost(self.channel);
        self.cursors.remove(&slot);
        self.feed().mark(slot);
    }

    /// Tells what is marked, some rows of each slot. What is left is marked again.
    async fn tell_all(&mut self) -> Round {
        let mut round = Round::Whole;
        let mut slots = self.feed().take().into_iter();
        let rows_max = if slots.len() > 1 {
            TURN_ROWS
        } else {
            PAGE_ROWS
        };
        while let Some(slot) = slots.next() {
            let untold = match self.tell(slot, rows_max).await {
                Ok(true) => continue,
                Ok(false) => {
                    self.feed().mark(slot);
                    if round == Round::Whole {
                        round = Round::GoesOn;
                    }
                    continue;
                }
                Err(untold) => untold,
            };
            // Whatever happened to it: where it ends is asked for anew.
            self.cursors.remove(&slot);
            self.feed().mark(slot);
            round = Round::Refused;
            match untold {
                Untold::Slot(error) => {
                    tracing::warn!(%error, %slot, "the stream was not told of a commit; it is told again");
                }
                Untold::All(error) => {
                    tracing::warn!(%error, "the stream was not told of commits; it is told again");
                    slots.by_ref().for_each(|left| self.feed().mark(left));
                }
            }
        }
        round
    }

    /// Tells the stream what it lacks of a slot, up to so many rows, so that the others need not wait. Whether
    /// it lacks nothing more.
    async fn tell(&mut self, slot: Slot, rows_max: usize) -> Result<bool, Untold> {
        let Some(epoch) = self.shared.ownership.epoch(slot) else {
            self.cursors.remove(&slot);
            return Ok(true);
        };
        let known = self.cursors.get(&slot).copied();
        let mut cursor = match known.filter(|cursor| cursor.epoch == epoch) {
            Some(cursor) => cursor,
            None => self.find(slot, epoch).await?,
        };
        let before = cursor.stamp;
        cursor.pass();
        let rows = rows_after(&self.shared.store, slot, cursor.read, rows_max).await?;
        let mut is_last = rows.len() < rows_max;
        for (stamp, row) in &rows {
            cursor.read = *stamp;
            if !self.is_ours(*stamp, row).await? {
                cursor.skipped += 1;
                continue;
            }
            let message = message_of(slot, *stamp, cursor.stamp, row.clone());
            let _span = self.shared.spans.of_row("stream", SpanKind::Producer, row);
            cursor.seq = self.stream.append(message, cursor.seq).await?;
            cursor.stamp = *stamp;
            self.unseen.insert(slot, *stamp);
            self.shared.counters.told(self.channel);
            if cursor.pass() {
                is_last = false;
                break;
            }
        }
        if cursor.stamp > before || cursor.skipped > SKIPPED_MAX {
            if !self.keep(slot, &cursor).await? {
                self.cursors.remove(&slot);
                return Ok(true);
            }
            cursor.skipped = 0;
        }
        self.cursors.insert(slot, cursor);
        Ok(is_last)
    }

    /// Whether a row is told on this channel.
    async fn is_ours(&self, stamp: Stamp, row: &OutboxRow) -> Result<bool, Untold> {
        let channel = match self.shared.fresh_runs.of(stamp) {
            Some(channel) => channel,
            None => channel_of(&self.shared.store, row).await?,
        };
        Ok(channel == self.channel)
    }

    /// Keeps how far a slot was told, if it is still this run's: whether it is.
    async fn keep(&self, slot: Slot, cursor: &Cursor) -> Result<bool, Untold> {
        let mut txn = self.shared.store.begin().await?;
        let owner_key = keys::owner::key(slot);
        let owner = txn.get(&owner_key, Read::Conflict).await?;
        let owner = owner.map(|value| keys::owner::decode(&owner_key, &value));
        let owner = owner.transpose()?;
        let held = self.shared.ownership.confirmed(slot, owner.as_ref());
        let needs_owner = self.shared.protocol.keeps(Safeguard::RelaysUnderOwner);
        if needs_owner && held != Some(cursor.epoch) {
            return Ok(false);
        }
        let row = RelayRow {
            created: cursor.created,
            stamp: cursor.stamp,
            seq: cursor.seq,
        };
        // A slot whose log never was told holds no row that says so.
        if cursor.seq > 0 {
            cursors::write_told(&mut txn, slot, self.channel, &row);
        }
        cursors::write_void(&mut txn, slot, self.channel, cursor.now_void());
        txn.commit().await?;
        Ok(true)
    }
}

/// Whether a message that is not held any more has aged for certain. What took its number after a loss
/// is younger than the last time that it was seen, and so would still be held.
const fn has_aged(newest: &Held, stream: &StreamState, since_seen_ms: u64) -> bool {
    stream.created == newest.created && stream.first > newest.seq && since_seen_ms < stream.keeps_ms
}

#[cfg(test)]
mod tests;
