//! One node among others: it beats, watches its neighbours, takes what has no owner, and hands over
//! what belongs elsewhere.
//!
//! Owns when this is done. How it is written is [`crate::claims`]'s; who lives, who is silent and
//! where a slot belongs are core's rules. A node that runs alone takes everything once, at its
//! start, and none of this runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use parking_lot::Mutex;
use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::reach::{Reach, homes};
use sillok_core::membership::version::spoken;
use sillok_core::membership::{
    BeatConfig, NodeRow, Nodes, Suspect, Watcher, WireVersion, home, is_claimable, living,
};
use sillok_core::slot::{SLOTS, Slot};
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::{Error as StoreError, Store};
use tokio::sync::Notify;

use crate::claims::{self, Beat, Saying};
use crate::commit::Shared;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};
use crate::router::Router;

mod hand_over;
mod repair;
mod take;

pub(crate) use hand_over::{drain, leave, let_go};
pub(crate) use repair::{fence, quarantine};
use take::{Taking, is_left_to_others};
pub(crate) use take::{take, take_for_command};

/// How often a node looks for slots without an owner when nothing tells it to, in ms.
const LOOK_EVERY_MS: u64 = 5_000;
/// The wait before the store is asked again, in ms.
const RETRY_MS: u64 = 200;

/// A beat of another node.
#[derive(Debug)]
struct Heard {
    incarnation: Incarnation,
    beat: u64,
    at_ms: u64,
}

/// What the last beat saw of the others, and what follows from it.
#[derive(Debug, Default)]
pub(crate) struct Members {
    nodes: Mutex<Nodes>,
    /// The last beat of each other node, and when it was seen first, on the boot clock in ms.
    heard: Mutex<BTreeMap<String, Heard>>,
    suspects: Mutex<Vec<Suspect>>,
    suspected: Notify,
    /// Nodes that this one fenced.
    fenced_here: Mutex<BTreeSet<String>>,
    changed: Notify,
    taking: Taking,
    /// Slots that this run has claimed and does not serve yet, each with the epoch of the claim.
    behind: Mutex<BTreeMap<Slot, Epoch>>,
    replaced: AtomicBool,
    /// Whether the others reach the bus and this node does not.
    cut_off: AtomicBool,
    /// Whether this node ends, so that no further run of it may begin.
    ends: AtomicBool,
    /// The version that is written to the others; 0 before the first beat.
    spoken: AtomicU8,
}

