//! The router: finds or starts the actor of a scope, and sees a command through to its answer.
//!
//! Owns the table of actors, their starting and putting away, and the way to the node that owns a
//! slot. It finds out what became of a command whose actor or batch was lost, so that no caller is
//! left without an answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use ractor::{ActorRef, ActorRuntime, ActorStatus};
use sillok_core::chain::Tip;
use sillok_core::command::{Answer, Submission};
use sillok_core::decide::older_nodes;
use sillok_core::ports::Forwarded;
use sillok_core::retention::pace::Writers;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::trace::{SpanKind, TraceContext};
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;
use tokio::sync::oneshot;

use crate::admission::{Admission, Wanted};
use crate::cluster;
use crate::commit::{Shared, resolve};
use crate::facts::{self, Early};
use crate::known_tip::KnownTip;
use crate::metrics::{count, seconds};
use crate::protocol::{Protocol, Safeguard};
use crate::scope_actor::{Msg, Pending, Reply, ScopeActor};

mod alone;
mod place;
mod tried;

use place::{Lost, Place};
use tried::{Refused, Tried};

/// Attempts at one command before its caller is told that the outcome is unknown.
const ATTEMPTS_MAX: u32 = 4;
/// Parts of the table of actors, each under a lock of its own.
const SHARDS: usize = 64;

/// The wait before a command is routed again, in ms; it doubles with each.
const ROUTE_WAIT_MS: u64 = 10;
/// The longest of these waits, in ms.
const ROUTE_WAIT_MS_MAX: u64 = 1_000;
/// Routes that are tried for one command: more time than it takes to find a dead owner silent.
const ROUTES_MAX: u32 = 17;

/// The longest that routes are tried for one command, in ms: one of them may wait for the index.
const ROUTE_MS_MAX: u64 = 15_000;

struct Entry {
    actor: ActorRef<Msg>,
    /// These two outlive the actor: a batch of one that was killed goes on.
    tip: Arc<KnownTip>,
    depth: Arc<AtomicUsize>,
    used_ms: u64,
}

/// The table of a node's scope actors.
pub(crate) struct Router<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    admission: Arc<Admission>,
    shards: Vec<Mutex<BTreeMap<Scope, Entry>>>,
    owners_elsewhere: Mutex<BTreeMap<Slot, String>>,
    active: AtomicUsize,
    closed: AtomicBool,
}

