//! The Model Context Protocol against the true server: every tool over both transports, hostile callers, and how a task is ended.
//!
//! Messages are written out by hand, so that a changed form turns red. Who may do what is in [`permissions`](super::permissions).

mod bound;
pub(crate) mod client;
mod ending;
mod endpoint;
mod gated;
mod large;
mod together;
mod tools;
