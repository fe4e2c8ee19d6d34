//! What failed in a task, in a commit: the planted bugs of judging by it.
//!
//! Owns what a task is taken to remember under each of them. What follows from what it remembers, `core` knows.

use sillok_core::circular::Failures;
use sillok_core::command::AnswerBody;
use sillok_core::event::Body;
use sillok_core::state::State;
use sillok_core::task::Task;
use sillok_core::verification::Outcome;

use crate::protocol::{Protocol, Safeguard};

/// A task as it is read from the store. Planted bug: nothing failed in it that this process has not seen.
pub(super) fn as_read<P: Protocol>(protocol: P, task: Task) -> Task {
    if protocol.keeps(Safeguard::KeepsFailuresWithTask) {
        return task;
    }
    Task {
        failures: Failures::default(),
        ..task
    }
}

/// Planted bug: what failed before a batch, where its errors are judged by that alone.
pub(super) fn before_batch<P: Protocol>(protocol: P, state: &State) -> Option<Failures> {
    if protocol.keeps(Safeguard::CountsFailuresOfBatch) {
        return None;
    }
    state.task().map(|task| task.failures.clone())
}

/// Judges an error by what failed before its batch, where that is told.
pub(super) fn judge_by(before: Option<&Failures>, result: &mut AnswerBody) {
    if let (
        Some(before),
        AnswerBody::Failed {
            id,
            judged: Some(judged),
            ..
        },
    ) = (before, result)
    {
        *judged = before.judge(before.seen(judged.error, *id));
    }
}

/// Planted bug: what a task goes on to remember though a verification passes.
pub(super) fn uncleared<P: Protocol>(protocol: P, state: &State, body: &Body) -> Option<Failures> {
    if protocol.keeps(Safeguard::ClearsFailures) {
        return None;
    }
    let passes = matches!(body, Body::VerificationRecorded(verification) if verification.said.outcome == Outcome::Passed);
    let task = state.task().filter(|_| passes)?;
    Some(task.failures.clone())
}
