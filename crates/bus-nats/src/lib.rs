//! The bus over NATS: two JetStream streams, and requests to the node that owns a slot.
//!
//! Only what nats-server 2.9 has is used. What comes over NATS counts only if it opens under the
//! cluster's key (see [`sillok_bus::wire`]); whoever can reach the server can keep nodes from hearing
//! of one another, and can make them believe nothing.

pub mod config;
pub mod connect;
pub mod consumers;
pub mod counts;
pub mod peers;
pub mod server;
pub mod stream;

pub use config::NatsConfig;
pub use connect::{ConnectError, cluster_key, connect, connect_counting};
pub use counts::{Counts, What};
pub use peers::NatsPeers;
pub use server::{Handler, Server, ServerMetrics};
pub use stream::NatsStream;

/// A connection to NATS, which reconnects by itself.
pub use async_nats::Client;
