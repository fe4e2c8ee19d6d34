//! The world: real nodes over simulated surroundings, run by one heap of events.
//!
//! Owns the loop: one event, then its node until nothing is left to do, then the next event. Owns
//! starting, pausing and crashing nodes, and the two phases: safety under faults, then liveness.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use parking_lot::Mutex;
use sillok_actors::protocol::Protocol;
use sillok_actors::{Node, NodeConfig};
use sillok_core::invariants::{self, Invariant};
use sillok_store::{MemoryConfig, MemoryStore};

use crate::check;
use crate::disk::OWNER;
use crate::effects::Effects;
use crate::fault::StoreShape;
use crate::heap::{Due, Place, Sim};
use crate::history::Recorder;
use crate::listener::HeardSoFar;
use crate::net::{Parcel, Reply};
use crate::plan::Plan;
use crate::ports::{SharedRng, ports};
use crate::runtime::Runtime;
use crate::second_opinion::Opinion;
use crate::serving;
use crate::storage::Storage;
use crate::store::SimStore;
use crate::suite::Suite;
use crate::violation::Violation;

/// How long a world may take to drain once its faults are over, in µs.
const DRAIN_US_MAX: u64 = 90_000_000;
/// How often it is looked whether it has drained, in µs.
const LOOK_US: u64 = 500_000;
/// How long a node that was drained is down, in µs.
const START_ANEW_US: u64 = 200_000;
/// The wait before a process whose disk failed is started again, in µs.
const START_AGAIN_US: u64 = 500_000;
/// The wait before a node that did not start is started again, in ms.
const START_AGAIN_MS: u64 = 300;

/// What became of a world.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The first invariant that did not hold.
    pub violation: Option<Violation>,
    /// Digest of the trace.
    pub digest: String,
    /// Lines of the trace.
    pub lines: u64,
    /// The trace, if it was kept.
    pub text: Option<String>,
    /// Commits that wrote events.
    pub commits: u64,
    /// Slots that came to another node.
    pub takeovers: u64,
    /// Commands that were acknowledged.
    pub acknowledged: u64,
    /// Simulated time, in ms.
    pub sim_ms: u64,
    /// What faults brought about.
    pub effects: Effects,
    /// How much of it was judged a second time.
    pub second_opinion: Opinion,
}

type Cell<P> = Arc<Mutex<Option<Node<SimStore, P>>>>;

struct SimNode<P: Protocol> {
    runtime: Option<Runtime>,
    cell: Cell<P>,
    runs: u32,
    /// How many faults pause it.
    pauses: u32,
    /// What came while it was paused.
    backlog: Vec<Due>,
}

/// A simulated cluster with its clients.
pub struct World<P: Protocol> {
    protocol: P,
    pub(crate) plan: Plan,
    pub(crate) suite: Suite,
    pub(crate) sim: Sim,
    pub(crate) store: Storage,
    pub(crate) recorder: Recorder,
    pub(crate) heard: HeardSoFar,
    names: Arc<Vec<String>>,
    nodes: Vec<SimNode<P>>,
    pub(crate) clients: Runtime,
    pub(crate) agents_done: Arc<AtomicUsize>,
    pub(crate) agents: usize,
    /// Faults that are under way, by their numbers.
    pub(crate) under_way: BTreeSet<usize>,
    /// What the swizzled faults cut, to be mended in another order.
    pub(crate) watcher_dies: u32,
}

impl<P: Protocol> World<P> {
    /// A world of the built-in suite.
    #[must_use]
    pub fn new(plan: &Plan, protocol: P, keeps_text: bool) -> Self {
        Self::with(plan, protocol, &Suite::built_in(), keeps_text)
    }

