//! Deciding to bring back what left recall because of its age.

use super::undo::standing;
use super::{Context, Decision, check_stated};
use crate::command::AnswerBody;
use crate::entry::{Head, Status};
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, EntryRestored};
use crate::facts::HashKey;
use crate::id::EntryId;
use crate::promotion::Disposition;
use crate::retention::Retirement;
use crate::secret::mask;
use crate::trust::Trust;

/// Gives an entry back that maintenance took out, with the status that it has by what stands behind it. Whatever a person
/// took out stays out: that is undone where it was decided.
pub(super) fn restore(context: &Context<'_>, id: EntryId, reason: &str) -> Result<Decision, Error> {
    check_stated("reason", reason)?;
    let head = context.state.head(id).ok_or_else(|| {
        let why = format!("{} has no entry {id}", context.scope());
        Error::new(ErrorCode::NotFound, why)
    })?;
    check_is_over(context, head)?;
    check_is_unsaid(context, head)?;
    // A state that was resolved does not hold because it is found again.
    let status = match head.resolved_at() {
        Some(_) => Status::Deprecated,
        None => standing(context, head),
    };
    let body = Body::EntryRestored(Box::new(EntryRestored {
        entry: id,
        status,
        trust: anew(context, head),
        reason: mask(reason).text.into_owned(),
    }));
    let answer = AnswerBody::Entry {
        id,
        version: head.version,
        status,
        disposition: Disposition::Created,
    };
    Ok(Decision::of(vec![body], answer))
}

fn refused(head: &Head, why: String) -> Error {
    let current = Current {
        version: Some(head.version),
        entry: Some(head.id),
        seq: None,
    };
    Error::conflict(why, current)
}

/// Checks that it was maintenance that took the entry out.
fn check_is_over(context: &Context<'_>, head: &Head) -> Result<(), Error> {
    if head.status != Status::Archived {
        return Err(refused(
            head,
            format!("entry {} is {}", head.id, head.status),
        ));
    }
    if head.is_erased() {
        let why = format!("the content of entry {} was erased", head.id);
        return Err(refused(head, why));
    }
    let why = context.facts.retirements.get(&head.id);
    match why.and_then(Option::as_ref) {
        Some(Retirement::Aged | Retirement::Pruned) => Ok(()),
        Some(other) => {
            let why = format!(
                "entry {} was not taken out for its age: {}",
                head.id,
                other.name()
            );
            Err(refused(head, why))
        }
        None => {
            let why = format!("it is not known why entry {} was taken out", head.id);
            Err(refused(head, why))
        }
    }
}

/// Checks that no other entry says the same by now, where two that do are one.
fn check_is_unsaid(context: &Context<'_>, head: &Head) -> Result<(), Error> {
    let key = HashKey {
        table: head.table,
        failure: head.failure,
        hash: head.content_hash,
    };
    match context.state.by_hash(&key) {
        Some(other) if head.table.merges() => {
            let why = format!("entry {other} says what entry {} says", head.id);
            let current = Current {
                entry: Some(other),
                ..Current::default()
            };
            Err(Error::conflict(why, current))
        }
        _ => Ok(()),
    }
}

/// Its trust, which fades and ages from now on as from a validation: else it would be due again at once. Its confidence is
/// what it was, since nobody vouches for more.
fn anew(context: &Context<'_>, head: &Head) -> Trust {
    let last = head.trust.last_validated;
    Trust {
        last_validated: Some(last.map_or(context.now, |last| last.max(context.now))),
        ..head.trust.clone()
    }
}
