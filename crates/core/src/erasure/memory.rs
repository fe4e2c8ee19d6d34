//! Erasing decisions, evidence, anchors and what declared kinds of relations mean: what may be named, which events hold what
//! they say, and what is left of it.
//!
//! Owns their rests. A decision goes with all its versions, an anchor with why it was dropped. Of a kind its meaning goes; its
//! name and its reach stay, since relations say them. It must not know how events are read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::anchor::Anchor;
use crate::decision::{DecisionHead, DeclaredRelation, Domain, NewDecision, RelationName};
use crate::error::{Error, ErrorCode};
use crate::event::{AnchorAdded, Body, DecisionSaved, EvidenceSaved};
use crate::id::{AnchorId, DecisionId, EvidenceId, Seq};
use crate::limits::ERASED_MAX;
use crate::staging::Content;
use crate::state::State;

/// What a person orders erased of the decisions, evidence, anchors and declared kinds of relations of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseMemory {
    /// Decisions that were withdrawn, with all their versions.
    pub decisions: Vec<DecisionId>,
    /// Evidence.
    pub evidence: Vec<EvidenceId>,
    /// Anchors that were dropped.
    pub anchors: Vec<AnchorId>,
    /// Kinds of relations that the scope itself declared: what they mean, whether they are used or not.
    pub kinds: Vec<RelationName>,
    /// Why. It stays.
    pub reason: String,
}

impl EraseMemory {
    /// # Errors
    /// `invalid_argument` when nothing is named, `too_large` when too much is.
    pub fn check(&self) -> Result<(), Error> {
        let named = self.count();
        if named == 0 {
            let why = "an order to erase names decisions, evidence, anchors or kinds of relations";
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        if named > ERASED_MAX {
            let max = ERASED_MAX as u64;
            return Err(Error::too_large("things to erase", max, named as u64));
        }
        Ok(())
    }

    /// How many things it names.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.decisions.len() + self.evidence.len() + self.anchors.len() + self.kinds.len()
    }

    /// The events that hold what is to go, as far as `state` knows: nothing of what is not there, still holds, or was erased
    /// before.
    pub(crate) fn holding(&self, state: &State) -> Holding {
        let goes = |head: &&DecisionHead| !head.active && !head.is_erased();
        let heads = self.decisions.iter().filter_map(|id| state.decision(*id));
        let evidence = self.evidence.iter().filter_map(|id| state.evidence(*id));
        let evidence = evidence.filter(|known| !known.erased);
        let anchors = self.anchors.iter().filter_map(|id| state.anchor(*id));
        let anchors = anchors.filter(|anchor| !anchor.is_erased());
        let kinds = self.kinds.iter().filter_map(|name| state.declared(*name));
        let kinds = kinds.filter(|kind| !kind.is_erased());
        Holding {
            chains: heads
                .filter(goes)
                .map(|head| (head.root, head.version))
                .collect(),
            events: evidence
                .map(|known| known.seq)
                .chain(anchors.filter_map(of_anchor).flatten())
                .chain(kinds.map(|kind| kind.seq))
                .collect(),
        }
    }

    /// Whether a body holds something that one of those named says.
    pub(crate) fn names(&self, body: &Body) -> bool {
        match body {
            Body::DecisionSaved(saved) => self.decisions.contains(&saved.root),
            Body::EvidenceSaved(saved) => self.evidence.contains(&saved.id),
            Body::AnchorAdded(added) => self.anchors.contains(&added.id),
            Body::AnchorDropped { anchor, .. } => self.anchors.contains(anchor),
            Body::RelationDeclared { name, .. } => self.kinds.contains(name),
            _ => false,
        }
    }
}

/// The events that added and dropped an anchor; none unless both did.
fn of_anchor(anchor: &Anchor) -> Option<[Seq; 2]> {
    anchor.dropped.map(|dropped| [anchor.seq, dropped])
}