    /// A world at its beginning: all nodes starting, all clients about to act.
    ///
    /// # Panics
    /// If the plan is not [valid](Plan::validate).
    #[must_use]
    pub fn with(plan: &Plan, protocol: P, suite: &Suite, keeps_text: bool) -> Self {
        plan.validate(suite)
            .expect("a plan is checked before it is run");
        let sim = Sim::new(plan.seed, keeps_text);
        let count = usize::from(plan.profile.nodes);
        let names: Vec<String> = (0..count).map(|number| format!("node-{number}")).collect();
        sim.lock().monitor.name_nodes(names.clone());
        let nodes = (0..count)
            .map(|_| SimNode {
                runtime: None,
                cell: Cell::default(),
                runs: 0,
                pauses: 0,
                backlog: Vec::new(),
            })
            .collect();
        let mut world = Self {
            protocol,
            plan: plan.clone(),
            suite: suite.clone(),
            store: match plan.profile.store {
                StoreShape::Shared => Storage::Shared(MemoryStore::new(MemoryConfig::default())),
                StoreShape::Disk => Storage::Disk(sim.clone()),
            },
            recorder: Recorder::default(),
            heard: HeardSoFar::default(),
            names: Arc::new(names),
            nodes,
            clients: Runtime::new(),
            agents_done: Arc::default(),
            agents: 0,
            under_way: BTreeSet::new(),
            watcher_dies: 0,
            sim,
        };
        world.schedule_all();
        world.start_agents();
        world.start_listener();
        world
    }

    fn schedule_all(&mut self) {
        let mut shared = self.sim.lock();
        shared.runs.insert(Place::CLIENTS, 0);
        shared.make_stream();
        for number in 0..self.nodes.len() {
            let after_us = shared.chance.between(0, 20_000);
            shared.schedule(after_us, Due::Start(place_of(number)));
        }
        for (number, fault) in self.plan.profile.faults.iter().enumerate() {
            let begins_us = fault.at_ms * 1_000;
            let ends_us = begins_us + fault.for_ms * 1_000;
            for (at_us, begins) in [(begins_us, true), (ends_us, false)] {
                shared.schedule(at_us, Due::Fault { number, begins });
            }
        }
    }

    /// Whether the world has one node, with a disk of its own and nobody else to tell.
    pub(crate) fn is_alone(&self) -> bool {
        self.plan.profile.store == StoreShape::Disk
    }

    /// Runs the world to its end and judges it.
    #[must_use]
    pub fn run(mut self) -> Outcome {
        let judged = match self.play() {
            None => check::all(&self),
            Some(violation) => Err(violation),
        };
        let judged = judged.map_err(Violation::from);
        let judged = judged.and_then(|opinion| self.judge().map(|()| opinion));
        let shared = self.sim.lock();
        let acknowledged = self.recorder.look(check::acknowledged);
        Outcome {
            second_opinion: judged.as_ref().copied().unwrap_or_default(),
            violation: judged.err(),
            digest: shared.trace.digest().to_hex().to_string(),
            lines: shared.trace.lines(),
            text: shared.trace.text().map(str::to_owned),
            commits: shared.monitor.commits(),
            takeovers: shared.monitor.takeovers(),
            acknowledged,
            sim_ms: shared.now_us / 1_000,
            effects: shared.effects.clone(),
        }
    }

    /// Runs the world until it has come to rest, or until something must not be.
    pub(crate) fn play(&mut self) -> Option<invariants::Violation> {
        self.clients.settle();
        let faults_us = self.plan.profile.faults_ms * 1_000;
        self.run_until(faults_us).or_else(|| {
            self.heal();
            self.drain(faults_us + DRAIN_US_MAX)
        })
    }

    /// Runs until a moment, or until the monitor sees what must not be.
    fn run_until(&mut self, until_us: u64) -> Option<invariants::Violation> {
        loop {
            let due = {
                let mut shared = self.sim.lock();
                if let Some(violation) = shared.monitor.violation() {
                    return Some(violation.clone());
                }
                match shared.next_at_us() {
                    Some(at_us) if at_us <= until_us => shared.pop(),
                    _ => None,
                }
            };
            self.happen(due?);
        }
    }

