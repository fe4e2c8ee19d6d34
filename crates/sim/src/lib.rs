//! Deterministic simulation: the real nodes in a world where one number decides every delay, crash
//! and partition.
//!
//! A [`Plan`] says what happens, a [`World`] lets it happen, and the checkers say whether all
//! invariants held. The same plan gives the same trace, byte for byte, in every process.

pub mod agent;
pub mod batch;
mod check;
pub mod client;
mod disk;
pub mod effects;
pub mod fault;
mod heap;
pub mod history;
mod listener;
mod monitor;
mod net;
mod noise;
pub mod plan;
pub mod planted;
mod ports;
pub mod rng;
mod runtime;
pub mod second_opinion;
mod serving;
mod storage;
mod store;
mod stream;
pub mod suite;
pub mod trace;
mod turn;
mod violation;
pub mod workload;
pub mod world;

pub use plan::Plan;
pub use suite::Suite;
pub use violation::Violation;
pub use world::{Outcome, World};

/// Keeps the panics that the simulation plants from being printed; all others are.
pub fn quiet_planted_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload_as_str() != Some(ports::PLANTED_PANIC) {
            before(info);
        }
    }));
}
