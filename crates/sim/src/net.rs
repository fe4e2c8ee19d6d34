//! The network between clients and nodes: requests and replies as parcels.
//!
//! Owns loss, repetition, delay and partitions. A parcel to a node that is down is answered as
//! nobody's; one that is lost is answered by nobody, and the caller's time runs out. A node that waits for
//! another one gives up soon after that one's run is over.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sillok_core::command::Submission;
use sillok_core::ports::{BoxFuture, Forwarded, PeerError, Peers};
use sillok_core::slot::Slot;
use sillok_core::trace::TraceContext;
use tokio::sync::oneshot;

use crate::heap::{Due, Place, Shared, Sim};
use crate::world::place_of;

mod gone;
mod request;

pub(crate) use request::{Reply, Request};

/// Time of a parcel on its way, in µs, at least and at most.
const LATENCY_US: (u64, u64) = (100, 1_500);
/// For how long a parcel is held back that later ones are to overtake, in µs, at least and at most.
const HELD_US: (u64, u64) = (5_000, 250_000);
/// How long a node waits for another one, in µs.
const PEER_TIMEOUT_US: u64 = 3_000_000;
/// How long a client waits for a node, in µs.
pub(crate) const CLIENT_TIMEOUT_US: u64 = 12_000_000;

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) call: u64,
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) request: Request,
    /// Whether it is held back, so that later ones overtake it.
    pub(crate) is_held: bool,
}

/// What people are told of a parcel: who asks for what.
impl fmt::Display for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Request::Submit(submission) | Request::Serve(submission) => {
                let (command, id) = (submission.command.name(), submission.id);
                write!(f, "{command} {id} in {}", submission.scope)?;
            }
            Request::Tip(scope, seen) => write!(f, "tip of {scope} behind {seen}")?,
            Request::Promotion(task, id) => write!(f, "promotion {id} of {task}")?,
            Request::Head(entry) => write!(f, "head of {entry}")?,
            Request::Recall(scope, at) => write!(f, "recall in {scope} at {}", at.commit)?,
            Request::Decisions(asked) => write!(f, "{asked}")?,
            Request::Fixes(asked) => write!(f, "{asked}")?,
            Request::Bank(asked) => write!(f, "{asked}")?,
            Request::Maintain { dry_run, within } => {
                f.write_str(if *dry_run {
                    "plan of maintenance"
                } else {
                    "maintenance"
                })?;
                if let Some(scope) = within {
                    write!(f, " within {scope}")?;
                }
            }
            Request::Drain(_) => write!(f, "drain")?,
            Request::Fence(node, _) => write!(f, "fence of {node}")?,
            Request::Halted(task, id) => write!(f, "whether promotion {id} of {task} halted")?,
            Request::Retry(task, id) => write!(f, "promotion {id} of {task} anew")?,
            Request::Quarantine(scope, Some(_), _) => write!(f, "quarantine of {scope}")?,
            Request::Quarantine(scope, None, _) => write!(f, "end of the quarantine of {scope}")?,
            Request::News(slots) => write!(f, "news of {} slots", slots.len())?,
        }
        if self.from == Place::CLIENTS {
            write!(f, ", for a client")
        } else {
            write!(f, ", for node-{}", self.from.0)
        }
    }
}

/// What cuts a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cutter {
    Partition,
    OneWay,
    Swizzle,
    StreamOneWay,
}

/// Why a parcel is lost.
#[derive(Clone, Copy)]
enum Loss {
    Cut(Cutter),
    Dropped,
}

impl Loss {
    /// What it brought about if the caller then waits in vain.
    const fn of_request(self) -> &'static str {
        match self {
            Self::Cut(Cutter::OneWay) => "no answer, since one way cut off the request",
            Self::Cut(Cutter::Swizzle) => "no answer, since a swizzle cut off the request",
            Self::Cut(_) => "no answer, since a partition cut off the request",
            Self::Dropped => "no answer, since the request was dropped",
        }
    }

    const fn of_reply(self) -> &'static str {
        match self {
            Self::Cut(Cutter::OneWay) => "no answer, since one way cut off the reply",
            Self::Cut(Cutter::Swizzle) => "no answer, since a swizzle cut off the reply",
            Self::Cut(_) => "no answer, since a partition cut off the reply",
            Self::Dropped => "no answer, since the reply was dropped",
        }
    }
}

/// A call under way, or one that a parcel is still on its way for.
struct Calling {
    from: Place,
    to: Place,
    /// Whom to answer; none once it is answered or given up.
    answer: Option<oneshot::Sender<Option<Reply>>>,
    lost: Option<&'static str>,
    is_delayed: bool,
    is_doubled: bool,
    is_given_up: bool,
    /// Whether its caller gave up since it took the node for gone.
    is_taken_for_gone: bool,
    /// Replies of its node that say that the command was carried out.
    carried_out: u32,
}

