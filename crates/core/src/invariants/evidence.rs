//! Invariant 1 for evidence and anchors: evidence is written once and is what its hash says, and an anchor leads to what
//! stands when it is added, and is dropped once.

use super::{Invariant, Violation, broken, ensure};
use crate::decision::Node;
use crate::event::{AnchorAdded, Body, EvidenceSaved};
use crate::id::AnchorId;
use crate::staging::Content;
use crate::state::State;

/// Whether the event follows from what is there.
pub(super) fn event_applies(state: &State, body: &Body) -> Result<(), Violation> {
    match body {
        Body::EvidenceSaved(saved) => saved_applies(state, saved),
        Body::AnchorAdded(added) => added_applies(state, added),
        Body::AnchorDropped { anchor, reason } => dropped_applies(state, *anchor, reason),
        _ => unreachable!("only what is about evidence and anchors comes here"),
    }
}

/// Whether evidence is new, and its hash that of its text.
fn saved_applies(state: &State, saved: &EvidenceSaved) -> Result<(), Violation> {
    let chained = |holds: bool, what: &str| {
        ensure(holds, Invariant::Chained, || {
            format!("evidence {} {what}", saved.id)
        })
    };
    chained(state.evidence(saved.id).is_none(), "was saved before")?;
    if saved.is_rest() {
        return Ok(());
    }
    let hash = match &saved.content {
        Content::Inline(text) => *blake3::hash(text.as_bytes()).as_bytes(),
        Content::Chunked { hash, .. } => *hash,
    };
    chained(hash == saved.hash, "is not what its hash says")
}

/// Whether an anchor is new, and what it leads to in its own scope stands. What it leads to elsewhere is not known here.
fn added_applies(state: &State, added: &AnchorAdded) -> Result<(), Violation> {
    let chained = |holds: bool, what: &dyn Fn() -> String| {
        ensure(holds, Invariant::Chained, || {
            format!("anchor {} {}", added.id, what())
        })
    };
    chained(state.anchor(added.id).is_none(), &|| {
        "was added before".to_owned()
    })?;
    chained(!added.to.is_empty() || added.is_rest(), &|| {
        "leads nowhere".to_owned()
    })?;
    for node in &added.to {
        let stands = match node {
            Node::Decision { scope, root } if scope == state.scope() => {
                state.decision(*root).is_some_and(|head| head.active)
            }
            Node::Evidence { scope, id } if scope == state.scope() => state.has_evidence(*id),
            Node::Decision { scope, .. } | Node::Evidence { scope, .. } => {
                scope.contains(state.scope())
            }
            Node::File { .. } | Node::Symbol { .. } => false,
        };
        chained(stands, &|| format!("leads to {node}, which does not stand"))?;
    }
    Ok(())
}

/// Whether an anchor is there that was not dropped, and of which as much is left as of why it is.
fn dropped_applies(state: &State, id: AnchorId, reason: &str) -> Result<(), Violation> {
    let Some(anchor) = state.anchor(id) else {
        return broken(Invariant::Chained, format!("anchor {id} was never added"));
    };
    ensure(!anchor.is_dropped(), Invariant::Chained, || {
        format!("anchor {id} was dropped before")
    })?;
    let both = anchor.is_erased() == reason.is_empty();
    ensure(both, Invariant::Chained, || {
        format!("only a part of anchor {id} was erased")
    })
}
