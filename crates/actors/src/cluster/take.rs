//! Taking slots: the claim, the wait for the index, and the holding of what is ready.
//!
//! Owns that nothing is held before the index shows what was published there, and that a slot which is not ready holds
//! up no other. Who may take what is core's rule, and the row is [`crate::claims`]'s. It must not know why a slot is
//! wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;

use futures::future::join_all;
use futures::stream::{self, Stream, StreamExt as _};
use parking_lot::Mutex;
use sillok_core::Error;
use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::{NodeRow, OwnerRow, is_claimable};
use sillok_core::slot::Slot;
use sillok_store::Store;
use tokio::sync::oneshot;

use crate::claims::{self, Claim};
use crate::commit::Shared;
use crate::errors::{claim_refusal, refusal};
use crate::indexer::{Unreadable, ahead};
use crate::jobs;
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};

/// Slots that one transaction takes: its reads must end well before the store's limit for a
/// transaction.
const CLAIMED_AT_ONCE: usize = 512;
/// Slots that are shown ahead of the index at the same time, and held together: what waits in them is looked for among
/// all that waits.
const SHOWN_AT_ONCE: usize = 8;

/// Slots that were claimed and are not held, each with what it is that keeps it.
pub(crate) type Left = BTreeMap<Slot, Error>;

/// The slots that are being taken, and whoever wants one of them too, in the order in which they came: they
/// wait for who was first. (A `watch` would wake them in an order that it draws.)
#[derive(Debug, Default)]
pub(crate) struct Taking(Mutex<BTreeMap<Slot, Vec<oneshot::Sender<Step>>>>);

/// How the taking of one slot ended.
#[derive(Clone, Debug)]
enum Step {
    /// It is held, or has a living owner.
    Done,
    Left(Error),
    RunOver,
}

/// The slots that somebody takes. Should it end before they are done, whoever waits takes them.
struct Turn<'a> {
    of: &'a Taking,
    slots: BTreeSet<Slot>,
}

impl Taking {
    /// Those of `slots` that nobody takes yet, and for the others where to hear of them.
    fn begin(&self, slots: &BTreeSet<Slot>) -> (Turn<'_>, Vec<(Slot, oneshot::Receiver<Step>)>) {
        let mut turn = Turn {
            of: self,
            slots: BTreeSet::new(),
        };
        let mut others = Vec::new();
        let mut all = self.0.lock();
        for slot in slots {
            if let Some(waiting) = all.get_mut(slot) {
                let (sender, receiver) = oneshot::channel();
                waiting.push(sender);
                others.push((*slot, receiver));
                continue;
            }
            all.insert(*slot, Vec::new());
            turn.slots.insert(*slot);
        }
        (turn, others)
    }
}

impl Turn<'_> {
    fn end(&mut self, slot: Slot, step: Step) {
        if !self.slots.remove(&slot) {
            return;
        }
        let waiting = self.of.0.lock().remove(&slot);
        for sender in waiting.into_iter().flatten() {
            // Whoever is gone wants it no more.
            let _ = sender.send(step.clone());
        }
    }

    fn end_all(&mut self, step: &Step) {
        for slot in self.slots.clone() {
            self.end(slot, step.clone());
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut all = self.of.0.lock();
        self.slots.iter().for_each(|slot| drop(all.remove(slot)));
    }
}

/// As [`take`], for the one slot that a command is for. A node that ends takes none.
///
/// # Errors
/// As [`take`], and what keeps the slot.
pub(crate) async fn take_for_command<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    slot: Slot,
) -> Result<bool, Error> {
    if shared.members.ends() {
        return Ok(false);
    }
    if !shared.protocol.keeps(Safeguard::AdoptsOrphans) {
        let (owner, nodes) = claims::owner_of(&shared.store, slot)
            .await
            .map_err(|error| refusal(&error))?;
        let node = owner.as_ref().and_then(|owner| nodes.get(&owner.node));
        if is_left_to_others(shared, owner.as_ref(), node) {
            return Ok(false);
        }
    }
    match take(shared, &[slot]).await? {
        Some(mut left) => left.pop_first().map_or(Ok(true), |(_, error)| Err(error)),
        None => Ok(false),
    }
}

