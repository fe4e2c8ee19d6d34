//! A client: gives commands to nodes and does not rest before it knows how they ended.
//!
//! Owns retries: the same command under the same id, at another node, until it is acknowledged or
//! refused for good. It must not know what the commands mean.

mod banking;
mod deciding;
mod fixing;
mod operator;
mod recall;
mod sent;

use std::sync::Arc;

use sillok_core::command::{Answer, Command, Submission};
use sillok_core::id::{Attempt, CommandId, EntryId, VerificationId};
use sillok_core::ports::Clock as _;
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::promotion::PublishReport;
use sillok_core::scope::Scope;
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::ScopeKey;

pub use self::sent::Sent;
use crate::heap::{Due, Place, Sim};
use crate::history::{Call, Ending, Note, Recorder, TipRead};
use crate::net::{CLIENT_TIMEOUT_US, Reply, Request};
use crate::ports::{BEGINNING_MS, SimClock};
use crate::rng::Stream;

/// The wait before a command is sent again, in ms, at least and at most.
const RETRY_MS: (u64, u64) = (20, 400);
/// How long a reader waits for a node before it asks another one, in µs.
const READ_TIMEOUT_US: u64 = 1_500_000;
/// How long an operator waits for a node that drains, in µs.
const DRAIN_TIMEOUT_US: u64 = 10_000_000;

/// One client.
pub struct Client {
    pub(crate) sim: Sim,
    pub(crate) clock: SimClock,
    pub(crate) recorder: Recorder,
    pub(crate) nodes: u16,
    /// Its number among the clients.
    pub(crate) number: usize,
    pub(crate) rng: Stream,
}

/// Whether a refusal says that the same command may be sent again. A defect does: it says nothing of
/// a copy of the command that is still on its way.
fn is_passing(code: ErrorCode) -> bool {
    code.is_passing() || code == ErrorCode::Internal
}

/// What a refusal for now shows, by the words of it where several share a code.
fn seen_by(error: &Error) -> Option<&'static str> {
    if error.code == ErrorCode::QuotaExceeded {
        return Some("quota used up");
    }
    match &*error.message {
        "the scope has too much under way" => Some("mailbox full"),
        "other writers came between too often" => Some("turned away after too many conflicts"),
        "the node's clock is far behind the scope's last event" => {
            Some("refused because of a clock")
        }
        _ => None,
    }
}

impl Client {
    /// Another client of the same number, to ask for things that no command does.
    #[must_use]
    pub fn another(&mut self) -> Self {
        let mut seed = [0; 8];
        self.rng.fill(&mut seed);
        Self {
            sim: self.sim.clone(),
            clock: self.clock.clone(),
            recorder: self.recorder.clone(),
            nodes: self.nodes,
            number: self.number,
            rng: Stream::new(u64::from_le_bytes(seed), "another client", 0),
        }
    }

    /// The principal that this client speaks as.
    #[must_use]
    pub fn principal(&self, kind: PrincipalKind, prefix: &str) -> Principal {
        let id = format!("{}-{}", kind.as_str(), self.number);
        Principal {
            actor: Actor {
                kind,
                id: PrincipalId::parse(&id).expect("a kind and a number are an id"),
            },
            prefix: prefix
                .parse()
                .expect("the workload names scopes that exist"),
        }
    }

    /// Waits.
    pub async fn sleep(&self, ms: u64) {
        self.clock.sleep(ms).await;
    }

    /// A new command's id.
    fn command_id(&mut self, age_ms: u64) -> CommandId {
        let mut random = [0; 10];
        self.rng.fill(&mut random);
        let shared = self.sim.lock();
        let now_ms = BEGINNING_MS + shared.now_us / 1_000 + shared.slept_ms;
        CommandId::from_parts(Timestamp::from_ms(now_ms - age_ms), random)
    }

    /// Gives a command and waits until it is known how it ended.
    ///
    /// # Errors
    /// The refusal.
    pub async fn give(
        &mut self,
        principal: Principal,
        scope: &Scope,
        command: Command,
    ) -> (Result<Answer, Error>, Sent) {
        let id = self.command_id(0);
        self.give_as(principal, scope, command, id, false).await
    }

    /// As [`give`](Self::give), for a command that must be refused, under an id that was made so long
    /// ago.
    ///
    /// # Errors
    /// The refusal.
    pub async fn forge(
        &mut self,
        principal: Principal,
        scope: &Scope,
        command: Command,
        age_ms: u64,
    ) -> Result<Answer, Error> {
        let id = self.command_id(age_ms);
        self.give_as(principal, scope, command, id, true).await.0
    }

