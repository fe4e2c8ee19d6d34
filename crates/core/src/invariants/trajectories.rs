//! Invariant 1 for trajectories: each is of a task that is over, and goes by what stands before it in the log of the task.

use super::{Invariant, Violation, ensure};
use crate::bank::Ended;
use crate::circular::{Approach, Wording};
use crate::event::TrajectoryStored;
use crate::state::State;
use crate::task::{TaskAction, TaskStatus};

/// Whether a trajectory is of a task that was over, says of one that was given up that it did not succeed, goes by records before
/// it, and is worded as it says, where the rule of this build did that. Of what was erased there is no wording.
pub(super) fn trajectory_applies(
    state: &State,
    stored: &TrajectoryStored,
) -> Result<(), Violation> {
    let chained = |holds: bool, what: &str| {
        ensure(holds, Invariant::Chained, || format!("a trajectory {what}"))
    };
    let task = state.task();
    let is_over = task.is_some_and(|task| TaskAction::StoreTrajectory.allowed_in(task.status));
    chained(is_over, "is of a task that is not over")?;
    let given_up = task.is_some_and(|task| task.status == TaskStatus::Failed);
    let succeeded = stored.ended == Ended::Succeeded;
    chained(
        !(given_up && succeeded),
        "succeeded in a task that was given up",
    )?;
    let follow = stored.steps.windows(2).all(|pair| pair[0] < pair[1]);
    let last = stored.steps.last();
    let before = last.is_some_and(|last| last.record <= state.row().tip.seq);
    chained(follow && before, "goes by what does not stand before it")?;
    let worded = Wording::kept(&stored.approach) == stored.wording;
    chained(
        worded || !stored.wording.is_current(),
        "is worded otherwise",
    )?;
    let title = Approach {
        text: stored.title.clone(),
        ..Approach::default()
    };
    let titled = Wording::of(&title) == stored.titled;
    chained(titled || !stored.titled.is_current(), "is called otherwise")
}

#[cfg(test)]
mod tests;
