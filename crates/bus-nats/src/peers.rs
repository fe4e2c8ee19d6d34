//! Commands from node to node, as requests over NATS.
//!
//! Owns both sides: handing a command over and waiting for what becomes of it, and carrying out what
//! others hand over. What does not open under the cluster's key is counted and answered by nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use async_nats::connection::State as Connection;
use async_nats::{Client, Message, Request as NatsRequest};
use futures::StreamExt as _;
use sillok_bus::parts::{Assembly, split};
use sillok_bus::subject::commands_to;
use sillok_bus::wire::{
    CALL_BYTES, Call, ClusterKey, Refused, Request, open_reply, open_request, seal_reply,
    seal_request,
};
use sillok_core::Error;
use sillok_core::command::Submission;
use sillok_core::ports::{BoxFuture, Forwarded, PeerError, Peers};
use tokio::sync::Semaphore;

use crate::config::NatsConfig;

/// Bytes of a message that are left to NATS for what goes with its content.
const SPARED_BYTES: usize = 1 << 10;
/// What a node is told to wait whose commands come too fast, in ms.
const RETRY_AFTER_MS: u64 = 100;

/// The other nodes, as one node reaches them over NATS.
#[derive(Clone, Debug)]
pub struct NatsPeers {
    client: Client,
    key: ClusterKey,
    wait_ms: u32,
}

impl NatsPeers {
    /// The other nodes of the cluster whose key this is.
    #[must_use]
    pub fn new(client: Client, config: &NatsConfig, key: ClusterKey) -> Self {
        Self {
            client,
            key,
            wait_ms: config.peer_timeout_ms,
        }
    }

    async fn ask(&self, node: &str, submission: Arc<Submission>) -> Result<Forwarded, PeerError> {
        let subject = commands_to(node).ok_or(PeerError::NoResponders)?;
        if self.client.connection_state() != Connection::Connected {
            return Err(PeerError::NoResponders);
        }
        let mut call: Call = [0; CALL_BYTES];
        getrandom::fill(&mut call).expect("the system has randomness");
        let request = Request {
            wait_ms: self.wait_ms,
            submission,
        };
        let (whole, seal) = seal_request(&self.key, &call, &request);
        let bytes_max = self.client.max_payload().saturating_sub(SPARED_BYTES);
        let mut parts = split(&call, &whole, bytes_max).map_err(|error| {
            tracing::warn!(%error, node, bytes = whole.len(), "a command cannot be handed over");
            PeerError::NoResponders
        })?;
        let last = parts.pop().unwrap_or_default();
        for part in parts {
            let sent = self.client.publish(subject.clone(), part.into()).await;
            // Without its last part nothing is carried out.
            sent.map_err(|_| PeerError::NoResponders)?;
        }
        let asked = NatsRequest::new()
            .payload(last.into())
            .timeout(Some(Duration::from_millis(self.wait_ms.into())));
        match self.client.send_request(subject, asked).await {
            Ok(reply) => open_reply(&self.key, &seal, &reply.payload).map_err(|error| {
                tracing::warn!(%error, node, "an answer counts for nothing");
                PeerError::Silent
            }),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders
                | RequestErrorKind::InvalidSubject
                | RequestErrorKind::MaxPayloadExceeded => PeerError::NoResponders,
                RequestErrorKind::TimedOut | RequestErrorKind::Other => PeerError::Silent,
            }),
        }
    }
}

impl Peers for NatsPeers {
    fn forward<'a>(
        &'a self,
        node: &'a str,
        submission: Arc<Submission>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        Box::pin(self.ask(node, submission))
    }
}

/// What carries out a command that another node hands over.
pub type Handler = Arc<dyn Fn(Arc<Submission>) -> BoxFuture<'static, Forwarded> + Send + Sync>;

/// What a node was handed, by what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerMetrics {
    /// Carried out and answered.
    pub served: u64,
    /// Turned away, since too many were under way.
    pub turned_away: u64,
    /// Not begun, since whoever asked had given up by then.
    pub late: u64,
    /// Malformed.
    pub malformed: u64,
    /// Of a later version.
    pub of_later_version: u64,
    /// Not sealed with the cluster's key.
    pub unsealed: u64,
    /// Too large, or one of too many that waited for their rest.
    pub too_much: u64,
}