/// What is on its way, and which ways are cut.
#[derive(Default)]
pub(crate) struct Net {
    next_call: u64,
    calls: BTreeMap<u64, Calling>,
    /// Ways that are cut, in one direction each, with what cuts them.
    cut: BTreeMap<(Place, Place), Vec<Cutter>>,
    /// The newest call whose request, or whose reply, came from one place to another.
    newest: BTreeMap<(Place, Place, bool), u64>,
    /// Whether all faults are over: nothing is cut any more.
    pub(crate) is_healed: bool,
}

impl Net {
    pub(crate) fn cut(&mut self, from: Place, to: Place, by: Cutter) {
        if !self.is_healed {
            self.cut.entry((from, to)).or_default().push(by);
        }
    }

    pub(crate) fn mend(&mut self, from: Place, to: Place, by: Cutter) {
        if let Some(cutters) = self.cut.get_mut(&(from, to)) {
            if let Some(index) = cutters.iter().position(|cutter| *cutter == by) {
                cutters.remove(index);
            }
            if cutters.is_empty() {
                self.cut.remove(&(from, to));
            }
        }
    }

    /// Mends every way, for good.
    pub(crate) fn heal(&mut self) {
        self.is_healed = true;
        self.cut.clear();
    }

    pub(crate) fn cutter(&self, from: Place, to: Place) -> Option<Cutter> {
        self.cut.get(&(from, to))?.first().copied()
    }

    /// A request or a reply of a call has come: whether that of a later call between the same two
    /// nodes came before it.
    fn is_overtaken(&mut self, from: Place, to: Place, is_reply: bool, call: u64) -> bool {
        if from == Place::CLIENTS || to == Place::CLIENTS {
            return false;
        }
        let newest = self.newest.entry((from, to, is_reply)).or_default();
        let is_overtaken = *newest > call;
        *newest = call.max(*newest);
        is_overtaken
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
        let begins = move |shared: &mut Shared| {
            let call = shared.net.next_call;
            shared.net.next_call += 1;
            let calling = Calling {
                from,
                to,
                answer: Some(answer),
                lost: None,
                is_delayed: false,
                is_doubled: false,
                is_given_up: false,
                is_taken_for_gone: false,
                carried_out: 0,
            };
            shared.net.calls.insert(call, calling);
            let run = shared.run_of(from).unwrap_or(0);
            let gives_up = Box::new(move |shared: &mut Shared| shared.give_up(call));
            shared.schedule(timeout_us, Due::Act(Some((from, run)), gives_up));
            if let Some(look_us) = shared.takes_for_gone_us(from, to) {
                let gives_up = Box::new(move |shared: &mut Shared| {
                    shared.takes_for_gone(call);
                });
                shared.schedule(look_us, Due::Act(Some((from, run)), gives_up));
            }
            let parcel = Parcel {
                call,
                from,
                to,
                request,
                is_held: false,
            };
            shared.send(parcel);
        };
        self.leaves(from, begins).await?;
        receiver.await.ok().flatten()
    }

    /// Tells a node something that nobody answers.
    fn tell(&self, from: Place, to: Place, request: Request) {
        let mut shared = self.lock();
        let call = shared.net.next_call;
        shared.net.next_call += 1;
        shared.send(Parcel {
            call,
            from,
            to,
            request,
            is_held: false,
        });
    }

    /// A request has come to a node that is not there.
    pub(crate) fn nobody_hears(&self, parcel: &Parcel) {
        if matches!(parcel.request, Request::News(_)) {
            self.lock().effects.saw("news of a commit lost");
        } else {
            self.reply(parcel, Reply::NoResponders);
        }
    }

    /// Sends a reply back to whoever asked.
    pub(crate) fn reply(&self, parcel: &Parcel, reply: Reply) {
        self.lock()
            .answer(parcel.call, parcel.to, parcel.from, reply);
    }
}

impl Shared {
    pub(crate) fn latency_us(&mut self, from: Place, to: Place) -> u64 {
        let further = match self.noise.delay_us_max {
            0 => 0,
            most => self.chance_between(from, to).between(0, most),
        };
        self.chance_between(from, to)
            .between(LATENCY_US.0, LATENCY_US.1)
            + further
    }

    /// For how long a parcel between two nodes is held back, in µs.
    fn held_us(&mut self, from: Place, to: Place) -> u64 {
        let is_between_nodes = from != Place::CLIENTS && to != Place::CLIENTS;
        let reorders = self.noise.reorder_permille;
        let chance = self.chance_between(from, to);
        if is_between_nodes && chance.permille(reorders) {
            chance.between(HELD_US.0, HELD_US.1)
        } else {
            0
        }
    }

    /// Why a parcel is lost that leaves now, if it is.
    fn loss(&mut self, from: Place, to: Place) -> Option<Loss> {
        if let Some(cutter) = self.net.cutter(from, to) {
            return Some(Loss::Cut(cutter));
        }
        let drops = self.noise.drop_permille;
        let is_dropped = self.chance_between(from, to).permille(drops);
        is_dropped.then_some(Loss::Dropped)
    }

