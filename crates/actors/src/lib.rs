//! The shells that carry the rules: scope actors, their commit path, the router, the relay and the
//! jobs behind them.
//!
//! Owns concurrency. It must not hold a rule, which live in `sillok_core`, nor know which engines
//! stand behind the ports.

mod admission;
pub mod audit;
pub mod backup;
pub mod config;
mod indexer;
pub mod jobs;
pub mod metrics;
pub mod node;
pub mod ownership;
pub mod ports;
pub mod protocol;
pub mod reads;
pub mod rebuild;
mod relay;
pub mod restore;
pub mod rows;
mod scope_actor;

mod channels;
mod claims;
mod cluster;
pub mod cluster_status;
mod commit;
mod commit_turns;
pub mod documents;
pub mod embedding_space;
mod errors;
mod facts;
pub mod follow;
mod known_tip;
mod long_reads;
pub mod maintenance;
mod news;
mod outbox_feed;
mod quarantines;
mod router;
mod row_stream;
mod row_writer;
pub mod spaces;
mod spans;
mod stream_relay;

pub use claims::Orders;
pub use config::NodeConfig;
pub use follow::EventFollower;
pub use node::Node;
pub use ports::{NextSpace, Ports};

#[cfg(test)]
mod tests;