#[derive(Default)]
struct Counters {
    served: AtomicU64,
    turned_away: AtomicU64,
    late: AtomicU64,
    malformed: AtomicU64,
    of_later_version: AtomicU64,
    unsealed: AtomicU64,
    too_much: AtomicU64,
}

impl Counters {
    fn refused(&self, refused: Refused) {
        let counter = match refused {
            Refused::Malformed => &self.malformed,
            Refused::Version(_) => &self.of_later_version,
            Refused::Seal => &self.unsealed,
            Refused::TooMuch => &self.too_much,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A node's side of the requests of others.
#[derive(Clone)]
pub struct Server {
    client: Client,
    key: ClusterKey,
    handler: Handler,
    permits: Arc<Semaphore>,
    counters: Arc<Counters>,
}

impl Server {
    /// Carries out what nodes of the cluster hand over whose key this is.
    #[must_use]
    pub fn new(client: Client, config: &NatsConfig, key: ClusterKey, handler: Handler) -> Self {
        Self {
            client,
            key,
            handler,
            permits: Arc::new(Semaphore::new(config.peer_commands)),
            counters: Arc::default(),
        }
    }

    /// What came so far.
    #[must_use]
    pub fn metrics(&self) -> ServerMetrics {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        ServerMetrics {
            served: of(&counters.served),
            turned_away: of(&counters.turned_away),
            late: of(&counters.late),
            malformed: of(&counters.malformed),
            of_later_version: of(&counters.of_later_version),
            unsealed: of(&counters.unsealed),
            too_much: of(&counters.too_much),
        }
    }

    /// Listens under a node's name, and carries out what comes, until the connection is closed for good.
    ///
    /// # Errors
    /// When the name is no token of a subject, or the connection is closed.
    pub async fn run(self, node: &str) -> Result<(), ListenError> {
        let subject = commands_to(node).ok_or_else(|| ListenError::Name(node.to_owned()))?;
        let subscribed = self.client.subscribe(subject).await;
        let mut subscription =
            subscribed.map_err(|error| ListenError::Closed(error.to_string()))?;
        let begun = Instant::now();
        let mut assembly = Assembly::default();
        while let Some(message) = subscription.next().await {
            let now_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            match assembly.take(&message.payload, now_ms) {
                Ok(Some(whole)) => self.begin(whole, message),
                Ok(None) => {}
                Err(refused) => self.counters.refused(refused),
            }
        }
        Err(ListenError::Closed("the subscription ended".to_owned()))
    }

    /// Begins to carry a command out, beside all others.
    fn begin(&self, whole: Vec<u8>, message: Message) {
        let Some(reply_to) = message.reply else {
            self.counters.refused(Refused::Malformed);
            return;
        };
        let server = self.clone();
        let came = Instant::now();
        tokio::spawn(async move {
            let (request, seal) = match open_request(&server.key, &whole) {
                Ok(opened) => opened,
                Err(refused) => return server.counters.refused(refused),
            };
            drop(whole);
            let counters = &server.counters;
            let forwarded = match server.permits.try_acquire() {
                Err(_) => {
                    counters.turned_away.fetch_add(1, Ordering::Relaxed);
                    let why = "the node carries out as many commands of others as it may";
                    Forwarded::Refused(Error::busy(why, RETRY_AFTER_MS))
                }
                Ok(_) if came.elapsed() > Duration::from_millis(request.wait_ms.into()) => {
                    counters.late.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Ok(_permit) => {
                    let forwarded = (server.handler)(request.submission).await;
                    counters.served.fetch_add(1, Ordering::Relaxed);
                    forwarded
                }
            };
            let reply = seal_reply(&server.key, &seal, &forwarded);
            // Whoever asked takes silence for what it is: nobody knows.
            let _ = server.client.publish(reply_to, reply.into()).await;
        });
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