    async fn give_as(
        &mut self,
        principal: Principal,
        scope: &Scope,
        command: Command,
        id: CommandId,
        is_forged: bool,
    ) -> (Result<Answer, Error>, Sent) {
        let submission = Submission {
            scope: scope.clone(),
            principal,
            id,
            attempt: Attempt::FIRST,
            command,
        };
        let call = self.recorder.invoked(Call {
            actor: submission.principal.actor.clone(),
            scope: submission.scope.clone(),
            command: submission.id,
            digest: submission.command.digest(),
            name: submission.command.name(),
            invoked_us: self.sim.lock().now_us,
            ended: None,
            is_forged,
        });
        let sent = Sent {
            submission: Arc::new(submission),
        };
        let result = self.see_through(&sent).await;
        let ending = match &result {
            Ok(answer) => Ending::Acknowledged(answer.seq),
            Err(error) => Ending::Refused(error.code),
        };
        let now_us = self.sim.lock().now_us;
        self.recorder.ended(call, now_us, ending);
        (result, sent)
    }

    /// Sends a command once more, long after it was answered: it must get the same answer.
    pub async fn give_again(&mut self, sent: &Sent) -> Result<Answer, Error> {
        self.see_through(sent).await
    }

    /// Counts what a fault, or this client, brought about.
    pub(crate) fn saw(&self, effect: &'static str) {
        self.sim.lock().effects.saw(effect);
    }

    /// Notes that a repeated command was answered otherwise than before: the built-in suite fails a
    /// world in which anybody complains.
    pub fn complain(&self, sent: &Sent, answer: String) {
        let what = format!(
            "command {} was answered otherwise when it came again: {answer}",
            sent.submission.id
        );
        self.recorder.complain(what);
    }

    async fn see_through(&mut self, sent: &Sent) -> Result<Answer, Error> {
        let mut node = self.rng.index(usize::from(self.nodes));
        let mut is_unheard = false;
        loop {
            let place = Place(u16::try_from(node).expect("a world has few nodes"));
            let request = Request::Submit(Arc::clone(&sent.submission));
            let reply = self
                .sim
                .call(Place::CLIENTS, place, request, CLIENT_TIMEOUT_US)
                .await;
            match reply {
                Some(Reply::Submitted(Err(error))) if is_passing(error.code) => {
                    seen_by(&error).into_iter().for_each(|seen| self.saw(seen));
                }
                Some(Reply::Submitted(result)) => {
                    if is_unheard && result.is_ok() {
                        self.saw("answer heard at a later try");
                    }
                    return result;
                }
                reply => {
                    is_unheard |= reply.is_none();
                    node = self.rng.index(usize::from(self.nodes));
                }
            }
            let wait_ms = self.rng.between(RETRY_MS.0, RETRY_MS.1);
            self.sleep(wait_ms).await;
        }
    }

    /// Asks a node, and others until one answers.
    async fn ask(&mut self, request: impl Fn(Place) -> Request) -> Reply {
        loop {
            let node = self.rng.index(usize::from(self.nodes));
            let place = Place(u16::try_from(node).expect("a world has few nodes"));
            let reply = self
                .sim
                .call(Place::CLIENTS, place, request(place), READ_TIMEOUT_US)
                .await;
            match reply {
                None | Some(Reply::NoResponders) => {}
                Some(
                    Reply::Tip(Err(_))
                    | Reply::Promotion(Err(_))
                    | Reply::Job(Err(_))
                    | Reply::Head(Err(_))
                    | Reply::Recalled(Err(_))
                    | Reply::Decisions(Err(_))
                    | Reply::Fixes(Err(_))
                    | Reply::Bank(Err(_)),
                ) => {}
                Some(reply) => return reply,
            }
            let wait_ms = self.rng.between(RETRY_MS.0, RETRY_MS.1);
            self.sleep(wait_ms).await;
        }
    }

    /// Reads where a scope's chain ends, at any node: the events behind the last one that this node wrote.
    /// Whoever has seen all that is whom a node that lags behind could deceive.
    pub async fn read_tip(&mut self, scope: &Scope) {
        let invoked_us = self.sim.lock().now_us;
        let (sim, key) = (self.sim.clone(), ScopeKey::of(scope));
        let request = |place| {
            let seen = sim.lock().monitor.last_by(place, &key);
            Request::Tip(scope.clone(), seen)
        };
        if let Reply::Tip(Ok(seq)) = self.ask(request).await {
            self.recorder.read(TipRead {
                agent: self.number,
                scope: scope.clone(),
                invoked_us,
                answered_us: self.sim.lock().now_us,
                seq,
            });
        }
    }

