//! A cluster on one machine for tests: a store that several processes share, so that there can be one where
//! there is no FoundationDB, and the nodes on it.
//!
//! Owns a server of the embedded store on a Unix socket, its client, and the starting and stopping of
//! server processes. It is for tests and benchmarks: whoever reaches the socket may read and write
//! everything.

pub mod binary;
pub mod client;
pub mod nodes;
pub mod process;
pub mod server;
pub mod wire;

pub use client::SocketStore;
pub use nodes::Cluster;
pub use process::{Launch, Server};
pub use server::serve;