impl Members {
    /// Whether another process runs under this node's name: this one must end.
    pub(crate) fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Acquire)
    }

    /// The version that is written to the others: the first one before a beat has seen them.
    pub(crate) fn spoken(&self) -> WireVersion {
        let number = self.spoken.load(Ordering::Acquire);
        WireVersion::try_from(number).unwrap_or(WireVersion::FIRST)
    }

    /// Whether the others reach the bus and this node does not.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut_off.load(Ordering::Acquire)
    }

    /// How many slots this run has claimed and does not serve yet: whatever is for them is refused.
    pub(crate) fn slots_behind(&self) -> u64 {
        self.behind.lock().len() as u64
    }

    /// Notes that a slot is served under an epoch, or no longer this run's under it.
    fn not_behind(&self, slot: Slot, epoch: Epoch) {
        let mut behind = self.behind.lock();
        // What was claimed since then is waited for still.
        if behind.get(&slot).is_some_and(|claimed| *claimed <= epoch) {
            behind.remove(&slot);
        }
    }

    fn saw(&self, nodes: Nodes, suspects: Vec<Suspect>) {
        let of_interest = |nodes: &Nodes| -> Vec<(String, NodeRow)> {
            let part = |(name, row): (&String, &NodeRow)| {
                let row = NodeRow {
                    beat: 0,
                    is_behind: false,
                    ..row.clone()
                };
                (name.clone(), row)
            };
            nodes.iter().map(part).collect()
        };
        let mut known = self.nodes.lock();
        let changed = of_interest(&known) != of_interest(&nodes);
        *known = nodes;
        drop(known);
        if !suspects.is_empty() {
            *self.suspects.lock() = suspects;
            self.suspected.notify_one();
        }
        if changed {
            self.changed.notify_one();
        }
    }

    /// Notes when a beat of each node was seen, by a beat of `me` that was started then.
    pub(crate) fn hear(&self, me: &str, nodes: &Nodes, started_ms: u64) {
        let mut heard = self.heard.lock();
        heard.retain(|name, _| nodes.contains_key(name));
        for (name, row) in nodes.iter().filter(|(name, _)| *name != me) {
            let is_known = heard.get(name).is_some_and(|known| {
                (known.incarnation, known.beat) == (row.incarnation, row.beat)
            });
            if !is_known {
                let (incarnation, beat) = (row.incarnation, row.beat);
                let at_ms = started_ms;
                heard.insert(
                    name.clone(),
                    Heard {
                        incarnation,
                        beat,
                        at_ms,
                    },
                );
            }
        }
    }

    /// For how long no new beat of each other node was seen.
    pub(crate) fn silent_ms(&self, now_ms: u64) -> BTreeMap<String, u64> {
        let heard = self.heard.lock();
        let since = heard.iter();
        since
            .map(|(name, heard)| (name.clone(), now_ms.saturating_sub(heard.at_ms)))
            .collect()
    }

    /// The nodes that slots belong on, as this one sees it: those that reach the bus. A node that does not
    /// gives nothing up before it knows that the others do; one that ends is no home any more.
    pub(crate) fn homes<'a>(&self, me: &str, nodes: &'a Nodes) -> Vec<&'a str> {
        let mut homes = homes(nodes);
        if self.ends() {
            homes.retain(|name| *name != me);
            return homes;
        }
        if homes.contains(&me) || self.is_cut_off() {
            homes
        } else {
            living(nodes).collect()
        }
    }

    /// Notes whether the node is cut off; true when that is new.
    pub(crate) fn note_cut_off(&self, is_cut_off: bool) -> bool {
        let is_new = self.cut_off.swap(is_cut_off, Ordering::AcqRel) != is_cut_off;
        if is_new {
            self.changed.notify_one();
        }
        is_new && is_cut_off
    }

    /// Whether the node's run ends, so that others may take its slots at once.
    pub(crate) fn ends(&self) -> bool {
        self.ends.load(Ordering::Acquire)
    }
}

/// Begins a run of this node.
///
/// # Errors
/// What the store answered, and `invalid_state` where the cluster has as many names of nodes as it may.
pub(crate) async fn register<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Result<Stamp, Error> {
    let started_ms = shared.ports.clock.monotonic_ms();
    let registered = claims::register(
        &shared.store,
        shared.ownership.node(),
        shared.config.wire_version,
    )
    .await;
    let registered = registered.map_err(|error| refusal(&error))?;
    let Some((incarnation, stamp)) = registered else {
        let (name, most) = (shared.ownership.node(), claims::NODES_MAX);
        let why = format!(
            "the cluster has had {most} names of nodes, and {name:?} would be one more: start the node under the \
             name of one that is gone"
        );
        return Err(Error::new(ErrorCode::InvalidState, why));
    };
    shared.ownership.begin_run(incarnation);
    shared.members.behind.lock().clear();
    shared.ownership.beat_committed(started_ms);
    Ok(stamp)
}

