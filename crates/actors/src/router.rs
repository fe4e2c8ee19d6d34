//! The router: finds or starts the actor of a scope, and sees a command through to its answer.
//!
//! Owns the table of actors, their starting and putting away. It finds out what became of a command
//! whose actor or batch was lost, so that no caller is left without an answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use ractor::{ActorRef, ActorRuntime, ActorStatus};
use sillok_core::command::{Answer, Submission};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;
use tokio::sync::oneshot;

use crate::admission::Admission;
use crate::commit::{Shared, resolve};
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::scope_actor::{Msg, Pending, Reply, ScopeActor};

/// Attempts at one command before its caller is told that the outcome is unknown.
const ATTEMPTS_MAX: u32 = 4;
/// Parts of the table of actors, each under a lock of its own.
const SHARDS: usize = 64;

struct Entry {
    actor: ActorRef<Msg>,
    depth: Arc<AtomicUsize>,
    used_ms: u64,
}

/// The table of a node's scope actors.
pub(crate) struct Router<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    admission: Arc<Admission>,
    shards: Vec<Mutex<BTreeMap<Scope, Entry>>>,
    active: AtomicUsize,
    closed: AtomicBool,
}

impl<S: Store, P: Protocol> Router<S, P> {
    pub(crate) fn new(shared: Arc<Shared<S, P>>, admission: Arc<Admission>) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            shared,
            admission,
            shards,
            active: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Sees a command through: queued, batched, committed, answered.
    pub(crate) async fn submit(&self, submission: Submission) -> Result<Answer, Error> {
        let result = self.attempt(submission).await;
        if let Err(error) = &result {
            self.shared.counters.refused(error);
        }
        result
    }

    async fn attempt(&self, submission: Submission) -> Result<Answer, Error> {
        let bytes = submission.command.size_bytes();
        let mut submission = Arc::new(submission);
        for _ in 0..ATTEMPTS_MAX {
            let receiver = self.enqueue(Arc::clone(&submission), bytes)?;
            let reply = match receiver.await {
                Ok(reply) => reply,
                // The actor or its batch was lost with the command: its record tells what became of it.
                Err(_lost) => resolve(&self.shared, &submission).await?,
            };
            match reply {
                Reply::Answered(answer) => return Ok(answer),
                Reply::Refused(error) => return Err(error),
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
        submission: Arc<Submission>,
        bytes: usize,
    ) -> Result<oneshot::Receiver<Reply>, Error> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(
                ErrorCode::Unavailable,
                "the node is shutting down",
            ));
        }
        let scopes = self.active.load(Ordering::Relaxed);
        let mut table = self.shard(&submission.scope).lock();
        let entry = self.entry(&mut table, &submission.scope)?;
        let permit = self.admission.admit(&entry.depth, scopes, bytes)?;
        entry.used_ms = self.shared.ports.clock.monotonic_ms();
        let (reply, receiver) = oneshot::channel();
        let pending = Pending {
            submission,
            bytes,
            reply,
            _permit: permit,
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
        if table.get(scope).is_none_or(ended) {
            let entry = self.start(scope)?;
            if table.insert(scope.clone(), entry).is_none() {
                self.active.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(table
            .get_mut(scope)
            .expect("it is there or was put there just now"))
    }

    fn start(&self, scope: &Scope) -> Result<Entry, Error> {
        let actor = ScopeActor::new(Arc::clone(&self.shared), scope.clone());
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
            depth: Arc::default(),
            used_ms: 0,
        })
    }

    fn shard(&self, scope: &Scope) -> &Mutex<BTreeMap<Scope, Entry>> {
        &self.shards[usize::from(Slot::of(scope).number()) % SHARDS]
    }

    /// Puts away the actors that nobody waits for and that were not used for `idle_ms`.
    pub(crate) fn passivate(&self, idle_ms: u64) {
        let now_ms = self.shared.ports.clock.monotonic_ms();
        for shard in &self.shards {
            let mut table = shard.lock();
            // Depth rises under this lock, so an actor that is taken out here has nothing to do.
            table.retain(|_, entry| {
                let idle = now_ms.saturating_sub(entry.used_ms) >= idle_ms;
                let keep = !idle || entry.depth.load(Ordering::Relaxed) > 0;
                if !keep {
                    entry.actor.stop(None);
                    self.active.fetch_sub(1, Ordering::Relaxed);
                    count(&self.shared.counters.passivations, 1);
                }
                keep
            });
        }
    }

    /// Turns new commands away; what waits is still carried out.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Actors that are there.
    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Commands and bytes that wait or are under way.
    pub(crate) fn load(&self) -> (usize, usize) {
        self.admission.load()
    }
}
