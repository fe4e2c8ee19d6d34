//! The indexer: from the outbox to the durable part of the index, off the write path.
//!
//! Owns the passes and their cursor. A commit is visible in the index's memory before it is
//! acknowledged; here it is stored, in batches, together with the cursor, so that a crash between
//! two passes repeats work and loses none. What another node published shows once it is stored, or sooner where a slot is
//! taken ([`ahead`]). An index that is damaged begins anew here, from the beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::trace::SpanKind;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;
use sillok_store::keys::outbox::OutboxRow;
use tokio::sync::watch;

use crate::claims;
use crate::commit::Shared;
use crate::errors::{engine_refusal, refusal};
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};
use crate::relay::rows_in;
use crate::spans::{OpenSpan, keys as keys_of_spans};

pub(crate) mod ahead;
mod gone;
mod parts;
mod refill;
mod requests;
mod tidying;
mod turns;

pub(crate) use gone::Gone;
#[cfg(test)]
pub(crate) use requests::CATCH_UP_MS_MAX;
pub(crate) use requests::{IndexRequests, Unreadable};
use requests::{Passed, Request, Requests, Waiting};
use turns::Turns;

/// Outbox rows of one slot that one pass reads.
const SLOT_ROWS: usize = 512;
/// Slots that one pass reads on a node among others, rows after which it reads no further slot, and
/// changed entries, each of which takes two reads more: its reads must end well before the store's limit
/// for a transaction. After a pass that failed the next one takes half as much of each, down to this part:
/// the store may be slow.
const SLOTS_AT_ONCE: usize = 256;
const ROWS_AT_ONCE: usize = 1_024;
const ENTRIES_AT_ONCE: usize = 1_024;
const PART_LEAST: usize = 16;

/// Outbox rows without a changed entry after which the cursor is stored all the same.
const CURSOR_ROWS: usize = 8_192;

