//! Tests of a whole node on the memory engine, through its public interface.

mod admission;
mod audit;
mod entry_lines;
mod faults;
mod harness;
mod line;
mod protocol;
mod reading;
mod world;
mod writing;
