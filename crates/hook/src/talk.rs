//! Speaking to the server: HTTP/1.1 over one blocking connection, with a deadline for all of it.
//!
//! Owns addresses, requests, answers, and what an answer means for a command. It must not know what a hook wants of it.

pub mod address;
pub mod answer;
pub mod connection;
pub mod server;

pub use address::Address;
pub use connection::Connection;
pub use server::Server;

/// Why a request had no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is none that can be spoken to.
    #[error("'{address}' cannot be used: {why}")]
    Address {
        /// The address.
        address: String,
        /// Why.
        why: &'static str,
    },
    /// No connection came to be, so the server has nothing of the request.
    #[error("the server at {address} cannot be reached")]
    Away {
        /// The address.
        address: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The connection broke, or time ran out, with the request under way.
    #[error("no answer came")]
    Unheard(#[source] std::io::Error),
    /// What came is no answer in HTTP/1.1, or longer than any that is expected.
    #[error("the answer is none that is expected: {0}")]
    Foreign(&'static str),
    /// The server refused.
    #[error("the server answers {status} {code}: {detail}")]
    Refused {
        /// The status.
        status: u16,
        /// The code.
        code: String,
        /// What was wrong, for a person.
        detail: String,
    },
}
