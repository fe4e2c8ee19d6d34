//! Where nothing goes wrong, the simulated streams are streams like all others.

use std::sync::Arc;

use sillok_bus::conformance::Bed;
use sillok_bus::stream::{BoxFuture, EventStream};

use super::*;
use crate::heap::Sim;
use crate::heap::pump::Pump;

/// Longer than any test takes, in µs of the world.
const WINDOW_US: u64 = 3_600_000_000;

struct SimBed {
    channel: Channel,
    sim: Sim,
    _pump: Pump,
}

impl SimBed {
    fn new(channel: Channel) -> Self {
        let sim = Sim::new(1, false);
        let mut shared = sim.lock();
        shared.make_streams();
        for channel in Channel::ALL {
            shared.server.of(channel).window_us = WINDOW_US;
        }
        drop(shared);
        Self {
            channel,
            sim: sim.clone(),
            _pump: Pump::start(sim),
        }
    }
}

impl Bed for SimBed {
    fn stream(&self) -> Arc<dyn EventStream> {
        Arc::clone(streams(&self.sim, Place(0)).of(self.channel))
    }

    fn beside(&self) -> Arc<dyn EventStream> {
        let streams = streams(&self.sim, Place(0));
        match self.channel {
            Channel::Events => streams.log,
            Channel::Log => streams.events,
        }
    }

    fn recreate(&self) -> BoxFuture<'_, ()> {
        self.sim.lock().recreate_streams();
        Box::pin(async {})
    }

    fn age(&self, keep: u64) -> BoxFuture<'_, ()> {
        let keep = usize::try_from(keep).expect("a small number");
        self.sim.lock().server.of(self.channel).age(keep);
        Box::pin(async {})
    }

    fn scribble(&self, _: Slot) -> BoxFuture<'_, bool> {
        // Only nodes reach it.
        Box::pin(async { false })
    }
}

sillok_bus::stream_conformance_suite!(of_events, async { SimBed::new(Channel::Events) });
sillok_bus::stream_conformance_suite!(of_the_log, async { SimBed::new(Channel::Log) });