    fn drain(&mut self, deadline_us: u64) -> Option<invariants::Violation> {
        loop {
            let now_us = self.sim.lock().now_us;
            if let Some(violation) = self.run_until(now_us + LOOK_US) {
                return Some(violation);
            }
            // Without an event time would stand still.
            self.sim.lock().now_us = now_us + LOOK_US;
            let agents_missing = self.agents - self.agents_done.load(Ordering::Relaxed);
            let left = if agents_missing > 0 {
                let what = format!("{agents_missing} agents are not done");
                Some((Invariant::Drained, what))
            } else if let Some(what) = check::undrained(&self.store) {
                Some((Invariant::Drained, what + &self.waiting()))
            } else {
                check::unheard(self).map(|what| (Invariant::Heard, what))
            };
            match left {
                None => return None,
                Some((invariant, what)) if now_us >= deadline_us => {
                    return Some(invariants::Violation { invariant, what });
                }
                Some(_) => {}
            }
        }
    }

    /// The promotions that nodes know of and have not finished, for people.
    fn waiting(&self) -> String {
        let mut text = String::new();
        for (place, name) in self.places().into_iter().zip(self.names.iter()) {
            for job in self.node(place).iter().flat_map(Node::waiting_jobs) {
                let why = job.last_error.map(|error| error.to_string());
                text += &format!(
                    "; {name} has {} after {} attempts: {}",
                    job.job.verification,
                    job.attempts,
                    why.as_deref().unwrap_or("it is under way")
                );
            }
        }
        text
    }

    pub(crate) fn happen(&mut self, due: Due) {
        match due {
            Due::Act(None, act) => {
                let has_failed = {
                    let mut shared = self.sim.lock();
                    act(&mut shared);
                    shared.take_disk_failure()
                };
                if has_failed {
                    self.crash(OWNER, START_AGAIN_US);
                }
            }
            Due::Act(Some((place, run)), act) => {
                if place == Place::CLIENTS {
                    act(&mut self.sim.lock());
                    self.clients.settle();
                    return;
                }
                let node = &mut self.nodes[usize::from(place.0)];
                if node.runs != run || node.runtime.is_none() {
                    return;
                }
                if node.pauses > 0 {
                    node.backlog.push(Due::Act(Some((place, run)), act));
                    return;
                }
                act(&mut self.sim.lock());
                self.settle(place);
            }
            Due::Arrive(parcel) => self.arrive(parcel),
            Due::Fault { number, begins } => self.turn(number, begins),
            Due::Start(place) => self.start(place),
            Due::StartAnew(place) => {
                self.sim.lock().line(place, "starts anew", &[]);
                self.stop(place, START_ANEW_US);
            }
        }
    }

    fn settle(&mut self, place: Place) {
        let node = &self.nodes[usize::from(place.0)];
        if let Some(runtime) = node.runtime.as_ref() {
            runtime.settle();
        }
        let fenced = self.sim.lock().monitor.take_fenced();
        if let Some((_, watcher)) = fenced.last()
            && self.watcher_dies > 0
        {
            self.sim.lock().effects.saw("watcher died in mid-takeover");
            self.crash(*watcher, 6_000_000);
        }
    }

    fn start(&mut self, place: Place) {
        let is_alone = self.is_alone();
        let node = &mut self.nodes[usize::from(place.0)];
        if node.runtime.is_some() {
            return;
        }
        node.runs += 1;
        let run = node.runs;
        self.sim.lock().runs.insert(place, run);
        self.sim.lock().line(place, "starts", &run.to_le_bytes());
        let rng = SharedRng::new(&self.sim, self.plan.seed, place, run);
        let store = SimStore {
            sim: self.sim.clone(),
            place,
            store: self.store.clone(),
        };
        let mut ports = ports(&self.sim, place, &self.names, &rng);
        if is_alone {
            ports.peers = None;
            ports.stream = None;
        }
        let mut config = NodeConfig {
            name: self.names[usize::from(place.0)].clone(),
            ..NodeConfig::default()
        };
        config.admission.scope_commands = 16;
        let cell = Cell::default();
        node.cell = Arc::clone(&cell);
        let runtime = Runtime::new();
        let protocol = self.protocol;
        runtime.spawn(async move {
            let clock = Arc::clone(&ports.clock);
            loop {
                let started =
                    Node::start_as(store.clone(), ports.clone(), config.clone(), protocol).await;
                match started {
                    Ok(node) => {
                        *cell.lock() = Some(node);
                        return;
                    }
                    Err(_) => clock.sleep(START_AGAIN_MS).await,
                }
            }
        });
        node.runtime = Some(runtime);
        self.settle(place);
    }