/// Beats until the node ends or is replaced. To be run where nothing else can hold it up.
pub(crate) async fn beat<S: Store, P: Protocol>(shared: Arc<Shared<S, P>>) {
    let config = shared.config.beat;
    let judged = if shared.protocol.keeps(Safeguard::CountsOwnBeats) {
        config
    } else {
        whatever_its_own_beats(config)
    };
    let (mut watcher, mut reach) = (Watcher::default(), Reach::default());
    loop {
        shared.ports.clock.sleep(config.every_ms).await;
        let started_ms = shared.ports.clock.monotonic_ms();
        let peers = shared.ports.peers.as_ref();
        let reaches = reach.before_beat(peers.is_none_or(|peers| peers.is_connected()), started_ms)
            && !shared.members.ends();
        let says = Saying {
            reaches_bus: reaches,
            is_behind: shared.members.slots_behind() > 0,
        };
        match claims::beat(&shared.store, &shared.ownership, says, shared.protocol).await {
            Ok(Beat::Committed(nodes)) => {
                count(&shared.counters.beats, 1);
                shared.ownership.beat_committed(started_ms);
                let me = shared.ownership.node();
                let suspects = watcher.after_beat(me, started_ms, &nodes, &judged);
                shared.members.hear(me, &nodes, started_ms);
                speak(&shared, &nodes);
                let is_cut_off = reach.after_beat(me, reaches, &nodes) && !shared.members.ends();
                if shared.members.note_cut_off(is_cut_off) {
                    count(&shared.counters.cut_offs, 1);
                    tracing::warn!(
                        "others reach the bus and this node does not: its slots go to them"
                    );
                }
                shared.members.saw(nodes, suspects);
            }
            Ok(Beat::Fenced) if shared.members.ends() => return,
            Ok(Beat::Fenced) => {
                tracing::warn!(
                    node = shared.ownership.node(),
                    "this run was fenced; a new one begins"
                );
                count(&shared.counters.fenced_runs, 1);
                watcher.beat_failed();
                shared.ownership.release_all();
                shared.jobs.keep_only(|_| false);
                begin_again(&shared).await;
                shared.members.changed.notify_one();
            }
            Ok(Beat::Replaced) => {
                tracing::error!(
                    node = shared.ownership.node(),
                    "another process runs under this name; this one ends"
                );
                shared.ownership.release_all();
                shared.jobs.keep_only(|_| false);
                shared.members.replaced.store(true, Ordering::Release);
                return;
            }
            Err(error) => {
                count(&shared.counters.missed_beats, 1);
                tracing::warn!(%error, "a beat was missed");
                if shared.protocol.keeps(Safeguard::CountsOwnBeats) {
                    watcher.beat_failed();
                }
            }
        }
    }
}

/// Has what is written to the others be of the newest version that all of them read.
fn speak<S: Store, P: Protocol>(shared: &Shared<S, P>, nodes: &Nodes) {
    let version = spoken(shared.config.wire_version, nodes);
    if let Some(peers) = &shared.ports.peers {
        peers.speak(version);
    }
    let before = shared.members.spoken.swap(version.get(), Ordering::AcqRel);
    if before != version.get() {
        tracing::info!(%version, before, "nodes are written to in another version");
    }
}

/// Planted bug: however far apart the watcher's own beats lie, all of a silence counts.
fn whatever_its_own_beats(mut config: BeatConfig) -> BeatConfig {
    config.every_ms = u64::MAX;
    config
}

/// Begins a run in place of one that was fenced. The store is asked until it says which run this is:
/// a beat before that would take the node's own row for that of another process.
async fn begin_again<S: Store, P: Protocol>(shared: &Shared<S, P>) {
    while let Err(error) = register(shared).await {
        if shared.members.ends() {
            return;
        }
        tracing::warn!(%error, "the new run is not registered yet");
        shared.ports.clock.sleep(shared.config.beat.every_ms).await;
    }
    if shared.members.ends()
        && let Err(error) = claims::leave(&shared.store, &shared.ownership).await
    {
        tracing::warn!(%error, "the end of the run is not written; the others will find it silent");
    }
}

/// Fences who is silent, until the node ends. In a task of its own: nothing that a slot waits for may
/// hold this up.
pub(crate) async fn fence_silent<S: Store, P: Protocol>(shared: Arc<Shared<S, P>>) {
    loop {
        shared.members.suspected.notified().await;
        if let Err(error) = fence_suspects(&shared).await {
            // The next beat suspects whoever is silent still.
            tracing::warn!(%error, "a silent node was not fenced");
        }
    }
}

