//! The commit path: from a batch of commands to one transaction, and from its outcome to answers.
//!
//! Owns retries, splitting and the finding-out of unknown outcomes. Deciding is
//! [`batch`]'s part and writing [`transaction`]'s; the rules themselves are core's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sillok_core::command::{Answer, Command};
use sillok_core::id::{Attempt, CommandId, Epoch};
use sillok_core::membership::WireVersion;
use sillok_core::ports::{Embedder, VectorIndex};
use sillok_core::principal::Actor;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::state::State;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use crate::channels::FreshRuns;
use crate::cluster::Members;
use crate::commit_turns::CommitTurns;
use crate::config::NodeConfig;
use crate::facts;
use crate::indexer::{Gone, IndexRequests};
use crate::jobs::JobQueue;
use crate::known_tip::KnownTip;
use crate::maintenance::Running;
use crate::metrics::{Counters, count};
use crate::news::News;
use crate::outbox_feed::{OutboxFeed, StreamFeeds};
use crate::ownership::Ownership;
use crate::ports::Ports;
use crate::protocol::{Protocol, Safeguard};
use crate::quarantines::HeldQuarantines;
use crate::scope_actor::{Carried, Pending};
use crate::spaces::Spaces;
use crate::spans::{Spans, keys};

mod answers;
mod batch;
mod chunks;
mod decided;
mod decisions;
mod erasing;
mod failures;
mod gated;
mod job_news;
mod presence;
mod resolve;
mod transaction;
mod unresolved;

use answers::{answer_all, answer_blindly, refuse_all};
use presence::Presences;
pub(crate) use resolve::{resolve, settle};
use unresolved::Unresolved;

/// Tries at a batch that meets another writer before its callers are told to come back.
const TRIES_MAX: usize = 8;
/// Tries at a command alone for which the store's transactions do not live long enough.
const TOO_OLD_MAX: usize = 3;
/// What an actor remembers beyond its row and task before it forgets it.
const REMEMBERED_MAX: usize = 512;
/// Poisoned commands that are remembered.
const POISONED_MAX: usize = 1_024;
/// How long a command is not tried again once it has panicked, in ms: longer than a caller's quick
/// retries, shorter than the attempts at a promotion go on.
const POISONED_MS: u64 = 10_000;

/// What all actors of a node share.
pub(crate) struct Shared<S: Store, P: Protocol> {
    pub(crate) store: S,
    pub(crate) ports: Ports,
    pub(crate) config: NodeConfig,
    pub(crate) counters: Counters,
    pub(crate) commit_turns: Arc<CommitTurns>,
    pub(crate) ownership: Ownership,
    pub(crate) bus_feed: OutboxFeed,
    pub(crate) stream_feeds: StreamFeeds,
    pub(crate) fresh_runs: FreshRuns,
    pub(crate) index_feed: OutboxFeed,
    pub(crate) index_requests: IndexRequests,
    pub(crate) gone: Gone,
    pub(crate) news: News,
    pub(crate) members: Members,
    pub(crate) jobs: JobQueue,
    pub(crate) maintenance: Running,
    pub(crate) poisoned: Poisoned,
    pub(crate) held_quarantines: HeldQuarantines,
    pub(crate) unresolved: Unresolved,
    pub(crate) presences: Presences,
    pub(crate) spans: Spans,
    /// What fills the ports of index and embedder.
    pub(crate) spaces: Arc<Spaces<S, P>>,
    pub(crate) protocol: P,
}

impl<S: Store, P: Protocol> Shared<S, P> {
    pub(crate) fn new(store: S, ports: Ports, config: NodeConfig, protocol: P) -> Self {
        let ownership = Ownership::new(&config.name);
        let commit_turns = CommitTurns::new(config.admission.commits_at_once);
        let spans = Spans::new(ports.tracer.clone());
        let counters = Counters::default();
        let spaces = Spaces::new(store.clone(), &ports, &counters, protocol);
        let spaces = Arc::new(spaces);
        let ports = Ports {
            index: Arc::clone(&spaces) as Arc<dyn VectorIndex>,
            embedder: Arc::clone(&spaces) as Arc<dyn Embedder>,
            next: None,
            ..ports
        };
        Self {
            store,
            ports,
            config,
            counters,
            commit_turns,
            ownership,
            bus_feed: OutboxFeed::default(),
            stream_feeds: StreamFeeds::default(),
            fresh_runs: FreshRuns::default(),
            index_feed: OutboxFeed::default(),
            index_requests: IndexRequests::default(),
            gone: Gone::default(),
            news: News::default(),
            members: Members::default(),
            jobs: JobQueue::default(),
            maintenance: Running::default(),
            poisoned: Poisoned::default(),
            held_quarantines: HeldQuarantines::default(),
            unresolved: Unresolved::default(),
            presences: Presences::default(),
            spans,
            spaces,
            protocol,
        }
    }