/// Which events hold what an order has erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holding {
    /// Decisions, with how many versions they have. Each was saved by one event.
    chains: BTreeMap<DecisionId, u64>,
    /// The events of evidence, anchors and declarations.
    pub(crate) events: BTreeSet<Seq>,
}

impl Holding {
    /// How many events those are.
    pub(crate) fn count(&self) -> u64 {
        let versions = self.chains.values().copied();
        versions.fold(self.events.len() as u64, u64::saturating_add)
    }

    /// The decisions, each with the numbers of its versions.
    pub(crate) fn chains(&self) -> impl Iterator<Item = (DecisionId, Vec<u64>)> {
        let chains = self.chains.iter();
        chains.map(|(root, newest)| (*root, (1..=*newest).collect()))
    }
}

impl NewDecision {
    /// What is left of it: how strong it was.
    pub(crate) fn rest(&self) -> Self {
        Self {
            rank: self.rank,
            domain: Domain::global(),
            phase: None,
            title: String::new(),
            content: String::new(),
            claim: None,
            relations: Vec::new(),
        }
    }
}

impl DecisionSaved {
    /// What is left of it.
    pub(crate) fn rest(&self) -> Self {
        Self {
            root: self.root,
            number: self.number,
            act: self.act,
            before: self.before,
            text: self.text.as_ref().map(NewDecision::rest),
            reason: String::new(),
        }
    }

    /// Whether it is what is left of an event. None that was decided is: it has a title, or a reason.
    pub(crate) fn is_rest(&self) -> bool {
        *self == self.rest()
    }
}

impl DecisionHead {
    /// What is left of it.
    pub(crate) fn rest(&self) -> Self {
        Self {
            domain: Domain::global(),
            phase: None,
            title: String::new(),
            claim: None,
            relations: Vec::new(),
            ..*self
        }
    }
}

impl EvidenceSaved {
    /// What is left of it. The hash of a text tells whoever guesses the text that it was this one.
    pub(crate) const fn rest(&self) -> Self {
        Self {
            id: self.id,
            title: String::new(),
            source: String::new(),
            media_type: String::new(),
            content: Content::Inline(String::new()),
            hash: [0; 32],
            masked: 0,
        }
    }

    /// Whether it is what is left of an event. None that was decided is: it has a title.
    pub(crate) fn is_rest(&self) -> bool {
        *self == self.rest()
    }
}

impl AnchorAdded {
    /// What is left of it.
    pub(crate) fn rest(&self) -> Self {
        Self {
            id: self.id,
            hint: String::new(),
            domain: Domain::global(),
            to: Vec::new(),
        }
    }

    /// Whether it is what is left of an event. None that was decided is: it has a hint.
    pub(crate) fn is_rest(&self) -> bool {
        *self == self.rest()
    }
}

impl Anchor {
    /// What is left of it.
    pub(crate) fn rest(&self) -> Self {
        Self {
            hint: String::new(),
            domain: Domain::global(),
            to: Vec::new(),
            ..self.clone()
        }
    }
}

impl DeclaredRelation {
    /// What is left of it.
    pub(crate) fn rest(&self) -> Self {
        Self {
            meaning: String::new(),
            ..self.clone()
        }
    }
}

/// What is left of a body that is about a decision, evidence, an anchor or a kind of relation; none of any other.
pub(super) fn rest_of(body: &Body) -> Option<Body> {
    Some(match body {
        Body::DecisionSaved(saved) => Body::DecisionSaved(Box::new(saved.rest())),
        Body::EvidenceSaved(saved) => Body::EvidenceSaved(Box::new(saved.rest())),
        Body::AnchorAdded(added) => Body::AnchorAdded(Box::new(added.rest())),
        Body::AnchorDropped { anchor, .. } => Body::AnchorDropped {
            anchor: *anchor,
            reason: String::new(),
        },
        Body::RelationDeclared { name, reach, .. } => Body::RelationDeclared {
            name: *name,
            reach: *reach,
            meaning: String::new(),
        },
        _ => return None,
    })
}
