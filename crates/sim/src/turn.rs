//! Bringing faults about and taking them back.
//!
//! Owns what each kind of fault does to the world. Which faults there are, and when, is data.

use std::collections::{BTreeMap, BTreeSet};

use sillok_actors::protocol::Protocol;

use crate::fault::{Fault, FaultKind};
use crate::heap::{Due, Place, Shared};
use crate::net::Cutter;
use crate::noise::Noise;
use crate::rng::Stream;
use crate::world::World;

/// How fast the clocks of a node may drift when drifts add up, in millionths: as much as the lease
/// allows for.
const DRIFT_PPM_MAX: i64 = 200_000;

impl<P: Protocol> World<P> {
    /// A fault begins or ends.
    pub(crate) fn turn(&mut self, number: usize, begins: bool) {
        let changed = if begins {
            self.under_way.insert(number)
        } else {
            self.under_way.remove(&number)
        };
        if !changed {
            return;
        }
        let fault = self.plan.profile.faults[number];
        let detail = [u8::from(begins)];
        let mut shared = self.sim.lock();
        shared.line(Place::CLIENTS, "fault", &detail);
        shared.about(|| {
            let turn = if begins { "begins" } else { "ends" };
            format!("{:?} {turn}", fault.kind)
        });
        drop(shared);
        self.bring_about(number, fault, begins);
        self.tune();
    }

    /// Ends every fault and starts every node: from here on nothing goes wrong.
    pub(crate) fn heal(&mut self) {
        for number in self.under_way.clone() {
            self.turn(number, false);
        }
        self.sim.lock().heal();
        for place in self.places() {
            self.start_again(place);
        }
    }

    fn bring_about(&mut self, number: usize, fault: Fault, begins: bool) {
        match fault.kind {
            FaultKind::Crash { node } if begins => {
                self.crash_by_fault(Place(node), fault.for_ms * 1_000);
            }
            FaultKind::Crash { node } if self.is_down(Place(node)) => {}
            FaultKind::Crash { node } => self.start_again(Place(node)),
            FaultKind::Pause { node } if begins => self.pause(Place(node)),
            FaultKind::Pause { node } => self.resume(Place(node)),
            FaultKind::WatcherDies if begins => self.watcher_dies += 1,
            FaultKind::WatcherDies => self.watcher_dies -= 1,
            FaultKind::Partition { node } => {
                for (from, to) in self.ways_of(Place(node)) {
                    self.cut(from, to, Cutter::Partition, begins);
                }
            }
            FaultKind::OneWay { from, to } => {
                self.cut(Place(from), Place(to), Cutter::OneWay, begins);
            }
            FaultKind::Swizzle { node } => self.swizzle(number, Place(node), fault, begins),
            FaultKind::ClockOffset { node, ms } => {
                let ms = if begins { ms } else { -ms };
                let mut shared = self.sim.lock();
                shared.clocks.entry(Place(node)).or_default().offset_ms += ms;
            }
            FaultKind::ClockJump { node, ms } if begins => {
                let mut shared = self.sim.lock();
                shared.clocks.entry(Place(node)).or_default().jumped_ms += ms;
            }
            FaultKind::FullMailbox { commands } if begins => self.burst(number, commands),
            kind => self.bring_about_apart(kind, begins),
        }
    }

    /// What befalls the stream, the disk or a node's work, and not a node or its ways.
    fn bring_about_apart(&mut self, kind: FaultKind, begins: bool) {
        match kind {
            FaultKind::StreamOneWay { node, replies } => {
                let is_node = node < self.plan.profile.nodes;
                let place = if is_node { Place(node) } else { Place::CLIENTS };
                let (from, to) = if replies {
                    (Place::STREAM, place)
                } else {
                    (place, Place::STREAM)
                };
                self.cut(from, to, Cutter::StreamOneWay, begins);
            }
            FaultKind::LosesSuffix { messages } if begins => {
                self.sim.lock().lose_suffix(messages);
            }
            FaultKind::StreamRecreated if begins => self.sim.lock().recreate_streams(),
            FaultKind::DiskFails if begins => self.sim.lock().disk.fails_next = true,
            FaultKind::Panic { node } if begins => {
                self.sim.lock().panics_next.insert(Place(node));
            }
            _ => {}
        }
    }