impl<S: Store, P: Protocol> Router<S, P> {
    pub(crate) fn new(shared: Arc<Shared<S, P>>) -> Self {
        let config = &shared.config;
        let admission = Admission::new(config.admission, config.quotas.clone());
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            shared,
            admission,
            shards,
            owners_elsewhere: Mutex::default(),
            active: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Sees a command through: on this node if it owns the slot, or else on the one that does.
    pub(crate) async fn submit(
        &self,
        submission: Submission,
        trace: Option<TraceContext>,
    ) -> Result<Answer, Error> {
        let spans = &self.shared.spans;
        let mut span = spans.begin_in(&submission.scope, "route", SpanKind::Internal, trace);
        let result = self.route(Arc::new(submission), span.or(trace)).await;
        result.map_err(|refused| {
            let error = match refused {
                Refused::Here(error) => {
                    self.shared.counters.refused(&error);
                    error
                }
                // It is counted where it was decided.
                Refused::There(error) => error,
            };
            span.fail(&error);
            error
        })
    }

    /// Sees a command through that another node handed over. It is never handed on. A node that ends
    /// says that it owns nothing: whoever asked looks for the one that takes the slot over.
    pub(crate) async fn serve(
        &self,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Forwarded {
        let spans = &self.shared.spans;
        let mut span = spans.begin_in(&submission.scope, "serve", SpanKind::Server, trace);
        let forwarded = self.serve_here(submission, span.or(trace)).await;
        if let Forwarded::Refused(error) = &forwarded {
            span.fail(error);
        }
        forwarded
    }

    async fn serve_here(
        &self,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Forwarded {
        if self.is_closed() {
            return Forwarded::NotOwner;
        }
        let slot = Slot::of(&submission.scope);
        match self.owns_or_takes(slot).await {
            Ok(true) => {}
            Ok(false) => return Forwarded::NotOwner,
            Err(error) => {
                self.shared.counters.refused(&error);
                return Forwarded::Refused(error);
            }
        }
        match self.here(slot, submission, trace).await {
            Ok(answer) => Forwarded::Answered(answer),
            Err(error) if error.code == ErrorCode::Fenced => Forwarded::NotOwner,
            Err(error) if error.code == ErrorCode::Unavailable && self.is_closed() => {
                Forwarded::NotOwner
            }
            Err(error) => {
                self.shared.counters.refused(&error);
                Forwarded::Refused(error)
            }
        }
    }

    async fn route(
        &self,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Result<Answer, Refused> {
        let slot = Slot::of(&submission.scope);
        let Some(peers) = self.shared.ports.peers.clone() else {
            return Ok(self.alone(slot, submission, trace).await?);
        };
        if !self.shared.speaks(submission.command.since()) {
            return Err(older_nodes().into());
        }
        let clock = &self.shared.ports.clock;
        let begun_ms = clock.monotonic_ms();
        let mut wait_ms = ROUTE_WAIT_MS;
        let mut tried = Tried::default();
        for _ in 0..ROUTES_MAX {
            let place = self.locate(slot, &tried).await;
            tried.looks_again();
            match place {
                Ok(Place::Here) => match self.here(slot, Arc::clone(&submission), trace).await {
                    Err(error) if error.code == ErrorCode::Fenced || tried.is_untold_by(&error) => {
                        tried.last = Some(error);
                    }
                    result => return Ok(result?),
                },
                Ok(Place::There(asked)) => {
                    let reply = self.forward(&*peers, &asked.node, &submission, trace);
                    let reply = reply.await;
                    tried.is_off_bus = !peers.is_connected();
                    if let Some(result) = tried.heard(asked, reply) {
                        return result.map_err(Refused::There);
                    }
                    if self.shared.protocol.keeps(Safeguard::ForgetsStaleOwners) {
                        self.owners_elsewhere.lock().remove(&slot);
                    }
                }
                // Nobody has carried the command out: whoever asks has nothing to wait for.
                Err(Lost::StoreGone(error)) if tried.is_new() => return Err(error.into()),
                Err(Lost::NotYet(error))
                    if matches!(error.code, ErrorCode::Busy | ErrorCode::Internal)
                        && !tried.is_untold_by(&error) =>
                {
                    return Err(error.into());
                }
                Err(Lost::StoreGone(error)) => {
                    tried.unavailable += u32::from(tried.unavailable > 0);
                    tried.last = Some(error);
                }
                // This node finds out nothing more by itself.
                Err(Lost::CutOff(error)) if !tried.is_untold_by(&error) => {
                    return Err(error.into());
                }
                Err(Lost::NotYet(error) | Lost::CutOff(error)) => tried.last = Some(error),
            }
            let now_ms = clock.monotonic_ms();
            let lives = tried
                .owner_out_of_reach()
                .is_some_and(|owner| self.has_beaten(owner, begun_ms, now_ms));
            if tried.is_enough(now_ms.saturating_sub(begun_ms), lives) {
                break;
            }
            clock.sleep(wait_ms).await;
            wait_ms = (wait_ms * 2).min(ROUTE_WAIT_MS_MAX);
        }
        Err(tried.given_up().into())
    }

    /// Sees a command through on this node: queued, batched, committed, answered. After `fenced`
    /// the node no longer believes that it holds the slot.
    async fn here(
        &self,
        slot: Slot,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Result<Answer, Error> {
        let (clock, counters) = (&self.shared.ports.clock, &self.shared.counters);
        let begun_us = clock.monotonic_us();
        let early = facts::early(&self.shared, &submission).await;
        let epoch = self.shared.ownership.epoch(slot);
        let mut submission = submission;
        for _ in 0..ATTEMPTS_MAX {
            let receiver = self.enqueue(slot, Arc::clone(&submission), early.clone(), trace)?;
            let reply = match receiver.await {
                Ok(reply) => reply,
                // The actor or its batch was lost with the command: its record tells what became of it.
                Err(_lost) => resolve(&self.shared, &submission).await?,
            };
            match reply {
                Reply::Answered(answer) => {
                    let took_us = clock.monotonic_us().saturating_sub(begun_us);
                    counters.command_seconds.observe(seconds(took_us));
                    return Ok(answer);
                }
                Reply::Refused(error) => {
                    if error.code == ErrorCode::Fenced
                        && let Some(epoch) = epoch
                    {
                        cluster::let_go(&self.shared, slot, epoch);
                    }
                    return Err(error);
                }
                Reply::Abandoned(last) => {
                    Arc::make_mut(&mut submission).attempt = last.next();
                }
            }
        }
        let why = "it is not known whether the command was applied";
        Err(Error::new(ErrorCode::OutcomeUnknown, why))
    }

    fn enqueue(
        &self,
        slot: Slot,
        submission: Arc<Submission>,
        early: Early,
        trace: Option<TraceContext>,
    ) -> Result<oneshot::Receiver<Reply>, Error> {
        if self.is_closed() {
            return Err(Error::new(
                ErrorCode::Unavailable,
                "the node is shutting down",
            ));
        }
        let mut table = self.shard(slot).lock();
        let entry = self.entry(&mut table, &submission.scope)?;
        let now_ms = self.shared.ports.clock.monotonic_ms();
        let wanted = Wanted::of(&submission, now_ms);
        let bytes = wanted.bytes;
        let permit = self.admission.admit(&entry.depth, wanted)?;
        entry.used_ms = now_ms;
        let spans = &self.shared.spans;
        let span = spans.begin_in(&submission.scope, "commit", SpanKind::Internal, trace);
        let (reply, receiver) = oneshot::channel();
        let pending = Pending {
            submission,
            bytes,
            reply,
            _permit: permit,
            span,
            early,
        };
        // An actor that ended in between drops the command, which the receiver notices.
        let _ = entry.actor.send_message(Msg::Submit(pending));
        Ok(receiver)
    }

    /// The scope's actor, started when there is none or the one that was there has ended.
    fn entry<'a>(
        &self,
        table: &'a mut BTreeMap<Scope, Entry>,
        scope: &Scope,
    ) -> Result<&'a mut Entry, Error> {
        let ended = |entry: &Entry| entry.actor.get_status() >= ActorStatus::Stopping;
        let found = table.get(scope);
        if found.is_none_or(ended) {
            let former = found.map(|entry| (Arc::clone(&entry.tip), Arc::clone(&entry.depth)));
            let (tip, depth) = former.unwrap_or_default();
            let entry = self.start(scope, tip, depth)?;
            if table.insert(scope.clone(), entry).is_none() {
                self.active.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(table
            .get_mut(scope)
            .expect("it is there or was put there just now"))
    }

    fn start(
        &self,
        scope: &Scope,
        tip: Arc<KnownTip>,
        depth: Arc<AtomicUsize>,
    ) -> Result<Entry, Error> {
        let actor = ScopeActor::new(Arc::clone(&self.shared), scope.clone(), Arc::clone(&tip));
        // Unnamed and unlinked: names are process-wide, and a supervisor stops its children in the
        // order of a hash map. The table is the supervisor: an actor that ended is started anew.
        let (actor, _handle) = ActorRuntime::spawn_instant(None, actor, ()).map_err(|error| {
            Error::new(
                ErrorCode::Internal,
                format!("a scope actor did not start: {error}"),
            )
        })?;
        count(&self.shared.counters.activations, 1);
        Ok(Entry {
            actor,
            tip,
            depth,
            used_ms: 0,
        })
    }

    fn shard(&self, slot: Slot) -> &Mutex<BTreeMap<Scope, Entry>> {
        &self.shards[usize::from(slot.number()) % SHARDS]
    }

    /// Puts away the actors that nobody waits for and that were not used for `idle_ms`.
    pub(crate) fn passivate(&self, idle_ms: u64) {
        let now_ms = self.shared.ports.clock.monotonic_ms();
        for shard in &self.shards {
            let mut table = shard.lock();
            // Depth rises under this lock, so an actor that is taken out here has nothing to do.
            table.retain(|_, entry| {
                let idle = now_ms.saturating_sub(entry.used_ms) >= idle_ms;
                let is_busy = entry.depth.load(Ordering::Relaxed) > 0 || entry.tip.is_moving();
                let keep = !idle || is_busy;
                if !keep {
                    entry.actor.stop(None);
                    self.active.fetch_sub(1, Ordering::Relaxed);
                    count(&self.shared.counters.passivations, 1);
                }
                keep
            });
        }
    }

    /// Kills all actors, in whatever they are doing: how many had a command.
    pub(crate) fn kill_actors(&self) -> usize {
        let mut interrupted = 0;
        for shard in &self.shards {
            for entry in shard.lock().values() {
                interrupted += usize::from(entry.depth.load(Ordering::Relaxed) > 0);
                entry.actor.kill();
            }
        }
        interrupted
    }

    /// Where a scope's chain ends, if that is certain without the store: the scope's actor wrote it
    /// last, and nobody else can have written since.
    pub(crate) fn known_tip(&self, scope: &Scope) -> Option<Tip> {
        let slot = Slot::of(scope);
        let mut table = self.shard(slot).lock();
        let entry = table.get_mut(scope)?;
        let (epoch, tip) = entry.tip.get()?;
        // Who asks for news keeps the actor, which is gone after a while if nobody writes.
        entry.used_ms = self.shared.ports.clock.monotonic_ms();
        drop(table);
        // Asked behind the copy: had the slot gone before it was made, this says so.
        self.shared.holds_for_certain(slot, epoch).then_some(tip)
    }

    /// Commands of one slot that wait or are under way here.
    pub(crate) fn in_flight(&self, slot: Slot) -> usize {
        let table = self.shard(slot).lock();
        let of_slot = table.iter().filter(|(scope, _)| Slot::of(scope) == slot);
        of_slot
            .map(|(_, entry)| entry.depth.load(Ordering::Relaxed))
            .sum()
    }

    /// Turns new commands away; what waits is still carried out.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Actors that are there.
    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Who writes here, beside the node itself.
    pub(crate) fn writers(&self) -> Writers {
        self.admission.writers()
    }

    #[cfg(test)]
    pub(crate) const fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    /// Commands and bytes that wait or are under way.
    pub(crate) fn load(&self) -> (usize, usize) {
        self.admission.load()
    }
}

#[cfg(test)]
mod tests;
