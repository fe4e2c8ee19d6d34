//! The nodes of a world: starting, pausing and crashing them, and what reaches them.
//!
//! Owns what a crash and a pause do to what is under way. Must not know why they happen.

use std::sync::Arc;

use sillok_actors::protocol::Protocol;
use sillok_actors::{NextSpace, Node, NodeConfig};
use sillok_core::invariants::Invariant;
use sillok_core::ports::{Embedder, VectorIndex};

use super::{Cell, START_ANEW_US, SimNode, World, at_once, place_of};
use crate::checkpoints::Outside;
use crate::fault::StoreShape;
use crate::heap::{Due, Place};
use crate::index::{self, LaggingIndex, damage_permille};
use crate::net::{Parcel, Request};
use crate::ports::{SharedRng, ports};
use crate::runtime::Runtime;
use crate::serving;
use crate::store::SimStore;
use crate::violation::Violation;
use crate::workload::branches;
use crate::workload::maintaining::{Nights, has_nights};

/// The wait before a node that did not start is started again, in ms.
const START_AGAIN_MS: u64 = 300;
/// What an organisation may write on a node in a second, and for how many ms of that at once: little enough
/// that some clients are turned away.
const QUOTA_PER_S: u32 = 60;
const QUOTA_BURST_MS: u64 = 300;
/// For how long a watcher is down that a fault crashes right after it has fenced, in µs.
const WATCHER_DOWN_US: u64 = 6_000_000;

impl<P: Protocol> SimNode<P> {
    /// The number of a new run, of which nothing is known yet.
    fn begin_run(&mut self) -> u32 {
        self.runs += 1;
        self.indices.clear();
        self.taken = 0;
        self.runs
    }
}

impl<P: Protocol> World<P> {
    pub(super) fn settle(&mut self, place: Place) {
        let node = &self.nodes[usize::from(place.0)];
        // A node that was started while it is paused does nothing before it goes on.
        if node.pauses > 0 {
            return;
        }
        let settled = node.runtime.as_ref().map_or(Ok(()), Runtime::settle);
        if settled.is_err() {
            let name = &self.names[usize::from(place.0)];
            self.seen = Some(self.restless_at(&format!("{name} goes on and on")));
        }
        let fenced = self.sim.lock().monitor.take_fenced();
        if let Some((silent, watcher)) = fenced.last()
            && self.watcher_dies > 0
        {
            let watcher = *watcher;
            if self.crash(watcher, WATCHER_DOWN_US) {
                let mut shared = self.sim.lock();
                shared.monitor.watcher_died(silent, watcher);
            }
        }
        self.look_at_holds(place);
    }

    /// Looks whether a node knows what was published in the slots that it holds, whenever it holds more; of those that
    /// it takes as it starts, once it has started.
    fn look_at_holds(&mut self, place: Place) {
        let Some(taken) = self.node(place).map(|node| node.metrics().slots_taken) else {
            return;
        };
        let before = std::mem::replace(&mut self.nodes[usize::from(place.0)].taken, taken);
        if taken == before {
            return;
        }
        if let Some(what) = index::unknown(self, place) {
            let violation = Violation::new(Invariant::ViewIsFold.as_str(), what);
            self.seen.get_or_insert(violation);
        }
    }

    /// A fault crashes a node, to be started again after a while.
    pub(crate) fn crash_by_fault(&mut self, place: Place, down_us: u64) {
        let node = self.node(place);
        let has_commands = node.is_some_and(|node| node.metrics().queued_commands > 0);
        if self.crash(place, down_us) {
            let mut shared = self.sim.lock();
            if has_commands {
                shared.effects.saw("crash with commands under way");
            }
            shared.monitor.crashed(place);
        }
    }