/// Takes those of `slots` that have no living owner, with all that belongs to them: each is held as soon
/// as it is ready. Gives those that are not, and are looked at again; nothing if this run of the node is
/// over.
///
/// # Errors
/// What the store answered. What was ready by then is held.
pub(crate) async fn take<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    slots: &[Slot],
) -> Result<Option<Left>, Error> {
    let mut left = Left::new();
    let mut wanted: BTreeSet<Slot> = slots.iter().copied().collect();
    while !wanted.is_empty() {
        let (mut turn, others) = shared.members.taking.begin(&wanted);
        wanted.clear();
        let taken = in_turn(shared, &mut turn, &mut left).await;
        match &taken {
            Ok(true) => turn.end_all(&Step::Done),
            Ok(false) => turn.end_all(&Step::RunOver),
            Err(error) => turn.end_all(&Step::Left(error.clone())),
        }
        if !taken? {
            return Ok(None);
        }
        for (slot, other) in others {
            match other.await {
                Ok(Step::Done) => {}
                Ok(Step::Left(error)) => drop(left.insert(slot, error)),
                Ok(Step::RunOver) => return Ok(None),
                Err(_gone) => drop(wanted.insert(slot)),
            }
        }
    }
    Ok(Some(left))
}

/// Claims slots, and notes of each that it is behind as soon as it is claimed. Gives those that are to be held, and
/// leaves out what is held already; nothing if this run of the node is over.
async fn claim_all<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    slots: &[Slot],
    run: Incarnation,
) -> Result<Option<BTreeMap<Slot, Epoch>>, Error> {
    let ownership = &shared.ownership;
    let mut claimed = BTreeMap::new();
    for some in slots.chunks(CLAIMED_AT_ONCE) {
        let claim = claims::claim(&shared.store, ownership, some, shared.protocol).await;
        let mut slots = match claim.map_err(|error| claim_refusal(&error))? {
            Claim::Taken { slots, takeovers } => {
                count(&shared.counters.takeovers, takeovers);
                slots
            }
            Claim::RunOver => return Ok(None),
        };
        // A claim gives what is this run's by its row. That may be held since whoever wants it has looked.
        slots.retain(|(slot, epoch)| ownership.is_awaited(*slot, *epoch));
        let mut behind = shared.members.behind.lock();
        // What a run before has claimed, the next one is not behind with.
        if ownership.incarnation() == run {
            behind.extend(slots.iter().copied());
        }
        drop(behind);
        claimed.extend(slots);
    }
    Ok(Some(claimed))
}

/// Whether this run of the node goes on.
async fn in_turn<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    turn: &mut Turn<'_>,
    left: &mut Left,
) -> Result<bool, Error> {
    let slots: Vec<Slot> = turn.slots.iter().copied().collect();
    let run = shared.ownership.incarnation();
    let Some(claimed) = claim_all(shared, &slots, run).await? else {
        return Ok(false);
    };
    let others = slots.into_iter().filter(|slot| !claimed.contains_key(slot));
    others.for_each(|slot| turn.end(slot, Step::Done));
    if claimed.is_empty() {
        return Ok(true);
    }
    // Nothing is decided in a slot before the index has all that its former owner published. What it
    // published stands in the outbox now, since the claim has ended its writing there.
    for slot in claimed.keys() {
        shared.index_feed.mark(*slot);
    }
    if !shared.protocol.keeps(Safeguard::WaitsForIndex) {
        return hold(shared, &claimed, run).await;
    }
    let clock = (!shared.is_alone()).then_some(&*shared.ports.clock);
    let slots = claimed.keys().copied().collect();
    let mut catching_up = shared.index_requests.follow(slots, clock)?;
    let mut shown = pin!(shown_ahead(shared, &claimed));
    let why = loop {
        let (ready, unreadable) = tokio::select! {
            biased;
            Some(ready) = shown.next() => (catching_up.are_ready(ready), Unreadable::new()),
            caught_up = catching_up.next() => match caught_up {
                Ok(Some(caught_up)) => caught_up,
                Ok(None) => return Ok(true),
                Err(error) => break error,
            },
        };
        for (slot, error) in unreadable {
            turn.end(slot, Step::Left(error.clone()));
            left.insert(slot, error);
        }
        if !hold_ready(shared, turn, &claimed, (ready, run)).await? {
            return Ok(false);
        }
    };
    for slot in catching_up.left() {
        turn.end(*slot, Step::Left(why.clone()));
        left.insert(*slot, why.clone());
    }
    Ok(true)
}

