//! The tasks of a node, each kept up over its own defects.
//!
//! Owns that a panic costs one task a moment. What a task does is its own module's.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use sillok_core::Error;
use sillok_core::channel::Channel;
use sillok_store::Store;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::commit::Shared;
use crate::indexer::Indexer;
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::router::Router;
use crate::stream_relay;

/// The wait before a task that panicked goes on, in ms.
const AGAIN_MS: u64 = 1_000;

/// What the tasks of a node work with.
pub(super) type Parts<S, P> = (Arc<Shared<S, P>>, Arc<Router<S, P>>);

/// Runs a task of the node, and runs it anew should it panic: a defect that one input brings out
/// must not end the work on all others.
pub(super) fn kept_up<S: Store, P: Protocol, F>(
    parts: Parts<S, P>,
    make: impl Fn(Parts<S, P>) -> F + Send + Sync + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send,
{
    kept_up_on(&Handle::current(), parts, make)
}

/// As [`kept_up`], on threads of a runtime's own.
pub(super) fn kept_up_on<S: Store, P: Protocol, F>(
    runtime: &Handle,
    parts: Parts<S, P>,
    make: impl Fn(Parts<S, P>) -> F + Send + Sync + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send,
{
    runtime.spawn(async move {
        let again = || make((Arc::clone(&parts.0), Arc::clone(&parts.1)));
        while AssertUnwindSafe(again()).catch_unwind().await.is_err() {
            note_panic(&parts.0).await;
        }
    })
}

/// As [`kept_up`], for the indexer, which begins anew by reading the index's watermark, and knows still how far it has
/// read each slot.
pub(super) async fn keep_indexing<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    indexer: Indexer<S, P>,
    stopped: watch::Receiver<bool>,
) {
    let mut next = Some(indexer);
    loop {
        let (first, stop) = (next.take(), stopped.clone());
        let run = async {
            let indexer = match first {
                Some(indexer) => indexer,
                None => Indexer::start(Arc::clone(&shared)).await?,
            };
            indexer.run(stop).await;
            Ok::<(), Error>(())
        };
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the index did not answer; it is asked again");
                let wait_ms = shared.config.indexer.retry_after_ms;
                shared.ports.clock.sleep(wait_ms).await;
            }
            Err(_panic) => note_panic(&shared).await,
        }
        if *stopped.borrow() {
            // What is not stored is read from the outbox at the next start.
            return;
        }
    }
}

async fn note_panic<S: Store, P: Protocol>(shared: &Shared<S, P>) {
    count(&shared.counters.panics, 1);
    tracing::error!("a task of the node met a defect; it goes on anew");
    shared.ports.clock.sleep(AGAIN_MS).await;
}

pub(super) async fn put_away_idle<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    router: Arc<Router<S, P>>,
) {
    let idle_ms = shared.config.passivate_after_ms;
    loop {
        shared.ports.clock.sleep((idle_ms / 4).max(1)).await;
        router.passivate(idle_ms);
    }
}

/// A relay for each stream, if there are streams that all nodes reach.
pub(super) fn stream_relays<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Arc<Router<S, P>>,
) -> Vec<JoinHandle<()>> {
    let Some(streams) = &shared.ports.streams else {
        return Vec::new();
    };
    let relay = |channel| {
        let stream = Arc::clone(streams.of(channel));
        let parts = (Arc::clone(shared), Arc::clone(router));
        kept_up(parts, move |(shared, _)| {
            stream_relay::run(shared, channel, Arc::clone(&stream))
        })
    };
    Channel::ALL.map(relay).into()
}
