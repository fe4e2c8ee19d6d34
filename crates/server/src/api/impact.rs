//! Impact on the wire: what a change affects, and by which path.

use serde::{Deserialize, Serialize};
use sillok_core::decision::{self, Domain, Node, Rank};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::DecisionId;
use sillok_core::impact::{self, ImpactLimits};
use sillok_core::limits::NODES_AT_HAND_MAX;
use sillok_core::scope::Scope;
use utoipa::ToSchema;

use super::{Claim, KindName, schema};

/// How many nodes of an impact are told with their whole paths. Of the others, the steps tell it.
const PATHS_MAX: usize = 1_000;

/// Asks what a change affects, along the relations of decisions alone. It is looked for for at most 50 ms.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpactRequest {
    /// Where the asker stands: decisions of this scope are seen, of those above it, and of those inside it that the token
    /// covers.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// What is changed: 1 to 256. A decision among them holds and is seen; one that is withdrawn, not there or not seen is
    /// `not_found`. So is evidence that is not there or not seen. A node is that node alone: what applies to a symbol of a file
    /// is not found by naming the file, nor the other way about; name both.
    #[schema(value_type = Vec<schema::Node>, min_items = 1, max_items = 256)]
    pub at: Vec<String>,
    /// At most so many affected nodes; 10,000 when absent, and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10_000)]
    pub nodes_max: Option<usize>,
    /// At most so many relations away; 8 when absent, and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 8)]
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
    /// Its title, of a decision that was looked at or whose relation says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its rank, of a decision that was looked at or whose relation says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Rank>)]
    pub rank: Option<Rank>,
    /// The node before it on its path. Followed back to the start, that is the whole path.
    pub from: Reached,
    /// The relation between the two. It names the decision that declares it first: a path may go along it or against it.
    pub by: Edge,
    /// The relations that lead to it, from what changes on, the last of them `by`: of the first 1,000 nodes. Of the others, it
    /// is absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Edge>,
}

/// The node that another was reached from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// One that changes: its place in `start`, from 0.
    Start(usize),
    /// One that is affected: its place in `affected`, from 0. It stands before the one that was reached from it.
    Affected(usize),
}

impl From<impact::Source> for Reached {
    fn from(source: impact::Source) -> Self {
        match source {
            impact::Source::Start(place) => Self::Start(place),
            impact::Source::Affected(place) => Self::Affected(place),
        }
    }
}

/// What limits cut off an impact. The numbers follow from relations that were read by then, and nobody looked at what these
/// name: some of it may not hold any more, and there may be more, since nothing is read to count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImpactCut {
    /// Nodes that relations name and that are not told of, since there were enough.
    pub nodes: u64,
    /// Nodes at the greatest depth whose relations name more.
    pub depth: u64,
    /// Whether so many relations were read that no further ones were: 100,000, or 10,000 for what a save or a proposal means.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relations: bool,
    /// Whether time ran out.
    pub time: bool,
}

