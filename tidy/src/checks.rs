//! The checks, one a file. Each takes the tree and its part of the configuration and returns
//! findings; none knows of another.

pub mod constructs;
pub mod determinism;
pub mod direction;
pub mod invariants;
pub mod length;
pub mod opening;
pub mod words;