    /// Ends a node in whatever it is doing, to be started again after a while.
    pub(crate) fn crash(&mut self, place: Place, down_us: u64) {
        if self.stop(place, down_us) {
            let mut shared = self.sim.lock();
            shared.effects.saw("crash");
            shared.line(place, "crashes", &[]);
        }
    }

    /// Ends the run of a node, to be started again after a while: whether there was one.
    fn stop(&mut self, place: Place, down_us: u64) -> bool {
        let node = &mut self.nodes[usize::from(place.0)];
        let Some(runtime) = node.runtime.take() else {
            return false;
        };
        drop(runtime);
        *node.cell.lock() = None;
        node.backlog.clear();
        let mut shared = self.sim.lock();
        shared.runs.remove(&place);
        if self.plan.profile.store == StoreShape::Disk {
            shared.disk_loses_process();
        }
        shared.forget_calls_of(place);
        shared.schedule(down_us, Due::Start(place));
        true
    }

    pub(crate) fn pause(&mut self, place: Place) {
        self.nodes[usize::from(place.0)].pauses += 1;
    }

    pub(crate) fn resume(&mut self, place: Place) {
        let node = &mut self.nodes[usize::from(place.0)];
        node.pauses = node.pauses.saturating_sub(1);
        if node.pauses > 0 {
            return;
        }
        let backlog = std::mem::take(&mut node.backlog);
        if !backlog.is_empty() {
            self.sim.lock().effects.saw("paused while there was work");
        }
        for due in backlog {
            self.happen(due);
        }
    }

    pub(crate) fn start_again(&mut self, place: Place) {
        self.start(place);
    }

    pub(crate) fn places(&self) -> Vec<Place> {
        (0..self.nodes.len()).map(place_of).collect()
    }

    pub(crate) fn node(&self, place: Place) -> Option<Node<SimStore, P>> {
        self.nodes[usize::from(place.0)].cell.lock().clone()
    }

    /// Runs a closure in a node's runtime, if it is up and not paused.
    pub(crate) fn within(&mut self, place: Place, act: impl FnOnce(&Node<SimStore, P>)) {
        let Some(node) = self.node(place) else { return };
        if self.nodes[usize::from(place.0)].pauses == 0 {
            act(&node);
            self.settle(place);
        }
    }

    fn arrive(&mut self, parcel: Parcel) {
        let place = parcel.to;
        let mut shared = self.sim.lock();
        shared.line(place, "asked", &parcel.call.to_le_bytes());
        shared.about(|| parcel.to_string());
        drop(shared);
        let node = &mut self.nodes[usize::from(place.0)];
        let Some(runtime) = node.runtime.as_ref() else {
            self.sim.reply(&parcel, Reply::NoResponders);
            return;
        };
        if node.pauses > 0 {
            node.backlog.push(Due::Arrive(parcel));
            return;
        }
        let Some(serving) = node.cell.lock().clone() else {
            self.sim.reply(&parcel, Reply::NoResponders);
            return;
        };
        let sim = self.sim.clone();
        runtime.spawn(async move {
            let reply = serving::serve(&serving, parcel.request.clone()).await;
            sim.reply(&parcel, reply);
        });
        self.settle(place);
    }
}

pub(crate) fn place_of(number: usize) -> Place {
    Place(u16::try_from(number).expect("a world has few nodes"))
}

/// A future of the engine in memory, which is ready at once.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    future
        .now_or_never()
        .expect("the engine in memory answers at once")
}
