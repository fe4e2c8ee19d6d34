//! Deciding that a promotion is given up.

use super::task::unknown;
use super::{Context, Decision, check_level, check_stated};
use crate::command::AnswerBody;
use crate::error::{Current, Error, ErrorCode};
use crate::event::Body;
use crate::id::VerificationId;
use crate::promotion::{Stands, given_back};
use crate::scope::Level;
use crate::secret::mask;

/// Gives a promotion up for good: a task of any status takes it, or a job that can do nothing but fail
/// would stay with an archived task for ever.
///
/// A worker may be carrying the promotion out at this moment. It publishes in the target and notes that
/// here, in two transactions, and no slot's owner orders all three. The rows do: the drop reads the mark
/// that the publication writes, and the publication reads the job that the drop removes, both in
/// conflict. Whichever commits second finds the other one done. Once something is published, the
/// promotion can only be finished; once it is dropped, its worker finds nothing to carry out.
pub(super) fn drop(
    context: &Context<'_>,
    verification: VerificationId,
    reason: &str,
) -> Result<Decision, Error> {
    check_level(context.scope(), Level::Task, "dropping a promotion")?;
    let task = context.state.task();
    let task = task.ok_or_else(|| unknown(context.scope()))?;
    check_stated("reason", reason)?;
    let stored = context.facts.promotions.as_deref().unwrap_or_default();
    let all = context.state.promotions(stored);
    let found = all.iter().find(|one| one.verification == verification);
    match found.map(|one| one.stands) {
        None => {
            let why = format!("no verification {verification}");
            return Err(Error::new(ErrorCode::NotFound, why));
        }
        Some(Stands::Published) => {
            let why = format!("promotion {verification} is published");
            return Err(ended(context, why));
        }
        Some(Stands::Dropped) => {
            let why = format!("promotion {verification} was dropped before");
            return Err(ended(context, why));
        }
        Some(Stands::Pending) => {}
    }
    let given = given_back(task, verification, &all);
    let body = Body::PromotionDropped {
        verification,
        reason: mask(reason).text.into_owned(),
        status: given.status,
        verified_through: given.verified_through,
    };
    Ok(Decision::of(vec![body], AnswerBody::Task(given.status)))
}

/// The refusal of what comes after a promotion's end.
pub(super) fn ended(context: &Context<'_>, why: String) -> Error {
    let current = Current {
        seq: Some(context.state.row().tip.seq),
        ..Current::default()
    };
    Error::conflict(why, current)
}
