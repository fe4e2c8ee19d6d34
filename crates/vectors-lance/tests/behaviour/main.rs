//! What the index promises, through its port alone: one binary, one module for each concern.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test ends at the first surprise, and its numbers are small"
)]

mod ages;
mod at_once;
mod damage;
mod durability;
mod equivalence;
mod erasure;
mod filters;
mod maintenance;
mod model;
mod pruning;
mod visibility;
