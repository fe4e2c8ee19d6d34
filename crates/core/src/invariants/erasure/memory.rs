//! Invariant 1 for what is erased of decisions, evidence, anchors and kinds of relations: nothing of it applies or is listed, and
//! all of it goes. What a kind means goes whether the kind is used or not.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Invariant, Violation, broken, ensure};
use crate::event::Body;
use crate::id::{AnchorId, DecisionId, Seq};
use crate::state::State;

/// Whether the event at `seq`, of which `rest` is left, saved something that is there and does not hold, or declared a kind
/// whose meaning is there.
pub(super) fn rest_applies(state: &State, rest: &Body, seq: Seq) -> Result<(), Violation> {
    let chained = |holds: bool, what: String| ensure(holds, Invariant::Chained, || what);
    match rest {
        Body::DecisionSaved(saved) => {
            let (root, number) = (saved.root, saved.number);
            let Some(head) = state.decision(root) else {
                return broken(
                    Invariant::Chained,
                    format!("decision {root} was never saved"),
                );
            };
            chained(
                !head.active,
                format!("decision {root} is erased, and applies"),
            )?;
            chained(
                (1..=head.version).contains(&number) && head.begun_seq <= seq,
                format!("event {seq} did not save version {number} of decision {root}"),
            )
        }
        Body::EvidenceSaved(saved) => {
            let known = state.evidence(saved.id);
            chained(
                known.is_some_and(|known| known.seq == seq && !known.erased),
                format!("event {seq} did not save evidence {}", saved.id),
            )
        }
        Body::AnchorAdded(added) => {
            let anchor = state.anchor(added.id);
            let dropped = anchor.filter(|anchor| anchor.is_dropped());
            chained(
                dropped.is_some_and(|anchor| anchor.seq == seq),
                format!(
                    "event {seq} did not add anchor {}, which was dropped",
                    added.id
                ),
            )
        }
        Body::AnchorDropped { anchor: id, .. } => {
            let anchor = state.anchor(*id);
            chained(
                anchor.is_some_and(|anchor| anchor.dropped == Some(seq)),
                format!("event {seq} did not drop anchor {id}"),
            )
        }
        Body::RelationDeclared { name, reach, .. } => {
            let known = state.declared(*name);
            let is_it = known.is_some_and(|known| known.reach == *reach)
                && state.declared_by(*name) == Some(seq);
            chained(is_it, format!("event {seq} did not declare {name} {reach}"))
        }
        _ => Ok(()),
    }
}

/// Whether all versions of each decision are erased of which one is, and each anchor with why it was dropped. The events of
/// `bodies` were applied to `state`.
pub(super) fn is_whole(state: &State, bodies: &[Body]) -> Result<(), Violation> {
    let mut chains: BTreeMap<DecisionId, BTreeSet<u64>> = BTreeMap::new();
    let mut anchors: BTreeMap<AnchorId, (bool, bool)> = BTreeMap::new();
    let erased = bodies.iter().filter_map(|body| match body {
        Body::ContentErased(erased) => Some(&erased.events),
        _ => None,
    });
    for event in erased.flatten() {
        match &event.rest {
            Body::DecisionSaved(saved) => {
                chains.entry(saved.root).or_default().insert(saved.number);
            }
            Body::AnchorAdded(added) => anchors.entry(added.id).or_default().0 = true,
            Body::AnchorDropped { anchor, .. } => anchors.entry(*anchor).or_default().1 = true,
            _ => {}
        }
    }
    for (root, numbers) in chains {
        let head = state.decision(root);
        let all = head
            .is_some_and(|head| head.is_erased() && numbers.iter().copied().eq(1..=head.version));
        ensure(all, Invariant::Chained, || {
            let some = numbers.len();
            format!("{some} versions of decision {root} are erased, and not all of it")
        })?;
    }
    let part = anchors.iter().find(|(_, both)| **both != (true, true));
    ensure(part.is_none(), Invariant::Chained, || {
        let id = part.map(|(id, _)| id.to_string()).unwrap_or_default();
        format!("only a part of anchor {id} is erased")
    })
}

#[cfg(test)]
mod tests;
