//! What a node leads to, until it is told of.
//!
//! Owns which of several relations to one node counts, and for which nodes there is room before others. It must not know
//! which relations carry a change.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::decision::{DecisionName, Edge, Node};

/// How a node is reached.
#[derive(Debug)]
pub(super) struct Way {
    /// By which relation.
    pub(super) by: Edge,
    /// What it is called, where a relation said so.
    pub(super) name: Option<DecisionName>,
}

/// Nodes that another one leads to, each with the first relation to it. They are boxed, as a map of thousands moves its values
/// about.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// Axes and locks, as far as relations say so, and what a decision itself is related to, whose rank is not known yet. For
    /// those there is room before all others.
    first: BTreeMap<Node, Box<Way>>,
    others: BTreeMap<Node, Box<Way>>,
}

impl Ways {
    pub(super) fn len(&self) -> usize {
        self.first.len() + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a way to a node. Of several to the same one, the first counts; it is among the first if one of them is.
    pub(super) fn add(&mut self, to: Node, mut way: Box<Way>, is_first: bool) {
        if is_first && let Some(known) = self.others.remove(&to) {
            way.join(*known);
        }
        let side = if is_first || self.first.contains_key(&to) {
            &mut self.first
        } else {
            &mut self.others
        };
        match side.entry(to) {
            Entry::Occupied(known) => known.into_mut().join(*way),
            Entry::Vacant(free) => drop(free.insert(way)),
        }
    }

    /// Forgets the last one.
    pub(super) fn forget_last(&mut self) {
        if self.others.pop_last().is_none() {
            self.first.pop_last();
        }
    }

    /// As many as there is room for, in the order of their nodes.
    pub(super) fn into_room(self, room: usize) -> Vec<(Node, Box<Way>)> {
        let both = self.first.into_iter().chain(self.others);
        let mut taken: Vec<(Node, Box<Way>)> = both.take(room).collect();
        taken.sort_by(|(a, _), (b, _)| a.cmp(b));
        taken
    }
}

impl Way {
    /// Takes over what another way to the same node says.
    fn join(&mut self, other: Self) {
        if (other.by.kind, &other.by.from) < (self.by.kind, &self.by.from) {
            self.by = other.by;
        }
        self.name = self.name.take().or(other.name);
    }
}