    pub(super) fn start(&mut self, place: Place) {
        let is_alone = self.is_alone();
        if self.nodes[usize::from(place.0)].runtime.is_some() {
            return;
        }
        let (embedder, next) = self.embedders(place, &self.nodes[usize::from(place.0)].stored);
        let node = &mut self.nodes[usize::from(place.0)];
        let run = node.begin_run();
        let mut shared = self.sim.lock();
        shared.runs.insert(place, run);
        shared.monitor.started(place);
        shared.line(place, "starts", &run.to_le_bytes());
        drop(shared);
        let rng = SharedRng::new(&self.sim, self.plan.seed, place, run);
        let store = SimStore {
            sim: self.sim.clone(),
            place,
            store: self.store.clone(),
            is_foreign: false,
        };
        let damage = damage_permille(self.plan.seed);
        let mut index_of = |embedder: &dyn Embedder| {
            let stored = node.stored.entry(embedder.space()).or_default();
            let index = LaggingIndex::open(&self.sim, place, stored, &self.recorder, damage);
            node.indices.insert(embedder.space(), index.clone());
            Arc::new(index) as Arc<dyn VectorIndex>
        };
        let mut ports = ports(&self.sim, place, &self.names, &rng, index_of(&*embedder));
        ports.embedder = embedder;
        ports.next = next.map(|embedder| NextSpace {
            index: index_of(&*embedder),
            embedder,
        });
        ports.checkpoints = Some(Arc::new(Outside {
            sim: self.sim.clone(),
            place,
            kept: Arc::clone(&self.kept),
        }));
        ports.git = Arc::new(branches::history(self.plan.seed));
        if has_nights(self.plan.seed) {
            ports.calendar = Some(Arc::new(Nights));
        }
        if is_alone {
            ports.peers = None;
            ports.streams = None;
        }
        let config = self.config_of(place);
        let node = &mut self.nodes[usize::from(place.0)];
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

    fn config_of(&self, place: Place) -> NodeConfig {
        let mut config = NodeConfig {
            name: self.names[usize::from(place.0)].clone(),
            ..NodeConfig::default()
        };
        config.admission.scope_commands = 16;
        config.admission.commits_at_once = 2;
        // So few that a walk over all entries takes several steps.
        config.indexer.batch_entries = 32;
        config.quotas.writes_per_s = QUOTA_PER_S;
        config.quotas.burst_ms = QUOTA_BURST_MS;
        config.rules.retention = self.retention.clone();
        config
    }

    /// Ends a node in whatever it is doing, to be started again after a while: whether it was up.
    pub(crate) fn crash(&mut self, place: Place, down_us: u64) -> bool {
        let was_up = self.stop(place, down_us);
        if was_up {
            self.sim.lock().line(place, "crashes", &[]);
        }
        was_up
    }

    /// Ends the run of a node, to be started again after a while: whether there was one.
    pub(super) fn stop(&mut self, place: Place, down_us: u64) -> bool {
        self.take_stock(place);
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

    /// Counts what a run of a node saw of the faults, before it is gone.
    pub(super) fn take_stock(&self, place: Place) {
        let Some(node) = self.node(place) else { return };
        let metrics = node.metrics();
        let change = at_once(node.embedder_change());
        let is_over = change.as_ref().is_some_and(|change| change.is_over);
        let is_cut_off = change.is_some_and(|change| !change.is_over && change.done > 0);
        let seen = [
            ("embedder changed", is_over.into()),
            ("change of the embedder cut off", is_cut_off.into()),
            ("text embedded anew", metrics.reembedded),
            ("beat missed", metrics.missed_beats),
            ("run found itself fenced", metrics.fenced_runs),
            ("commit with an unknown outcome", metrics.unknown_outcomes),
            ("batch decided again", metrics.conflicts),
            (
                "promotion failed and tried again",
                metrics.promotion_failures,
            ),
            ("panic outlived", metrics.panics),
            ("loss of the stream noticed", metrics.streams_lost),
            ("read answered from memory", metrics.reads_from_memory),
            ("command waited for a handover", metrics.handover_waits),
            ("slot shown ahead of its index", metrics.slots_shown_ahead),
            ("batch waited for its turn", metrics.turns_waited_for),
            (
                "node cut off from the bus gave its slots up",
                metrics.cut_offs,
            ),
        ];
        let effects = &mut self.sim.lock().effects;
        for (effect, count) in seen {
            effects.saw_times(effect, count);
        }
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
        let is_request = |due: &Due| matches!(due, Due::Arrive(_));
        if backlog.iter().any(is_request) {
            let mut shared = self.sim.lock();
            shared.effects.saw("request waited for a paused node");
        }
        for due in backlog {
            self.happen(due);
        }
        self.settle(place);
    }

    pub(crate) fn start_anew(&mut self, place: Place) {
        self.sim.lock().line(place, "starts anew", &[]);
        self.stop(place, START_ANEW_US);
    }

    pub(crate) fn start_again(&mut self, place: Place) {
        self.start(place);
    }

    pub(crate) fn places(&self) -> Vec<Place> {
        (0..self.nodes.len()).map(place_of).collect()
    }

    pub(crate) fn index(&self, place: Place) -> Option<&LaggingIndex> {
        let node = &self.nodes[usize::from(place.0)];
        let serving = node
            .cell
            .lock()
            .as_ref()
            .map(|node| node.ports().embedder.space());
        let indices = &node.indices;
        serving.map_or_else(|| indices.values().next(), |space| indices.get(&space))
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

    pub(super) fn arrive(&mut self, parcel: Parcel) {
        let place = parcel.to;
        let mut shared = self.sim.lock();
        shared.line(place, "asked", &parcel.call.to_le_bytes());
        shared.about(|| parcel.to_string());
        drop(shared);
        let node = &mut self.nodes[usize::from(place.0)];
        let Some(runtime) = node.runtime.as_ref() else {
            self.sim.nobody_hears(&parcel);
            return;
        };
        if node.pauses > 0 {
            node.backlog.push(Due::Arrive(parcel));
            return;
        }
        let Some(serving) = node.cell.lock().clone() else {
            self.sim.nobody_hears(&parcel);
            return;
        };
        if matches!(parcel.request, Request::Drain(run) if run != node.runs) {
            self.sim.nobody_hears(&parcel);
            return;
        }
        let sim = self.sim.clone();
        sim.lock().accept(&parcel);
        runtime.spawn(async move {
            let reply = serving::serve(&serving, parcel.request.clone()).await;
            if let Some(reply) = reply {
                sim.reply(&parcel, reply);
            }
        });
        self.settle(place);
    }
}
