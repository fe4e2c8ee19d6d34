//! The embedders of a world: the one that it begins with and, in some worlds, another one to which nodes are configured
//! from some moment on.
//!
//! Owns when that is, what a node begins to search, and the question whether the change is over everywhere. It must not
//! know how nodes carry it out.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_actors::embedding_space::{self, Begins, Known};
use sillok_actors::protocol::Protocol;
use sillok_builtin::HashEmbedder;
use sillok_core::entry::{Embedding, SpaceId, Status};
use sillok_core::ports::{BoxFuture, Embedder, PortError, SpaceThresholds};
use sillok_store::keys::{self, Family, ScopeKey};

use crate::check::rows;
use crate::fault::StoreShape;
use crate::heap::{Place, Sim};
use crate::index::Stored;
use crate::plan::Plan;
use crate::rng::{Purpose, Stream};
use crate::world::{World, at_once};

/// The space of the other embedder.
const OTHER: &str = "other/384";
/// By how many places its vectors are turned.
const TURNED: usize = 7;
/// From when on nodes that start are configured to change, in µs, at least and at most.
const CHANGES_US: (u64, u64) = (4_000_000, 20_000_000);
/// Time that the other embedder takes, in µs, at least and at most.
const EMBED_US: (u64, u64) = (1_000, 60_000);
/// How often it is away, of 1,000.
const AWAY_PERMILLE: u32 = 60;

/// Whether the embedder is changed in the world of a plan: in one of four, and in most of those where a node is
/// alone, which are few.
fn is_changed(plan: &Plan) -> bool {
    match plan.profile.store {
        StoreShape::Disk => !plan.seed.is_multiple_of(4),
        StoreShape::Shared => plan.seed % 4 == 1,
    }
}

/// From when on a node that starts is configured to change, in µs of the world.
fn changes_at_us(plan: &Plan) -> Option<u64> {
    let drawn = || Stream::new(plan.seed, "embedder", 0).between(CHANGES_US.0, CHANGES_US.1);
    is_changed(plan).then(drawn)
}

/// What indices have stored of each space, whatever becomes of their node.
pub(crate) type StoredSpaces = BTreeMap<SpaceId, Arc<Mutex<Stored>>>;

/// The other embedder, which takes its time and is away now and then.
pub(crate) struct Other {
    sim: Sim,
    place: Place,
}

impl Other {
    pub(crate) fn space_of() -> SpaceId {
        SpaceId(OTHER.to_owned())
    }

    fn vector(text: &str) -> Embedding {
        let mut values = HashEmbedder::vector(text);
        values.rotate_left(TURNED);
        Embedding {
            space: Self::space_of(),
            values,
        }
    }
}

impl Embedder for Other {
    fn space(&self) -> SpaceId {
        Self::space_of()
    }

    fn dimensions(&self) -> usize {
        HashEmbedder.dimensions()
    }

    fn thresholds(&self) -> SpaceThresholds {
        HashEmbedder.thresholds()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        Box::pin(async move {
            let place = self.place;
            let wait_us = self.sim.lock().draw_us(Purpose::Embedder, place, EMBED_US);
            let is_away = self.sim.after(place, wait_us, move |shared| {
                let is_away = shared
                    .chance(Purpose::Embedder, place)
                    .permille(AWAY_PERMILLE);
                let is_away = is_away && !shared.net.is_healed;
                if is_away {
                    shared.effects.saw("embedder away");
                }
                shared.line(place, "embeds", &[u8::from(is_away)]);
                is_away
            });
            // The world outlives its tasks.
            if is_away.await.unwrap_or(true) {
                return Err(PortError::Unavailable("the embedder is elsewhere".into()));
            }
            Ok(texts.iter().map(|text| Self::vector(text)).collect())
        })
    }
}

/// The embedders of a node that starts now: what serves, and what is to serve next.
pub(crate) type Starts = (Arc<dyn Embedder>, Option<Arc<dyn Embedder>>);

impl<P: Protocol> World<P> {
    /// What a node that starts now begins with, as its configuration and what its indices hold say.
    pub(crate) fn embedders(&self, place: Place, stored: &StoredSpaces) -> Starts {
        let first = || Arc::new(HashEmbedder) as Arc<dyn Embedder>;
        let other = || {
            let sim = self.sim.clone();
            Arc::new(Other { sim, place }) as Arc<dyn Embedder>
        };
        let changes = changes_at_us(&self.plan);
        let is_time = |at_us| {
            let shared = self.sim.lock();
            shared.net.is_healed || shared.now_us >= at_us
        };
        if !changes.is_some_and(is_time) {
            return (first(), None);
        }
        let (wanted, previous) = (Other::space_of(), HashEmbedder.space());
        let is_whole = |space: &SpaceId| {
            let stored = stored.get(space);
            stored.is_some_and(|stored| stored.lock().is_whole())
        };
        let known = |space| Known {
            space,
            is_whole: is_whole(space),
        };
        let of_store = at_once(embedding_space::stored(&self.store));
        let of_store = of_store.expect("the engine in memory is never closed");
        let begins = embedding_space::begins(known(&wanted), of_store.as_ref(), || {
            Ok(Some(known(&previous)))
        });
        match begins.expect("one of both made what is stored") {
            Begins::Wanted => (other(), None),
            Begins::Previous => (first(), Some(other())),
        }
    }

    /// Nodes that were not configured to change yet are started anew, so that all come to do it.
    pub(crate) fn change_everywhere(&mut self) {
        if !is_changed(&self.plan) {
            return;
        }
        for place in self.places() {
            let node = self.node(place);
            let is_former = node.is_some_and(|node| {
                let is_changing = at_once(node.embedder_change()).is_some();
                !is_changing && node.ports().embedder.space() != Other::space_of()
            });
            if is_former {
                self.start_anew(place);
            }
        }
    }
}

/// A node whose change is not over, or an entry without its vector in an index, if there is one.
pub(crate) fn unchanged<P: Protocol>(world: &World<P>) -> Option<String> {
    if !is_changed(&world.plan) {
        return None;
    }
    let events: BTreeMap<_, _> = rows(&world.store, Family::Event).into_iter().collect();
    let heads = rows(&world.store, Family::Head);
    for place in world.places() {
        let Some(node) = world.node(place) else {
            continue;
        };
        if node.ports().embedder.space() != Other::space_of() {
            return Some(format!("node {} searches the former space still", place.0));
        }
        let Some(index) = world.index(place) else {
            continue;
        };
        for (key, value) in &heads {
            let head = keys::head::decode(key, value).expect("the audit has read it");
            let event = keys::event::key(&ScopeKey::of(&head.scope), head.version_seq);
            if head.status == Status::Archived {
                if index.vector(&head).is_some() {
                    let entry = head.id;
                    return Some(format!(
                        "node {} has a vector of {entry}, which has left",
                        place.0
                    ));
                }
                continue;
            }
            if !events.contains_key(event.as_slice()) {
                continue;
            }
            let has = index
                .vector(&head)
                .is_some_and(|(text, vector)| vector == Other::vector(&text));
            if !has {
                let entry = head.id;
                return Some(format!(
                    "node {} has no vector of entry {entry} in its space",
                    place.0
                ));
            }
        }
    }
    None
}
