//! Deciding what leaves recall: states that are resolved, and entries whose time is over.

use std::collections::BTreeSet;

use super::{Context, Decision, check_stated, entry};
use crate::command::{AnswerBody, VerificationRef};
use crate::entry::{Detail, Head, Kind, Status};
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::id::EntryId;
use crate::limits::RETIRED_MAX;
use crate::promotion::Disposition;
use crate::retention::{Aging, Retirement, due};
use crate::secret::mask;

/// Resolves a state, on the grounds on which one may be written there.
pub(super) fn resolve(
    context: &Context<'_>,
    (id, expected_version): (EntryId, u64),
    reason: &str,
    verification: Option<&VerificationRef>,
) -> Result<Decision, Error> {
    check_stated("reason", reason)?;
    entry::backing(context, verification)?;
    let head = entry::live_head(context, id, expected_version)?;
    if head.table.kind() != Kind::State {
        let why = format!(
            "an entry of {} is superseded; only states are resolved",
            head.table
        );
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    let body = Body::StateResolved {
        entry: id,
        reason: mask(reason).text.into_owned(),
    };
    let answer = AnswerBody::Entry {
        id,
        version: head.version,
        status: Status::Deprecated,
        disposition: Disposition::Created,
    };
    Ok(Decision::of(vec![body], answer))
}

/// Takes out those of the planned entries whose time is over still. What was validated, amended or taken
/// out since is left: the plan was made from an index that lags.
pub(super) fn retire(
    context: &Context<'_>,
    planned: &[(EntryId, u64)],
    why: &Retirement,
) -> Result<Decision, Error> {
    if planned.len() > RETIRED_MAX {
        let (max, given) = (RETIRED_MAX as u64, planned.len() as u64);
        return Err(Error::too_large("entries to retire", max, given));
    }
    if !matches!(why, Retirement::Aged | Retirement::Pruned) {
        let reason = "maintenance takes entries out because they are aged or pruned";
        return Err(Error::new(ErrorCode::InvalidArgument, reason));
    }
    let (mut going, mut named) = (Vec::with_capacity(planned.len()), BTreeSet::new());
    for (id, version) in planned {
        let head = context.state.head(*id);
        let goes = head.is_some_and(|head| head.version == *version && is_over(context, head, why));
        if goes && named.insert(*id) {
            going.push(*id);
        }
    }
    let (retired, left) = (going.len(), planned.len() - going.len());
    let mut bodies = Vec::new();
    if !going.is_empty() {
        bodies.push(Body::EntriesRetired {
            entries: going,
            why: why.clone(),
        });
    }
    let count = |number: usize| u32::try_from(number).expect("a command names few entries");
    let answer = AnswerBody::Retired {
        retired: count(retired),
        left: count(left),
    };
    Ok(Decision::of(bodies, answer))
}

/// Whether an entry's time is over, by its age and by what it is worth now.
fn is_over(context: &Context<'_>, head: &Head, why: &Retirement) -> bool {
    let is_resolved = head.status == Status::Deprecated && head.resolved_at().is_some();
    if !(head.status.is_live() || is_resolved) {
        return false;
    }
    let version = context.facts.versions.get(&head.id);
    let detail = version
        .and_then(Option::as_ref)
        .map(|version| &version.detail);
    let aging = Aging::of(head, detail.unwrap_or(&Detail::Plain));
    due(&aging, context.now, &context.config.retention).as_ref() == Some(why)
}
