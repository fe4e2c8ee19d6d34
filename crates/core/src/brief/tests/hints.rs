//! Anchors that briefs are made up with.

use super::*;
use crate::anchor::Standing;
use crate::id::AnchorId;

/// What a test knows of an anchor.
#[derive(Clone, Debug)]
pub(super) struct Hint {
    pub(super) id: AnchorId,
    pub(super) seq: Seq,
    pub(super) scope: Scope,
    pub(super) domain: Domain,
    pub(super) hint_bytes: usize,
    pub(super) dropped: bool,
}

impl Hint {
    /// It leads to a decision of the strongest rank.
    pub(super) fn item(&self) -> BriefItem {
        let to = Node::Decision {
            scope: scope(0),
            root: DecisionId::from_bytes([200; 16]),
        };
        BriefItem::Anchor {
            scope: self.scope.clone(),
            anchor: Anchor {
                id: self.id,
                hint: "x".repeat(self.hint_bytes),
                domain: self.domain.clone(),
                to: vec![to.clone()],
                by: Actor::system(),
                at: Timestamp::from_ms(self.seq.get()),
                seq: self.seq,
                dropped: self.dropped.then_some(self.seq),
            },
            leads: vec![Lead {
                to,
                title: "what it says".to_owned(),
                rank: Some(Rank::Policy),
                standing: Standing::Holds,
            }],
        }
    }
}

/// Anchors here and elsewhere. The order of their ids is not the one in which they were added.
pub(super) fn any_hints() -> impl Strategy<Value = Vec<Hint>> {
    let places = (0..SCOPES.len(), 0..DOMAINS.len());
    let one = (places, 0usize..200, proptest::bool::weighted(0.2));
    proptest::collection::vec(one, 0..12).prop_map(|ones| {
        let numbered = ones.into_iter().zip(0u8..);
        let hints = numbered.map(|((places, hint_bytes, dropped), number)| Hint {
            id: AnchorId::from_bytes([number.wrapping_mul(97).wrapping_add(31); 16]),
            seq: Seq::new(u64::from(number) + 1),
            scope: scope(places.0),
            domain: domain(places.1),
            hint_bytes,
            dropped,
        });
        hints.collect::<Vec<Hint>>()
    })
}
