//! Invariant 5, how a promotion ends: published or dropped, and that once; and what it publishes, it publishes once.

use std::collections::BTreeSet;

use super::{Invariant, Violation, ensure};
use crate::event::Body;
use crate::id::{Seq, VerificationId};
use crate::promotion::PublishReport;
use crate::state::State;

/// Invariant 1, what a drop does: it is of a task, and gives back what a verification spoke for, and
/// never claims more.
pub(super) fn drop_applies(state: &State, verified_through: Seq) -> Result<(), Violation> {
    let before = state.task().map(|task| task.verified_through);
    let what = || format!("a drop moves what is verified from {before:?} to {verified_through}");
    let gives_back = before.is_some_and(|before| verified_through <= before);
    ensure(gives_back, Invariant::Chained, what)
}

/// Within one task: no promotion ends that has ended before. `ended` are those of the events so far.
///
/// # Errors
/// What does not hold.
pub fn promotion_ends_once(
    ended: &mut BTreeSet<VerificationId>,
    body: &Body,
) -> Result<(), Violation> {
    let (Body::Promoted { verification, .. } | Body::PromotionDropped { verification, .. }) = body
    else {
        return Ok(());
    };
    let what = || format!("promotion {verification} ends a second time");
    ensure(ended.insert(*verification), Invariant::EndsOnce, what)
}

/// Within one target: no promotion is published a second time, and makes or supports nothing behind the event that says
/// that it is. `published` are those of the events so far.
///
/// # Errors
/// What does not hold.
pub fn promotion_publishes_once(
    published: &mut BTreeSet<VerificationId>,
    body: &Body,
) -> Result<(), Violation> {
    let (promotion, is_new) = match body {
        Body::Published { verification, .. } => (*verification, published.insert(*verification)),
        body => match of_promotion(body) {
            Some(promotion) => (promotion, !published.contains(&promotion)),
            None => return Ok(()),
        },
    };
    let what = || format!("promotion {promotion} is published a second time");
    ensure(is_new, Invariant::PublishedOnce, what)
}

/// The promotion that makes or supports an entry with an event, if one does.
fn of_promotion(body: &Body) -> Option<VerificationId> {
    match body {
        Body::EntryCreated(made) => made.promotion,
        Body::Merged(merged) => merged.promotion,
        _ => None,
    }
}

/// Nothing was published of what was dropped: the promotion left no mark.
///
/// # Errors
/// What does not hold.
pub fn dropped_is_unpublished(
    dropped: VerificationId,
    mark: Option<&PublishReport>,
) -> Result<(), Violation> {
    let what = || format!("promotion {dropped} was dropped, and is published");
    ensure(mark.is_none(), Invariant::EndsOnce, what)
}
