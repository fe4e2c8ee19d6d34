//! Tests of a whole node on the memory engine, through its public interface; and what the tests of its
//! parts share with them.

mod admission;
mod as_of;
mod audit;
mod banked;
mod bound;
mod collecting;
mod contradicting;
mod damage;
mod decisions;
mod drafts;
pub(crate) mod embedder_change;
mod embedding;
mod entry_lines;
mod erase;
pub(crate) mod faults;
mod fixes;
mod gated;
pub(crate) mod harness;
pub(crate) mod index;
mod jobs;
mod kinds;
pub(crate) mod line;
pub(crate) mod projects;
mod protocol;
mod reading;
mod restore;
mod spending;
mod staged;
pub(crate) mod stream;
pub(crate) mod world;
mod writing;
