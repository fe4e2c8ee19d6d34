//! The relay: from the outbox to the bus inside this process, in order.
//!
//! Owns its cursor for each slot, whoever commits in it. The outbox is the truth: what the relay has not
//! told yet is still there after a crash, and a listener that missed a message reads the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_bus::{InProcessBus, Message};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::trace::SpanKind;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::{RangeOptions, Read, Store, Txn, keys};

use crate::commit::Shared;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::Protocol;

/// Rows of one slot that are read at once.
const PAGE_ROWS: usize = 256;
/// Slots of other nodes that one transaction reads, before this node's own are looked at again.
const OTHERS_AT_ONCE: usize = 64;
/// The wait after the store did not answer, in ms.
const RETRY_MS: u64 = 200;

/// How far each slot was told.
pub(crate) type Told = Arc<Mutex<BTreeMap<Slot, Stamp>>>;

/// Tells the bus of every commit that is heard of from now on, until the node ends, and has the other
/// nodes hear of this one's. Should it meet a defect, it goes on from what was told, which its caller
/// keeps.
pub(crate) async fn run<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    bus: InProcessBus,
    started_at: Stamp,
    told: Told,
) {
    // Should an earlier start of this task have met a defect, what was marked before is taken already.
    for slot in shared.ownership.held() {
        shared.bus_feed.mark(slot);
    }
    let mut others: BTreeSet<Slot> = BTreeSet::new();
    loop {
        if others.is_empty() {
            shared.bus_feed.changed().await;
        }
        for slot in shared.bus_feed.take() {
            if shared.ownership.epoch(slot).is_none() {
                others.insert(slot);
                continue;
            }
            others.remove(&slot);
            let after = told.lock().get(&slot).copied().unwrap_or(started_at);
            match tell(&shared, &bus, slot, after).await {
                Ok(last) => {
                    told.lock().insert(slot, last);
                    if last > after && !shared.is_alone() {
                        shared.news.add(slot);
                    }
                }
                Err(error) if error.code == ErrorCode::Internal => note_unreadable(slot, &error),
                Err(error) => {
                    tracing::warn!(%error, %slot, "the outbox could not be read; it is read again");
                    shared.ports.clock.sleep(RETRY_MS).await;
                    shared.bus_feed.mark(slot);
                }
            }
        }
        let some: Vec<Slot> = others.iter().take(OTHERS_AT_ONCE).copied().collect();
        match tell_some(&shared, &bus, &some, started_at, &told).await {
            Ok(unread) => {
                for slot in &some {
                    others.remove(slot);
                }
                others.extend(unread);
            }
            Err(error) => {
                tracing::warn!(%error, "the outbox could not be read; it is read again");
                shared.ports.clock.sleep(RETRY_MS).await;
            }
        }
    }
}

/// Tells the bus what is new in some slots, up to a page of each, as one snapshot shows it; gives those
/// with more.
async fn tell_some<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    bus: &InProcessBus,
    slots: &[Slot],
    started_at: Stamp,
    told: &Told,
) -> Result<Vec<Slot>, Error> {
    let mut unread = Vec::new();
    if slots.is_empty() {
        return Ok(unread);
    }
    let mut txn = shared.store.begin().await;
    let txn = txn.as_mut().map_err(|error| refusal(error))?;
    for slot in slots {
        let after = told.lock().get(slot).copied().unwrap_or(started_at);
        let rows = match rows_in(txn, *slot, after, PAGE_ROWS).await {
            Ok(rows) => rows,
            Err(error) if error.code == ErrorCode::Internal => {
                note_unreadable(*slot, &error);
                continue;
            }
            Err(error) => return Err(error),
        };
        if rows.len() == PAGE_ROWS {
            unread.push(*slot);
        }
        let last = say(shared, bus, *slot, after, rows);
        told.lock().insert(*slot, last);
        // Taken meanwhile, and written to: nobody else says so to the other nodes.
        if last > after && shared.ownership.epoch(*slot).is_some() {
            shared.news.add(*slot);
        }
    }
    Ok(unread)
}

/// Something is wrong with one slot: the others go on, and it is read again at the next word of it.
fn note_unreadable(slot: Slot, error: &Error) {
    tracing::error!(%error, %slot, "the outbox of a slot could not be read");
}

/// Tells the bus of a slot's rows after a stamp; gives the last stamp that was told.
async fn tell<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    bus: &InProcessBus,
    slot: Slot,
    after: Stamp,
) -> Result<Stamp, Error> {
    let mut last = after;
    loop {
        let rows = rows_after(&shared.store, slot, last, PAGE_ROWS).await?;
        let is_last = rows.len() < PAGE_ROWS;
        last = say(shared, bus, slot, last, rows);
        if is_last {
            return Ok(last);
        }
    }
}

/// Publishes a slot's rows behind a stamp; gives the last stamp.
fn say<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    bus: &InProcessBus,
    slot: Slot,
    after: Stamp,
    rows: Vec<(Stamp, OutboxRow)>,
) -> Stamp {
    let mut previous = after;
    for (stamp, row) in rows {
        let _span = shared.spans.of_row("relay", SpanKind::Producer, &row);
        bus.publish(message_of(slot, stamp, previous, row));
        previous = stamp;
        count(&shared.counters.relayed, 1);
    }
    previous
}

/// What a row of the outbox is told as, behind what was told of its slot before it.
pub(crate) fn message_of(slot: Slot, stamp: Stamp, previous: Stamp, row: OutboxRow) -> Message {
    Message {
        slot,
        stamp,
        previous,
        scope: row.scope,
        first: row.first,
        last: row.last,
    }
}

/// The outbox rows of a slot after a stamp, in order, at most `limit`.
///
/// # Errors
/// What the store answered.
pub(crate) async fn rows_after<S: Store>(
    store: &S,
    slot: Slot,
    after: Stamp,
    limit: usize,
) -> Result<Vec<(Stamp, OutboxRow)>, Error> {
    let mut txn = store.begin().await.map_err(|error| refusal(&error))?;
    rows_in(&mut txn, slot, after, limit).await
}

/// As [`rows_after`], within a transaction.
///
/// # Errors
/// What the store answered.
pub(crate) async fn rows_in(
    txn: &mut impl Txn,
    slot: Slot,
    after: Stamp,
    limit: usize,
) -> Result<Vec<(Stamp, OutboxRow)>, Error> {
    let range = keys::outbox::range_after(slot, after);
    let rows = txn
        .range(&range, RangeOptions::first(limit, Read::Snapshot))
        .await;
    let rows = rows.map_err(|error| refusal(&error))?;
    let decode = |(key, value): &(bytes::Bytes, bytes::Bytes)| {
        let stamp = keys::outbox::parse(key)
            .map_err(|error| refusal(&error))?
            .stamp;
        let row = keys::outbox::decode(key, value).map_err(|error| refusal(&error))?;
        Ok((stamp, row))
    };
    rows.iter().map(decode).collect()
}

#[cfg(test)]
mod tests;
