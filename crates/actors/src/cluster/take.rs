//! Taking slots: the claim, the wait for the index, and the holding of what is ready.
//!
//! Owns that nothing is held before the index shows what was published there, and that a slot which is not ready holds
//! up no other. Who may take what is core's rule, and the row is [`crate::claims`]'s. It must not know why a slot is
//! wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;

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
use crate::jobs::{self, Found};
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};

/// Slots that one transaction takes: its reads must end well before the store's limit for a
/// transaction.
const CLAIMED_AT_ONCE: usize = 512;
/// Slots that are shown ahead of the index at the same time, and then held together.
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
    let clock = (!shared.is_alone()).then_some(&*shared.ports.clock);
    let slots: BTreeSet<Slot> = claimed.keys().copied().collect();
    let mut catching_up = shared.index_requests.follow(slots.clone(), clock)?;
    let mut burst = Burst {
        claimed,
        waiting: None,
        run,
    };
    if !shared.protocol.keeps(Safeguard::WaitsForIndex) {
        return burst.hold(shared, &slots).await;
    }
    let mut shown = pin!(shown_ahead(shared, slots));
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
        if !burst.hold(shared, &ready).await? {
            return Ok(false);
        }
        ready
            .into_iter()
            .for_each(|slot| turn.end(slot, Step::Done));
    };
    for slot in catching_up.left() {
        turn.end(*slot, Step::Left(why.clone()));
        left.insert(*slot, why.clone());
    }
    Ok(true)
}

/// The slots of which the index shows all from its memory, as many at a time as are shown by then: one with which it
/// takes long holds up no other, unless there are as many as are shown at the same time. A node that is alone has nobody's writing to show ahead.
fn shown_ahead<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    mut slots: BTreeSet<Slot>,
) -> impl Stream<Item = Vec<Slot>> + Send {
    if shared.is_alone() {
        slots.clear();
    }
    let shows = move |slot| async move { ahead::shows(shared, slot).await.then_some(slot) };
    stream::iter(slots)
        .map(shows)
        .buffer_unordered(SHOWN_AT_ONCE)
        .filter_map(core::future::ready)
        .ready_chunks(SHOWN_AT_ONCE)
        .fuse()
}

/// Slots that were claimed together, and are held as they get ready.
struct Burst {
    claimed: BTreeMap<Slot, Epoch>,
    /// The promotions that wait in those that are not held yet. They are read once for all, since they are looked for
    /// among all that wait anywhere; in a slot that nobody holds none begins or ends.
    waiting: Option<BTreeMap<Slot, Vec<Found>>>,
    /// The run that claimed them.
    run: Incarnation,
}

impl Burst {
    /// Holds slots of which the index shows all, knows what is quarantined there, and resumes what waits in them. Whether
    /// the run that claimed them is the current one.
    async fn hold<S: Store, P: Protocol>(
        &mut self,
        shared: &Shared<S, P>,
        ready: &BTreeSet<Slot>,
    ) -> Result<bool, Error> {
        if ready.is_empty() {
            return Ok(true);
        }
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => self.all_waiting(shared).await?,
        };
        let quarantines = claims::quarantines(&shared.store, ready).await;
        let mut quarantines = quarantines.map_err(|error| refusal(&error))?;
        let ownership = &shared.ownership;
        for slot in ready {
            let epoch = self.claimed[slot];
            shared.held_quarantines.set(*slot, quarantines.remove(slot));
            let before = ownership.epoch(*slot);
            if !ownership.take(*slot, epoch, self.run) {
                return Ok(false);
            }
            let is_new = before != Some(epoch) && ownership.epoch(*slot) == Some(epoch);
            count(&shared.counters.slots_taken, is_new.into());
            shared.members.not_behind(*slot, epoch);
            shared.mark_for_relays(*slot);
            // What was handed over meanwhile is another's to carry out.
            let waiting_here = waiting.remove(slot).into_iter().flatten();
            if ownership.epoch(*slot) == Some(epoch) {
                waiting_here.for_each(|found| shared.jobs.add_found(found));
            }
        }
        self.waiting = Some(waiting);
        Ok(true)
    }

    async fn all_waiting<S: Store, P: Protocol>(
        &self,
        shared: &Shared<S, P>,
    ) -> Result<BTreeMap<Slot, Vec<Found>>, Error> {
        let mut waiting: BTreeMap<Slot, Vec<Found>> = BTreeMap::new();
        if shared.protocol.keeps(Safeguard::ResumesJobs) {
            let slots = self.claimed.keys().copied().collect();
            for found in jobs::of_slots(&shared.store, jobs::pace_of(shared), &slots).await? {
                waiting.entry(found.slot).or_default().push(found);
            }
        }
        Ok(waiting)
    }
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