    fn send(&mut self, mut parcel: Parcel) {
        let call = parcel.call;
        if let Some(loss) = self.loss(parcel.from, parcel.to) {
            if let Some(calling) = self.net.calls.get_mut(&call) {
                calling.lost = Some(loss.of_request());
            } else if matches!(parcel.request, Request::News(_)) {
                self.effects.saw("news of a commit lost");
            }
            return;
        }
        let (from, to) = (parcel.from, parcel.to);
        let doubles = self.noise.duplicate_permille;
        let is_doubled = self.chance_between(from, to).permille(doubles);
        if is_doubled {
            let latency_us = self.latency_us(from, to);
            self.schedule(latency_us, Due::Arrive(parcel.clone()));
        }
        let held_us = self.held_us(parcel.from, parcel.to);
        parcel.is_held = held_us > 0;
        let latency_us = self.latency_us(from, to);
        if let Some(calling) = self.net.calls.get_mut(&call) {
            calling.is_doubled = is_doubled;
            calling.is_delayed = latency_us > LATENCY_US.1;
        }
        self.schedule(latency_us + held_us, Due::Arrive(parcel));
    }

    /// A request has come to a node that is there to carry it out.
    pub(crate) fn accept(&mut self, parcel: &Parcel) {
        let (from, to) = (parcel.from, parcel.to);
        let is_overtaken = self.net.is_overtaken(from, to, false, parcel.call);
        if is_overtaken && parcel.is_held {
            self.effects.saw("request overtaken by a later one");
        }
    }

    pub(crate) fn answer(&mut self, call: u64, from: Place, to: Place, reply: Reply) {
        let loss = self.loss(from, to);
        let held_us = self.held_us(from, to);
        let latency_us = self.latency_us(from, to);
        if let Some(calling) = self.net.calls.get_mut(&call) {
            calling.carried_out += u32::from(reply.says_done());
            calling.is_delayed |= latency_us > LATENCY_US.1;
            if calling.is_doubled && calling.carried_out == 2 && reply.says_done() {
                self.effects.saw("request carried out twice");
            }
            if let Some(loss) = loss {
                calling.lost = Some(loss.of_reply());
            }
        }
        if loss.is_some() {
            return;
        }
        let run = self.run_of(to).unwrap_or(0);
        let act = Box::new(move |shared: &mut Self| {
            let is_overtaken = shared.net.is_overtaken(from, to, true, call);
            if shared.hear_reply(call, reply) && is_overtaken && held_us > 0 {
                shared.effects.saw("reply overtaken by a later one");
            }
        });
        self.schedule(latency_us + held_us, Due::Act(Some((to, run)), act));
    }

    /// A reply has come: whether somebody waited for it.
    fn hear_reply(&mut self, call: u64, reply: Reply) -> bool {
        let Some(calling) = self.net.calls.get_mut(&call) else {
            return false;
        };
        let Some(answer) = calling.answer.take() else {
            if calling.is_taken_for_gone {
                self.effects.saw("answer of a node that was taken for gone");
            } else if calling.is_given_up && calling.is_delayed {
                self.effects
                    .saw("answer came after its caller had given up");
            }
            return false;
        };
        if !calling.is_doubled {
            self.net.calls.remove(&call);
        }
        drop(answer.send(Some(reply)));
        true
    }

    /// A caller's time is up.
    fn give_up(&mut self, call: u64) {
        let Some(calling) = self.net.calls.get_mut(&call) else {
            return;
        };
        if let Some(answer) = calling.answer.take() {
            calling.is_given_up = true;
            let why = calling.lost.unwrap_or("no answer, though nothing was lost");
            self.effects.saw(why);
            drop(answer.send(None));
        }
        // Its answer may come all the same.
        if !calling.is_delayed && !calling.is_taken_for_gone {
            self.net.calls.remove(&call);
        }
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
    fn is_connected(&self) -> bool {
        // The stream stands for the servers of the bus.
        let net = &self.sim.lock().net;
        let ways = [(self.here, Place::STREAM), (Place::STREAM, self.here)];
        ways.iter()
            .all(|(from, to)| net.cutter(*from, *to).is_none())
    }

    fn forward<'a>(
        &'a self,
        node: &'a str,
        submission: Arc<Submission>,
        _: Option<TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        Box::pin(async move {
            let number = self.names.iter().position(|name| name == node);
            let number = number.ok_or(PeerError::NoResponders)?;
            let (to, request) = (place_of(number), Request::Serve(submission));
            match self.sim.call(self.here, to, request, PEER_TIMEOUT_US).await {
                Some(Reply::Served(forwarded)) => Ok(forwarded),
                Some(_) => Err(PeerError::NoResponders),
                None => Err(PeerError::Silent),
            }
        })
    }

    fn announce<'a>(&'a self, slots: &'a [Slot]) -> BoxFuture<'a, ()> {
        let news = Request::News(slots.into());
        for to in (0..self.names.len()).map(place_of) {
            if to != self.here {
                self.sim.tell(self.here, to, news.clone());
            }
        }
        Box::pin(core::future::ready(()))
    }
}
