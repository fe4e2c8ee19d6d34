//! Checkpoints that the nodes of a world sign: somebody outside of the cluster keeps each, and holds history against all of
//! them in the end.
//!
//! Owns what is kept, and that the way there takes its time and fails now and then. It must not know when one is signed.

use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::audit::checkpoint::against;
use sillok_actors::protocol::Protocol;
use sillok_core::checkpoint::ChainEnd;
use sillok_core::invariants::Invariant;
use sillok_core::ports::{BoxFuture, Checkpoints, PortError};
use sillok_core::time::Timestamp;

use crate::heap::{Place, Sim};
use crate::rng::Purpose;
use crate::violation::Violation;
use crate::world::{World, at_once};

/// Time that it takes to keep one, in µs, at least and at most.
const KEEP_US: (u64, u64) = (1_000, 40_000);
/// How often nobody takes it, of 1,000.
const FAILS_PERMILLE: u32 = 50;

/// The ends of chains that each checkpoint has, of all nodes.
pub(crate) type Kept = Arc<Mutex<Vec<Vec<ChainEnd>>>>;

/// Whoever keeps the checkpoints of one node.
pub(crate) struct Outside {
    pub(crate) sim: Sim,
    pub(crate) place: Place,
    pub(crate) kept: Kept,
}

impl Checkpoints for Outside {
    fn file(&self, made_at: Timestamp) -> String {
        format!("{}-{}", self.place.0, made_at.ms())
    }

    fn keep(
        &self,
        made_at: Timestamp,
        _generation: u32,
        ends: Vec<ChainEnd>,
    ) -> BoxFuture<'_, Result<String, PortError>> {
        Box::pin(async move {
            let place = self.place;
            let wait_us = self.sim.lock().draw_us(Purpose::Outside, place, KEEP_US);
            let kept = Arc::clone(&self.kept);
            let is_kept = self.sim.after(place, wait_us, move |shared| {
                let fails = shared
                    .chance(Purpose::Outside, place)
                    .permille(FAILS_PERMILLE);
                let is_kept = !fails || shared.net.is_healed;
                shared.line(place, "checkpoint is kept", &[u8::from(is_kept)]);
                if is_kept {
                    shared.effects.saw("checkpoint kept");
                    // Whoever asked may end before it hears of that.
                    kept.lock().push(ends);
                }
                is_kept
            });
            // The world outlives its tasks.
            if !is_kept.await.unwrap_or(false) {
                return Err(PortError::Unavailable("nobody keeps it".into()));
            }
            Ok(self.file(made_at))
        })
    }
}

/// Holds the history of a world against all checkpoints that were kept of it.
pub(crate) fn hold<P: Protocol>(world: &World<P>) -> Result<(), Violation> {
    for ends in &*world.kept.lock() {
        let found = at_once(against(&world.store, ends));
        let found = found.expect("the engine in memory is never closed");
        if let Some(difference) = found {
            let what = format!("{:?}: {}", difference.scope, difference.what);
            return Err(Violation::new(Invariant::Chained.as_str(), what));
        }
    }
    Ok(())
}
