//! Deciding which anchors are added and dropped: form, and that what they lead to stands.
//!
//! Owns what is refused. Several anchors of one command are added together or not at all.

use super::decision::check_stands;
use super::{Context, Decision, check_stated};
use crate::anchor::{NewAnchor, check_anchors, check_domain, check_hint};
use crate::command::AnswerBody;
use crate::error::{Current, Error, ErrorCode};
use crate::event::{AnchorAdded, Body};
use crate::id::AnchorId;
use crate::secret::mask;

/// Adds anchors, in order.
pub(super) fn add(context: &Context<'_>, anchors: &[NewAnchor]) -> Result<Decision, Error> {
    check_anchors(anchors)?;
    let mut bodies = Vec::with_capacity(anchors.len());
    let mut ids = Vec::with_capacity(anchors.len());
    for (ordinal, anchor) in (0..).zip(anchors) {
        let added = added(context, ordinal, anchor)?;
        ids.push(added.id);
        bodies.push(Body::AnchorAdded(Box::new(added)));
    }
    Ok(Decision::of(bodies, AnswerBody::AnchorsAdded { ids }))
}

fn added(context: &Context<'_>, ordinal: u32, anchor: &NewAnchor) -> Result<AnchorAdded, Error> {
    // Checked as it will be stored: masking may make a text longer.
    let hint = mask(&anchor.hint).text.into_owned();
    check_hint(ordinal, &hint)?;
    check_domain(ordinal, &anchor.domain)?;
    anchor
        .to
        .iter()
        .try_for_each(|node| check_stands(context, node))?;
    let principal = context.submission.principal.actor.to_string();
    Ok(AnchorAdded {
        id: AnchorId::derived(context.scope(), &principal, context.submission.id, ordinal),
        hint,
        domain: anchor.domain.clone(),
        to: anchor.to.clone(),
    })
}

/// Drops an anchor. What it said and led to stays readable.
pub(super) fn drop(context: &Context<'_>, id: AnchorId, reason: &str) -> Result<Decision, Error> {
    let reason = mask(reason).text.into_owned();
    check_stated("reason", &reason)?;
    let anchor = context.state.anchor(id).ok_or_else(|| {
        let why = format!("{} has no anchor {id}", context.scope());
        Error::new(ErrorCode::NotFound, why)
    })?;
    if anchor.is_dropped() {
        let why = format!("anchor {id} was dropped before");
        return Err(Error::conflict(why, Current::default()));
    }
    let body = Body::AnchorDropped { anchor: id, reason };
    Ok(Decision::of(vec![body], AnswerBody::Done))
}