    /// Kills a node's actors, in whatever they are doing.
    pub(crate) fn kill_actors(&mut self, place: Place) {
        let sim = self.sim.clone();
        self.within(place, |node| {
            if node.kill_actors() > 0 {
                let mut shared = sim.lock();
                shared.effects.saw("actor killed with a command in flight");
            }
        });
    }

    /// All ways to and from a node.
    fn ways_of(&self, place: Place) -> Vec<(Place, Place)> {
        let mut others = self.places();
        others.extend([Place::CLIENTS, Place::STREAM]);
        others
            .into_iter()
            .filter(|other| *other != place)
            .flat_map(|other| [(place, other), (other, place)])
            .collect()
    }

    fn cut(&mut self, from: Place, to: Place, by: Cutter, begins: bool) {
        let net = &mut self.sim.lock().net;
        if begins {
            net.cut(from, to, by);
        } else {
            net.mend(from, to, by);
        }
    }

    /// Cuts the ways of a node one after the other, over the first half of the fault, and mends
    /// them in another order over the second.
    fn swizzle(&mut self, number: usize, place: Place, fault: Fault, begins: bool) {
        if !begins {
            return;
        }
        let mut stream = Stream::new(self.plan.seed, "swizzle", number as u64);
        let mut ways = self.ways_of(place);
        let half_us = fault.for_ms * 500;
        let mut shared = self.sim.lock();
        while !ways.is_empty() {
            let (from, to) = ways.swap_remove(stream.index(ways.len()));
            let cut_us = stream.between(0, half_us);
            let mend_us = stream.between(half_us, 2 * half_us);
            let act = Box::new(move |shared: &mut Shared| {
                shared.net.cut(from, to, Cutter::Swizzle);
            });
            shared.schedule(cut_us, Due::Act(None, act));
            let act = Box::new(move |shared: &mut Shared| {
                shared.net.mend(from, to, Cutter::Swizzle);
            });
            shared.schedule(mend_us, Due::Act(None, act));
        }
    }

    /// Whether a fault wants a node to be down.
    pub(crate) fn is_down(&self, place: Place) -> bool {
        let faults = &self.plan.profile.faults;
        let kinds = self.under_way.iter().map(|number| faults[*number].kind);
        kinds
            .into_iter()
            .any(|kind| matches!(kind, FaultKind::Crash { node } if Place(node) == place))
    }

    /// Puts into force what the faults that are under way want together. Of chances and delays the one
    /// that is listed last counts; drifts add up.
    fn tune(&mut self) {
        let mut noise = Noise::default();
        let mut without_store = BTreeSet::new();
        let mut kills_in_commit = BTreeSet::new();
        let mut is_stream_down = false;
        let mut drifts: BTreeMap<Place, i64> = BTreeMap::new();
        for number in &self.under_way {
            match self.plan.profile.faults[*number].kind {
                FaultKind::StoreCut { node } => drop(without_store.insert(Place(node))),
                FaultKind::KillActors { node } => drop(kills_in_commit.insert(Place(node))),
                FaultKind::StreamDown => is_stream_down = true,
                FaultKind::ClockDrift { node, ppm } => {
                    *drifts.entry(Place(node)).or_default() += ppm;
                }
                kind => noise.add(kind),
            }
        }
        let places = self.places();
        let mut shared = self.sim.lock();
        shared.noise = noise;
        shared.without_store = without_store;
        shared.kills_in_commit = kills_in_commit;
        shared.server.is_down = is_stream_down;
        let now_us = shared.now_us;
        for place in places {
            let ppm = drifts.get(&place).copied().unwrap_or(0);
            let clock = shared.clocks.entry(place).or_default();
            clock.drift(now_us, ppm.clamp(-DRIFT_PPM_MAX, DRIFT_PPM_MAX));
        }
    }
}

impl Shared {
    /// What faults left armed for later is disarmed, and every way is mended for good.
    fn heal(&mut self) {
        self.net.heal();
        self.panics_next.clear();
        self.disk.fails_next = false;
    }
}
