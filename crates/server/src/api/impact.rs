//! Impact on the wire: what a change affects, and by which path.

use serde::{Deserialize, Serialize};
use sillok_core::decision::{self, Node, Rank};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::DecisionId;
use sillok_core::impact::{self, ImpactLimits};
use sillok_core::limits::NODES_AT_HAND_MAX;
use sillok_core::scope::Scope;
use utoipa::ToSchema;

use super::{Claim, KindName, schema};

/// Asks what a change affects, along the relations of decisions alone. It is looked for for at most 50 ms.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpactRequest {
    /// Where the asker stands: decisions of this scope are seen, of those above it, and of those inside it that the token
    /// covers.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// What is changed: 1 to 256. A decision among them holds and is seen; one that is withdrawn, not there or not seen is
    /// `not_found`. So is evidence that is not there or not seen.
    #[schema(value_type = Vec<schema::Node>)]
    pub at: Vec<String>,
    /// At most so many affected nodes; 10,000 when absent, and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_max: Option<usize>,
    /// At most so many relations away; 8 when absent, and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_max: Option<u32>,
}

impl ImpactRequest {
    /// Where it is asked, of which nodes, and how far.
    ///
    /// # Errors
    /// `invalid_scope`, `invalid_id`, `invalid_argument` or `too_large`.
    pub fn into_parts(self) -> Result<(Scope, Vec<Node>, ImpactLimits), Error> {
        let scope = Scope::parse(&self.scope)?;
        let limits = ImpactLimits::of(self.nodes_max, self.depth_max)?;
        if self.at.is_empty() {
            let why = "an impact begins with at least one node";
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        Ok((scope, nodes(&self.at)?, limits))
    }
}

/// The nodes that texts name.
pub(super) fn nodes(texts: &[String]) -> Result<Vec<Node>, Error> {
    if texts.len() > NODES_AT_HAND_MAX {
        let (limit, got) = (NODES_AT_HAND_MAX as u64, texts.len() as u64);
        return Err(Error::too_large("nodes at hand", limit, got));
    }
    texts.iter().map(|text| text.parse()).collect()
}

/// A relation between two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Edge {
    /// The decision that declares it.
    #[schema(value_type = schema::Node)]
    pub from: Node,
    /// How they are related.
    #[schema(value_type = schema::RelationKind)]
    pub kind: KindName,
    /// To what.
    #[schema(value_type = schema::Node)]
    pub to: Node,
}

impl From<decision::Edge> for Edge {
    fn from(edge: decision::Edge) -> Self {
        Self {
            from: edge.from,
            kind: edge.kind.into(),
            to: edge.to,
        }
    }
}

/// A node that a change affects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Affected {
    /// The node.
    #[schema(value_type = schema::Node)]
    pub node: Node,
    /// How many relations lie between it and what changes.
    pub depth: u32,
    /// Its title, of a decision that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its rank, of a decision that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Rank>)]
    pub rank: Option<Rank>,
    /// The relations that lead to it, from what changes on. Each names the decision that declares it first: a path may go along it
    /// or against it.
    pub path: Vec<Edge>,
}

/// What limits cut off an impact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImpactCut {
    /// Nodes that were reached when there were enough. At 10,000 there may be more.
    pub nodes: u64,
    /// Nodes at the greatest depth from which more is reached.
    pub depth: u64,
    /// Whether time ran out.
    pub time: bool,
}

impl From<impact::Cut> for ImpactCut {
    fn from(cut: impact::Cut) -> Self {
        Self {
            nodes: cut.nodes,
            depth: cut.depth,
            time: cut.time,
        }
    }
}

/// What a change affects, the nearest first. The same state gives the same answer, where time did not cut it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Impact {
    /// What changes.
    #[schema(value_type = Vec<schema::Node>)]
    pub start: Vec<Node>,
    /// What is affected, each node once.
    pub affected: Vec<Affected>,
    /// What was cut off; absent when all is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<ImpactCut>,
}

impl From<impact::Impact> for Impact {
    fn from(found: impact::Impact) -> Self {
        let path = |index| -> Vec<Edge> {
            let path = found.path(index).into_iter().cloned();
            path.map(Edge::from).collect()
        };
        let affected = found
            .affected
            .iter()
            .enumerate()
            .map(|(index, one)| Affected {
                node: one.node.clone(),
                depth: one.depth,
                title: one.title.clone(),
                rank: one.rank,
                path: path(index),
            });
        Self {
            affected: affected.collect(),
            cut: found.cut.map(Into::into),
            start: found.start,
        }
    }
}

/// A decision of rank `axis` or `lock` that is affected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Guard {
    /// The decision.
    #[schema(value_type = schema::Node)]
    pub node: Node,
    /// Its rank.
    #[schema(value_type = schema::Rank)]
    pub rank: Rank,
    /// What it says, in a line.
    pub title: String,
    /// Its place among what is affected, from 0: its path stands there.
    pub affected: usize,
}

/// An active decision of the scope, or of one above it, that declares the same key with another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Contradiction {
    /// The scope that it was made in.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// The decision.
    #[schema(value_type = schema::DecisionId)]
    pub root: DecisionId,
    /// Its rank.
    #[schema(value_type = schema::Rank)]
    pub rank: Rank,
    /// What it says, in a line.
    pub title: String,
    /// What it claims.
    pub claim: Claim,
}

/// What a decision means to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Proposed {
    /// What it affects.
    pub impact: Impact,
    /// Decisions of rank `axis` or `lock` among that.
    pub guards: Vec<Guard>,
    /// Decisions that contradict it. They stop nothing.
    pub contradictions: Vec<Contradiction>,
}

/// What a decision means to others, where that could be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Meaning {
    /// It is told.
    Told(Proposed),
    /// It could not be told. What was saved is saved all the same.
    Untold {
        /// Why.
        untold: String,
    },
}

impl From<decision::Proposed> for Proposed {
    fn from(proposed: decision::Proposed) -> Self {
        let guards = proposed.guards.into_iter().map(|guard| Guard {
            node: guard.node,
            rank: guard.rank,
            title: guard.title,
            affected: guard.path,
        });
        let contradictions = proposed.contradictions.into_iter();
        let contradictions = contradictions.map(|other| Contradiction {
            scope: other.scope,
            root: other.root,
            rank: other.rank,
            title: other.title,
            claim: other.claim.into(),
        });
        Self {
            impact: proposed.impact.into(),
            guards: guards.collect(),
            contradictions: contradictions.collect(),
        }
    }
}
