//! Decisions through a node: saving them, reading them, what a change reaches, what is loaded, and what a planted bug breaks;
//! and beside them the evidence that they rest on and the anchors that lead to both.

mod anchors;
mod briefs;
mod contradicting;
mod declared;
mod erased;
mod evidence;
mod graphs;
mod history;
mod impacts;
mod kept;
mod killed;
mod listed;
mod loaded;
mod meanings;
mod named;
mod planted;
mod pointed;
mod proposals;
mod races;
mod resting;
mod saving;
mod searched;
mod stage;

pub(super) use declared::{declare, kind};
pub(super) use erased::{NOTHING, holding};
pub(super) use kept::{keep, original, point, points_to};
pub(super) use stage::{claims, relates, save, says, sound};
