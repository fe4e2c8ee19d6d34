//! What fills the ports of a simulated node: its clock, its generator, a cognifier that sometimes
//! fails. The index is [`crate::index`]'s.

use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::Ports;
use sillok_builtin::{CommitGraph, HashEmbedder, RuleCognifier};
use sillok_core::ports::{BoxFuture, Clock, Cognifier, PortError, Rng, VectorIndex};
use sillok_core::promotion::{CognifyInput, Cognition};
use sillok_core::time::Timestamp;

use crate::heap::{ClockFacts, Place, Sim};
use crate::net::SimPeers;
use crate::rng::{Purpose, Stream};
use crate::stream::streams;

/// The world begins at this moment of the wall clock, in ms.
pub(crate) const BEGINNING_MS: u64 = 1_790_000_000_000;
/// Time that a cognifier takes, in µs, at least and at most.
const COGNIFY_US: (u64, u64) = (10_000, 400_000);

/// Fills the ports of one run of one node.
pub(crate) fn ports(
    sim: &Sim,
    place: Place,
    names: &Arc<Vec<String>>,
    rng: &SharedRng,
    index: Arc<dyn VectorIndex>,
) -> Ports {
    let rng = rng.clone();
    Ports {
        clock: Arc::new(SimClock {
            sim: sim.clone(),
            place,
        }),
        rng: Arc::new(move || Box::new(rng.clone())),
        index,
        embedder: Arc::new(HashEmbedder),
        next: None,
        cognifier: Arc::new(MoodyCognifier {
            sim: sim.clone(),
            place,
        }),
        git: Arc::new(CommitGraph::default()),
        peers: Some(Arc::new(SimPeers {
            sim: sim.clone(),
            here: place,
            names: Arc::clone(names),
        })),
        streams: Some(streams(sim, place)),
        calendar: None,
        checkpoints: None,
        tracer: None,
        // There is one thread, which the seed steps.
        beats: None,
    }
}

/// The clocks of a place: the world's time, seen through an offset and a drift.
#[derive(Clone)]
pub(crate) struct SimClock {
    pub(crate) sim: Sim,
    pub(crate) place: Place,
}

impl SimClock {
    fn facts(&self) -> (ClockFacts, u64) {
        let shared = self.sim.lock();
        let facts = shared.clocks.get(&self.place).copied().unwrap_or_default();
        (facts, shared.now_us)
    }

    fn slept_ms(&self) -> u64 {
        self.sim.lock().slept_ms
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let (facts, now_us) = self.facts();
        Timestamp::from_ms(facts.wall_ms(now_us) + self.slept_ms())
    }

    fn monotonic_us(&self) -> u64 {
        let (facts, now_us) = self.facts();
        facts.boot_us(now_us)
    }

    /// A span is measured by the place's own clocks, as fast or slow as they run when it begins.
    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        let (sim, place) = (self.sim.clone(), self.place);
        let world_us = self.facts().0.world_us(ms.saturating_mul(1_000));
        let woken = sim.after(place, world_us, |_| ());
        Box::pin(async move {
            // The world outlives its tasks.
            let _ = woken.await;
        })
    }
}

/// The generator of a node, one stream through all its actors.
#[derive(Clone)]
pub(crate) struct SharedRng {
    stream: Arc<Mutex<Stream>>,
    sim: Sim,
    place: Place,
}

impl SharedRng {
    pub(crate) fn new(sim: &Sim, seed: u64, place: Place, run: u32) -> Self {
        let entity = u64::from(place.0) << 32 | u64::from(run);
        Self {
            stream: Arc::new(Mutex::new(Stream::new(seed, "node", entity))),
            sim: sim.clone(),
            place,
        }
    }
}

/// What a planted panic carries, so that it is not printed as a defect.
pub(crate) const PLANTED_PANIC: &str = "a panic that the simulation planted";

impl Rng for SharedRng {
    fn fill(&mut self, bytes: &mut [u8]) {
        let panics = {
            let mut shared = self.sim.lock();
            let panics = shared.panics_next.remove(&self.place);
            if panics {
                shared.effects.saw("panic in a command");
            }
            panics
        };
        assert!(!panics, "{PLANTED_PANIC}");
        self.stream.lock().fill(bytes);
    }
}

/// How the title of a task begins whose promotions fail until somebody mends that.
pub(crate) const HOPELESS: &str = "A hopeless task";

/// The cognifier by rules, which takes its time and sometimes fails.
struct MoodyCognifier {
    sim: Sim,
    place: Place,
}

impl Cognifier for MoodyCognifier {
    fn name(&self) -> &str {
        RuleCognifier.name()
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(async move {
            let place = self.place;
            let wait_us = self
                .sim
                .lock()
                .chance(Purpose::Cognifier, self.place)
                .between(COGNIFY_US.0, COGNIFY_US.1);
            let is_hopeless = input.title.starts_with(HOPELESS);
            let task = input.task.clone();
            let failed = self.sim.after(place, wait_us, move |shared| {
                let chance = shared.noise.cognifier_permille;
                let is_hopeless = is_hopeless && !shared.mended.contains(&task);
                let is_moody = shared.chance(Purpose::Cognifier, place).permille(chance);
                let fails = is_moody || is_hopeless;
                // What nobody can cognify fails without a fault.
                if is_moody {
                    shared.effects.saw("cognifier failed");
                }
                shared.line(place, "cognified", &[u8::from(fails)]);
                let why = || "the simulation says so".to_owned();
                if is_hopeless {
                    Some(PortError::Unusable(why()))
                } else {
                    is_moody.then(|| PortError::Unavailable(why()))
                }
            });
            let over = |_| Some(PortError::Unavailable("the world is over".into()));
            match failed.await.unwrap_or_else(over) {
                Some(error) => Err(error),
                None => RuleCognifier.cognify(input).await,
            }
        })
    }
}
