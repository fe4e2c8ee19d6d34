//! A node: everything that runs together on one store.
//!
//! Owns starting and stopping, in the right order. It must not know which engines fill the ports.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use sillok_bus::InProcessBus;
use sillok_core::command::{Answer, Submission};
use sillok_core::event::EventKinds;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::ports::Forwarded;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::trace::TraceContext;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster;
use crate::commit::{Shared, settle};
use crate::config::NodeConfig;
use crate::indexer::Indexer;
use crate::jobs::{self, PromotionState, WaitingJob};
use crate::maintenance;
use crate::metrics::{NodeMetrics, count};
use crate::news;
use crate::ownership::Ownership;
use crate::ports::Ports;
use crate::protocol::{Correct, Protocol};
use crate::reads::{EventView, Page, Reader, StagedRecord, page_rows};
use crate::relay;
use crate::router::Router;
use crate::spaces;

mod decisions;
mod fixes;
mod maintain;
mod operators;
mod patterns;
mod recall;
mod tasks;

use tasks::{keep_indexing, kept_up, kept_up_on, put_away_idle, stream_relays};

/// How often the end of what is in flight is looked for at shutdown, in ms.
const DRAIN_POLL_MS: u64 = 5;
/// How long shutdown waits for what is in flight, in ms.
const DRAIN_MS_MAX: u64 = 30_000;

/// Who holds what the actors share once they have ended: the node and its router.
const SHARED_BY_NODE: usize = 2;

/// A running node. A clone is another handle to the same one.
pub struct Node<S: Store, P: Protocol = Correct> {
    inner: Arc<Inner<S, P>>,
}

impl<S: Store, P: Protocol> Clone for Node<S, P> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

struct Inner<S: Store, P: Protocol> {
    shared: Arc<Shared<S, P>>,
    router: Arc<Router<S, P>>,
    reader: Reader<S>,
    bus: InProcessBus,
    stop: watch::Sender<bool>,
    /// Ended when the node ends.
    tasks: Mutex<Vec<JoinHandle<()>>>,
    /// Finishes its work by itself when the node ends.
    indexer: Mutex<Option<JoinHandle<()>>>,
}

impl<S: Store> Node<S> {
    /// Starts a node under the protocol as it is meant: brings the index up to the store, begins a run,
    /// takes the slots that are its, and resumes the promotions that wait in them.
    ///
    /// # Errors
    /// `invalid_argument` for a bad configuration, and what the store or an engine answered.
    pub async fn start(store: S, ports: Ports, config: NodeConfig) -> Result<Self, Error> {
        Self::start_as(store, ports, config, Correct).await
    }
}

impl<S: Store, P: Protocol> Node<S, P> {
    /// As [`start`](Node::start), under any protocol.
    ///
    /// # Errors
    /// As [`start`](Node::start).
    pub async fn start_as(
        store: S,
        ports: Ports,
        config: NodeConfig,
        protocol: P,
    ) -> Result<Self, Error> {
        config.check()?;
        let shared: Arc<Shared<S, P>> = Arc::new(Shared::new(store, ports, config, protocol));
        // The index first, since that may take long, and whoever is registered has to beat.
        let indexer = Indexer::start(Arc::clone(&shared)).await?;
        let registered_at = cluster::register(&shared).await?;
        Self::run(shared, indexer, registered_at).await
    }

    /// A second node that believes it is the same run and holds the same slots: what a lost fence would look like.
    #[cfg(test)]
    pub(crate) async fn twin(&self) -> Result<Self, Error> {
        let of = &self.inner.shared;
        let twin = Shared::new(
            of.store.clone(),
            of.ports.clone(),
            of.config.clone(),
            of.protocol,
        );
        twin.ownership.begin_run(of.ownership.incarnation());
        for slot in of.ownership.held() {
            if let Some(epoch) = of.ownership.epoch(slot) {
                twin.ownership.take(slot, epoch, of.ownership.incarnation());
            }
        }
        let twin = Arc::new(twin);
        let indexer = Indexer::start(Arc::clone(&twin)).await?;
        Self::run(twin, indexer, Stamp::ZERO).await
    }

    #[cfg(test)]
    pub(crate) fn router(&self) -> &Router<S, P> {
        &self.inner.router
    }

