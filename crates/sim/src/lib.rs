//! Deterministic simulation: the real nodes in a world where one number decides every delay, crash
//! and partition.
//!
//! A [`Plan`] says what happens, a [`World`] lets it happen, and the checkers say whether all
//! invariants held. The same plan gives the same trace, byte for byte, in every process.
//!
//! ```
//! use sillok_sim::{Plan, Suite, run};
//!
//! let suite = Suite::built_in();
//! let mut plan = Plan::draw_from(&suite, 7);
//! // A plan is data: here, the first hundred operations without any fault.
//! plan.profile.faults.clear();
//! plan.operations.truncate(100);
//! plan.validate(&suite)?;
//!
//! let outcome = run(&plan, &suite);
//! assert_eq!(outcome.violation, None);
//! assert_eq!(outcome.digest, run(&plan, &suite).digest);
//! # Ok::<(), sillok_sim::plan::Refused>(())
//! ```
//!
//! A workload and an invariant of one's own are added to a [`Suite`] in one file:
//! `examples/own_workload.rs` does so. To run a batch, see [`batch`]; to save what failed and to
//! make it smaller, [`replay`] and [`mod@shrink`].

pub mod agent;
pub mod bank;
pub mod batch;
mod check;
mod checkpoints;
pub mod cli;
pub mod client;
pub mod default_world;
mod disk;
pub mod effects;
mod embedding;
pub mod fault;
mod heap;
pub mod history;
mod index;
mod kills;
mod listener;
mod monitor;
mod net;
mod noise;
mod panics;
pub mod plan;
pub mod planted;
mod ports;
pub mod replay;
pub mod rng;
mod runtime;
pub mod second_opinion;
mod serving;
pub mod shrink;
mod sightings;
mod storage;
mod store;
mod stream;
pub mod suite;
pub mod trace;
mod turn;
mod violation;
pub mod workload;
pub mod world;
mod writes;

pub use plan::Plan;
pub use suite::Suite;
pub use violation::Violation;
pub use world::{Outcome, World};

/// Runs a plan to its end, under the protocol as it is meant.
///
/// # Panics
/// If the plan is not [valid](Plan::validate).
#[must_use]
pub fn run(plan: &Plan, suite: &Suite) -> Outcome {
    planted::run_correct(plan, suite, false)
}

/// Keeps the panics that the simulation plants from being printed; all others are.
///
/// The first world of a process does so as well: its panic hook is what counts the panics that
/// nobody planted. A hook of one's own has to be set before that, or to call the one it replaces.
pub fn quiet_planted_panics() {
    panics::install();
}
