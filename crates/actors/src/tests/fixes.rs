//! Fixes that failed, through a node: recording and judging them, reading them, erasing them, and what a process that ends and an
//! older node leave of them.

mod checked;
mod erased;
mod killed;
mod older;
mod recorded;
mod stage;

pub(super) use stage::{Stage, approach, silent_ports};
