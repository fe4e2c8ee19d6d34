//! Commands of other nodes, as requests over NATS, and their news.
//!
//! Owns carrying out what others hand over, once each, and only while they wait, and hearing where they
//! committed something. What does not open under
//! the cluster's key is counted and answered by nobody, and nothing is begun for it.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::connection::State as Connection;
use async_nats::{Client, Message, Subject, Subscriber};
use futures::StreamExt as _;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use sillok_bus::calls::{Calls, Judged};
use sillok_bus::parts::Assembly;
use sillok_bus::subject::{NEWS, commands_to};
use sillok_bus::wire::{
    ClusterKey, Opened, RUN_BYTES, Refused, Reply, Request, RequestSeal, open_news, open_request,
    seal_reply,
};
use sillok_core::Error;
use sillok_core::command::Submission;
use sillok_core::membership::WireVersion;
use sillok_core::ports::{BoxFuture, Forwarded};
use sillok_core::slot::Slot;
use sillok_core::trace::TraceContext;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::config::NatsConfig;
use crate::counts::{Counts, What};

/// What a node is told to wait whose commands come too fast, in ms.
const RETRY_AFTER_MS: u64 = 100;
/// How often a node that ends looks whether all is answered.
const ANSWERED_POLL: Duration = Duration::from_millis(5);

/// What carries out a command that another node hands over, as part of the trace that it came with.
pub type Handler = Arc<
    dyn Fn(Arc<Submission>, Option<TraceContext>) -> BoxFuture<'static, Forwarded> + Send + Sync,
>;

/// What a node was handed, by what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerMetrics {
    /// Carried out and answered, be it with a refusal.
    pub served: u64,
    /// Answered that another node owns the slot. Nothing was written.
    pub not_owner: u64,
    /// News of other nodes.
    pub news: u64,
    /// Turned away, since too many were under way.
    pub turned_away: u64,
    /// Not begun, since whoever asked had given up by then, or meant an earlier run of this node.
    pub late: u64,
    /// Not begun, since the same call was begun before: somebody sent it again.
    pub repeated: u64,
    /// Malformed.
    pub malformed: u64,
    /// Of a later version.
    pub of_later_version: u64,
    /// Not sealed with the cluster's key.
    pub unsealed: u64,
    /// Too large, or one of too many that waited for their rest.
    pub too_much: u64,
}

/// A request or news of another node, by what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Became {
    outcome: &'static str,
}

/// What became of what came.
#[derive(Clone)]
struct Counters {
    all: Family<Became, Counter>,
    served: Counter,
    not_owner: Counter,
    news: Counter,
    turned_away: Counter,
    late: Counter,
    repeated: Counter,
    malformed: Counter,
    of_later_version: Counter,
    unsealed: Counter,
    too_much: Counter,
}

impl Counters {
    fn new() -> Self {
        let all = Family::default();
        let of = |outcome| all.get_or_create_owned(&Became { outcome });
        Self {
            served: of("served"),
            not_owner: of("not_owner"),
            news: of("news"),
            turned_away: of("turned_away"),
            late: of("late"),
            repeated: of("repeated"),
            malformed: of("malformed"),
            of_later_version: of("of_later_version"),
            unsealed: of("unsealed"),
            too_much: of("too_much"),
            all,
        }
    }

    fn answered(&self, forwarded: &Forwarded) {
        let counter = match forwarded {
            Forwarded::Answered(_) | Forwarded::Refused(_) => &self.served,
            Forwarded::NotOwner => &self.not_owner,
        };
        counter.inc();
    }

    fn refused(&self, refused: Refused) {
        let counter = match refused {
            Refused::Malformed => &self.malformed,
            Refused::Version(_) => &self.of_later_version,
            Refused::Seal => &self.unsealed,
            Refused::TooMuch => &self.too_much,
        };
        counter.inc();
    }
}

/// A node's side of the requests of others.
#[derive(Clone)]
pub struct Server {
    client: Client,
    key: ClusterKey,
    handler: Handler,
    /// The newest version that is read.
    reads: WireVersion,
    /// Commands that are carried out at once.
    commands: usize,
    permits: Arc<Semaphore>,
    /// The longest that anybody waits for an answer.
    wait: Duration,
    counters: Counters,
    counts: Counts,
    calls: Arc<Mutex<Calls>>,
    begun: Instant,
}

