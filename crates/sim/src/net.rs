//! The network between clients and nodes: requests and replies as parcels.
//!
//! Owns loss, repetition, delay and partitions. A parcel to a node that is down is answered as
//! nobody's; one that is lost is answered by nobody, and the caller's time runs out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sillok_core::Error;
use sillok_core::command::{Answer, Submission};
use sillok_core::id::{EntryId, Seq, VerificationId};
use sillok_core::ports::{BoxFuture, Forwarded, PeerError, Peers};
use sillok_core::scope::Scope;

use tokio::sync::oneshot;

use crate::heap::{Due, Place, Shared, Sim};

/// Time of a parcel on its way, in µs, at least and at most.
const LATENCY_US: (u64, u64) = (100, 1_500);
/// How long a node waits for another one, in µs.
const PEER_TIMEOUT_US: u64 = 3_000_000;
/// How long a client waits for a node, in µs.
pub(crate) const CLIENT_TIMEOUT_US: u64 = 12_000_000;

/// What is asked of a node.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// A client's command.
    Submit(Arc<Submission>),
    /// A command that another node hands over.
    Serve(Arc<Submission>),
    /// Where a scope's chain ends.
    Tip(Scope),
    /// Whether a promotion is finished.
    Promotion(Scope, VerificationId),
    /// An entry's active version, and the entry that heads its line.
    Head(EntryId),
    /// That the node hands over what it has and ends its run.
    Drain,
}

/// What a node answers.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Submitted(Result<Answer, Error>),
    Served(Forwarded),
    Tip(Result<Seq, Error>),
    Promotion(Result<bool, Error>),
    Head(Result<Option<(u64, EntryId)>, Error>),
    Drained,
    /// Nobody listens there.
    NoResponders,
}

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) call: u64,
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) request: Request,
}

/// What people are told of a parcel: who asks for what.
impl fmt::Display for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Request::Submit(submission) | Request::Serve(submission) => {
                let (command, id) = (submission.command.name(), submission.id);
                write!(f, "{command} {id} in {}", submission.scope)?;
            }
            Request::Tip(scope) => write!(f, "tip of {scope}")?,
            Request::Promotion(task, id) => write!(f, "promotion {id} of {task}")?,
            Request::Head(entry) => write!(f, "head of {entry}")?,
            Request::Drain => write!(f, "drain")?,
        }
        if self.from == Place::CLIENTS {
            write!(f, ", for a client")
        } else {
            write!(f, ", for node-{}", self.from.0)
        }
    }
}

/// What is on its way, and which ways are cut.
#[derive(Default)]
pub(crate) struct Net {
    next_call: u64,
    waiting: BTreeMap<u64, (Place, oneshot::Sender<Option<Reply>>)>,
    /// Ways that are cut, in one direction each, with the number of faults that cut them.
    cut: BTreeMap<(Place, Place), u32>,
}

impl Net {
    pub(crate) fn cut(&mut self, from: Place, to: Place) {
        *self.cut.entry((from, to)).or_default() += 1;
    }

    pub(crate) fn mend(&mut self, from: Place, to: Place) {
        if let Some(faults) = self.cut.get_mut(&(from, to)) {
            *faults -= 1;
            if *faults == 0 {
                self.cut.remove(&(from, to));
            }
        }
    }

    pub(crate) fn mend_all(&mut self) {
        self.cut.clear();
    }

    pub(crate) fn is_cut(&self, from: Place, to: Place) -> bool {
        self.cut.contains_key(&(from, to))
    }
}

impl Sim {
    /// Asks a node; none when no answer came in time.
    pub(crate) async fn call(
        &self,
        from: Place,
        to: Place,
        request: Request,
        timeout_us: u64,
    ) -> Option<Reply> {
        let (answer, receiver) = oneshot::channel();
        {
            let mut shared = self.lock();
            let call = shared.net.next_call;
            shared.net.next_call += 1;
            shared.net.waiting.insert(call, (from, answer));
            let run = shared.run_of(from).unwrap_or(0);
            let gives_up = Box::new(move |shared: &mut Shared| {
                if let Some((_, answer)) = shared.net.waiting.remove(&call) {
                    shared.effects.saw("call without an answer");
                    drop(answer.send(None));
                }
            });
            shared.schedule(timeout_us, Due::Act(Some((from, run)), gives_up));
            let parcel = Parcel {
                call,
                from,
                to,
                request,
            };
            shared.send(parcel);
        }
        receiver.await.ok().flatten()
    }

    /// Sends a reply back to whoever asked.
    pub(crate) fn reply(&self, parcel: &Parcel, reply: Reply) {
        self.lock()
            .answer(parcel.call, parcel.to, parcel.from, reply);
    }
}

impl Shared {
    pub(crate) fn latency_us(&mut self) -> u64 {
        let further = match self.noise.delay_us_max {
            0 => 0,
            most => self.chance.between(0, most),
        };
        if further > LATENCY_US.1 {
            self.effects.saw("parcel delayed");
        }
        self.chance.between(LATENCY_US.0, LATENCY_US.1) + further
    }

    fn send(&mut self, parcel: Parcel) {
        if self.net.is_cut(parcel.from, parcel.to) {
            self.effects.saw("request cut off");
            return;
        }
        if self.chance.permille(self.noise.drop_permille) {
            self.effects.saw("request dropped");
            return;
        }
        if self.chance.permille(self.noise.duplicate_permille) {
            self.effects.saw("request duplicated");
            let latency_us = self.latency_us();
            self.schedule(latency_us, Due::Arrive(parcel.clone()));
        }
        let latency_us = self.latency_us();
        self.schedule(latency_us, Due::Arrive(parcel));
    }

    pub(crate) fn answer(&mut self, call: u64, from: Place, to: Place, reply: Reply) {
        if self.net.is_cut(from, to) {
            self.effects.saw("reply cut off");
            return;
        }
        if self.chance.permille(self.noise.drop_permille) {
            self.effects.saw("reply dropped");
            return;
        }
        let latency_us = self.latency_us();
        let run = self.run_of(to).unwrap_or(0);
        let act = Box::new(move |shared: &mut Self| {
            if let Some((_, answer)) = shared.net.waiting.remove(&call) {
                drop(answer.send(Some(reply)));
            }
        });
        self.schedule(latency_us, Due::Act(Some((to, run)), act));
    }

    /// Forgets the calls of a node that crashed.
    pub(crate) fn forget_calls_of(&mut self, place: Place) {
        self.net.waiting.retain(|_, (from, _)| *from != place);
    }
}

/// The other nodes, as one node reaches them.
pub(crate) struct SimPeers {
    pub(crate) sim: Sim,
    pub(crate) here: Place,
    /// Names of all nodes, in the order of their places.
    pub(crate) names: Arc<Vec<String>>,
}

impl Peers for SimPeers {
    fn forward<'a>(
        &'a self,
        node: &'a str,
        submission: Arc<Submission>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        Box::pin(async move {
            let number = self.names.iter().position(|name| name == node);
            let number = number.ok_or(PeerError::NoResponders)?;
            let to = Place(u16::try_from(number).expect("a world has few nodes"));
            let request = Request::Serve(submission);
            match self.sim.call(self.here, to, request, PEER_TIMEOUT_US).await {
                Some(Reply::Served(forwarded)) => Ok(forwarded),
                Some(_) => Err(PeerError::NoResponders),
                None => Err(PeerError::Silent),
            }
        })
    }
}
