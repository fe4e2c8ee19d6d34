//! What a trajectory does to the view of a scope.
//!
//! Owns the part of `apply` that has the project keep it. What follows from all of a project, whoever asks works out.

use super::{Change, Stamped, State};
use crate::bank::Trajectory;
use crate::event::TrajectoryStored;

impl State {
    pub(super) fn trajectory_stored(&self, stored: &TrajectoryStored, at: &Stamped) -> Change {
        Change::TrajectoryStored(Box::new(Trajectory {
            task: self.scope().clone(),
            seq: at.seq,
            at: at.time,
            kind: stored.kind.clone(),
            title: stored.title.clone(),
            approach: stored.approach.clone(),
            ended: stored.ended,
            reward: stored.reward,
            lesson: stored.lesson.clone(),
            wording: stored.wording.clone(),
            titled: stored.titled.clone(),
        }))
    }
}
