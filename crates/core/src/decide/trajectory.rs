//! Deciding what is stored of how an agent went about a task.
//!
//! Owns what is refused: a trajectory of a task that goes on, one that says of a task that was given up that it succeeded, and
//! steps that stand nowhere. What follows from many of them is [`crate::bank`]'s.

use super::task::{as_far_as, task};
use super::{Context, Decision};
use crate::bank::{Ended, NewTrajectory, Step};
use crate::circular::{Approach, Wording};
use crate::command::AnswerBody;
use crate::error::{Error, ErrorCode};
use crate::event::{Body, TrajectoryStored};
use crate::facts::RecordFact;
use crate::limits::{
    APPROACH_NAME_BYTES_MAX, TRAJECTORY_APPROACH_BYTES_MAX, TRAJECTORY_LESSON_BYTES_MAX,
    TRAJECTORY_TITLE_BYTES_MAX,
};
use crate::secret::mask_shown;
use crate::task::{Task, TaskAction, TaskStatus};

/// Stores a trajectory of the task, once that is over.
pub(super) fn store(context: &Context<'_>, new: &NewTrajectory) -> Result<Decision, Error> {
    let task = task(context, TaskAction::StoreTrajectory)?;
    new.check_form()?;
    if new.ended == Ended::Succeeded && task.status == TaskStatus::Failed {
        let why = "the task was given up: what was done in it did not succeed";
        return Err(Error::new(ErrorCode::InvalidState, why));
    }
    for step in &new.steps {
        check_step(context, step)?;
    }
    let stored = stored(task, new)?;
    let seq = context.stamped(0).seq;
    let bodies = vec![Body::TrajectoryStored(Box::new(stored))];
    Ok(Decision::of(bodies, AnswerBody::TrajectoryStored { seq }))
}

/// Checks that a step stands in the log of the task.
fn check_step(context: &Context<'_>, step: &Step) -> Result<(), Error> {
    let (record, facts) = (step.record_of(context.scope()), context.facts);
    let stands = match step.excerpt_of(context.scope()) {
        Some(excerpt) => facts.excerpts.get(&excerpt) == Some(&true),
        None => matches!(
            facts.records.get(&record),
            Some(RecordFact::Log | RecordFact::Snapshot)
        ),
    };
    if stands {
        return Ok(());
    }
    let why = match step.bytes {
        Some((from, to)) => format!("{record} has no text whose bytes {from} to {to} are whole"),
        None => format!("{record} is no record"),
    };
    Err(Error::new(ErrorCode::UnresolvableCitation, why))
}

/// A trajectory as it is to be stored.
fn stored(task: &Task, new: &NewTrajectory) -> Result<TrajectoryStored, Error> {
    let names = |names: &[String]| -> Vec<String> {
        let names = names.iter();
        names
            .map(|name| as_far_as(APPROACH_NAME_BYTES_MAX, mask_shown(name)))
            .collect()
    };
    let approach = Approach {
        text: mask_shown(&new.approach.text).into_owned(),
        files: names(&new.approach.files),
        symbols: names(&new.approach.symbols),
    };
    // In place of short secrets more may stand than there is room for.
    if approach.bytes() > TRAJECTORY_APPROACH_BYTES_MAX {
        let (limit, given) = (TRAJECTORY_APPROACH_BYTES_MAX, approach.bytes());
        let what = "bytes of the approach of a trajectory";
        return Err(Error::too_large(what, limit as u64, given as u64));
    }
    let title = as_far_as(TRAJECTORY_TITLE_BYTES_MAX, task.title.as_str().into());
    let titled = Wording::of(&Approach {
        text: title.clone(),
        ..Approach::default()
    });
    Ok(TrajectoryStored {
        kind: new.kind.clone(),
        title,
        ended: new.ended,
        reward: new.reward,
        lesson: as_far_as(TRAJECTORY_LESSON_BYTES_MAX, mask_shown(&new.lesson)),
        steps: new.steps.clone(),
        wording: Wording::kept(&approach),
        titled,
        approach,
    })
}