/// The slots of which the index shows all from its memory, some at a time. A node that is alone has nobody's writing to
/// show ahead.
fn shown_ahead<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    claimed: &BTreeMap<Slot, Epoch>,
) -> impl Stream<Item = Vec<Slot>> + Send {
    let slots: Vec<Slot> = match shared.is_alone() {
        true => Vec::new(),
        false => claimed.keys().copied().collect(),
    };
    let some_at_a_time: Vec<Vec<Slot>> = slots.chunks(SHOWN_AT_ONCE).map(Vec::from).collect();
    let shown = stream::iter(some_at_a_time).then(move |some| async move {
        let shown = some
            .into_iter()
            .map(|slot| async move { ahead::shows(shared, slot).await.then_some(slot) });
        join_all(shown).await.into_iter().flatten().collect()
    });
    shown.fuse()
}

/// Holds slots of which the index shows all, and tells whoever waits for them. Whether the run that claimed them is the
/// current one.
async fn hold_ready<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    turn: &mut Turn<'_>,
    claimed: &BTreeMap<Slot, Epoch>,
    (ready, run): (BTreeSet<Slot>, Incarnation),
) -> Result<bool, Error> {
    let epochs = ready.into_iter().map(|slot| (slot, claimed[&slot]));
    let ready: BTreeMap<Slot, Epoch> = epochs.collect();
    if ready.is_empty() {
        return Ok(true);
    }
    if !hold(shared, &ready, run).await? {
        return Ok(false);
    }
    ready.keys().for_each(|slot| turn.end(*slot, Step::Done));
    Ok(true)
}

/// Holds slots that the index has caught up with, knows what is quarantined there, and resumes what waits
/// in them. Whether the run that claimed them is the current one.
async fn hold<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    ready: &BTreeMap<Slot, Epoch>,
    run: Incarnation,
) -> Result<bool, Error> {
    let ownership = &shared.ownership;
    let waiting = if shared.protocol.keeps(Safeguard::ResumesJobs) && !ready.is_empty() {
        {
            let slots = ready.keys().copied().collect();
            jobs::of_slots(&shared.store, jobs::pace_of(shared), &slots).await?
        }
    } else {
        Vec::new()
    };
    let slots = ready.keys().copied().collect();
    let quarantines = claims::quarantines(&shared.store, &slots).await;
    let mut quarantines = quarantines.map_err(|error| refusal(&error))?;
    for (slot, epoch) in ready {
        shared.held_quarantines.set(*slot, quarantines.remove(slot));
        let before = ownership.epoch(*slot);
        if !ownership.take(*slot, *epoch, run) {
            return Ok(false);
        }
        let is_new = before != Some(*epoch) && ownership.epoch(*slot) == Some(*epoch);
        count(&shared.counters.slots_taken, is_new.into());
        shared.members.not_behind(*slot, *epoch);
        shared.mark_for_relays(*slot);
    }
    for found in waiting {
        // What was handed over meanwhile is another's to carry out.
        if ownership.epoch(found.slot) == ready.get(&found.slot).copied() {
            shared.jobs.add_found(found);
        }
    }
    Ok(true)
}

/// Planted bug: what a node had whose run is over is taken only by whoever fenced it, or by its own next
/// run.
pub(super) fn is_left_to_others<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    owner: Option<&OwnerRow>,
    node: Option<&NodeRow>,
) -> bool {
    if shared.protocol.keeps(Safeguard::AdoptsOrphans) {
        return false;
    }
    let Some(owner) = owner.filter(|owner| owner.node != shared.ownership.node()) else {
        return false;
    };
    is_claimable(Some(owner), node) && !shared.members.fenced_here.lock().contains(&owner.node)
}

#[cfg(test)]
mod tests;
