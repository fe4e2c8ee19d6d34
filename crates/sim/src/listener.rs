//! A listener: follows all events over the streams, for as long as the world lasts.
//!
//! Owns what was heard, and the comparison of it with what is committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::follow::{EventFollower, FollowMetrics, Told};
use sillok_actors::protocol::Protocol;
use sillok_core::id::Seq;
use sillok_core::invariants::{Violation, heard_is_committed};
use sillok_core::ports::Clock as _;
use sillok_core::scope::Scope;
use sillok_store::Store;

use crate::heap::{Place, Sim};
use crate::ports::SimClock;
use crate::rng::Purpose;
use crate::store::SimStore;
use crate::stream::streams;
use crate::world::World;

/// The wait before the stream is asked again, in ms, at least and at most.
const POLL_MS: (u64, u64) = (50, 600);

/// What was heard so far.
#[derive(Clone, Default)]
pub(crate) struct HeardSoFar(Arc<Mutex<Vec<Told>>>);

impl HeardSoFar {
    /// Runs of events that were heard.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Invariant 4.
    ///
    /// # Errors
    /// What does not hold.
    pub(crate) fn check(&self, tips: &BTreeMap<Scope, Seq>) -> Result<(), Violation> {
        let heard = self.0.lock();
        heard_is_committed(
            tips,
            heard
                .iter()
                .map(|told| (told.channel, &told.scope, told.first, told.last)),
        )
    }
}

/// Listens until the world ends.
pub(crate) async fn listen<S: Store>(sim: Sim, store: S, heard: HeardSoFar) {
    let place = Place::CLIENTS;
    let clock = SimClock {
        sim: sim.clone(),
        place,
    };
    let mut follower = EventFollower::new(store, &streams(&sim, place));
    let mut before = FollowMetrics::default();
    loop {
        let wait_ms = sim
            .lock()
            .chance(Purpose::Listener, Place::CLIENTS)
            .between(POLL_MS.0, POLL_MS.1);
        clock.sleep(wait_ms).await;
        let mut told = Vec::new();
        // What was heard before an error was heard; the rest is asked for again.
        let _ = follower.poll(&mut told).await;
        note(&sim, before, follower.metrics());
        before = follower.metrics();
        heard.0.lock().extend(told);
    }
}

fn note(sim: &Sim, before: FollowMetrics, now: FollowMetrics) {
    let mut shared = sim.lock();
    let seen = [
        (now.repeats > before.repeats, "message heard before"),
        (
            now.from_store > before.from_store,
            "gap of the stream read from the store",
        ),
        (now.restarts > before.restarts, "stream read anew"),
        (now.aged_out > before.aged_out, "stream aged out unheard"),
    ];
    for (_, effect) in seen.iter().filter(|(is_seen, _)| *is_seen) {
        shared.effects.saw(effect);
    }
}

impl<P: Protocol> World<P> {
    /// Lets the listener begin.
    pub(crate) fn start_listener(&self) {
        if self.is_alone() {
            return;
        }
        let store = SimStore {
            sim: self.sim.clone(),
            place: Place::CLIENTS,
            store: self.store.clone(),
            is_foreign: false,
        };
        let (sim, heard) = (self.sim.clone(), self.heard.clone());
        self.clients.spawn(listen(sim, store, heard));
    }
}
