//! Deciding what is erased of verifications: their errors and approaches.
//!
//! Owns what is refused: a promotion that is under way would publish what its verification says. Of one error any of its
//! verifications go, since each event tells by itself under which one it counts.

use std::collections::BTreeSet;

use super::{Erasing, decided};
use crate::decide::{Context, Decision, check_stated};
use crate::erasure::{EraseVerifications, KnownEvent, events_of};
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::id::{Seq, VerificationId};
use crate::promotion::{Standing, Stands};

/// Erases what is named, all of it or nothing. What was erased before stays so.
pub(in crate::decide) fn erase(
    context: &Context<'_>,
    order: &EraseVerifications,
) -> Result<Decision, Error> {
    check_stated("reason", &order.reason)?;
    order.check()?;
    let stored = context.facts.promotions.as_deref().unwrap_or_default();
    let all = context.state.promotions(stored);
    let ids: BTreeSet<VerificationId> = order.verifications.iter().copied().collect();
    let mut erasing = Erasing::default();
    for standing in named(context, &ids, &all)? {
        let [recorded, failed] = events_of(standing.through);
        let event = event(context, recorded)?.ok_or_else(unread)?;
        let Some(body) = &event.body else {
            erasing.known += 1;
            continue;
        };
        if !matches!(body, Body::VerificationRecorded(known) if known.id == standing.verification) {
            return Err(unread());
        }
        erasing.add(event);
        if let Some(event) = fix_of(context, failed, standing.verification)? {
            erasing.add(event);
        }
    }
    decided(erasing, &order.reason)
}

/// How those stand that are named, in the order in which they were recorded. None of them is under way.
fn named<'a>(
    context: &Context<'_>,
    ids: &BTreeSet<VerificationId>,
    all: &'a [Standing],
) -> Result<Vec<&'a Standing>, Error> {
    let mut named = Vec::with_capacity(ids.len());
    for id in ids {
        let found = all.iter().find(|one| one.verification == *id);
        let standing = found.ok_or_else(|| {
            let why = format!("{} has no verification {id}", context.scope());
            Error::new(ErrorCode::NotFound, why)
        })?;
        if standing.stands == Stands::Pending {
            let why = format!(
                "promotion {id} is under way and would publish what its verification says: wait until it is finished, or drop it"
            );
            return Err(Error::new(ErrorCode::InvalidState, why));
        }
        named.push(standing);
    }
    named.sort_unstable_by_key(|standing| standing.through);
    Ok(named)
}

/// The event that tells what failed of the fix of a verification, if one does.
fn fix_of<'a>(
    context: &Context<'a>,
    seq: Seq,
    id: VerificationId,
) -> Result<Option<&'a KnownEvent>, Error> {
    let tells = |event: &&KnownEvent| matches!(&event.body, Some(Body::FixFailed(fix)) if fix.verification == id);
    Ok(event(context, seq)?.filter(tells))
}

/// The event at a position; none where the chain ends before.
fn event<'a>(context: &Context<'a>, seq: Seq) -> Result<Option<&'a KnownEvent>, Error> {
    let known = context.facts.events.get(&seq).ok_or_else(unread)?;
    Ok(known.as_ref())
}

fn unread() -> Error {
    let why = "what is to be erased was not read";
    Error::new(ErrorCode::Internal, why)
}
