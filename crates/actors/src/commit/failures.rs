//! What failed in a task, in a commit: the planted bugs of judging by it, and of erasing it.
//!
//! Owns what a task is taken to remember under each of them, and what they leave of what is erased. What follows from what it
//! remembers, `core` knows.

use sillok_core::circular::{ErrorJudged, ErrorReason, Failures};
use sillok_core::command::{AnswerBody, CommandRecord};
use sillok_core::event::Body;
use sillok_core::facts::Facts;
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
        let alone = before.judge(before.seen(judged.error, *id));
        // A task that is stuck is so for whatever comes up.
        *judged = match judged.reason {
            ErrorReason::Stuck => ErrorJudged {
                verdict: judged.verdict,
                reason: judged.reason,
                ..alone
            },
            _ => alone,
        };
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

/// Planted bug: how approaches were worded stands in what is left of them.
pub(super) fn leave_wordings<P: Protocol>(protocol: P, facts: &Facts, bodies: &mut [Body]) {
    if protocol.keeps(Safeguard::ErasesWordings) {
        return;
    }
    for body in bodies {
        let Body::ContentErased(erased) = body else {
            continue;
        };
        for event in &mut erased.events {
            let known = facts.events.get(&event.at.seq).and_then(Option::as_ref);
            let said = known.and_then(|known| known.body.as_ref());
            if let (Body::FixFailed(rest), Some(Body::FixFailed(failed))) = (&mut event.rest, said)
            {
                rest.wording = failed.wording.clone();
            }
        }
    }
}

/// Whether the record of a command is written without what was erased. Planted bug: not where it judged an error.
pub(super) fn is_forgotten<P: Protocol>(protocol: P, record: &CommandRecord) -> bool {
    let judged = match record {
        CommandRecord::Applied { answer, .. } => {
            matches!(
                &answer.result,
                AnswerBody::Failed {
                    judged: Some(_),
                    ..
                }
            )
        }
        CommandRecord::Aborted { .. } => false,
    };
    !judged || protocol.keeps(Safeguard::ErasesJudgedErrors)
}