impl Server {
    /// Carries out what nodes of the cluster hand over whose key this is.
    #[must_use]
    pub fn new(client: Client, config: &NatsConfig, key: ClusterKey, handler: Handler) -> Self {
        let mut run = [0; RUN_BYTES];
        getrandom::fill(&mut run).expect("the system has randomness");
        Self {
            client,
            key,
            handler,
            reads: WireVersion::NEWEST,
            commands: config.peer_commands,
            permits: Arc::new(Semaphore::new(config.peer_commands)),
            wait: Duration::from_millis(config.peer_timeout_ms.into()),
            counters: Counters::new(),
            counts: Counts::default(),
            calls: Arc::new(Mutex::new(Calls::new(run))),
            begun: Instant::now(),
        }
    }

    /// The same, reading no later version than this one.
    #[must_use]
    pub fn reading(self, reads: WireVersion) -> Self {
        Self { reads, ..self }
    }

    /// The same, counting what no node wrote in `counts` too.
    #[must_use]
    pub fn counting(self, counts: Counts) -> Self {
        Self { counts, ..self }
    }

    /// What came so far.
    #[must_use]
    pub fn metrics(&self) -> ServerMetrics {
        let counters = &self.counters;
        ServerMetrics {
            served: counters.served.get(),
            not_owner: counters.not_owner.get(),
            news: counters.news.get(),
            turned_away: counters.turned_away.get(),
            late: counters.late.get(),
            repeated: counters.repeated.get(),
            malformed: counters.malformed.get(),
            of_later_version: counters.of_later_version.get(),
            unsealed: counters.unsealed.get(),
            too_much: counters.too_much.get(),
        }
    }

