//! Decisions: choices that go on applying, each a chain of versions under one root.
//!
//! Owns what a decision says, what one version of it is and what the head of a chain knows. A policy is a decision of
//! rank `policy`. What may be saved, and by whom, is [`crate::decide`]'s and [`crate::permission`]'s; in which order
//! decisions are loaded is [`crate::brief`]'s.

use serde::{Deserialize, Serialize};

use crate::entry::Claim;
use crate::id::{DecisionId, Seq};
use crate::principal::Actor;
use crate::scope::Scope;
use crate::secret::mask;
use crate::time::Timestamp;

mod domain;
mod kind;
mod proposal;
mod rank;
mod relation;

pub use domain::{Domain, Phase};
pub use kind::{DeclaredKind, DeclaredRelation, Reach, RelationKind, RelationName};
pub use proposal::{Contradiction, Contradictions, Former, Guard, Proposal, Proposed};
pub use rank::Rank;
pub use relation::{DecisionName, Edge, NamedEdge, Node, Relation};

/// What a caller says a decision is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDecision {
    /// How strong it is.
    pub rank: Rank,
    /// Where it applies: everywhere, or to one field of work.
    pub domain: Domain,
    /// The phase of work that it belongs to. It routes workflows, and filters nothing.
    pub phase: Option<Phase>,
    /// What was decided, in a line.
    pub title: String,
    /// What was decided, in full.
    pub content: String,
    /// What it claims, if it declares that.
    pub claim: Option<Claim>,
    /// What it is related to.
    pub relations: Vec<Relation>,
}

impl NewDecision {
    /// The decision as it is stored: with its secrets masked. Places, the domain and the phase are names, which are looked up
    /// as they stand: those with secrets in them are refused.
    #[must_use]
    pub fn masked(&self) -> Self {
        Self {
            rank: self.rank,
            domain: self.domain.clone(),
            phase: self.phase.clone(),
            title: mask(&self.title).text.into_owned(),
            content: mask(&self.content).text.into_owned(),
            claim: self.claim.as_ref().map(Claim::masked),
            relations: self.relations.clone(),
        }
    }

    /// Bytes of all its texts, places and names of declared relations included.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let claim = self.claim.as_ref();
        let claim = claim.map_or(0, |claim| claim.key.len() + claim.value.len());
        let relations = self.relations.iter().map(Relation::text_bytes);
        self.title.len() + self.content.len() + claim + relations.sum::<usize>()
    }
}

/// How a version came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// The chain began with it.
    Begun,
    /// The decision was changed.
    Changed,
    /// The decision applies no longer.
    Withdrawn,
    /// A decision that was withdrawn applies again.
    Restored {
        /// The version whose text it has.
        from: u64,
    },
}

/// One version of a decision, never changed afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionVersion {
    /// The root of its chain.
    pub root: DecisionId,
    /// Its number, from 1.
    pub number: u64,
    /// How it came to be.
    pub act: Act,
    /// What it says; none of one that withdraws the decision.
    pub text: Option<NewDecision>,
    /// Why.
    pub reason: String,
    /// Who saved it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// The event that it was saved by.
    pub seq: Seq,
}

/// The head of a chain: what there is to know of a decision without its content.
///
/// While the decision is active, exactly its newest version is. What it says is that of the newest version that has a
/// text, also while it is withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionHead {
    /// The root.
    pub root: DecisionId,
    /// The number of the newest version.
    pub version: u64,
    /// Whether the decision applies.
    pub active: bool,
    /// How strong it is.
    pub rank: Rank,
    /// Where it applies.
    pub domain: Domain,
    /// The phase of work that it belongs to.
    pub phase: Option<Phase>,
    /// What was decided, in a line.
    pub title: String,
    /// What it claims.
    pub claim: Option<Claim>,
    /// What it is related to.
    pub relations: Vec<Relation>,
    /// The event that began the chain.
    pub begun_seq: Seq,
    /// When it began.
    pub begun_at: Timestamp,
    /// When the newest version was saved.
    pub changed_at: Timestamp,
}

impl DecisionHead {
    /// The decision as a node, where `scope` is the one that holds it.
    #[must_use]
    pub fn node(&self, scope: &Scope) -> Node {
        Node::Decision {
            scope: scope.clone(),
            root: self.root,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> DecisionName {
        DecisionName {
            rank: self.rank,
            title: self.title.clone(),
        }
    }

    /// Whether what it said was erased: no decision that says something is without a title. Nothing brings it back.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.title.is_empty()
    }

    /// Its edges, in the order in which it declares them; none while it is withdrawn.
    #[must_use]
    pub fn edges(&self, scope: &Scope) -> Vec<Edge> {
        if !self.active {
            return Vec::new();
        }
        let from = self.node(scope);
        let relations = self.relations.iter();
        relations.map(|one| one.edge_from(from.clone())).collect()
    }
}
