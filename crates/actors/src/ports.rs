//! The engines that a node runs with.

use std::sync::Arc;

use sillok_bus::Streams;
use sillok_core::ports::{
    Calendar, Checkpoints, Clock, Cognifier, Embedder, GitFacts, Peers, Rng, VectorIndex,
};
use sillok_core::trace::Tracer;
use tokio::runtime::Handle;

/// Makes a generator of its own for each actor, so that none waits for another.
pub type RngFactory = Arc<dyn Fn() -> Box<dyn Rng> + Send + Sync>;

/// What fills each port.
#[derive(Clone)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: RngFactory,
    /// The index of the published store.
    pub index: Arc<dyn VectorIndex>,
    /// Text to vectors.
    pub embedder: Arc<dyn Embedder>,
    /// What entries are to be searched by next; none while the embedder is not being changed.
    pub next: Option<NextSpace>,
    /// Records to knowledge.
    pub cognifier: Arc<dyn Cognifier>,
    /// What repositories say of their commits, where some are at hand.
    pub git: Arc<dyn GitFacts>,
    /// The other nodes; none on a node that has the store to itself.
    pub peers: Option<Arc<dyn Peers>>,
    /// The streams that all nodes reach; none where only this process listens.
    pub streams: Option<Streams>,
    /// When maintenance is due; none where somebody else sees to that.
    pub calendar: Option<Arc<dyn Calendar>>,
    /// Where maintenance keeps the checkpoints that it signs; none where it signs none.
    pub checkpoints: Option<Arc<dyn Checkpoints>>,
    /// Who records what the node does as spans of traces; none where nobody does.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Where the node beats: on threads that do nothing else, so that no load makes it look dead. None:
    /// beside everything else.
    pub beats: Option<Handle>,
}

/// An embedder that is to take the place of the one that serves, with the index of its vectors, which is filled first.
#[derive(Clone)]
pub struct NextSpace {
    /// Text to vectors.
    pub embedder: Arc<dyn Embedder>,
    /// The index.
    pub index: Arc<dyn VectorIndex>,
}
