//! A node: everything that runs together on one store.
//!
//! Owns starting and stopping, in the right order. It must not know which engines fill the ports.

use std::marker::PhantomData;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_bus::InProcessBus;
use sillok_core::Error;
use sillok_core::command::{Answer, Submission};
use sillok_core::id::VerificationId;
use sillok_core::scope::Scope;
use sillok_store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::admission::Admission;
use crate::commit::{Quarantine, Shared};
use crate::config::NodeConfig;
use crate::indexer::Indexer;
use crate::jobs::{self, JobQueue, PromotionState, WaitingJob};
use crate::metrics::{Counters, NodeMetrics};
use crate::outbox_feed::OutboxFeed;
use crate::ownership::Ownership;
use crate::ports::Ports;
use crate::protocol::{Correct, Protocol};
use crate::reads::Reader;
use crate::relay;
use crate::router::Router;

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
    /// Starts a node under the protocol as it is meant: takes the slots, brings the index up to the
    /// store, and finds the promotions that earlier runs left behind.
    ///
    /// # Errors
    /// `invalid_argument` for a bad configuration, and what the store or an engine answered.
    pub async fn start(store: S, ports: Ports, config: NodeConfig) -> Result<Self, Error> {
        config.check()?;
        let ownership = Ownership::claim_all(&store, &config.name).await?;
        Self::start_as(store, ports, config, ownership).await
    }
}

impl<S: Store, P: Protocol> Node<S, P> {
    /// Starts a node that already holds its slots, under any protocol. Production uses
    /// [`start`](Node::start).
    ///
    /// # Errors
    /// What the store or an engine answered.
    pub async fn start_as(
        store: S,
        ports: Ports,
        config: NodeConfig,
        ownership: Ownership,
    ) -> Result<Self, Error> {
        let admission = Admission::new(config.admission);
        let reader = Reader::new(store.clone(), ports.clone(), config.rules.clone());
        let claimed_at = ownership.claimed_at();
        let shared: Arc<Shared<S, P>> = Arc::new(Shared {
            store,
            ports,
            config,
            counters: Counters::default(),
            ownership,
            bus_feed: OutboxFeed::default(),
            index_feed: OutboxFeed::default(),
            jobs: JobQueue::default(),
            quarantine: Quarantine::default(),
            protocol: PhantomData,
        });
        let router = Arc::new(Router::new(Arc::clone(&shared), admission));
        let bus = InProcessBus::default();
        let (stop, stopped) = watch::channel(false);
        let indexer = Indexer::start(Arc::clone(&shared)).await?;
        jobs::recover(&shared).await?;
        let mut tasks = vec![
            tokio::spawn(relay::run(Arc::clone(&shared), bus.clone(), claimed_at)),
            tokio::spawn(put_away_idle(Arc::clone(&shared), Arc::clone(&router))),
        ];
        for _ in 0..shared.config.jobs.workers {
            tasks.push(tokio::spawn(jobs::work(
                Arc::clone(&shared),
                Arc::clone(&router),
            )));
        }
        let indexer = tokio::spawn(indexer.run(stopped));
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
        self.inner.router.submit(submission).await
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

    /// Promotions that are not finished.
    #[must_use]
    pub fn waiting_jobs(&self) -> Vec<WaitingJob> {
        self.inner.shared.jobs.list()
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
        NodeMetrics {
            active_scopes: self.inner.router.active() as u64,
            queued_commands: commands as u64,
            queued_bytes: bytes as u64,
            ..self.inner.shared.counters.snapshot()
        }
    }

    /// Counts a refusal that was decided before the node was asked. What it refuses itself is
    /// counted already.
    pub fn note_refusal(&self, error: &Error) {
        self.inner.shared.counters.refused(error);
    }

    /// Stops: turns new commands away, finishes what is in flight, stores what the index lacks.
    /// What is not finished in time is in the store all the same, and goes on at the next start.
    pub async fn shutdown(&self) {
        let inner = &self.inner;
        let clock = &inner.shared.ports.clock;
        inner.router.close();
        let deadline_ms = clock.monotonic_ms() + DRAIN_MS_MAX;
        while inner.router.load().0 > 0 && clock.monotonic_ms() < deadline_ms {
            clock.sleep(DRAIN_POLL_MS).await;
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

async fn put_away_idle<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    router: Arc<Router<S, P>>,
) {
    let idle_ms = shared.config.passivate_after_ms;
    loop {
        shared.ports.clock.sleep((idle_ms / 4).max(1)).await;
        router.passivate(idle_ms);
    }
}
