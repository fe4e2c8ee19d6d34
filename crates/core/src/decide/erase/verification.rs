//! Deciding what is erased of verifications: their errors and approaches.
//!
//! Owns what is refused. A promotion that is under way would publish what its verification says. And of one error of a task all
//! verifications go: the others would go on showing what they shared.

use std::collections::BTreeSet;

use super::{Erasing, NAMED_MAX, decided};
use crate::circular::ErrorHash;
use crate::decide::{Context, Decision, check_stated};
use crate::erasure::{EraseVerifications, KnownEvent, events_of};
use crate::error::{Error, ErrorCode};
use crate::event::{Body, FixFailed};
use crate::id::{Seq, VerificationId};
use crate::promotion::{Standing, Stands};
use crate::verification::Outcome;

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
    let mut errors = BTreeSet::new();
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
        if let Some((event, fix)) = fix_of(context, failed, standing.verification)? {
            errors.extend(fix.error);
            erasing.add(event);
        }
    }
    let stays = |one: &&Standing| !ids.contains(&one.verification);
    check_shared(context, all.iter().filter(stays), &errors)?;
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

/// Whether none of those that stay failed with one of these errors.
fn check_shared<'a>(
    context: &Context<'_>,
    staying: impl Iterator<Item = &'a Standing>,
    errors: &BTreeSet<ErrorHash>,
) -> Result<(), Error> {
    if errors.is_empty() {
        return Ok(());
    }
    let mut others = Vec::new();
    for one in staying.filter(|one| one.outcome == Outcome::Failed) {
        let [_, failed] = events_of(one.through);
        let error = context.facts.fix_errors.get(&failed);
        if error
            .ok_or_else(unread)?
            .is_some_and(|error| errors.contains(&error))
        {
            others.push(one.verification.to_string());
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    others.truncate(NAMED_MAX);
    let why = format!(
        "other verifications failed with the same error, and would keep it: name them too ({})",
        others.join(", ")
    );
    Err(Error::new(ErrorCode::InvalidState, why))
}

/// The event that tells what failed of the fix of a verification, if one does.
fn fix_of<'a>(
    context: &Context<'a>,
    seq: Seq,
    id: VerificationId,
) -> Result<Option<(&'a KnownEvent, &'a FixFailed)>, Error> {
    let event = event(context, seq)?;
    Ok(event.and_then(|event| match &event.body {
        Some(Body::FixFailed(fix)) if fix.verification == id => Some((event, &**fix)),
        _ => None,
    }))
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
