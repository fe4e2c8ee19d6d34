//! Where nothing goes wrong, the simulated stream is a stream like all others.

use std::sync::Arc;

use sillok_bus::conformance::Bed;

use super::*;
use crate::heap::pump::Pump;

/// Longer than any test takes, in µs of the world.
const WINDOW_US: u64 = 3_600_000_000;

struct SimBed {
    sim: Sim,
    _pump: Pump,
}

impl SimBed {
    fn new() -> Self {
        let sim = Sim::new(1, false);
        let mut shared = sim.lock();
        shared.make_stream();
        shared.stream.window_us = WINDOW_US;
        drop(shared);
        Self {
            sim: sim.clone(),
            _pump: Pump::start(sim),
        }
    }
}

impl Bed for SimBed {
    fn stream(&self) -> Arc<dyn EventStream> {
        Arc::new(SimStream {
            sim: self.sim.clone(),
            place: Place(0),
        })
    }

    fn recreate(&self) -> BoxFuture<'_, ()> {
        self.sim.lock().recreate_stream();
        Box::pin(async {})
    }

    fn age(&self, keep: u64) -> BoxFuture<'_, ()> {
        let keep = usize::try_from(keep).expect("a small number");
        self.sim.lock().stream.age(keep);
        Box::pin(async {})
    }

    fn scribble(&self, _: Slot) -> BoxFuture<'_, bool> {
        // Only nodes reach it.
        Box::pin(async { false })
    }
}

sillok_bus::stream_conformance_suite!(conformance, async { SimBed::new() });
