//! What a node's queue of promotions hears of a commit.

use sillok_core::command::AnswerBody;
use sillok_core::slot::Slot;
use sillok_store::Store;

use super::decided::Decided;
use super::{Outcome, Shared};
use crate::protocol::Protocol;
use crate::scope_actor::Pending;

/// Has the promotions carried out that a batch started, each as part of its verification's trace, and
/// forgets those that it ended.
pub(super) fn follow_jobs<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    slot: Slot,
    batch: &[Pending],
    decided: &Decided,
) {
    for ended in decided.ended_jobs() {
        shared.jobs.finished(ended);
    }
    for job in decided.jobs() {
        let starts = |outcome: &Outcome| match outcome {
            Outcome::Answered(answer) => {
                matches!(&answer.result, AnswerBody::Verification { id, .. } | AnswerBody::Failed { id, .. } if *id == job.verification)
            }
            _ => false,
        };
        let place = decided.outcomes.iter().position(starts);
        if let Some(pending) = place.and_then(|place| batch.get(place)) {
            shared.spans.note_promotion(job.verification, &pending.span);
        }
        shared.jobs.add(slot, job.clone());
    }
}