    /// Has what became of all that came shown by `registry`.
    pub fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "bus_requests",
            "Requests and news of other nodes, by what became of them",
            self.counters.all.clone(),
        );
    }

    /// Listens under a node's name, and carries out what comes, until `ends` completes or the connection is closed
    /// for good. At its end it answers what it was given, and only then takes nothing more, so that nobody gives up on an
    /// answer that comes. [`NatsConfig::last_answers`] bounds what that waits for; a connection that takes nothing may
    /// hold it for longer, which is for the caller to bound.
    ///
    /// # Errors
    /// When the name is no token of a subject, or the connection is closed.
    pub async fn run(
        self,
        node: &str,
        ends: impl Future<Output = ()> + Send,
    ) -> Result<(), ListenError> {
        let subject = commands_to(node).ok_or_else(|| ListenError::Name(node.to_owned()))?;
        let subscribed = self.client.subscribe(subject).await;
        let mut subscription =
            subscribed.map_err(|error| ListenError::Closed(error.to_string()))?;
        let mut assembly = Assembly::new(self.key.clone());
        let mut over = pin!(async {
            ends.await;
            self.answered_all().await;
        });
        loop {
            tokio::select! {
                biased;
                () = &mut over => break,
                message = subscription.next() => match message {
                    Some(message) => self.hear_request(&mut assembly, message).await,
                    None => {
                        let why = "the subscription ended".to_owned();
                        return Err(ListenError::Closed(why));
                    }
                },
            }
        }
        // Without a connection nobody hears an answer any more.
        if self.client.connection_state() == Connection::Connected {
            let last = timeout(self.wait, self.finish(subscription, assembly));
            if last.await.is_err() {
                tracing::warn!("the last answers to other nodes may not have been sent");
            }
        }
        Ok(())
    }

    /// Takes nothing more, and answers what has come by then. What was on its way is lost with the subscription: who
    /// sent it finds out that nobody is here.
    async fn finish(&self, mut subscription: Subscriber, mut assembly: Assembly) {
        if subscription.drain().await.is_ok() {
            while let Some(message) = subscription.next().await {
                self.hear_request(&mut assembly, message).await;
            }
        }
        self.answered_all().await;
        if let Err(error) = self.client.flush().await {
            tracing::debug!(%error, "the last answers to other nodes are not sent");
        }
    }

    /// Hears what may be a part of a request, or all of it.
    async fn hear_request(&self, assembly: &mut Assembly, message: Message) {
        let taken = assembly.take(&message.payload, self.now_ms());
        let opened = taken.and_then(|whole| {
            let whole = whole.map(|whole| open_request(&self.key, &whole, self.reads.get()));
            whole.transpose()
        });
        match opened {
            Ok(Some(opened)) => self.take(opened, message).await,
            Ok(None) => {}
            Err(refused) => self.refused(What::Request, refused),
        }
    }

    /// Waits until all that was begun is answered, but no longer than anybody waits for an answer. Whatever comes
    /// meanwhile finds room.
    async fn answered_all(&self) {
        let answered = timeout(self.wait, async {
            while self.permits.available_permits() < self.commands {
                tokio::time::sleep(ANSWERED_POLL).await;
            }
        });
        if answered.await.is_err() {
            tracing::warn!("commands of other nodes are left without an answer");
        }
    }

    /// Hears where other nodes committed something, and hands it to `hears`, until the connection is
    /// closed for good. What the run `own` tells is passed over.
    ///
    /// # Errors
    /// When the connection is closed.
    pub async fn hear(
        &self,
        own: [u8; RUN_BYTES],
        hears: impl Fn(&[Slot]) + Send,
    ) -> Result<(), ListenError> {
        let subscribed = self.client.subscribe(NEWS).await;
        let mut subscription =
            subscribed.map_err(|error| ListenError::Closed(error.to_string()))?;
        while let Some(message) = subscription.next().await {
            match open_news(&self.key, &message.payload) {
                Ok(news) if news.run == own => {}
                Ok(news) => {
                    self.counters.news.inc();
                    hears(&news.slots);
                }
                Err(refused) => self.refused(What::News, refused),
            }
        }
        Err(ListenError::Closed("the subscription ended".to_owned()))
    }

    /// Counts what was refused.
    fn refused(&self, what: What, refused: Refused) {
        self.counters.refused(refused);
        self.counts.refused(what, refused);
    }

    /// How long this run has lasted.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes what a node asks: begins a command, if it is to be begun.
    async fn take(&self, opened: Opened, message: Message) {
        let Some(reply_to) = message.reply else {
            self.refused(What::Request, Refused::Malformed);
            return;
        };
        let (seal, trace) = (opened.seal, opened.trace);
        let Request::Command(handover) = opened.request else {
            return self.answer(reply_to, &seal, None).await;
        };
        let now_ms = self.now_ms();
        let judged = self.calls.lock().judge(&opened.call, &handover, now_ms);
        let counters = &self.counters;
        match judged {
            Judged::Begun => match Arc::clone(&self.permits).try_acquire_owned() {
                Ok(permit) => {
                    let server = self.clone();
                    tokio::spawn(async move {
                        let forwarded = (server.handler)(handover.submission, trace).await;
                        server.counters.answered(&forwarded);
                        server.answer(reply_to, &seal, Some(forwarded)).await;
                        drop(permit);
                    });
                }
                Err(_) => self.turn_away(reply_to, &seal).await,
            },
            Judged::Full => {
                counters.turned_away.inc();
            }
            Judged::Late => {
                counters.late.inc();
                self.answer(reply_to, &seal, None).await;
            }
            Judged::Repeated => {
                counters.repeated.inc();
            }
        }
    }

    async fn turn_away(&self, reply_to: Subject, seal: &RequestSeal) {
        self.counters.turned_away.inc();
        let why = "the node carries out as many commands of others as it may";
        let refused = Forwarded::Refused(Error::busy(why, RETRY_AFTER_MS));
        self.answer(reply_to, seal, Some(refused)).await;
    }

    async fn answer(&self, to: Subject, seal: &RequestSeal, forwarded: Option<Forwarded>) {
        let now = self.calls.lock().moment(self.now_ms());
        let reply = seal_reply(&self.key, seal, &Reply { now, forwarded });
        // Whoever asked takes silence for what it is: nobody knows.
        let _ = self.client.publish(to, reply.into()).await;
    }
}

/// Why a node does not listen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    /// Its name cannot be part of a subject.
    #[error("the node's name {0:?} has characters other than A-Z a-z 0-9 - _")]
    Name(String),
    /// There is no connection any more.
    #[error("{0}")]
    Closed(String),
}
