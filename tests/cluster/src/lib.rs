//! A store that several processes share on one machine, so that tests can run a cluster where there is
//! no FoundationDB.
//!
//! Owns a server of the embedded store on a Unix socket, and its client. It is for tests: whoever
//! reaches the socket may read and write everything.

pub mod client;
pub mod server;
pub mod wire;

pub use client::SocketStore;
pub use server::serve;
