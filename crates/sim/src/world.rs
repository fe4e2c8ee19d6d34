//! The world: real nodes over simulated surroundings, run by one heap of events.
//!
//! Owns the loop: one event, then its node until nothing is left to do, then the next event. Owns the
//! two phases: safety under faults, then liveness.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use parking_lot::Mutex;
use sillok_actors::Node;
use sillok_actors::protocol::{Protocol, Safeguard};
use sillok_core::config::RetentionConfig;
use sillok_core::entry::SpaceId;
use sillok_core::invariants::Invariant;
use sillok_store::{MemoryConfig, MemoryStore};

use crate::check;
use crate::checkpoints::{self, Kept};
use crate::disk::OWNER;
use crate::effects::Effects;
use crate::embedding::{self, StoredSpaces};
use crate::fault::StoreShape;
use crate::heap::{Due, Place, Sim};
use crate::history::Recorder;
use crate::index::{self, LaggingIndex};
use crate::listener::HeardSoFar;
use crate::panics::{self, Watch};
use crate::plan::Plan;
use crate::rng::Purpose;
use crate::runtime::Runtime;
use crate::second_opinion::Opinion;
use crate::storage::Storage;
use crate::store::SimStore;
use crate::suite::Suite;
use crate::violation::Violation;
use crate::workload::maintaining::retention;

mod burst;
mod kill;
mod nodes;

use kill::Counted;
pub use kill::{Found, Kill};

/// How long a world may take to drain once its faults are over, in µs.
const DRAIN_US_MAX: u64 = 120_000_000;
/// How often it is looked whether it has drained, in µs.
const LOOK_US: u64 = 500_000;
/// How long a node that was drained is down, in µs.
const START_ANEW_US: u64 = 200_000;
/// The wait before a process whose disk failed is started again, in µs.
const START_AGAIN_US: u64 = 500_000;

/// Events that may be due at one moment.
const EVENTS_MAX: u64 = 100_000;
/// The invariant that whatever is begun waits or ends.
const COMES_TO_REST: &str = "everything comes to rest";

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
    /// Slots that were taken from another node, whose run was over.
    pub takeovers: u64,
    /// Commands that were acknowledged.
    pub acknowledged: u64,
    /// Simulated time, in ms.
    pub sim_ms: u64,
    /// What faults brought about.
    pub effects: Effects,
    /// How much of it was judged a second time.
    pub second_opinion: Opinion,
    /// Calls of store, index, bus, model and clock that each node waited for while they were
    /// [counted](crate::client::Client::count_calls), by its number.
    pub calls: Vec<u64>,
    /// What the next run of a process found that ended [at a call](World::killing); none if none ended so.
    pub found: Option<Found>,
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
    /// What its indices have stored.
    stored: StoredSpaces,
    /// The indices of its run.
    indices: BTreeMap<SpaceId, LaggingIndex>,
    /// Slots that its run has come to hold so far.
    taken: u64,
}

/// A simulated cluster with its clients.
pub struct World<P: Protocol> {
    protocol: P,
    pub(crate) plan: Plan,
    pub(crate) suite: Suite,
    pub(crate) sim: Sim,
    pub(crate) store: Storage,
    pub(crate) recorder: Recorder,
    /// The checkpoints that its nodes signed.
    pub(crate) kept: Kept,
    pub(crate) heard: HeardSoFar,
    names: Arc<Vec<String>>,
    nodes: Vec<SimNode<P>>,
    pub(crate) clients: Runtime,
    pub(crate) agents_done: Arc<AtomicUsize>,
    pub(crate) agents: usize,
    /// Faults that are under way, by their numbers.
    pub(crate) under_way: BTreeSet<usize>,
    /// How many of them want whoever fences another node to crash.
    pub(crate) watcher_dies: u32,
    /// What did not come to rest, or was seen on a node and must not be.
    seen: Option<Violation>,
    /// How long entries last.
    pub(crate) retention: RetentionConfig,
    counted: Counted,
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
        {
            let mut shared = sim.lock();
            shared.monitor.name_nodes(names.clone());
            shared.disk.forgets_stamps = !protocol.keeps(Safeguard::StampsRise);
        }
        let nodes = (0..count)
            .map(|_| SimNode {
                runtime: None,
                cell: Cell::default(),
                runs: 0,
                pauses: 0,
                backlog: Vec::new(),
                stored: StoredSpaces::new(),
                indices: BTreeMap::new(),
                taken: 0,
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
            kept: Kept::default(),
            heard: HeardSoFar::default(),
            names: Arc::new(names),
            nodes,
            clients: Runtime::new(),
            agents_done: Arc::default(),
            agents: 0,
            under_way: BTreeSet::new(),
            watcher_dies: 0,
            seen: None,
            retention: retention(),
            counted: Counted::of(count),
            sim,
        };
        world.schedule_all();
        world.start_agents();
        world.start_listener();
        world
    }

    /// The same world, in which entries last for so long.
    #[must_use]
    pub fn retaining(mut self, retention: RetentionConfig) -> Self {
        self.retention = retention;
        self
    }

