//! The Model Context Protocol: tools and resources that are a thin adaptation of the HTTP API.
//!
//! Owns the tools, their forms and their texts, the resources, how recalled text is marked, and what an answer may cost. It must
//! not know a rule, a store or a server: each call is one or a few requests to the API, with the token of whoever calls, and what
//! the API refuses is refused. So both permission tables, quotas and errors are those of HTTP (ADR 0047).
//!
//! Who has the API is [`api::Api`]: a router in this process ([`routed::Routed`]), or the client of the command line.

pub mod api;
mod budget;
mod call;
mod data;
pub mod ending;
mod handler;
pub mod http;
pub mod limits;
mod lines;
mod places;
mod refusal;
mod resources;
pub mod routed;
pub mod stdio;
mod tools;

pub use handler::Handler;
pub use tools::ToolSet;
