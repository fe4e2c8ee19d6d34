//! Handing slots over: to the nodes that they belong on, or all of them when the node ends.
//!
//! Owns what happens to a slot on its way out: it takes no further commands, falls quiet, and is
//! written over. Where a slot belongs is core's rule, and the row is [`crate::claims`]'s.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::{StreamExt as _, stream};
use sillok_core::Error;
use sillok_core::id::Epoch;
use sillok_core::membership::reach::homes;
use sillok_core::membership::{home, living};
use sillok_core::slot::Slot;
use sillok_store::Store;

use crate::claims::{self, HandOver, Leaving, Saying};
use crate::commit::Shared;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::router::Router;

/// Slots that are handed over in one round, by one transaction if all are quiet.
const HANDED_OVER_MAX: usize = 16;
/// Rounds that a node which ends makes at once.
const DRAINED_AT_ONCE: usize = 8;
/// How long a node that ends begins to hand slots over, in ms.
const DRAIN_MS_MAX: u64 = 20_000;
/// How often the end of what is in flight in a slot is looked for, in ms.
const LEAVING_POLL_MS: u64 = 5;
/// How long a slot that is to be handed over takes no commands before it stays after all, in ms.
const LEAVING_MS_MAX: u64 = 2_000;

/// Hands over slots that belong on another living node, a bounded number at a time, in turn: a slot
/// that does not fall quiet must not keep the others waiting.
pub(super) async fn some<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    handed_over: &mut Option<Slot>,
) -> Result<(), Error> {
    let nodes = shared.members.nodes.lock().clone();
    let me = shared.ownership.node();
    let is_reached = nodes.values().any(|row| !row.fenced && row.reaches_bus);
    // While nobody reaches the bus, one that ends cannot be told from the others.
    if !is_reached || !living(&nodes).any(|name| name == me) {
        return Ok(());
    }
    let homes = shared.members.homes(me, &nodes);
    let elsewhere = |slot: Slot| {
        let target = home(slot, homes.iter().copied())?;
        (target != me).then(|| (slot, target.to_owned()))
    };
    let held = shared.ownership.held().into_iter();
    let mut leaving: Vec<(Slot, String)> = held.filter_map(elsewhere).collect();
    let passed = leaving.partition_point(|(slot, _)| Some(*slot) <= *handed_over);
    leaving.rotate_left(passed);
    let mut are_left = leaving.len() > HANDED_OVER_MAX;
    leaving.truncate(HANDED_OVER_MAX);
    if let Some((last, _)) = leaving.last() {
        *handed_over = Some(*last);
        // The others wait for the next look, if one stays: nothing turns without rest.
        are_left &= together(shared, router, leaving).await?;
    }
    if are_left {
        shared.members.changed.notify_one();
    }
    Ok(())
}

/// Hands slots over to the nodes beside them: each takes no further commands, finishes what is in flight, and
/// is written over with those that are quiet by then. Whether all of them are gone; one that does not fall
/// quiet in time stays.
async fn together<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    slots: Vec<(Slot, String)>,
) -> Result<bool, Error> {
    let leaves = |(slot, to)| {
        let epoch = shared.ownership.epoch(slot)?;
        let leaves = shared.ownership.start_leaving(slot, epoch);
        leaves.then_some(Leaving { slot, epoch, to })
    };
    let mut leaving: Vec<Leaving> = slots.into_iter().filter_map(leaves).collect();
    let clock = &shared.ports.clock;
    let deadline_ms = clock.monotonic_ms() + LEAVING_MS_MAX;
    let mut are_gone = true;
    while !leaving.is_empty() {
        let is_quiet = |one: &Leaving| router.in_flight(one.slot) == 0;
        let (quiet, busy): (Vec<_>, Vec<_>) = leaving.into_iter().partition(is_quiet);
        leaving = busy;
        if !quiet.is_empty() {
            let written = write_over(shared, router, quiet).await;
            if written.is_err() {
                stay(shared, &leaving);
            }
            are_gone &= written?;
        } else if clock.monotonic_ms() >= deadline_ms {
            stay(shared, &leaving);
            return Ok(false);
        } else {
            clock.sleep(LEAVING_POLL_MS).await;
        }
    }
    Ok(are_gone)
}