    /// Has whoever follows all slots on this node look at the outbox of one that others may write to.
    pub(crate) fn mark_for_listeners(&self, slot: Slot) {
        self.bus_feed.mark(slot);
        self.index_feed.mark(slot);
    }

    /// Has the relays look at a slot's outbox.
    pub(crate) fn mark_for_relays(&self, slot: Slot) {
        self.bus_feed.mark(slot);
        if self.ports.streams.is_some() {
            self.stream_feeds.mark(slot);
        }
    }

    /// Whether a slot is this node's, under this epoch, and nobody else can have written to it. A node
    /// among others can say so only under its lease, and not once its run ends.
    pub(crate) fn holds_for_certain(&self, slot: Slot, epoch: Epoch) -> bool {
        let has_lease = || {
            let now_ms = self.ports.clock.monotonic_ms();
            self.ownership.has_lease(now_ms, self.config.beat.lease_ms)
        };
        let needs_lease = !self.is_alone() && self.protocol.keeps(Safeguard::ReadsUnderLease);
        (!needs_lease || (!self.members.ends() && has_lease()))
            && self.ownership.is_undisputed(slot, epoch)
    }

    /// The version of what a node writes to the others. One that is alone has nobody to hold it back.
    pub(crate) fn spoken(&self) -> WireVersion {
        if self.is_alone() {
            self.config.wire_version
        } else {
            self.members.spoken()
        }
    }

    /// Whether all nodes read what came with this version.
    pub(crate) fn speaks(&self, version: WireVersion) -> bool {
        self.spoken() >= version
    }

    /// Whether this node has the store to itself.
    pub(crate) fn is_alone(&self) -> bool {
        self.ports.peers.is_none()
    }
}

/// Names a command across a node.
pub(crate) type CommandKey = (Scope, Actor, CommandId);

/// Commands that panicked: they are not tried again for a while.
#[derive(Default)]
pub(crate) struct Poisoned {
    /// Until when each is held, in ms.
    held: Mutex<BTreeMap<CommandKey, u64>>,
    /// How many are, so that the usual command need not look.
    count: AtomicUsize,
}

impl Poisoned {
    /// Whether a command is held now. `named` is asked for only when some command is held.
    fn holds(&self, named: impl FnOnce() -> CommandKey, now_ms: impl FnOnce() -> u64) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self
                .held
                .lock()
                .get(&named())
                .is_some_and(|until| *until > now_ms())
    }

    fn add(&self, key: CommandKey, now_ms: u64) {
        let mut held = self.held.lock();
        held.retain(|_, until| *until > now_ms);
        if held.len() >= POISONED_MAX {
            held.pop_first();
        }
        held.insert(key, now_ms + POISONED_MS);
        self.count.store(held.len(), Ordering::Release);
    }
}

/// What became of one command of a batch.
pub(crate) enum Outcome {
    /// It was applied, now or before.
    Answered(Answer),
    /// It was refused.
    Refused(Error),
    /// It can only be applied by a later attempt.
    Abandoned(Attempt),
    /// It is the same command as an earlier one of the batch.
    SameAs(usize),
}

/// Why a batch did not commit.
pub(crate) enum Failure {
    /// Another writer came between: read anew and decide again.
    Again,
    /// The transaction has lived too long.
    TooOld,
    /// The command at this place met a defect and is poisoned: decide again without it.
    Panicked(usize),
    /// The slot belongs to somebody else.
    Fenced,
    /// It may or may not have committed.
    Unknown,
    /// The transaction is over the store's limit.
    TooLarge(Error),
    /// The store did not do it.
    Refused(Error),
}

/// How often a batch was tried, and what it met.
#[derive(Default)]
struct Tries {
    /// Tries that other writers, or the age of the transaction, made in vain.
    vain: usize,
    /// How many of them were too old.
    too_old: usize,
    /// The commands that met a defect, by their places in the batch. However long the others take,
    /// none of these is tried again: it may be let go before they are done.
    panicked: BTreeSet<usize>,
}