impl From<impact::Cut> for ImpactCut {
    fn from(cut: impact::Cut) -> Self {
        Self {
            nodes: cut.nodes,
            depth: cut.depth,
            relations: cut.relations,
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

impl Impact {
    /// The relations that lead to the affected node at `place`, from what changes on; none where there is no such node.
    #[must_use]
    pub fn path(&self, place: usize) -> Vec<&Edge> {
        let mut path = Vec::new();
        let mut at = self.affected.get(place);
        let mut place = place;
        while let Some(affected) = at {
            path.push(&affected.by);
            at = match affected.from {
                // Whatever an answer holds, this ends: each step leads to an earlier place.
                Reached::Affected(before) if before < place => {
                    place = before;
                    self.affected.get(before)
                }
                Reached::Affected(_) | Reached::Start(_) => None,
            };
        }
        path.reverse();
        path
    }
}

impl From<impact::Impact> for Impact {
    fn from(found: impact::Impact) -> Self {
        // Paths of all of them would say some relations thousands of times.
        let path = |place: usize| -> Vec<Edge> {
            if place >= PATHS_MAX {
                return Vec::new();
            }
            let path = found.path(place).into_iter().cloned();
            path.map(Edge::from).collect()
        };
        let paths: Vec<Vec<Edge>> = (0..found.affected.len()).map(path).collect();
        let affected = found.affected.into_iter().zip(paths);
        let affected = affected.map(|(one, path)| Affected {
            node: one.node,
            depth: one.depth,
            title: one.title,
            rank: one.rank,
            from: one.from.into(),
            by: one.by.into(),
            path,
        });
        Self {
            affected: affected.collect(),
            cut: found.cut.map(Into::into),
            start: found.start,
        }
    }
}

/// A decision of rank `axis` or `lock` that is touched: the one that is changed, withdrawn or restored itself, or one that is
/// affected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Guard {
    /// The decision.
    #[schema(value_type = schema::Node)]
    pub node: Node,
    /// Its rank; of the one that is changed, the rank that it had before.
    #[schema(value_type = schema::Rank)]
    pub rank: Rank,
    /// What it says, in a line; of the one that is changed, what it said before.
    pub title: String,
    /// Its place among what is affected, from 0: how it is reached stands there. Absent of the one that is changed, to which no
    /// path leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected: Option<usize>,
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
    /// Decisions of rank `axis` or `lock` that it touches: first the one that is changed, where it was one before, also where
    /// nothing depends on it, then those among what was reached. Of what one node leads to there is room for them, and for
    /// what that node itself is related to, before other decisions. They are looked for there alone: where `impact.cut` is
    /// told, be it of nodes, of depth or of `relations`, guards may be missing that lie behind that place.
    pub guards: Vec<Guard>,
    /// Decisions that contradict it, those of the widest scope first, and of one scope by their roots; of each scope, of which
    /// there are at most four, the first 64. They stop nothing.
    pub contradictions: Vec<Contradiction>,
    /// Whether there may be more of them in a scope: there is room for no more of it (64), it has more decisions with that key
    /// than are looked at (10,000), or more than are read (256; those alone are that contradict it, and those that an
    /// earlier build saved, whose rows do not tell their values). No scope takes the room of another. Then that none is told does not
    /// mean that there is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contradictions_cut: bool,
    /// Its domain, where no other decision that holds in its scope or in those above is of that: a name that is misspelt shows by
    /// this. It stops nothing. Absent where another one is, and of `global`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Domain>)]
    pub new_domain: Option<Domain>,
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
        let contradictions = proposed.contradictions.told.into_iter();
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
            contradictions_cut: proposed.contradictions.cut,
            new_domain: proposed.new_domain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of so many files, each reached from the one before it.
    fn chain(length: usize) -> impact::Impact {
        let node = |number: usize| Node::file(&format!("src/{number}.rs")).unwrap();
        let affected = (0..length).map(|place| impact::Affected {
            node: node(place + 1),
            depth: u32::try_from(place + 1).unwrap(),
            from: match place.checked_sub(1) {
                None => impact::Source::Start(0),
                Some(before) => impact::Source::Affected(before),
            },
            by: decision::Edge {
                from: node(place),
                kind: decision::RelationKind::Constrains,
                to: node(place + 1),
            },
            title: None,
            rank: None,
        });
        impact::Impact {
            start: vec![node(0)],
            affected: affected.collect(),
            cut: None,
        }
    }

    #[test]
    fn each_node_tells_the_step_to_it_and_the_first_ones_the_whole_path() {
        let found = chain(PATHS_MAX + 1);
        let told = Impact::from(found.clone());
        for (place, one) in told.affected.iter().enumerate() {
            let path: Vec<Edge> = found
                .path(place)
                .into_iter()
                .cloned()
                .map(Edge::from)
                .collect();
            assert_eq!(path.last(), Some(&one.by));
            assert!(told.path(place).into_iter().eq(&path), "{place}");
            let written = if place < PATHS_MAX { path } else { Vec::new() };
            assert_eq!(one.path, written, "{place}");
        }
        let json = serde_json::to_value(&told).unwrap();
        let first = &json["affected"][0];
        assert_eq!(first["from"], serde_json::json!({ "start": 0 }));
        let last = &json["affected"][PATHS_MAX];
        assert_eq!(
            last["from"],
            serde_json::json!({ "affected": PATHS_MAX - 1 })
        );
        assert_eq!(last.get("path"), None);
        assert_eq!(serde_json::from_value::<Impact>(json).unwrap(), told);
    }

    #[test]
    fn that_more_may_contradict_is_told_and_that_all_is_told_is_not() {
        for cut in [false, true] {
            let contradictions = decision::Contradictions {
                told: Vec::new(),
                cut,
            };
            let means = decision::Proposed::of(None, chain(1), contradictions, None);
            let json = serde_json::to_value(Proposed::from(means)).unwrap();
            let told = json.get("contradictions_cut");
            assert_eq!(told, cut.then_some(&serde_json::json!(true)));
        }
    }

    #[test]
    fn a_path_through_an_answer_that_leads_in_a_circle_ends() {
        let mut odd = Impact::from(chain(3));
        odd.affected[0].from = Reached::Affected(2);
        assert_eq!(odd.path(2).len(), 3);
        odd.affected[2].from = Reached::Affected(9);
        assert_eq!(odd.path(2).len(), 1);
        assert!(odd.path(3).is_empty());
    }
}