/// Has slots stay that nobody tried to write over.
fn stay<S: Store, P: Protocol>(shared: &Shared<S, P>, leaving: &[Leaving]) {
    for one in leaving {
        shared.ownership.stay(one.slot);
    }
}

/// Writes quiet slots over. Whether all of them are gone.
async fn write_over<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    quiet: Vec<Leaving>,
) -> Result<bool, Error> {
    let became = match claims::hand_over(&shared.store, &shared.ownership, &quiet).await {
        Ok(became) => became,
        // Held or not, the next attempt or the next commit in each slot finds out.
        Err(error) => {
            for one in &quiet {
                shared.ownership.stay_in_doubt(one.slot);
            }
            return Err(refusal(&error));
        }
    };
    let mut are_gone = true;
    for (Leaving { slot, epoch, to }, became) in quiet.into_iter().zip(became) {
        match became {
            HandOver::Done => {
                count(&shared.counters.slots_handed_over, 1);
                let_go(shared, slot, epoch);
                router.expect_at(slot, &to);
            }
            // It was handed over before, and nobody heard of it; or it was taken from a run that is over.
            HandOver::NotHeld => let_go(shared, slot, epoch),
            HandOver::NoReceiver => {
                // An earlier try of which nobody heard may still be carried out.
                shared.ownership.stay_in_doubt(slot);
                are_gone = false;
            }
        }
    }
    Ok(are_gone)
}

/// Lets go of a slot that is held no longer, and leaves its promotions to whoever holds it.
pub(crate) fn let_go<S: Store, P: Protocol>(shared: &Shared<S, P>, slot: Slot, epoch: Epoch) {
    if !shared.ownership.release(slot, epoch) {
        return;
    }
    shared.members.not_behind(slot, epoch);
    shared.jobs.keep_only(|held| held != slot);
    if shared.ownership.epoch(slot).is_some() {
        // It was taken again in between, with jobs that are gone now.
        shared.jobs.look_again(slot);
    }
}

/// Hands everything over, while the node still serves what it holds: a scope waits for no slot but its
/// own. From here on the node takes no slot, and its row says that it serves nobody, so that the others
/// hand it none. What takes too long is left to be taken once the run has ended.
pub(crate) async fn drain<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
) {
    shared.members.ends.store(true, Ordering::Release);
    let says = Saying {
        reaches_bus: false,
        is_behind: shared.members.slots_behind() > 0,
    };
    let beaten = claims::beat(&shared.store, &shared.ownership, says, shared.protocol).await;
    if let Err(error) = beaten {
        tracing::warn!(%error, "the others hear with a later beat that this node ends");
    }
    let clock = &shared.ports.clock;
    let deadline_ms = clock.monotonic_ms() + DRAIN_MS_MAX;
    let nodes = shared.members.nodes.lock().clone();
    let me = shared.ownership.node();
    let mut others = homes(&nodes);
    others.retain(|name| *name != me);
    let held = shared.ownership.held().into_iter();
    let targets =
        held.filter_map(|slot| Some((slot, home(slot, others.iter().copied())?.to_owned())));
    let targets: Vec<(Slot, String)> = targets.collect();
    let parts = stream::iter(targets.chunks(HANDED_OVER_MAX));
    let handing_over = parts.for_each_concurrent(DRAINED_AT_ONCE, async |slots| {
        if clock.monotonic_ms() >= deadline_ms {
            return;
        }
        if let Err(error) = together(shared, router, slots.to_vec()).await {
            tracing::warn!(%error, ?slots, "slots were not handed over; they are taken once this run has ended");
        }
    });
    handing_over.await;
}

/// Ends the run, so that nobody has to wait until it is found silent: what it holds still is taken then.
pub(crate) async fn leave<S: Store, P: Protocol>(shared: &Shared<S, P>) {
    if let Err(error) = claims::leave(&shared.store, &shared.ownership).await {
        tracing::warn!(%error, "the end of the run is not written; the others will find it silent");
    }
    shared.ownership.release_all();
}

#[cfg(test)]
mod tests;
