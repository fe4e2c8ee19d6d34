//! Decisions through a node: saving them, reading them, what a change reaches, what is loaded, and what a planted bug breaks.

mod briefs;
mod impacts;
mod killed;
mod listed;
mod loaded;
mod planted;
mod proposals;
mod races;
mod saving;
mod stage;

pub(super) use stage::{claims, relates, save, says};
