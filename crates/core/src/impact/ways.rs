//! What a node leads to, until it is told of.
//!
//! Owns which of several relations to one node counts, and for which nodes there is room before others. It must not know
//! which relations carry a change.

use crate::decision::{DecisionName, Edge, Node};
use crate::limits::IMPACT_NODES_MAX;

/// How a node is reached.
#[derive(Debug)]
pub(super) struct Way {
    /// By which relation.
    pub(super) by: Edge,
    /// Whether it is the node that the relation leads to, and not the decision that has the relation.
    pub(super) is_on: bool,
    /// What it is called, where a relation said so.
    pub(super) name: Option<DecisionName>,
    /// Whether there is room for it before others: an axis or a lock, as far as a relation says so, and what a decision itself is
    /// related to, whose rank is not known yet.
    pub(super) is_first: bool,
}

/// Nodes that another one leads to. Thousands of relations come as they are read, most often in the order of their decisions, so
/// they are put in order when there are too many and at the end, and not one by one.
#[derive(Debug, Default)]
pub(super) struct Ways(Vec<Way>);

impl Ways {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a way. Of too many nodes, those are kept that fill what room there is and the count of what is left out.
    pub(super) fn add(&mut self, way: Way, room: usize) {
        self.0.push(way);
        let most = counted(room);
        if self.0.len() > most.saturating_add(IMPACT_NODES_MAX) {
            self.settle(most);
        }
    }

    /// The ways to as many nodes as there is room for, one to each and in the order of their nodes, and how many further nodes
    /// there are, as far as these are counted.
    pub(super) fn into_room(mut self, room: usize) -> (Vec<Way>, usize) {
        self.settle(counted(room));
        let further = self.0.len().saturating_sub(room);
        self.keep(room);
        (self.0, further)
    }

    /// Puts at most so many nodes in order. Of several ways to the same one, the first relation counts.
    fn settle(&mut self, most: usize) {
        self.0.sort_by(|a, b| a.to().cmp(b.to()));
        self.0.dedup_by(|way, known| {
            let is_known = way.to() == known.to();
            if is_known {
                known.join(way);
            }
            is_known
        });
        self.keep(most);
    }

    /// Forgets the last ones, where there are more.
    fn keep(&mut self, most: usize) {
        if self.0.len() <= most {
            return;
        }
        let mut first = self.0.iter().filter(|way| way.is_first).count().min(most);
        let mut others = most - first;
        self.0.retain(|way| {
            let left = if way.is_first {
                &mut first
            } else {
                &mut others
            };
            let is_kept = *left > 0;
            *left -= usize::from(is_kept);
            is_kept
        });
    }
}

/// Nodes that are kept where there is room for so many: further ones are counted.
const fn counted(room: usize) -> usize {
    room.saturating_add(IMPACT_NODES_MAX)
}

impl Way {
    /// The node.
    pub(super) const fn to(&self) -> &Node {
        if self.is_on {
            &self.by.to
        } else {
            &self.by.from
        }
    }

    /// Takes over what another way to the same node says.
    fn join(&mut self, other: &mut Self) {
        if (&other.by.kind, &other.by.from) < (&self.by.kind, &self.by.from) {
            core::mem::swap(&mut self.by, &mut other.by);
            self.is_on = other.is_on;
        }
        self.name = self.name.take().or_else(|| other.name.take());
        self.is_first |= other.is_first;
    }
}
