//! The code graph against sources as people write them, and against work trees that change.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod bounds;
mod cache;
mod change;
mod files;
mod golden;
mod graph;
mod questions;
mod tree;
mod watching;