/// Takes what has no owner and belongs here, and hands over what belongs elsewhere, until the node
/// ends.
pub(crate) async fn look_after<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    router: Arc<Router<S, P>>,
) {
    let mut handed_over = None;
    loop {
        let clock = &shared.ports.clock;
        tokio::select! {
            biased;
            () = shared.members.changed.notified() => {}
            () = clock.sleep(LOOK_EVERY_MS) => {}
        }
        if let Err(error) = round(&shared, &router, &mut handed_over).await {
            tracing::warn!(%error, "the store did not answer; slots are looked at again");
            clock.sleep(RETRY_MS).await;
            shared.members.changed.notify_one();
        }
    }
}

async fn round<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    handed_over: &mut Option<Slot>,
) -> Result<(), Error> {
    if shared.members.ends() {
        return Ok(());
    }
    // A slot that cannot be taken yet keeps none here that belongs elsewhere.
    let adopted = adopt(shared).await;
    hand_over::some(shared, router, handed_over).await?;
    adopted
}

async fn fence_suspects<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Result<(), Error> {
    let suspects = std::mem::take(&mut *shared.members.suspects.lock());
    for suspect in suspects {
        match claims::fence(&shared.store, &suspect).await {
            Ok(true) => {
                tracing::warn!(node = suspect.node, "a silent node was fenced");
                count(&shared.counters.fences, 1);
                if !shared.protocol.keeps(Safeguard::KeepsFences) {
                    let collected = claims::collect(&shared.store, &suspect.node).await;
                    collected.map_err(|error| refusal(&error))?;
                }
                shared.members.fenced_here.lock().insert(suspect.node);
                shared.members.changed.notify_one();
            }
            // It beat meanwhile, or the next beat of this node will suspect it again.
            Ok(false) | Err(StoreError::Conflict) => {}
            Err(error) => return Err(refusal(&error)),
        }
    }
    Ok(())
}

/// Takes every slot that has no living owner and belongs on this node.
///
/// # Errors
/// What the store answered, or `unavailable` where the index lags behind. What was ready by then is held.
pub(crate) async fn adopt<S: Store, P: Protocol>(shared: &Arc<Shared<S, P>>) -> Result<(), Error> {
    let owners = claims::owners(&shared.store)
        .await
        .map_err(|error| refusal(&error))?;
    let ownership = &shared.ownership;
    let homes = shared.members.homes(ownership.node(), &owners.nodes);
    let is_ours_to_take = |slot: Slot| {
        let owner = owners.slots.get(&slot);
        if let Some(row) = owner.filter(|row| ownership.is_ours(row)) {
            return ownership.epoch(slot) != Some(row.epoch);
        }
        let node = owner.and_then(|row| owners.nodes.get(&row.node));
        !is_left_to_others(shared, owner, node)
            && is_claimable(owner, node)
            && home(slot, homes.iter().copied()) == Some(ownership.node())
    };
    let mut slots: Vec<Slot> = if shared.is_alone() {
        (0..SLOTS).filter_map(Slot::new).collect()
    } else {
        owners.slots.keys().copied().collect()
    };
    slots.retain(|slot| is_ours_to_take(*slot));
    if slots.is_empty() {
        return Ok(());
    }
    let left = take(shared, &slots).await?.unwrap_or_default();
    // The indexer says which cannot be read: they are looked at again with the next change, or command.
    let mut reasons = left.into_values();
    match reasons.find(|error| error.code == ErrorCode::Unavailable) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The refusal of a node whose run is over.
pub(crate) fn run_over() -> Error {
    Error::new(
        ErrorCode::Unavailable,
        "this run of the node is over; another one begins",
    )
}

#[cfg(test)]
pub(crate) mod tests;