/// Carries a batch out. Every command of it is answered, or handed back to be decided again.
pub(crate) async fn run<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    scope: &Scope,
    tip: &KnownTip,
    state: Option<State>,
    batch: Vec<Pending>,
) -> Carried {
    let (mut state, mut batch) = (state, batch);
    let batch_len = batch.len() as u64;
    for pending in &mut batch {
        pending.span.note(keys::BATCH, batch_len);
    }
    // Only while there is something to seal: an idle actor keeps no generator.
    let mut rng = (shared.ports.rng)();
    let mut tries = Tries::default();
    let (embedder, clock) = (&*shared.ports.embedder, &*shared.ports.clock);
    let submissions = batch.iter_mut().map(|pending| &mut pending.submission);
    facts::embed_anew(embedder, clock, submissions).await;
    while tries.vain < TRIES_MAX {
        let on_its_way = shared.unresolved.watch(&batch, &*shared.ports.clock);
        let (before, panicked) = (state.take(), &tries.panicked);
        let attempt =
            transaction::attempt(shared, scope, tip, before, &mut *rng, &batch, panicked).await;
        match &attempt {
            Err(Failure::Unknown) if shared.protocol.keeps(Safeguard::UnknownIsNoFailure) => {
                drop(on_its_way);
            }
            _ => on_its_way.ends(),
        }
        // Any result but Ok has dropped the state: the next try reads it anew.
        match attempt {
            Ok((state, outcomes)) => return committed(batch, state, outcomes),
            Err(Failure::Again) => {
                tries.vain += 1;
                count(&shared.counters.conflicts, 1);
            }
            Err(Failure::TooOld) => {
                count(&shared.counters.conflicts, 1);
                tries.vain += 1;
                tries.too_old += 1;
                if batch.len() > 1 || tries.too_old == TOO_OLD_MAX {
                    return too_old(shared, batch);
                }
            }
            Err(Failure::Panicked(index)) => {
                count(&shared.counters.panics, 1);
                // One that panics although it is left out must not keep the batch turning either.
                tries.vain += usize::from(!tries.panicked.insert(index));
            }
            Err(Failure::Unknown) if !shared.protocol.keeps(Safeguard::UnknownIsNoFailure) => {
                let why = "a commit that nobody heard of counts as failed";
                refuse_all(shared, batch, &Error::new(ErrorCode::Conflict, why));
                return Carried::nothing();
            }
            Err(failure) => return give_up(shared, batch, failure).await,
        }
    }
    let why = "other writers came between too often";
    refuse_all(shared, batch, &busy(shared, why));
    Carried::nothing()
}

/// A batch that was committed.
fn committed(batch: Vec<Pending>, mut state: State, outcomes: Vec<Outcome>) -> Carried {
    answer_all(batch, outcomes);
    if state.remembered() > REMEMBERED_MAX {
        state.forget();
    }
    Carried {
        state: Some(state),
        again: Vec::new(),
    }
}

/// What follows a failure after which the batch as it is is not tried again.
async fn give_up<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    batch: Vec<Pending>,
    failure: Failure,
) -> Carried {
    let error = match failure {
        Failure::Unknown => {
            count(&shared.counters.unknown_outcomes, 1);
            if !shared.protocol.keeps(Safeguard::UnknownIsNoSuccess) {
                answer_blindly(batch);
                return Carried::nothing();
            }
            return Carried {
                state: None,
                again: resolve::all(shared, batch).await,
            };
        }
        Failure::TooLarge(error) => return split(shared, batch, &error),
        Failure::Fenced => Error::new(ErrorCode::Fenced, "another node owns the scope"),
        Failure::Refused(error) => error,
        Failure::Again | Failure::TooOld | Failure::Panicked(_) => {
            busy(shared, "the batch is to be tried again")
        }
    };
    refuse_all(shared, batch, &error);
    Carried::nothing()
}

fn busy<S: Store, P: Protocol>(shared: &Shared<S, P>, why: &str) -> Error {
    Error::busy(why, shared.config.admission.retry_after_ms)
}

/// What follows when a transaction did not live long enough for a batch: its commands are decided one
/// at a time. A command alone that looks at as little as most do has met a slow store, and may come
/// again. What a promotion looks at has no such bound: it is refused for good, or one that no
/// transaction can hold would be tried for ever.
fn too_old<S: Store, P: Protocol>(shared: &Shared<S, P>, batch: Vec<Pending>) -> Carried {
    let is_publication =
        |pending: &Pending| matches!(pending.submission.command, Command::Publish(_));
    let error = if batch.iter().any(is_publication) {
        let why = "to decide the command takes longer than a transaction may live";
        Error::new(ErrorCode::TooLarge, why)
    } else {
        busy(shared, "the store answers too slowly")
    };
    split(shared, batch, &error)
}

/// A batch that one transaction does not hold is decided again one command at a time: the first
/// of it alone is refused when it is too large by itself, which its own batch then shows.
fn split<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    batch: Vec<Pending>,
    error: &Error,
) -> Carried {
    if batch.len() == 1 {
        refuse_all(shared, batch, error);
        return Carried::nothing();
    }
    let alone = |mut pending: Pending| {
        pending.bytes = pending.bytes.max(sillok_core::limits::BATCH_BYTES_MAX);
        pending
    };
    Carried {
        state: None,
        again: batch.into_iter().map(alone).collect(),
    }
}

#[cfg(test)]
mod tests;