    /// What the parts of the node share.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Shared<S, P>> {
        &self.inner.shared
    }

    async fn run(
        shared: Arc<Shared<S, P>>,
        indexer: Indexer<S, P>,
        registered_at: Stamp,
    ) -> Result<Self, Error> {
        let (stop, stopped) = watch::channel(false);
        let indexer = tokio::spawn(keep_indexing(Arc::clone(&shared), indexer, stopped));
        let router = Arc::new(Router::new(Arc::clone(&shared)));
        let bus = InProcessBus::default();
        let mut tasks = Vec::new();
        let with = || (Arc::clone(&shared), Arc::clone(&router));
        if !shared.is_alone() {
            let beats = &shared.ports.beats.clone().unwrap_or_else(Handle::current);
            tasks.push(kept_up_on(beats, with(), |(shared, _)| {
                cluster::beat(shared)
            }));
            tasks.push(kept_up(with(), |(shared, _)| cluster::fence_silent(shared)));
            tasks.push(kept_up(with(), |(shared, router)| {
                cluster::look_after(shared, router)
            }));
        }
        match cluster::adopt(&shared).await {
            Ok(()) => {}
            // What is not ready yet is looked at again, and held then.
            Err(error) if !shared.is_alone() && error.code == ErrorCode::Unavailable => {
                tracing::warn!(%error, "some slots are held later");
            }
            Err(error) => {
                // Whoever starts the node again begins another run: nothing of this one may go on.
                tasks.iter().for_each(JoinHandle::abort);
                return Err(error);
            }
        }
        if !shared.is_alone() {
            tasks.push(kept_up(with(), |(shared, _)| news::announce(shared)));
            tasks.push(kept_up(with(), |(shared, _)| news::sweep(shared)));
        }
        let (listeners, told) = (bus.clone(), relay::Told::default());
        tasks.push(kept_up(with(), move |(shared, _)| {
            relay::run(shared, listeners.clone(), registered_at, Arc::clone(&told))
        }));
        tasks.extend(stream_relays(&shared, &router));
        tasks.push(kept_up(with(), |(shared, router)| {
            put_away_idle(shared, router)
        }));
        tasks.push(kept_up(with(), |(shared, _)| settle(shared)));
        tasks.push(kept_up(with(), |(shared, _)| spaces::change::keep(shared)));
        tasks.push(kept_up(with(), |(shared, router)| {
            maintenance::nightly::keep(shared, router)
        }));
        for _ in 0..shared.config.jobs.workers {
            tasks.push(kept_up(with(), |(shared, router)| {
                jobs::work(shared, router)
            }));
        }
        let reader = Reader::new(
            shared.store.clone(),
            shared.ports.clone(),
            shared.config.rules.clone(),
        );
        let inner = Inner {
            shared,
            router,
            reader,
            bus,
            stop,
            tasks: Mutex::new(tasks),
            indexer: Mutex::new(Some(indexer)),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Sees a command through: queued, batched with others of its scope, committed, answered.
    ///
    /// # Errors
    /// The refusal. Nothing was written then, save for `outcome_unknown`.
    pub async fn submit(&self, submission: Submission) -> Result<Answer, Error> {
        self.submit_within(submission, None).await
    }

    /// As [`submit`](Self::submit), as part of a trace.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub async fn submit_within(
        &self,
        submission: Submission,
        trace: Option<TraceContext>,
    ) -> Result<Answer, Error> {
        self.inner.router.submit(submission, trace).await
    }

    /// Sees a command through that another node handed over, if this one owns the slot or may take
    /// it. What it does belongs to `trace`.
    pub async fn serve(
        &self,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Forwarded {
        self.inner.router.serve(submission, trace).await
    }

    /// Hears from another node that something was committed in these slots, and looks.
    pub fn hear(&self, slots: &[Slot]) {
        let shared = &self.inner.shared;
        slots
            .iter()
            .for_each(|slot| shared.mark_for_listeners(*slot));
        count(&shared.counters.heard_slots, slots.len() as u64);
    }

    /// Kills all scope actors, in whatever they are doing, as a defect in each would: how many had a
    /// command. What became of their commands is found out. For simulations.
    pub fn kill_actors(&self) -> usize {
        self.inner.router.kill_actors()
    }

    /// Whether another process runs under this node's name, so that this one must end.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.inner.shared.members.is_replaced()
    }

    /// Whether this node does not reach the bus while others do, so that they have its slots.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.inner.shared.members.is_cut_off()
    }

    /// Where a promotion stands, waiting at most `wait_ms` for its end.
    ///
    /// # Errors
    /// `not_found` when the task has no such verification.
    pub async fn promotion(
        &self,
        task: &Scope,
        id: VerificationId,
        wait_ms: u64,
    ) -> Result<PromotionState, Error> {
        jobs::state(&self.inner.shared, task, id, wait_ms).await
    }

    /// Promotions of this node's slots that are not finished. Those of all nodes are [`Reader::promotions`].
    #[must_use]
    pub fn waiting_jobs(&self) -> Vec<WaitingJob> {
        self.inner.shared.jobs.list()
    }

    /// Has a halted promotion tried anew by whichever node has its slot. Whether it had halted.
    ///
    /// # Errors
    /// `not_found` when the task has no such verification; what the store answers.
    pub async fn retry_promotion(&self, task: &Scope, id: VerificationId) -> Result<bool, Error> {
        jobs::retry(&self.inner.shared, task, id).await
    }

    /// As [`Reader::events`]. Whoever asks for news where there are none is told so from memory, if this node
    /// owns the scope for certain and was the last to write to it: nothing that was acknowledged is missing.
    ///
    /// # Errors
    /// As that.
    pub async fn events(
        &self,
        scope: &Scope,
        kinds: &EventKinds,
        after: Seq,
        limit: usize,
    ) -> Result<Page<EventView, Seq>, Error> {
        match self.no_news(scope, after, limit)? {
            Some(page) => Ok(page),
            None => self.reader().events(scope, kinds, after, limit).await,
        }
    }

    /// The staged records of a scope behind a position, in order, as [`events`](Self::events).
    ///
    /// # Errors
    /// As [`Reader::records`].
    pub async fn records(
        &self,
        scope: &Scope,
        after: Seq,
        limit: usize,
    ) -> Result<Page<StagedRecord, Seq>, Error> {
        match self.no_news(scope, after, limit)? {
            Some(page) => Ok(page),
            None => self.reader().records(scope, after, limit).await,
        }
    }

    /// An empty page, if it is certain that the scope ends at this position.
    fn no_news<T>(
        &self,
        scope: &Scope,
        after: Seq,
        limit: usize,
    ) -> Result<Option<Page<T, Seq>>, Error> {
        page_rows(limit)?;
        let known = self.inner.router.known_tip(scope);
        let is_end = known.is_some_and(|tip| tip.seq == after);
        count(&self.inner.shared.counters.reads_from_memory, is_end.into());
        Ok(is_end.then(|| Page {
            items: Vec::new(),
            next: None,
        }))
    }

    /// Reads committed state.
    #[must_use]
    pub fn reader(&self) -> &Reader<S> {
        &self.inner.reader
    }

    /// The bus that tells of commits.
    #[must_use]
    pub fn bus(&self) -> &InProcessBus {
        &self.inner.bus
    }

    /// The engines and the clock that the node runs with.
    #[must_use]
    pub fn ports(&self) -> &Ports {
        &self.inner.shared.ports
    }

    /// What the node holds of the slots.
    #[must_use]
    pub fn ownership(&self) -> &Ownership {
        &self.inner.shared.ownership
    }

    /// The node's counters at this moment.
    #[must_use]
    pub fn metrics(&self) -> NodeMetrics {
        let (commands, bytes) = self.inner.router.load();
        let now_ms = self.inner.shared.ports.clock.monotonic_ms();
        NodeMetrics {
            slots_behind: self.inner.shared.members.slots_behind(),
            active_scopes: self.inner.router.active() as u64,
            queued_commands: commands as u64,
            queued_bytes: bytes as u64,
            ..self.inner.shared.counters.snapshot(now_ms)
        }
    }

    /// Has what the node counts and measures shown by `registry`.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.inner.shared.counters.register(registry);
        self.inner.shared.spaces.register(registry);
    }

    /// Counts a refusal that was decided before the node was asked. What it refuses itself is counted already.
    pub fn note_refusal(&self, error: &Error) {
        self.inner.shared.counters.refused(error);
    }

    /// Stops: hands what it holds to others, turns new commands away, finishes what is in flight, stores what
    /// the index lacks. What is not finished in time is in the store all the same, and goes on at the next start.
    pub async fn shutdown(&self) {
        let inner = &self.inner;
        let clock = &inner.shared.ports.clock;
        if !inner.shared.is_alone() {
            cluster::drain(&inner.shared, &inner.router).await;
        }
        inner.router.close();
        let deadline_ms = clock.monotonic_ms() + DRAIN_MS_MAX;
        while inner.router.load().0 > 0 && clock.monotonic_ms() < deadline_ms {
            clock.sleep(DRAIN_POLL_MS).await;
        }
        if !inner.shared.is_alone() {
            cluster::leave(&inner.shared).await;
        }
        let tasks = std::mem::take(&mut *inner.tasks.lock());
        for task in tasks {
            task.abort();
            // It ends as aborted, which is what was asked for.
            let _ = task.await;
        }
        inner.stop.send_replace(true);
        let indexer = inner.indexer.lock().take();
        if let Some(indexer) = indexer {
            // A defect of the indexer loses nothing: the next start reads the outbox.
            let _ = indexer.await;
        }
        inner.router.passivate(0);
        // An actor lets go of the store when its task ends, which is soon, but not at once.
        while Arc::strong_count(&inner.shared) > SHARED_BY_NODE
            && clock.monotonic_ms() < deadline_ms
        {
            clock.sleep(DRAIN_POLL_MS).await;
        }
    }
}
