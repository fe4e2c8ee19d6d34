//! Hooks: what a coding agent runs at each of its events, as a library that `sillok-hook` and `sillok` run.
//!
//! Owns the events of each client and the form of its answers, what is written down where the server is away, and what
//! stands in a client's configuration. It must not know a store or a runtime, holds no rule of the memory, and never starts
//! a server: it speaks HTTP to one, for a bounded time.

pub mod agent;
pub mod arguments;
pub mod client;
pub mod clock;
pub mod context;
pub mod doctor;
pub mod event;
pub mod install;
pub mod later;
pub mod limits;
pub mod place;
pub mod plan;
pub mod reply;
pub mod run;
pub mod settings;
pub mod speaker;
pub mod spool;
pub mod talk;
pub mod wording;
