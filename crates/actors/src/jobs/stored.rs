//! Jobs as they are stored: finding those that wait in the slots of a node, and what became of them.
//!
//! Owns which slots are still to be read. What is done with a job that was found is the queue's.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sillok_core::Error;
use sillok_core::id::VerificationId;
use sillok_core::ports::Clock;
use sillok_core::promotion::{Attempts, Job, Patience};
use sillok_core::slot::Slot;
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn, keys};

use super::{JobQueue, kept};
use crate::commit::Shared;
use crate::errors::refusal;
use crate::protocol::Protocol;

/// Rows that are read from the store at once.
const PAGE_ROWS: usize = 256;

/// A promotion that is not finished, as the store knows it.
pub(crate) struct Found {
    pub(crate) slot: Slot,
    pub(crate) job: Job,
    pub(crate) attempts: Attempts,
    /// When the next attempt is due, on the boot clock of whoever found it.
    pub(crate) due_ms: u64,
}

/// By which clock, and how soon, whoever finds a promotion tries it again.
#[derive(Clone, Copy)]
pub(crate) struct Pace<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) patience: Patience,
}

impl Found {
    /// The wait that is left is that of the wall clock, and never longer than it was: whoever wrote it
    /// may have had a clock far ahead.
    fn new(pace: Pace<'_>, slot: Slot, job: Job, attempts: Attempts) -> Self {
        let Pace { clock, patience } = pace;
        let left_ms = attempts
            .next_at
            .map_or(0, |next_at| next_at.since_ms(clock.now()));
        let wait_ms = left_ms.min(patience.wait_ms(attempts.made, true));
        Self {
            slot,
            job,
            attempts,
            due_ms: clock.monotonic_ms() + wait_ms,
        }
    }
}

/// The promotions that are not finished, of slots that were just taken, with what their former owners
/// knew of them. A row that does not decode costs its own promotion only.
///
/// # Errors
/// What the store answered.
pub(crate) async fn of_slots<S: Store>(
    store: &S,
    pace: Pace<'_>,
    slots: &BTreeSet<Slot>,
) -> Result<Vec<Found>, Error> {
    // Few have failed, so these are few; a job that comes behind them has not.
    let mut attempts: BTreeMap<(Slot, VerificationId), Attempts> = BTreeMap::new();
    let mut rows = Pages::of(keys::attempt::range_all());
    while let Some(page) = rows.next(store).await? {
        for (key, value) in &page {
            let at = keys::attempt::parse(key).map_err(|error| refusal(&error))?;
            if slots.contains(&at.slot)
                && let Some(found) = kept::read(key, value)
            {
                attempts.insert((at.slot, at.verification), found);
            }
        }
    }
    let mut found = Vec::new();
    let mut rows = Pages::of(keys::job::range_all());
    while let Some(page) = rows.next(store).await? {
        for (key, value) in &page {
            match of_row(slots, key, value) {
                Ok(Some((slot, job))) => {
                    let attempts = attempts.remove(&(slot, job.verification));
                    found.push(Found::new(pace, slot, job, attempts.unwrap_or_default()));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, "a promotion is not carried out: its row does not decode")
                }
            }
        }
    }
    Ok(found)
}

/// Rows of a range, each page from a transaction of its own.
struct Pages(KeyRange);

impl Pages {
    const fn of(range: KeyRange) -> Self {
        Self(range)
    }

    async fn next<S: Store>(&mut self, store: &S) -> Result<Option<Vec<(Bytes, Bytes)>>, Error> {
        let mut txn = store.begin().await.map_err(|error| refusal(&error))?;
        let rows = txn
            .range(&self.0, RangeOptions::first(PAGE_ROWS, Read::Snapshot))
            .await;
        let rows = rows.map_err(|error| refusal(&error))?;
        let Some((last, _)) = rows.last() else {
            return Ok(None);
        };
        self.0.begin = sillok_store::key_range::successor(last);
        Ok(Some(rows))
    }
}

/// The job of a row, if it is in one of these slots.
fn of_row(
    slots: &BTreeSet<Slot>,
    key: &[u8],
    value: &[u8],
) -> Result<Option<(Slot, Job)>, StoreError> {
    let slot = keys::job::parse(key)?.slot;
    if !slots.contains(&slot) {
        return Ok(None);
    }
    Ok(Some((slot, keys::job::decode(key, value)?)))
}

/// The pace of a node.
pub(crate) fn pace_of<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Pace<'_> {
    Pace {
        clock: &*shared.ports.clock,
        patience: shared.config.jobs.patience(),
    }
}

/// Takes in the jobs of slots in which a commit was found out about.
pub(crate) async fn read_unread<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Result<(), Error> {
    let mut unread = Unread::take(&shared.jobs);
    if unread.slots.is_empty() {
        return Ok(());
    }
    for found in of_slots(&shared.store, pace_of(shared), &unread.slots).await? {
        shared.jobs.add_found(found);
    }
    unread.slots.clear();
    Ok(())
}

/// Asks of halted promotions whether somebody wants them tried anew, which may have been said on any
/// node. In how many milliseconds to ask again; none while none has halted.
pub(super) async fn look_at_halted<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
) -> Result<Option<u64>, Error> {
    let pace = pace_of(shared);
    let (halted, again_ms) = shared.jobs.take_halted(pace.clock.monotonic_ms());
    if halted.is_empty() {
        return Ok(again_ms);
    }
    let mut txn = shared
        .store
        .begin()
        .await
        .map_err(|error| refusal(&error))?;
    for (slot, job) in halted {
        let key = keys::attempt::key(slot, job.verification);
        let value = txn.get(&key, Read::Snapshot).await;
        let value = value.map_err(|error| refusal(&error))?;
        let job_key = keys::job::key(slot, job.verification);
        let is_under_way = txn.get(&job_key, Read::Snapshot).await;
        if is_under_way.map_err(|error| refusal(&error))?.is_none() {
            // Somebody dropped it in a commit that nobody here heard of.
            shared.jobs.finished(job.verification);
        } else if let Some(attempts) = value.and_then(|value| kept::read(&key, &value)) {
            shared.jobs.add_found(Found::new(pace, slot, job, attempts));
        }
    }
    Ok(again_ms)
}

/// Slots whose jobs are being read. Whatever becomes of that, those that were not read are left for
/// the next time.
struct Unread<'a> {
    queue: &'a JobQueue,
    slots: BTreeSet<Slot>,
}

impl<'a> Unread<'a> {
    fn take(queue: &'a JobQueue) -> Self {
        Self {
            queue,
            slots: queue.take_unread(),
        }
    }
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        self.queue.leave_unread(&mut self.slots);
    }
}
