//! Bringing faults about and taking them back.
//!
//! Owns what each kind of fault does to the world. Which faults there are, and when, is data.

use sillok_actors::protocol::Protocol;

use crate::fault::{Fault, FaultKind};
use crate::heap::{Due, Place, Shared};
use crate::net::Cutter;
use crate::noise::Noise;
use crate::rng::Stream;
use crate::world::World;

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
                self.crash(Place(node), fault.for_ms * 1_000);
            }
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
            FaultKind::StoreCut { node } => {
                let mut shared = self.sim.lock();
                if begins {
                    shared.without_store.insert(Place(node));
                } else {
                    shared.without_store.remove(&Place(node));
                }
            }
            FaultKind::ClockOffset { node, ms } => {
                let ms = if begins { ms } else { -ms };
                let mut shared = self.sim.lock();
                shared.clocks.entry(Place(node)).or_default().offset_ms += ms;
            }
            FaultKind::ClockJump { node, ms } if begins => {
                let mut shared = self.sim.lock();
                shared.clocks.entry(Place(node)).or_default().jumped_ms += ms;
            }
            FaultKind::ClockDrift { node, ppm } => {
                let mut shared = self.sim.lock();
                let now_us = shared.now_us;
                let ppm = if begins { ppm } else { 0 };
                let clock = shared.clocks.entry(Place(node)).or_default();
                clock.drift(now_us, ppm);
            }
            FaultKind::FullMailbox { commands } if begins => self.burst(number, commands),
            kind => self.bring_about_apart(kind, begins),
        }
    }

    /// What befalls the stream, the disk or a node's work, and not a node or its ways.
    fn bring_about_apart(&mut self, kind: FaultKind, begins: bool) {
        match kind {
            FaultKind::StreamDown => self.sim.lock().stream.is_down = begins,
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
            FaultKind::StreamRecreated if begins => self.sim.lock().recreate_stream(),
            FaultKind::DiskFails if begins => self.sim.lock().disk.fails_next = true,
            FaultKind::Panic { node } if begins => {
                self.sim.lock().panics_next.insert(Place(node));
            }
            FaultKind::KillActors { node } => {
                let killed = &mut self.sim.lock().kills_in_commit;
                if begins {
                    killed.insert(Place(node));
                } else {
                    killed.remove(&Place(node));
                }
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

    /// Puts into force what the faults that are under way want together.
    fn tune(&mut self) {
        let mut noise = Noise::default();
        for number in &self.under_way {
            match self.plan.profile.faults[*number].kind {
                FaultKind::StoreOutage => noise.store_is_out = true,
                FaultKind::Drop { permille } => noise.drop_permille = permille,
                FaultKind::Duplicate { permille } => noise.duplicate_permille = permille,
                FaultKind::Delay { ms } => noise.delay_us_max = ms * 1_000,
                FaultKind::Reorder { permille } => noise.reorder_permille = permille,
                FaultKind::ConflictStorm { permille } => noise.conflict_permille = permille,
                FaultKind::CommittedUnheard { permille } => {
                    noise.committed_unheard_permille = permille;
                }
                FaultKind::LostUnheard { permille } => noise.lost_unheard_permille = permille,
                FaultKind::CommitsLate { permille } => noise.commits_late_permille = permille,
                FaultKind::SlowDisk { times } => noise.commit_slowness = times,
                FaultKind::CognifierFails { permille } => noise.cognifier_permille = permille,
                _ => {}
            }
        }
        self.sim.lock().noise = noise;
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
