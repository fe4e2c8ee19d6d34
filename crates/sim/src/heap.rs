//! The one heap of events that owns all time, and what every simulated part shares.
//!
//! Nothing simulated answers inline: each answer is an event here, so that one number decides every
//! order. It must not know what an event does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use sillok_core::scope::Scope;
use tokio::sync::oneshot;

use crate::disk::Disk;
use crate::effects::Effects;
use crate::monitor::Monitor;
use crate::net::{Net, Parcel};
use crate::noise::Noise;
use crate::rng::{Purpose, Stream, Streams};
use crate::stream::Server;
use crate::trace::Trace;

/// How long something takes to leave its place while calls are counted, in µs.
const LEAVES_US: u64 = 1;

/// A place where things happen: a node by its number, or the clients, which share one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub(crate) u16);

impl Place {
    /// Where all clients are.
    pub(crate) const CLIENTS: Self = Self(u16::MAX);
    /// Where the stream is served.
    pub(crate) const STREAM: Self = Self(u16::MAX - 1);
}

/// What an event does when its time has come. It may wake tasks; they run right after it.
pub(crate) type Act = Box<dyn FnOnce(&mut Shared) + Send>;

/// What is due.
pub(crate) enum Due {
    /// Something happens at a place, in the run that waited for it; without a place, outside all.
    Act(Option<(Place, u32)>, Act),
    /// A parcel arrives at a node.
    Arrive(Parcel),
    /// A fault begins or ends, by its number in the list.
    Fault { number: usize, begins: bool },
    /// A node's actors are killed.
    KillActors(Place),
    /// A node's process ends, and is started again.
    Crash(Place),
    /// A node is started, unless it runs.
    Start(Place),
    /// A node that was drained is ended, and started again.
    StartAnew(Place),
}

struct Event {
    at_us: u64,
    order: u64,
    due: Due,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_us, self.order).cmp(&(other.at_us, other.order))
    }
}

/// How a node's clocks differ from the world's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockFacts {
    /// Added to the wall clock while faults want it, in ms.
    pub(crate) offset_ms: i64,
    /// Added to the wall clock for good, in ms.
    pub(crate) jumped_ms: i64,
    /// How much faster the node's clocks run, in millionths.
    drift_ppm: i64,
    /// When that began, in the world's time and in the node's, in µs.
    since_us: (u64, u64),
}

impl ClockFacts {
    /// The node's boot clock, in µs.
    pub(crate) fn boot_us(&self, now_us: u64) -> u64 {
        let (world_us, local_us) = self.since_us;
        let passed = i128::from(now_us - world_us);
        let local = i128::from(local_us) + passed + passed * i128::from(self.drift_ppm) / 1_000_000;
        u64::try_from(local).expect("a drift is far below the whole")
    }

    /// Whether the node's clocks run at another speed than the world's.
    pub(crate) const fn drifts(&self) -> bool {
        self.drift_ppm != 0
    }

    /// How long a span of the node's clocks takes in the world, in µs.
    pub(crate) fn world_us(&self, local_us: u64) -> u64 {
        let speed = 1_000_000 + i128::from(self.drift_ppm);
        assert!(speed > 0, "a clock does not run backwards");
        let us = i128::from(local_us) * 1_000_000 / speed;
        u64::try_from(us).unwrap_or(u64::MAX)
    }

    /// From now on the node's clocks run at another speed.
    pub(crate) fn drift(&mut self, now_us: u64, ppm: i64) {
        if ppm == self.drift_ppm {
            return;
        }
        self.since_us = (now_us, self.boot_us(now_us));
        self.drift_ppm = ppm;
    }
}

/// What all simulated parts share.
pub(crate) struct Shared {
    pub(crate) now_us: u64,
    next: u64,
    heap: BinaryHeap<Reverse<Event>>,
    /// Latencies and chances of everything around the nodes.
    pub(crate) streams: Streams,
    pub(crate) trace: Trace,
    pub(crate) effects: Effects,
    pub(crate) noise: Noise,
    pub(crate) net: Net,
    pub(crate) server: Server,
    pub(crate) disk: Disk,
    pub(crate) monitor: Monitor,
    pub(crate) clocks: BTreeMap<Place, ClockFacts>,
    /// The run of each node that is up.
    pub(crate) runs: BTreeMap<Place, u32>,
    /// Nodes that do not reach the store.
    pub(crate) without_store: BTreeSet<Place>,
    /// Nodes whose actors may be killed while a commit of theirs is on its way.
    pub(crate) kills_in_commit: BTreeSet<Place>,
    /// Nodes whose generator panics at its next use.
    pub(crate) panics_next: BTreeSet<Place>,
    /// Tasks whose promotions could only fail, until this was mended.
    pub(crate) mended: BTreeSet<Scope>,
    /// How far all wall clocks were moved on, in ms: nights in which nothing happens.
    pub(crate) slept_ms: u64,
    /// Whether the calls of nodes are counted.
    counts_calls: bool,
}

