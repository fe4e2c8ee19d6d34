//! Commands to other nodes, as requests over NATS, and news for all of them.
//!
//! Owns handing a command over and waiting for what becomes of it, and telling where something was committed. It must
//! not believe what anybody on the bus can say: that nobody listens counts only before the command is sent, and ends
//! the waiting for its answer after that. What does not open under the cluster's key is passed over, and counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_nats::connection::State as Connection;
use async_nats::{Client, StatusCode, Subscriber};
use futures::StreamExt as _;
use parking_lot::Mutex;
use sillok_bus::parts::{WHOLE_BYTES_MAX, split};
use sillok_bus::subject::{NEWS, commands_to};
use sillok_bus::wire::{
    CALL_BYTES, Call, ClusterKey, Handover, Moment, News, RUN_BYTES, Reply, Request, RequestSeal,
    VERSION, open_reply, seal_news, seal_request,
};
use sillok_core::Error;
use sillok_core::command::Submission;
use sillok_core::membership::WireVersion;
use sillok_core::ports::{BoxFuture, Forwarded, PeerError, Peers};
use sillok_core::slot::Slot;
use sillok_core::trace::TraceContext;
use tokio::time::{Instant, timeout_at};

use crate::config::NatsConfig;
use crate::counts::{Counts, What};

/// Bytes of a message that are left to NATS for what goes with its content.
const SPARED_BYTES: usize = 1 << 10;
/// How often a command is sent to one node: again if that node's run is another one than was believed.
const SENDS_MAX: usize = 2;
/// How long nothing may be heard of a node that was given a command before it is looked whether it is there still.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// The other nodes, as one node reaches them over NATS.
#[derive(Clone, Debug)]
pub struct NatsPeers {
    client: Client,
    key: ClusterKey,
    wait: Duration,
    moments: Arc<Mutex<BTreeMap<String, Heard>>>,
    /// The run of this node, by which it knows its own news.
    run: [u8; RUN_BYTES],
    /// The version that is written.
    version: Arc<AtomicU8>,
    counts: Counts,
}

/// A moment of another node, and when it was heard.
#[derive(Clone, Copy, Debug)]
struct Heard {
    moment: Moment,
    at: Instant,
    /// When somebody looked last whether the run is there still.
    looked: Instant,
    standing: Standing,
}

/// What is believed of a run of a node that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Somebody listens there.
    There,
    /// It did not answer something: it is asked for the moment before it is given anything.
    Doubted,
    /// Nobody listens there: nobody waits for its answers.
    Gone,
}

/// What was heard lately of a run of a node that was given something.
enum Sight {
    /// It is there, or somebody looks just now; after so long it is to be looked again.
    Heard(Duration),
    /// Nothing: it is to be looked whether it is there.
    Quiet,
    /// Nobody is there, or another run in its place.
    Gone,
}

/// Why there is no answer.
#[derive(Debug)]
enum Unanswered {
    /// Too little was sent to be answered.
    Unsent,
    /// It is too large to be sent, by this many bytes in all.
    TooLarge(usize),
    /// Nobody listens, says the bus.
    Nobody,
    /// It was sent, as far as anybody knows.
    Silent,
}

impl NatsPeers {
    /// The other nodes of the cluster whose key this is.
    #[must_use]
    pub fn new(client: Client, config: &NatsConfig, key: ClusterKey) -> Self {
        let mut run = [0; RUN_BYTES];
        getrandom::fill(&mut run).expect("the system has randomness");
        Self {
            run,
            client,
            key,
            wait: Duration::from_millis(config.peer_timeout_ms.into()),
            moments: Arc::default(),
            version: Arc::new(AtomicU8::new(WireVersion::FIRST.get())),
            counts: Counts::default(),
        }
    }

    /// The same, counting answers that count for nothing in `counts`.
    #[must_use]
    pub fn counting(self, counts: Counts) -> Self {
        Self { counts, ..self }
    }

    /// The run of this node, as its news names it.
    #[must_use]
    pub const fn run(&self) -> [u8; RUN_BYTES] {
        self.run
    }

    /// Tells where something was committed, if there is anybody to tell it to.
    async fn tell(&self, slots: &[Slot]) {
        // What is told while nobody is there would wait, and be told long after.
        if !self.is_connected() {
            return;
        }
        let news = News {
            run: self.run,
            slots: slots.to_vec(),
        };
        let told = self
            .client
            .publish(NEWS, seal_news(&self.key, &news).into());
        // Whoever does not hear it looks by itself.
        let _ = tokio::time::timeout(self.wait, told).await;
    }