    fn schedule_all(&mut self) {
        let mut shared = self.sim.lock();
        shared.runs.insert(Place::CLIENTS, 0);
        shared.make_streams();
        for number in 0..self.nodes.len() {
            let after_us = shared
                .chance(Purpose::Start, place_of(number))
                .between(0, 20_000);
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

    /// Runs the world to its end and judges it. Whatever panics meanwhile is a violation, be it a
    /// node, a workload, a check or the world itself.
    #[must_use]
    pub fn run(mut self) -> Outcome {
        let watch = Watch::begin();
        let judged = catch_unwind(AssertUnwindSafe(|| self.play_and_judge()));
        let judged = judged.unwrap_or_else(|_| Err(panics::caught()));
        for place in self.places() {
            self.take_stock(place);
        }
        let mut outcome = self.outcome(judged);
        // What is left of the nodes ends here, and must not panic either.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(self)));
        outcome.violation = outcome.violation.or_else(panics::violation);
        drop(watch);
        outcome
    }

    fn play_and_judge(&mut self) -> Result<Opinion, Violation> {
        if let Some(violation) = self.play() {
            return Err(violation);
        }
        let opinion = check::all(self)?;
        checkpoints::hold(self)?;
        self.judge()?;
        Ok(opinion)
    }

    fn outcome(&self, judged: Result<Opinion, Violation>) -> Outcome {
        let shared = self.sim.lock();
        let acknowledged = self.recorder.look(check::acknowledged);
        let mut effects = shared.effects.clone();
        effects.add(&shared.monitor.effects);
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
            effects,
            calls: self.counted.calls.clone(),
            found: self.counted.found.clone(),
        }
    }

    /// Runs the world until it has come to rest, or until something must not be.
    pub(crate) fn play(&mut self) -> Option<Violation> {
        self.settle_clients();
        let faults_us = self.plan.profile.faults_ms * 1_000;
        if let Some(violation) = self.run_until(faults_us) {
            return Some(violation);
        }
        // In the midst of everything: what is finished later hides what was missing until then.
        if let Err(violation) = check::audited(&self.store) {
            return Some(violation.into());
        }
        let mut unknown = self.places().into_iter();
        if let Some(what) = unknown.find_map(|place| index::unknown(self, place)) {
            return Some(Violation::new(Invariant::ViewIsFold.as_str(), what));
        }
        self.heal();
        self.change_everywhere();
        self.drain(faults_us + DRAIN_US_MAX)
    }

    /// Runs until a moment, or until something must not be.
    fn run_until(&mut self, until_us: u64) -> Option<Violation> {
        let mut moment = (0, 0);
        loop {
            let due = {
                let mut shared = self.sim.lock();
                if let Some(violation) = shared.monitor.violation() {
                    return Some(violation.clone().into());
                }
                match shared.next_at_us() {
                    Some(at_us) if at_us <= until_us => {
                        moment = (at_us, if moment.0 == at_us { moment.1 + 1 } else { 1 });
                        shared.pop()
                    }
                    _ => None,
                }
            };
            if let Some(violation) = self.seen.take().or_else(panics::violation) {
                return Some(violation);
            }
            if moment.1 > EVENTS_MAX {
                let what = format!("{EVENTS_MAX} events in one moment did not move time");
                return Some(self.restless_at(&what));
            }
            self.happen(due?);
        }
    }

    /// Lets the clients go on until all of them wait.
    fn settle_clients(&mut self) {
        if self.clients.settle().is_err() {
            self.seen = Some(self.restless_at("the clients go on and on"));
        }
    }

    fn restless_at(&self, what: &str) -> Violation {
        let now_us = self.sim.lock().now_us;
        let seconds = now_us as f64 / 1e6;
        Violation::new(COMES_TO_REST, format!("{what}, at {seconds:.6} s"))
    }

    fn drain(&mut self, deadline_us: u64) -> Option<Violation> {
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
            } else if let Some(what) = check::unheld(self) {
                Some((Invariant::Drained, what))
            } else if let Some(what) = check::unheard(self) {
                Some((Invariant::Heard, what))
            } else if let Some(what) = check::untold(self) {
                Some((Invariant::Heard, what))
            } else if let Some(what) = index::unindexed(self) {
                Some((Invariant::ViewIsFold, what))
            } else {
                embedding::unchanged(self).map(|what| (Invariant::ViewIsFold, what))
            };
            match left {
                None => return None,
                Some((invariant, what)) if now_us >= deadline_us => {
                    return Some(Violation::new(invariant.as_str(), what));
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
                    self.settle_clients();
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
                if let Some(kill) = self.ends_here(place) {
                    return self.kill(place, kill, act);
                }
                act(&mut self.sim.lock());
                self.settle(place);
            }
            Due::Arrive(parcel) => self.arrive(parcel),
            Due::Fault { number, begins } => self.turn(number, begins),
            Due::KillActors(place) => self.kill_actors(place),
            Due::Crash(place) => self.crash_by_fault(place, START_AGAIN_US),
            // A fault that wants it to be down starts it when it ends.
            Due::Start(place) if self.is_down(place) => {}
            Due::Start(place) => {
                self.note_found(place);
                self.start(place);
            }
            Due::StartAnew(place) => self.start_anew(place),
        }
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