impl Shared {
    /// Puts something on the heap.
    pub(crate) fn schedule(&mut self, after_us: u64, due: Due) {
        let order = self.next;
        self.next += 1;
        self.heap.push(Reverse(Event {
            at_us: self.now_us + after_us,
            order,
            due,
        }));
    }

    /// Takes the next thing that is due, and moves time onto it.
    pub(crate) fn pop(&mut self) -> Option<Due> {
        let Reverse(event) = self.heap.pop()?;
        assert!(event.at_us >= self.now_us, "time does not go back");
        self.now_us = event.at_us;
        Some(event.due)
    }

    /// When the next thing is due.
    pub(crate) fn next_at_us(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(event)| event.at_us)
    }

    /// The run of a node that is up.
    pub(crate) fn run_of(&self, place: Place) -> Option<u32> {
        self.runs.get(&place).copied()
    }

    /// The chances of one thing at a place.
    pub(crate) fn chance(&mut self, purpose: Purpose, place: Place) -> &mut Stream {
        self.streams.of(purpose, place.0.into())
    }

    /// How long one thing at a place takes, in µs, between two bounds.
    pub(crate) fn draw_us(&mut self, purpose: Purpose, place: Place, bounds: (u64, u64)) -> u64 {
        self.chance(purpose, place).between(bounds.0, bounds.1)
    }

    /// The chances of a way between two places.
    pub(crate) fn chance_between(&mut self, from: Place, to: Place) -> &mut Stream {
        let way = (u64::from(from.0) << 16) | u64::from(to.0);
        self.streams.of(Purpose::Way, way)
    }

    /// Begins to count the calls of nodes, or ends it.
    pub(crate) fn count_calls(&mut self, counts: bool) {
        self.counts_calls = counts;
        self.line(Place::CLIENTS, "counts calls", &[u8::from(counts)]);
    }

    /// Whether the calls of nodes are counted.
    pub(crate) const fn counts_calls(&self) -> bool {
        self.counts_calls
    }

    pub(crate) fn line(&mut self, place: Place, what: &str, detail: &[u8]) {
        self.trace.line(self.now_us, place.0, what, detail);
    }

    /// As [`line`](Self::line), told of several byte strings.
    pub(crate) fn lines(&mut self, place: Place, what: &str, parts: &[&[u8]]) {
        self.trace.parts(self.now_us, place.0, what, parts);
    }

    /// Says more of the newest line of the trace, for people.
    pub(crate) fn about(&mut self, what: impl FnOnce() -> String) {
        self.trace.about(what);
    }
}

/// A handle to what all simulated parts share.
#[derive(Clone)]
pub(crate) struct Sim(Arc<Mutex<Shared>>);

impl Sim {
    pub(crate) fn new(seed: u64, keeps_text: bool) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            now_us: 0,
            next: 0,
            heap: BinaryHeap::new(),
            streams: Streams::new(seed),
            trace: Trace::new(keeps_text),
            effects: Effects::default(),
            noise: Noise::default(),
            net: Net::default(),
            server: Server::default(),
            disk: Disk::default(),
            monitor: Monitor::default(),
            clocks: BTreeMap::new(),
            runs: BTreeMap::new(),
            without_store: BTreeSet::new(),
            kills_in_commit: BTreeSet::new(),
            panics_next: BTreeSet::new(),
            mended: BTreeSet::new(),
            slept_ms: 0,
            counts_calls: false,
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock()
    }

    /// Lets `act` happen after a while, and waits for its answer. It does not happen if the run
    /// that waits has ended by then, or if nobody waits any more.
    pub(crate) fn after<T: Send + 'static>(
        &self,
        place: Place,
        after_us: u64,
        act: impl FnOnce(&mut Shared) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (answer, receiver) = oneshot::channel();
        let mut shared = self.lock();
        let run = shared.run_of(place).unwrap_or(0);
        let act: Act = Box::new(move |shared| {
            if !answer.is_closed() {
                let result = act(shared);
                // Whoever waited may have gone in between.
                drop(answer.send(result));
            }
        });
        shared.schedule(after_us, Due::Act(Some((place, run)), act));
        receiver
    }

    /// Lets something leave a place that is carried out elsewhere, even if nobody is left to hear of it: at once, or, while
    /// calls are counted, as one of them, so that a process can end right before it has left and right after it. Nothing,
    /// if the world is over.
    pub(crate) async fn leaves<T: Send + 'static>(
        &self,
        place: Place,
        act: impl FnOnce(&mut Shared) -> T + Send + 'static,
    ) -> Option<T> {
        let is_counted = self.lock().counts_calls;
        if is_counted {
            return self.after(place, LEAVES_US, act).await.ok();
        }
        let left = act(&mut self.lock());
        Some(left)
    }
}

#[cfg(test)]
pub(crate) mod pump;
