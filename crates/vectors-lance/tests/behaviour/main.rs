//! What the index promises, through its port alone: one binary, one module for each concern.

mod durability;
mod equivalence;
mod filters;
mod maintenance;
mod model;
mod visibility;