    /// As [`read_tip`](Self::read_tip), once and at one node only, which may not answer.
    pub async fn read_tip_at(&self, node: u16, scope: &Scope) {
        let (place, invoked_us) = (Place(node), self.sim.lock().now_us);
        let seen = self.sim.lock().monitor.last_by(place, &ScopeKey::of(scope));
        let request = Request::Tip(scope.clone(), seen);
        let reply = self
            .sim
            .call(Place::CLIENTS, place, request, READ_TIMEOUT_US);
        if let Some(Reply::Tip(Ok(seq))) = reply.await {
            self.recorder.read(TipRead {
                agent: self.number,
                scope: scope.clone(),
                invoked_us,
                answered_us: self.sim.lock().now_us,
                seq,
            });
        }
    }

    /// Begins to count the calls of nodes, or ends it.
    pub fn count_calls(&self, counts: bool) {
        self.sim.lock().count_calls(counts);
    }

    /// Moves all wall clocks on, as when everybody sleeps and nothing happens meanwhile.
    pub fn sleep_for_days(&self, days: u64) {
        self.sim.lock().slept_ms += days * DAY_MS;
    }

    /// Has any node run maintenance, or say what it would do. It may not answer.
    /// How many entries went, or would go, if that is known.
    pub async fn maintain(&mut self, dry_run: bool, within: Option<Scope>) -> Option<u64> {
        let asked = self.rng.index(usize::from(self.nodes));
        let place = Place(u16::try_from(asked).expect("a world has few nodes"));
        let request = Request::Maintain { dry_run, within };
        let reply = self
            .sim
            .call(Place::CLIENTS, place, request, CLIENT_TIMEOUT_US)
            .await;
        match reply {
            Some(Reply::Maintained(Ok(gone))) => {
                if gone > 0 {
                    self.saw(match dry_run {
                        true => "maintenance planned",
                        false => "entry taken out by maintenance",
                    });
                }
                Some(gone)
            }
            Some(Reply::Maintained(Err(error))) => {
                if error.code == ErrorCode::Busy {
                    self.saw("maintenance met another run");
                }
                None
            }
            _ => None,
        }
    }

    /// What a promotion published, once it is finished; none where that takes more than so many looks.
    pub async fn published(
        &mut self,
        task: &Scope,
        id: VerificationId,
        tries: u32,
    ) -> Option<PublishReport> {
        for _ in 0..tries {
            let asked = |_| Request::Promotion(task.clone(), id);
            let reply = self.ask(asked).await;
            if let Reply::Promotion(Ok(Some(report))) = reply {
                return Some(report);
            }
            self.sleep(500).await;
        }
        None
    }

    /// Waits until a promotion has halted, or for so many looks.
    pub async fn halted(&mut self, task: &Scope, id: VerificationId, looks: u32, look_ms: u64) {
        for _ in 0..looks {
            self.sleep(look_ms).await;
            let reply = self.ask(|_| Request::Halted(task.clone(), id)).await;
            if matches!(reply, Reply::Job(Ok(true))) {
                return;
            }
        }
    }

    /// Has a halted promotion tried anew, through any node. Whether it had halted, as far as that was
    /// heard of.
    pub async fn retry(&mut self, task: &Scope, id: VerificationId) -> bool {
        let reply = self.ask(|_| Request::Retry(task.clone(), id)).await;
        matches!(reply, Reply::Job(Ok(true)))
    }

    /// Mends what lets the promotions of a task fail.
    pub fn mend(&self, task: &Scope) {
        self.sim.lock().mended.insert(task.clone());
    }

    /// Drains a node, given by its number, and starts it again once it has said so or taken 10 s of
    /// the world's time. Returns when the node is to be started. A world without that node panics.
    pub async fn drain(&self, node: u16) {
        let place = Place(node);
        let run = self.sim.lock().run_of(place).unwrap_or(0);
        let (from, drain) = (Place::CLIENTS, Request::Drain(run));
        let reply = self.sim.call(from, place, drain, DRAIN_TIMEOUT_US);
        if matches!(reply.await, Some(Reply::Drained)) {
            self.saw("node drained");
        }
        let mut shared = self.sim.lock();
        shared.schedule(0, Due::StartAnew(place));
    }

    /// Notes something in the history, for a check at the end.
    pub fn note(&self, kind: &'static str, value: serde_json::Value) {
        self.recorder.note(Note {
            agent: self.number,
            at_us: self.sim.lock().now_us,
            kind,
            value,
        });
    }

    /// An entry's active version, and the entry that heads its line.
    pub async fn head(&mut self, entry: EntryId) -> Option<(u64, EntryId)> {
        match self.ask(|_| Request::Head(entry)).await {
            Reply::Head(Ok(head)) => head,
            _ => None,
        }
    }
}
