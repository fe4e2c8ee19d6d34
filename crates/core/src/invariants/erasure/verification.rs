//! Invariant 1 for what is erased of verifications: what failed of a fix goes with the verification that says so.

use std::collections::BTreeSet;

use super::super::{Invariant, Violation, ensure};
use crate::erasure::events_of;
use crate::event::Body;
use crate::id::{Seq, VerificationId};
use crate::state::State;

/// Whether the event at `seq`, of which `rest` is left, may have recorded a verification of the task, or what failed of its fix.
pub(super) fn rest_applies(state: &State, rest: &Body, seq: Seq) -> Result<(), Violation> {
    let (id, follows) = match rest {
        Body::VerificationRecorded(recorded) => {
            let [own, _] = events_of(recorded.through);
            (recorded.id, own == seq)
        }
        Body::FixFailed(failed) => (failed.verification, true),
        _ => return Ok(()),
    };
    let applies = state.task().is_some() && follows;
    ensure(applies, Invariant::Chained, || {
        format!("event {seq} did not record verification {id}, nor what failed of it")
    })
}

/// Whether of each fix that failed the verification is erased as well, whose event stands before it.
pub(super) fn is_whole(bodies: &[Body]) -> Result<(), Violation> {
    let erased = bodies.iter().filter_map(|body| match body {
        Body::ContentErased(erased) => Some(&erased.events),
        _ => None,
    });
    let mut recorded: BTreeSet<(Seq, VerificationId)> = BTreeSet::new();
    let mut failed: BTreeSet<(Seq, VerificationId)> = BTreeSet::new();
    for event in erased.flatten() {
        match &event.rest {
            Body::VerificationRecorded(rest) => {
                recorded.insert((event.at.seq.next(), rest.id));
            }
            Body::FixFailed(rest) => drop(failed.insert((event.at.seq, rest.verification))),
            _ => {}
        }
    }
    let alone = failed.difference(&recorded).next();
    ensure(alone.is_none(), Invariant::Chained, || {
        let id = alone.map(|(_, id)| id.to_string()).unwrap_or_default();
        format!("only what failed of verification {id} is erased")
    })
}

#[cfg(test)]
mod tests;