/// Follows the outbox from where the index left off.
pub(crate) struct Indexer<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    /// Where slots are read from that were not read yet: the watermark that the index had at the
    /// start, or the beginning where other nodes write too.
    floor: Stamp,
    /// Which part of all these bounds a pass on a node among others keeps to: 1 is the whole, 2 the half.
    part: usize,
    stored_since_optimised: u64,
    /// Whether anything was stored, or went, since the index was optimised; at the start it may have been before.
    has_changed: bool,
    /// When it was, or when the process began, by the boot clock in ms.
    optimised_at_ms: u64,
    rows_since_stored: usize,
    /// Whether the last pass failed: what is done again is no way on.
    is_stuck: bool,
    /// Whether the index began anew, and is not told everything yet.
    is_refilling: bool,
    /// Slots of which something could not be read: while there are such, it is not told everything.
    unreadable: BTreeSet<Slot>,
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
            .map_err(|error| engine_refusal(&error))?;
        // The watermark says nothing of a slot that another node held when it was written.
        let is_enough = shared.is_alone() || !shared.protocol.keeps(Safeguard::ReadsOthersWrites);
        let watermark = watermark.filter(|_| is_enough);
        let floor = watermark.unwrap_or(Stamp::ZERO);
        let optimised_at_ms = shared.ports.clock.monotonic_ms();
        // One that met a defect while it filled the index again left that to the next.
        let is_refilling = !shared.spaces.lacking().is_nothing();
        let mut indexer = Self {
            shared,
            floor,
            part: 1,
            stored_since_optimised: 0,
            has_changed: true,
            optimised_at_ms,
            rows_since_stored: 0,
            is_stuck: false,
            is_refilling,
            unreadable: BTreeSet::new(),
        };
        let slots = claims::owned_slots(&indexer.shared.store).await;
        for slot in slots.map_err(|error| refusal(&error))? {
            indexer.shared.index_feed.mark(slot);
        }
        indexer.bring_up().await?;
        Ok(indexer)
    }

    /// Follows the outbox until the node ends, and then stores what is left. Whoever asks for
    /// something from then on is told that nobody answers any more.
    pub(crate) async fn run(self, stop: watch::Receiver<bool>) {
        let shared = Arc::clone(&self.shared);
        let mut requests = shared.index_requests.receiver.lock().await;
        self.follow(&mut requests, stop).await;
        requests.close();
        while requests.try_recv().is_ok() {}
    }

    async fn follow(mut self, requests: &mut Requests, mut stop: watch::Receiver<bool>) {
        let config = self.shared.config.indexer;
        let clock = Arc::clone(&self.shared.ports.clock);
        let mut waiting = Waiting::default();
        while !*stop.borrow() {
            tokio::select! {
                biased;
                // A node that did not start is gone without having said so.
                changed = stop.changed() => if changed.is_err() { return },
                Some(request) = requests.recv() => waiting.0.push(request),
                () = self.shared.spaces.damaged() => {}
                () = self.shared.index_feed.changed() => {
                    tokio::select! {
                        biased;
                        Some(request) = requests.recv() => waiting.0.push(request),
                        () = clock.sleep(config.gather_ms) => {}
                    }
                }
            }
            let kept_up = self.keep_up(&mut waiting, || requests.try_recv().ok());
            let kept_up = kept_up.await;
            if let Err(error) = &kept_up {
                tracing::warn!(%error, "the index did not take a batch; it is handed over again");
            }
            if kept_up.is_err() || !self.unreadable.is_empty() {
                clock.sleep(config.retry_after_ms).await;
                self.shared.index_feed.wake();
            }
            self.optimise_if_due().await;
        }
    }

    /// Stores everything that is marked now. What is marked meanwhile waits for the next time, but for
    /// the slots that somebody waits for: these come first.
    ///
    /// # Errors
    /// What the index or the store answered; nothing is skipped by it.
    async fn drain(
        &mut self,
        waiting: &mut Waiting,
        mut next_request: impl FnMut() -> Option<Request> + Send,
    ) -> Result<(), Error> {
        let mut left = self.shared.index_feed.take();
        waiting.0.extend(std::iter::from_fn(&mut next_request));
        left.extend(waiting.slots());
        let mut turns = Turns::default();
        while !left.is_empty() {
            waiting.0.extend(std::iter::from_fn(&mut next_request));
            let waited_for = waiting.slots();
            let mut order = turns.in_order(&waited_for);
            order.extend(turns.in_order(left.difference(&waited_for)));
            let passed = match self.shared.spaces.must_begin() {
                true => Err(refill::damaged()),
                false => self.pass(order).await,
            };
            match passed {
                Ok(passed) => {
                    self.part = (self.part / 2).max(1);
                    self.is_stuck = false;
                    self.got_on();
                    waiting.tell(&passed);
                    let Passed {
                        read,
                        unread,
                        unreadable,
                    } = &passed;
                    turns.passed(read, unread);
                    self.unreadable.retain(|slot| !read.contains(slot));
                    self.unreadable.extend(unreadable.keys());
                    left.retain(|slot| !read.contains(slot) || unread.contains(slot));
                    left.extend(unread.difference(&waited_for));
                }
                Err(error) => {
                    self.part = (self.part * 2).min(PART_LEAST);
                    self.is_stuck = true;
                    left.iter()
                        .for_each(|slot| self.shared.index_feed.mark(*slot));
                    return Err(error);
                }
            }
        }
        waiting.tell(&Passed::default());
        if !waiting.0.is_empty() {
            // They came late, and for much: the next round is theirs.
            self.shared.index_feed.wake();
        }
        Ok(())
    }

    fn got_on(&self) {
        if !self.is_stuck {
            self.shared.index_requests.got_on();
        }
    }

    /// Reads what is new in some slots, in this order, stores it, and moves the cursors.
    ///
    /// The watermark of a node that is alone counts for all slots, so that one pass reads all that are
    /// marked, and one that cannot be read keeps it from all. That of a node among others counts for
    /// nothing: it reads the first of the slots only.
    async fn pass(&mut self, order: Vec<Slot>) -> Result<Passed, Error> {
        let store = self.shared.store.clone();
        let mut txn = store.begin().await.map_err(|error| refusal(&error))?;
        let is_alone = self.shared.is_alone();
        let slots: Vec<Slot> = if is_alone {
            let marked_since = self.shared.index_feed.peek();
            let slots: BTreeSet<Slot> = order.into_iter().chain(marked_since).collect();
            slots.into_iter().collect()
        } else {
            order.into_iter().take(SLOTS_AT_ONCE / self.part).collect()
        };
        let mut passed = Passed::default();
        let rows = self.read(&mut txn, slots, &mut passed).await?;
        let Some(through) = rows.last().map(|(stamp, ..)| *stamp) else {
            return Ok(passed);
        };
        let mut changed: BTreeMap<(Scope, EntryId), Stamp> = BTreeMap::new();
        // Until they are stored.
        let mut spans = Vec::new();
        for (stamp, _, row) in &rows {
            if !row.entries.is_empty() {
                spans.extend(self.spans_of(row));
            }
            for entry in &row.entries {
                changed.insert((row.scope.clone(), *entry), *stamp);
            }
        }
        // Among other nodes a pass reads some slots, and what is kept of the others has to wait for theirs.
        let mut known = match is_alone {
            true => self.shared.gone.take(through),
            false => gone::Known::default(),
        };
        self.rows_since_stored += rows.len();
        if !changed.is_empty() {
            self.store(&mut txn, changed, &mut known, through, &mut passed)
                .await?;
            self.rows_since_stored = 0;
        } else if self.rows_since_stored >= CURSOR_ROWS {
            // Logs alone: the cursor is stored now and then, so that a start does not read them all.
            self.apply(Vec::new(), through).await?;
            self.rows_since_stored = 0;
        }
        let mut cursors = self.shared.index_requests.cursors.lock();
        for (stamp, slot, _) in rows {
            if !passed.unreadable.contains_key(&slot) {
                cursors.insert(slot, stamp);
            }
        }
        Ok(passed)
    }

    /// What is recorded of indexing what a commit changed.
    fn spans_of(&self, row: &OutboxRow) -> Vec<OpenSpan> {
        let spans = &self.shared.spans;
        let mut spans = spans.of_row("index", SpanKind::Internal, row);
        for span in &mut spans {
            span.note(keys_of_spans::ENTRIES, row.entries.len() as u64);
        }
        spans
    }

    /// The rows of some slots behind their cursors, in the order of their stamps; on a node that is
    /// alone with none left out before the last.
    async fn read(
        &self,
        txn: &mut S::Txn,
        slots: Vec<Slot>,
        passed: &mut Passed,
    ) -> Result<Vec<(Stamp, Slot, OutboxRow)>, Error> {
        let is_alone = self.shared.is_alone();
        let mut rows: Vec<(Stamp, Slot, OutboxRow)> = Vec::new();
        let mut entries = 0;
        let (rows_max, entries_max) = (ROWS_AT_ONCE / self.part, ENTRIES_AT_ONCE / self.part);
        let slot_rows = if is_alone {
            SLOT_ROWS
        } else {
            SLOT_ROWS / self.part
        };
        // Beyond the first row that was left unread a watermark for all slots may not go.
        let mut readable_through: Option<Stamp> = None;
        for slot in slots {
            if !is_alone && (rows.len() >= rows_max || entries >= entries_max) {
                break;
            }
            let after = self.read_through(slot);
            let mut found = match rows_in(txn, slot, after, slot_rows).await {
                Err(error) if !is_alone && error.code == ErrorCode::Internal => {
                    passed.read.insert(slot);
                    passed.note_unreadable(slot, error);
                    continue;
                }
                found => found?,
            };
            passed.read.insert(slot);
            self.got_on();
            if found.len() == slot_rows {
                passed.unread.insert(slot);
                if let Some((end, _)) = found.last().filter(|_| is_alone) {
                    readable_through = Some(readable_through.map_or(*end, |known| known.min(*end)));
                }
            }
            if !is_alone {
                let fits = fitting(&found, &mut entries, entries_max);
                if fits < found.len() {
                    passed.unread.insert(slot);
                    found.truncate(fits);
                }
            }
            rows.extend(found.into_iter().map(|(stamp, row)| (stamp, slot, row)));
        }
        rows.sort_by_key(|(stamp, ..)| *stamp);
        if let Some(through) = readable_through {
            let beyond = rows.iter().filter(|(stamp, ..)| *stamp > through);
            passed.unread.extend(beyond.map(|(_, slot, _)| *slot));
            rows.retain(|(stamp, ..)| *stamp <= through);
        }
        Ok(rows)
    }

    async fn store(
        &mut self,
        txn: &mut S::Txn,
        changed: BTreeMap<(Scope, EntryId), Stamp>,
        known: &mut gone::Known,
        through: Stamp,
        passed: &mut Passed,
    ) -> Result<(), Error> {
        let mut changed = changed.into_iter().peekable();
        let mut is_last = false;
        while !is_last {
            let docs = self.part(txn, &mut changed, known, passed).await?;
            is_last = changed.peek().is_none();
            // The cursor goes with the last part: a crash in between repeats the parts before it.
            let cursor = if is_last {
                through
            } else {
                self.stored_through()
            };
            // What is gone makes no search slow: its room is given back by the run of maintenance when it is done, and later
            // elsewhere.
            let gone = docs.iter().filter(|doc| doc.is_gone()).count() as u64;
            let stored = docs.len() as u64;
            self.apply(docs, cursor).await?;
            self.got_on();
            count(&self.shared.counters.indexed, stored);
            self.stored_since_optimised += stored - gone;
            self.has_changed |= stored > 0;
        }
        Ok(())
    }

    async fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> Result<(), Error> {
        self.shared
            .ports
            .index
            .apply(docs, through)
            .await
            .map_err(|error| engine_refusal(&error))
    }

    /// The cursor that the index holds.
    fn stored_through(&self) -> Stamp {
        let cursors = self.shared.index_requests.cursors.lock();
        cursors.values().copied().fold(self.floor, Stamp::max)
    }

    /// How far a slot was read.
    fn read_through(&self, slot: Slot) -> Stamp {
        let cursors = self.shared.index_requests.cursors.lock();
        cursors.get(&slot).copied().unwrap_or(self.floor)
    }
}

/// How many of a slot's rows a pass takes in whose rows so far have changed so many `entries`: those before
/// it is at its bound, and the one that brings it there.
fn fitting(rows: &[(Stamp, OutboxRow)], entries: &mut usize, bound: usize) -> usize {
    let mut taken = 0;
    for (_, row) in rows {
        if *entries >= bound {
            break;
        }
        *entries += row.entries.len();
        taken += 1;
    }
    taken
}

#[cfg(test)]
pub(crate) mod tests;