    /// Hands a command over. All of it takes no longer than a node is waited for, and hardly longer than the node
    /// is there.
    ///
    /// A command is sent with the moment that it is at the other node. A node of which none is known is
    /// asked for it first, so that whether somebody listens there is known before anything is sent that
    /// could be carried out.
    async fn ask(
        &self,
        node: &str,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Result<Forwarded, PeerError> {
        let subject = commands_to(node).ok_or(PeerError::NoResponders)?;
        if !self.is_connected() {
            return Err(PeerError::NoResponders);
        }
        let until = Instant::now() + self.wait;
        for _ in 0..SENDS_MAX {
            let at = match self.moment_of(node) {
                Some(at) => at,
                None => {
                    let asked = self.ask_moment((node, &subject), until).await;
                    asked.ok_or(PeerError::NoResponders)?
                }
            };
            let left = until.saturating_duration_since(Instant::now());
            let request = Request::Command(Handover {
                at,
                wait_ms: u32::try_from(left.as_millis()).unwrap_or(u32::MAX),
                submission: Arc::clone(&submission),
            });
            let called = tokio::select! {
                biased;
                called = self.call(&subject, (&request, trace), until) => called,
                () = self.gone((node, &subject), at.run, until) => Err(Unanswered::Silent),
            };
            match called {
                Ok(reply) => {
                    self.heard(node, reply.now);
                    if let Some(forwarded) = reply.forwarded {
                        return Ok(forwarded);
                    }
                }
                Err(Unanswered::TooLarge(bytes)) => {
                    return Ok(Forwarded::Refused(Error::too_large(
                        "a command that is handed to another node, in bytes",
                        WHOLE_BYTES_MAX as u64,
                        bytes as u64,
                    )));
                }
                Err(unanswered) => {
                    self.believe(node, at.run, Standing::Doubted);
                    return Err(match unanswered {
                        // That nobody listens may have been said by anybody.
                        Unanswered::Silent | Unanswered::Nobody => PeerError::Silent,
                        Unanswered::Unsent | Unanswered::TooLarge(_) => PeerError::NoResponders,
                    });
                }
            }
        }
        // The node answered each time that it carried nothing out.
        Err(PeerError::NoResponders)
    }

    /// Asks a node for its moment, until it answers, or nobody listens there. It is asked again, since it carries
    /// nothing out: what came as a node ended, or as too much waited there, is lost without a word. The waits double, so
    /// that one which is slow to answer is heard as well.
    async fn ask_moment(&self, (node, subject): (&str, &str), until: Instant) -> Option<Moment> {
        let mut wait = LOOK_AFTER;
        loop {
            let looks = until.min(Instant::now() + wait);
            match self.call(subject, (&Request::Moment, None), looks).await {
                Ok(reply) => {
                    self.heard(node, reply.now);
                    return Some(reply.now);
                }
                // What ends before its time would end so again.
                Err(Unanswered::Silent | Unanswered::Unsent)
                    if looks < until && Instant::now() >= looks => {}
                Err(_) => return None,
            }
            wait *= 2;
        }
    }

    /// Sends a request, and waits for what the node that is asked says of it.
    async fn call(
        &self,
        subject: &str,
        (request, trace): (&Request, Option<TraceContext>),
        until: Instant,
    ) -> Result<Reply, Unanswered> {
        let mut call: Call = [0; CALL_BYTES];
        getrandom::fill(&mut call).expect("the system has randomness");
        let version = self.version.load(Ordering::Relaxed);
        let (whole, seal) = seal_request(&self.key, &call, request, trace, version);
        let bytes_max = self.client.max_payload().saturating_sub(SPARED_BYTES);
        let mut parts = split(&self.key, &call, &whole, bytes_max)
            .map_err(|_| Unanswered::TooLarge(whole.len()))?;
        drop(whole);
        let last = parts.pop().unwrap_or_default();
        let sent = timeout_at(until, async {
            let inbox = self.client.new_inbox();
            let answers = self.client.subscribe(inbox.clone()).await.ok()?;
            for part in parts {
                let sent = self.client.publish(subject.to_owned(), part.into()).await;
                sent.ok()?;
            }
            let sent = self
                .client
                .publish_with_reply(subject.to_owned(), inbox, last.into());
            sent.await.ok()?;
            Some(answers)
        });
        // Without its last part nothing is carried out.
        let answers = sent.await.ok().flatten().ok_or(Unanswered::Unsent)?;
        let answer = timeout_at(until, self.answer(answers, &seal)).await;
        answer.unwrap_or(Err(Unanswered::Silent))
    }

    /// Completes once the run of a node is gone that was given something: nobody listens there, or another run. A
    /// node that ended, or was killed, keeps nobody waiting for what it cannot answer any more. A paused one does, and
    /// one whose machine vanished until the bus has noticed. Whoever forges this on the bus gains no more than that a
    /// command is given again, under its id.
    async fn gone(&self, (node, subject): (&str, &str), run: [u8; RUN_BYTES], until: Instant) {
        let mut wait = LOOK_AFTER;
        loop {
            tokio::time::sleep(wait).await;
            match self.sight_of(node, run) {
                Sight::Heard(left) => {
                    wait = left;
                    continue;
                }
                Sight::Gone => return,
                Sight::Quiet => wait = LOOK_AFTER,
            }
            let looks = until.min(Instant::now() + LOOK_AFTER);
            match self.call(subject, (&Request::Moment, None), looks).await {
                Ok(reply) => {
                    self.heard(node, reply.now);
                    if reply.now.run != run {
                        return;
                    }
                }
                Err(Unanswered::Nobody) => return self.believe(node, run, Standing::Gone),
                // The next look may be answered.
                Err(_) => {}
            }
        }
    }

    /// What was heard lately of a run of a node. Of those who find it quiet one looks at a time.
    fn sight_of(&self, node: &str, run: [u8; RUN_BYTES]) -> Sight {
        let mut moments = self.moments.lock();
        let Some(heard) = moments.get_mut(node) else {
            return Sight::Quiet;
        };
        if heard.moment.run != run || heard.standing == Standing::Gone {
            return Sight::Gone;
        }
        let left = LOOK_AFTER.saturating_sub(heard.at.max(heard.looked).elapsed());
        if !left.is_zero() {
            return Sight::Heard(left);
        }
        heard.looked = Instant::now();
        Sight::Quiet
    }

    /// The answer of the node that was asked, whatever else comes.
    async fn answer(
        &self,
        mut answers: Subscriber,
        seal: &RequestSeal,
    ) -> Result<Reply, Unanswered> {
        while let Some(answer) = answers.next().await {
            if answer.status == Some(StatusCode::NO_RESPONDERS) {
                return Err(Unanswered::Nobody);
            }
            match open_reply(&self.key, seal, &answer.payload) {
                Ok(reply) => return Ok(reply),
                Err(refused) => {
                    tracing::debug!(%refused, "an answer counts for nothing");
                    self.counts.refused(What::Reply, refused);
                }
            }
        }
        Err(Unanswered::Silent)
    }

    /// Which moment it is at another node, if it was heard.
    fn moment_of(&self, node: &str) -> Option<Moment> {
        let heard = *self.moments.lock().get(node)?;
        if heard.standing != Standing::There {
            return None;
        }
        let since_ms = u64::try_from(heard.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        Some(Moment {
            ms: heard.moment.ms.saturating_add(since_ms),
            ..heard.moment
        })
    }

    fn heard(&self, node: &str, moment: Moment) {
        let at = Instant::now();
        let looked = at;
        let heard = Heard {
            moment,
            at,
            looked,
            standing: Standing::There,
        };
        self.moments.lock().insert(node.to_owned(), heard);
    }

    /// Notes what is believed of a run, unless another one was heard since. Who is gone stays so until it is heard.
    fn believe(&self, node: &str, run: [u8; RUN_BYTES], standing: Standing) {
        let mut moments = self.moments.lock();
        let heard = moments.get_mut(node);
        let heard = heard.filter(|heard| heard.moment.run == run);
        if let Some(heard) = heard.filter(|heard| heard.standing != Standing::Gone) {
            heard.standing = standing;
        }
    }
}

impl Peers for NatsPeers {
    fn speak(&self, version: WireVersion) {
        self.version
            .store(version.get().min(VERSION), Ordering::Relaxed);
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == Connection::Connected
    }

    fn forward<'a>(
        &'a self,
        node: &'a str,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        Box::pin(self.ask(node, submission, trace))
    }

    fn announce<'a>(&'a self, slots: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(self.tell(slots))
    }
}
