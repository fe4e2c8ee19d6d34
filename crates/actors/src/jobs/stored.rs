//! Jobs as they are stored: finding those that wait in the slots of a node.
//!
//! Owns which slots are still to be read. What is done with a job that was found is the queue's.

use std::collections::BTreeSet;

use sillok_core::Error;
use sillok_core::promotion::Job;
use sillok_core::slot::Slot;
use sillok_store::{Error as StoreError, RangeOptions, Read, Store, Txn, keys};

use super::JobQueue;
use crate::commit::Shared;
use crate::errors::refusal;
use crate::protocol::Protocol;

/// Jobs that are read from the store at once.
const PAGE_ROWS: usize = 256;

/// The promotions that are not finished, of slots that were just taken. A row that does not decode
/// costs its own promotion only.
///
/// # Errors
/// What the store answered.
pub(crate) async fn of_slots<S: Store>(
    store: &S,
    slots: &BTreeSet<Slot>,
) -> Result<Vec<(Slot, Job)>, Error> {
    let mut found = Vec::new();
    let mut range = keys::job::range_all();
    loop {
        let mut txn = store.begin().await.map_err(|error| refusal(&error))?;
        let rows = txn
            .range(&range, RangeOptions::first(PAGE_ROWS, Read::Snapshot))
            .await;
        let rows = rows.map_err(|error| refusal(&error))?;
        let Some((last, _)) = rows.last() else {
            return Ok(found);
        };
        range.begin = sillok_store::key_range::successor(last);
        for (key, value) in &rows {
            match of_row(slots, key, value) {
                Ok(job) => found.extend(job),
                Err(error) => {
                    tracing::error!(%error, "a promotion is not carried out: its row does not decode")
                }
            }
        }
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

/// Takes in the jobs of slots in which a commit was found out about.
pub(super) async fn read_unread<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Result<(), Error> {
    let mut unread = Unread::take(&shared.jobs);
    if unread.slots.is_empty() {
        return Ok(());
    }
    for (slot, job) in of_slots(&shared.store, &unread.slots).await? {
        shared.jobs.add(slot, job);
    }
    unread.slots.clear();
    Ok(())
}

/// Slots whose jobs are being read. Whatever becomes of that, those that were not read are left for
/// the next time.
struct Unread<'a> {
    queue: &'a JobQueue,
    slots: BTreeSet<Slot>,
}

impl<'a> Unread<'a> {
    fn take(queue: &'a JobQueue) -> Self {
        let slots = std::mem::take(&mut *queue.unread.lock());
        Self { queue, slots }
    }
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        self.queue.unread.lock().append(&mut self.slots);
    }
}
