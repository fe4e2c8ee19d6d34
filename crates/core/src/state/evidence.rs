//! What saving evidence, and adding and dropping anchors, does to the view of a scope.
//!
//! Owns the part of `apply` that makes evidence and anchors, and which rows follow from them. Nothing here touches what an
//! anchor leads to.

use std::sync::Arc;

use super::{Change, Stamped, State};
use crate::anchor::Anchor;
use crate::event::{AnchorAdded, EvidenceSaved};
use crate::evidence::Evidence;
use crate::id::{AnchorId, EvidenceId, Seq};

/// What is known of evidence that was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownEvidence {
    /// The event that it was saved by.
    pub(crate) seq: Seq,
    /// Whether it was erased.
    pub(crate) erased: bool,
}

impl State {
    /// Whether the scope has evidence, as far as is known. What was erased it has no longer.
    #[must_use]
    pub fn has_evidence(&self, id: EvidenceId) -> bool {
        self.evidence(id).is_some_and(|known| !known.erased)
    }

    /// What is known of evidence that was saved.
    pub(crate) fn evidence(&self, id: EvidenceId) -> Option<KnownEvidence> {
        self.evidence.get(&id).copied().flatten()
    }

    /// Whether it is known if the scope has evidence.
    #[must_use]
    pub fn knows_evidence(&self, id: EvidenceId) -> bool {
        self.evidence.contains_key(&id)
    }

    /// Takes in what was read of evidence.
    pub fn learn_evidence(&mut self, id: EvidenceId, found: Option<&Evidence>) {
        let known = found.map(|evidence| KnownEvidence {
            seq: evidence.seq,
            erased: evidence.is_erased(),
        });
        self.evidence.entry(id).or_insert(known);
    }

    /// The anchor with an id, if it is known and was added.
    #[must_use]
    pub fn anchor(&self, id: AnchorId) -> Option<&Anchor> {
        self.anchors.get(&id)?.as_deref()
    }

    /// Whether it is known if an anchor was added.
    #[must_use]
    pub fn knows_anchor(&self, id: AnchorId) -> bool {
        self.anchors.contains_key(&id)
    }

    /// Takes in what was read of an anchor.
    pub fn learn_anchor(&mut self, id: AnchorId, anchor: Option<Anchor>) {
        self.anchors
            .entry(id)
            .or_insert_with(|| anchor.map(Arc::new));
    }

    pub(super) fn evidence_saved(&mut self, saved: &EvidenceSaved, at: &Stamped) -> Vec<Change> {
        // Also what is left of one: it is gone from the event on that erased it.
        let known = KnownEvidence {
            seq: at.seq,
            erased: false,
        };
        self.evidence.insert(saved.id, Some(known));
        vec![Change::Evidence(Box::new(evidence_of(saved, at)))]
    }

    pub(super) fn anchor_added(&mut self, added: &AnchorAdded, at: &Stamped) -> Vec<Change> {
        self.set_anchor(Anchor {
            id: added.id,
            hint: added.hint.clone(),
            domain: added.domain.clone(),
            to: added.to.clone(),
            by: at.actor.clone(),
            at: at.time,
            seq: at.seq,
            dropped: None,
        })
    }

    pub(super) fn anchor_dropped(&mut self, id: AnchorId, at: &Stamped) -> Vec<Change> {
        let known = self.anchor(id).cloned();
        let anchor = known.expect("an event drops an anchor that the state knows");
        self.set_anchor(Anchor {
            dropped: Some(at.seq),
            ..anchor
        })
    }

    /// Evidence, of which this is left.
    pub(super) fn evidence_erased(&mut self, rest: &EvidenceSaved, at: &Stamped) -> Change {
        let known = KnownEvidence {
            seq: at.seq,
            erased: true,
        };
        self.evidence.insert(rest.id, Some(known));
        Change::Evidence(Box::new(evidence_of(rest, at)))
    }

    /// An anchor that was dropped before, so that it is listed nowhere.
    pub(super) fn anchor_erased(&mut self, id: AnchorId) -> Change {
        let known = self.anchor(id).map(Anchor::rest);
        let anchor = Arc::new(known.expect("an event names anchors that the state knows"));
        self.anchors.insert(id, Some(Arc::clone(&anchor)));
        Change::Anchor(anchor)
    }

    /// An anchor, and where it is listed unless it was dropped.
    fn set_anchor(&mut self, anchor: Anchor) -> Vec<Change> {
        let anchor = Arc::new(anchor);
        self.anchors.insert(anchor.id, Some(Arc::clone(&anchor)));
        let listed = Change::AnchorListed {
            domain: anchor.domain.clone(),
            seq: anchor.seq,
            anchor: anchor.id,
            listed: !anchor.is_dropped(),
        };
        vec![Change::Anchor(anchor), listed]
    }
}

/// The evidence that an event saves.
fn evidence_of(saved: &EvidenceSaved, at: &Stamped) -> Evidence {
    Evidence {
        id: saved.id,
        title: saved.title.clone(),
        source: saved.source.clone(),
        media_type: saved.media_type.clone(),
        content: saved.content.clone(),
        hash: saved.hash,
        masked: saved.masked,
        by: at.actor.clone(),
        at: at.time,
        seq: at.seq,
    }
}

#[cfg(test)]
mod tests;
