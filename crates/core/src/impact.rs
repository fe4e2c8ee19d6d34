//! The blast radius of a change: what is affected by it, along declared relations only.
//!
//! Owns in which direction a relation carries a change, in which order nodes are looked at, and where that ends. It must
//! not know how nodes and relations are stored, who may see them, or what texts are alike: whoever drives a [`Walk`]
//! tells it of one node after the other, and leaves out what the asker does not see.
//!
//! A change of X affects Y where X constrains, validates or applies to Y, and where Y depends on X. What applies to a file
//! or a symbol is affected by it only where the walk starts there: a file that is merely reached ends its path, or else two
//! decisions that speak of the same file would affect one another. What rests on evidence is affected by it where the walk
//! starts there, and never affects it: no decision changes its evidence. Over a relation whose kind is declared, a change goes
//! the ways that its declaration says.

use serde::{Deserialize, Serialize};

use crate::decision::{Edge, Node, Rank};
use crate::error::{Error, ErrorCode};
use crate::limits::{IMPACT_DEPTH_MAX, IMPACT_NODES_MAX, IMPACT_RELATIONS_MAX};

mod walk;
mod ways;

pub use walk::{Seen, Walk};

/// How far a walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImpactLimits {
    /// At most so many affected nodes.
    pub nodes_max: usize,
    /// At most so many relations between the start and an affected node.
    pub depth_max: u32,
    /// At most so many relations that are read to find out what leads to them.
    pub relations_max: usize,
}

impl Default for ImpactLimits {
    fn default() -> Self {
        Self {
            nodes_max: IMPACT_NODES_MAX,
            depth_max: IMPACT_DEPTH_MAX,
            relations_max: IMPACT_RELATIONS_MAX,
        }
    }
}

impl ImpactLimits {
    /// What an asker wants; the most that is taken where nothing is said.
    ///
    /// # Errors
    /// `invalid_argument` for 0, `too_large` for more than the limits allow.
    pub fn of(nodes_max: Option<usize>, depth_max: Option<u32>) -> Result<Self, Error> {
        let most = Self::default();
        let wanted = Self {
            nodes_max: nodes_max.unwrap_or(most.nodes_max),
            depth_max: depth_max.unwrap_or(most.depth_max),
            relations_max: most.relations_max,
        };
        if wanted.nodes_max == 0 || wanted.depth_max == 0 {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "an impact goes to at least one node, and over at least one relation",
            ));
        }
        if wanted.nodes_max > most.nodes_max {
            return Err(Error::too_large(
                "nodes of an impact",
                most.nodes_max as u64,
                wanted.nodes_max as u64,
            ));
        }
        if wanted.depth_max > most.depth_max {
            return Err(Error::too_large(
                "depth of an impact",
                u64::from(most.depth_max),
                u64::from(wanted.depth_max),
            ));
        }
        Ok(wanted)
    }
}

/// Where a path came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The start node at this place of [`Impact::start`].
    Start(usize),
    /// The affected node at this place of [`Impact::affected`], which is an earlier one.
    Affected(usize),
}

/// A node that a change affects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affected {
    /// The node.
    pub node: Node,
    /// How many relations lie between it and the start, by the shortest path.
    pub depth: u32,
    /// The node before it on its path.
    pub from: Source,
    /// The relation between the two.
    pub by: Edge,
    /// Its title, if it is a decision that was looked at, or whose relation said it.
    pub title: Option<String>,
    /// Its rank, if it is a decision that was looked at, or whose relation said it.
    pub rank: Option<Rank>,
}

/// What a limit cut off. The numbers follow from relations that were read by then, and nobody looked at what these name: some
/// of it may not hold any more, and there may be more, since no relation is read to count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Nodes that relations lead to and that are not told of, since there were enough, each once.
    pub nodes: u64,
    /// Nodes at the greatest depth whose relations lead on to one that is not told of.
    pub depth: u64,
    /// Whether so many relations were read that further ones were not, so that what they lead to is missing.
    pub relations: bool,
    /// Whether the time ran out before every node was looked at.
    pub time: bool,
}

/// What a change affects, in the order in which it was reached: breadth first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impact {
    /// The nodes that change, as they were given, each once.
    pub start: Vec<Node>,
    /// What is affected, each node once and none of the start.
    pub affected: Vec<Affected>,
    /// What was cut off; none when all is told.
    pub cut: Option<Cut>,
}

impl Impact {
    /// The relations that lead from the start to the affected node at `index`, in order; none where there is no such node.
    #[must_use]
    pub fn path(&self, index: usize) -> Vec<&Edge> {
        let mut path = Vec::new();
        let mut at = self.affected.get(index);
        // It ends: what a node was reached from stands before it.
        while let Some(affected) = at {
            path.push(&affected.by);
            at = match affected.from {
                Source::Start(_) => None,
                Source::Affected(before) => self.affected.get(before),
            };
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests;
