//! Evidence and anchors for the tests of the families, small ones and the largest that may be.

use sillok_core::anchor::Anchor;
use sillok_core::chain::StoredEvent;
use sillok_core::decision::{Domain, Edge, Node, RelationKind};
use sillok_core::event::{AnchorAdded, Body, EvidenceSaved};
use sillok_core::evidence::Evidence;
use sillok_core::id::{AnchorId, EvidenceId, Seq};
use sillok_core::limits::{
    ANCHOR_HINT_BYTES_MAX, ANCHOR_NODES_MAX, DOMAIN_BYTES_MAX, EVIDENCE_INLINE_BYTES_MAX,
    MEDIA_TYPE_BYTES_MAX, SHORT_TEXT_BYTES_MAX,
};
use sillok_core::staging::Content;
use sillok_core::time::Timestamp;

use super::Parts;
use super::decisions::{longest_actor, longest_scope, sealed};
use crate::keys::{anchor_listed, decision_listed};

impl Parts {
    pub(in crate::keys) fn evidence_id(&self) -> EvidenceId {
        EvidenceId::from_bytes(self.id)
    }

    pub(in crate::keys) fn anchor_id(&self) -> AnchorId {
        AnchorId::from_bytes(self.id)
    }

    fn text_of_evidence(&self) -> Content {
        if self.flag {
            return Content::Inline(self.text.clone());
        }
        Content::Chunked {
            command: self.command_id(),
            first: 0,
            count: self.small(),
            bytes: self.number,
            hash: self.hash,
        }
    }

    pub(in crate::keys) fn evidence(&self) -> Evidence {
        Evidence {
            id: self.evidence_id(),
            title: self.text.clone(),
            source: self.name.clone(),
            media_type: "text/plain".to_owned(),
            content: self.text_of_evidence(),
            hash: self.hash,
            masked: self.small(),
            by: self.actor(),
            at: self.time(),
            seq: self.seq(),
        }
    }

    /// The nodes that an anchor points to: a decision, and evidence of a wider scope.
    fn pointed_to(&self) -> Vec<Node> {
        let decision = Node::Decision {
            scope: self.scope(),
            root: self.root(),
        };
        let evidence = Node::Evidence {
            scope: self.scope().parent().unwrap(),
            id: self.evidence_id(),
        };
        vec![decision, evidence]
    }

    pub(in crate::keys) fn anchor(&self) -> Anchor {
        Anchor {
            id: self.anchor_id(),
            hint: self.text.clone(),
            domain: self.domain(),
            to: self.pointed_to(),
            by: self.actor(),
            at: self.time(),
            seq: self.seq(),
            dropped: self.flag.then_some(self.seq()),
        }
    }

    pub(in crate::keys) fn anchor_place(&self) -> anchor_listed::Key {
        anchor_listed::Key {
            scope: self.scope_key(),
            domain: decision_listed::DomainKey::of(&self.domain()),
            added: self.seq(),
            anchor: self.anchor_id(),
        }
    }

    /// That the decision rests on the evidence.
    pub(in crate::keys) fn rests(&self) -> Edge {
        let mut edge = self.edge();
        edge.kind = RelationKind::RestsOn;
        edge.to = Node::Evidence {
            scope: self.scope(),
            id: self.evidence_id(),
        };
        edge
    }
}

fn short() -> String {
    "s".repeat(SHORT_TEXT_BYTES_MAX)
}

/// Evidence whose text is as long as one may be that lies in its event.
pub(in crate::keys) fn largest() -> Evidence {
    Evidence {
        id: EvidenceId::from_bytes([255; 16]),
        title: short(),
        source: short(),
        media_type: "m".repeat(MEDIA_TYPE_BYTES_MAX),
        content: Content::Inline("e".repeat(EVIDENCE_INLINE_BYTES_MAX)),
        hash: [255; 32],
        masked: u32::MAX,
        by: longest_actor(),
        at: Timestamp::from_ms(u64::MAX),
        seq: Seq::new(u64::MAX),
    }
}

/// The event that such evidence is saved by.
pub(in crate::keys) fn event_of(evidence: &Evidence) -> StoredEvent {
    let body = Body::EvidenceSaved(Box::new(EvidenceSaved {
        id: evidence.id,
        title: evidence.title.clone(),
        source: evidence.source.clone(),
        media_type: evidence.media_type.clone(),
        content: evidence.content.clone(),
        hash: evidence.hash,
        masked: evidence.masked,
    }));
    sealed(&body, &evidence.by, evidence.at)
}

/// An anchor that points to as many nodes as it may, with names as long as they may be.
pub(in crate::keys) fn largest_anchor() -> Anchor {
    let number = |number: usize| u8::try_from(number).unwrap();
    let node = |place| Node::Evidence {
        scope: longest_scope(),
        id: EvidenceId::from_bytes([number(place); 16]),
    };
    let domain: Domain = "d".repeat(DOMAIN_BYTES_MAX).parse().unwrap();
    Anchor {
        id: AnchorId::from_bytes([255; 16]),
        hint: "h".repeat(ANCHOR_HINT_BYTES_MAX),
        domain,
        to: (0..ANCHOR_NODES_MAX).map(node).collect(),
        by: longest_actor(),
        at: Timestamp::from_ms(u64::MAX),
        seq: Seq::new(u64::MAX),
        dropped: Some(Seq::new(u64::MAX)),
    }
}

/// The event that such an anchor is added by.
pub(in crate::keys) fn event_of_anchor(anchor: &Anchor) -> StoredEvent {
    let body = Body::AnchorAdded(Box::new(AnchorAdded {
        id: anchor.id,
        hint: anchor.hint.clone(),
        domain: anchor.domain.clone(),
        to: anchor.to.clone(),
    }));
    sealed(&body, &anchor.by, anchor.at)
}
