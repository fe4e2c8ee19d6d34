//! What the callers of a batch are told, once its outcome is known.
//!
//! Owns that each of them is told once.

use std::collections::BTreeMap;

use sillok_core::command::Answer;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::{Outcome, Shared, unresolved};
use crate::protocol::{Protocol, Safeguard};
use crate::scope_actor::{Pending, Reply};

/// Tells each caller what became of its command.
pub(super) fn answer_all(batch: Vec<Pending>, outcomes: Vec<Outcome>) {
    assert_eq!(
        batch.len(),
        outcomes.len(),
        "every command of a batch has an outcome"
    );
    let repeated = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::SameAs(first) => Some(*first),
        _ => None,
    });
    let answers: BTreeMap<usize, Answer> = repeated
        .filter_map(|first| match &outcomes[first] {
            Outcome::Answered(answer) => Some((first, answer.clone())),
            _ => None,
        })
        .collect();
    for (pending, outcome) in batch.into_iter().zip(outcomes) {
        let reply = match outcome {
            Outcome::Answered(answer) => Reply::Answered(answer),
            Outcome::Refused(error) => Reply::Refused(error),
            Outcome::Abandoned(last) => Reply::Abandoned(last),
            Outcome::SameAs(first) => match answers.get(&first).cloned() {
                Some(answer) => Reply::Answered(answer),
                None => Reply::Refused(Error::new(
                    ErrorCode::Unavailable,
                    "the same command is under way",
                )),
            },
        };
        // Whoever asked may have gone; the command is applied all the same.
        pending.answer(reply);
    }
}

/// Planted bug: whoever waits is told that all went well.
pub(super) fn answer_blindly(batch: Vec<Pending>) {
    for pending in batch {
        let answer = Answer {
            seq: sillok_core::id::Seq::ZERO,
            time: sillok_core::time::Timestamp::EPOCH,
            result: sillok_core::command::AnswerBody::Done,
        };
        pending.answer(Reply::Answered(answer));
    }
}

/// Refuses all commands of a batch of which nothing was written. Nobody is refused for good while an
/// earlier attempt of the same command may still commit.
pub(super) fn refuse_all<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    batch: Vec<Pending>,
    error: &Error,
) {
    let is_for_good = !error.code.is_passing() && shared.protocol.keeps(Safeguard::BarsRefused);
    for pending in batch {
        let named = || unresolved::name_of(&pending.submission);
        let error = if is_for_good && shared.unresolved.holds(named, &*shared.ports.clock) {
            let why = "whether an earlier attempt of the command was applied is known later";
            Error::new(ErrorCode::OutcomeUnknown, why)
        } else {
            error.clone()
        };
        pending.answer(Reply::Refused(error));
    }
}
