//! Deciding what is erased of decisions, evidence, anchors and what kinds of relations mean.
//!
//! Owns what is refused: nothing that applies or is listed is erased. Evidence is, whatever rests on it or points to it: that
//! then leads to what is gone. So is what a kind means, whatever is of that kind: its name and its reach stay.

use std::collections::BTreeSet;

use super::{Erasing, check_count, decided};
use crate::decide::{Context, Decision, check_stated};
use crate::decision::RelationName;
use crate::erasure::{EraseMemory, KnownEvent};
use crate::error::{Current, Error, ErrorCode};
use crate::id::{AnchorId, DecisionId, EvidenceId, Seq};

/// Erases what is named, all of it or nothing. What was erased before stays so.
pub(in crate::decide) fn erase(
    context: &Context<'_>,
    order: &EraseMemory,
) -> Result<Decision, Error> {
    check_stated("reason", &order.reason)?;
    order.check()?;
    let mut erasing = Erasing {
        known: erased_before(context, order)?,
        ..Erasing::default()
    };
    let holding = order.holding(context.state);
    check_count(holding.count())?;
    for seq in &holding.events {
        erasing.add(known(context, order, *seq)?);
    }
    for (root, numbers) in holding.chains() {
        for number in numbers {
            let seq = context.facts.decision_seqs.get(&(root, number));
            let seq = seq.copied().flatten().ok_or_else(unread)?;
            erasing.add(known(context, order, seq)?);
        }
    }
    // Two versions that one event were said to save would leave another one as it is.
    if erasing.events.len() as u64 != holding.count() {
        return Err(unread());
    }
    decided(erasing, &order.reason)
}

/// How many of those named were erased before. All of them are there, and no decision applies and no anchor is listed.
fn erased_before(context: &Context<'_>, order: &EraseMemory) -> Result<u32, Error> {
    let decisions: BTreeSet<DecisionId> = order.decisions.iter().copied().collect();
    let evidence: BTreeSet<EvidenceId> = order.evidence.iter().copied().collect();
    let anchors: BTreeSet<AnchorId> = order.anchors.iter().copied().collect();
    let kinds: BTreeSet<RelationName> = order.kinds.iter().copied().collect();
    let mut erased = 0;
    for root in decisions {
        erased += u32::from(decision(context, root)?);
    }
    for id in evidence {
        let found = context.state.evidence(id);
        let found = found.ok_or_else(|| missing(context, &format!("evidence {id}")))?;
        erased += u32::from(found.erased);
    }
    for id in anchors {
        erased += u32::from(anchor(context, id)?);
    }
    for name in kinds {
        let found = context.state.declared(name);
        let found = found.ok_or_else(|| missing(context, &format!("kind of relation {name}")))?;
        erased += u32::from(found.is_erased());
    }
    Ok(erased)
}

/// Whether a decision was erased before. One that applies is not erased.
fn decision(context: &Context<'_>, root: DecisionId) -> Result<bool, Error> {
    let head = context.state.decision(root);
    let head = head.ok_or_else(|| missing(context, &format!("decision {root}")))?;
    if head.active {
        let current = Current {
            version: Some(head.version),
            ..Current::default()
        };
        let why = format!("decision {root} applies: withdraw it first");
        return Err(Error::conflict(why, current));
    }
    Ok(head.is_erased())
}

/// Whether an anchor was erased before. One that is listed is not erased.
fn anchor(context: &Context<'_>, id: AnchorId) -> Result<bool, Error> {
    let anchor = context.state.anchor(id);
    let anchor = anchor.ok_or_else(|| missing(context, &format!("anchor {id}")))?;
    if !anchor.is_dropped() {
        let why = format!("anchor {id} is listed: drop it first");
        return Err(Error::conflict(why, Current::default()));
    }
    Ok(anchor.is_erased())
}

/// An event that holds what one of those named says.
fn known<'a>(
    context: &Context<'a>,
    order: &EraseMemory,
    seq: Seq,
) -> Result<&'a KnownEvent, Error> {
    let event = context.facts.events.get(&seq).and_then(Option::as_ref);
    let holds = |event: &&KnownEvent| event.body.as_ref().is_some_and(|body| order.names(body));
    event.filter(holds).ok_or_else(unread)
}

fn missing(context: &Context<'_>, what: &str) -> Error {
    let why = format!("{} has no {what}", context.scope());
    Error::new(ErrorCode::NotFound, why)
}

fn unread() -> Error {
    let why = "what is to be erased was not read";
    Error::new(ErrorCode::Internal, why)
}
