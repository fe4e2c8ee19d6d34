//! What a node leads to, until it is told of.
//!
//! Owns which of several relations to one node counts, and for which nodes there is room before others. It must not know
//! which relations carry a change.

#![expect(
    clippy::vec_box,
    reason = "a way has some 200 bytes, and sorting and merging move thousands of them"
)]

use crate::decision::{DecisionName, Edge, Node};
use crate::limits::IMPACT_NODES_MAX;

/// Ways that are not put in order yet. The time of a walk may run out at any of them, and then they are still sorted, and merged
/// with those before.
const FRESH_MAX: usize = 2_048;

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

/// Nodes that another one leads to. Of thousands of relations most come in the order of their decisions, so they are put in
/// order many at once.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// One to each node, in the order of nodes.
    settled: Vec<Box<Way>>,
    /// Those behind, as they were told.
    fresh: Vec<Box<Way>>,
}

impl Ways {
    pub(super) const fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.fresh.is_empty()
    }

    /// Adds a way. Of too many nodes, those are kept that fill what room there is and the count of what is left out.
    pub(super) fn add(&mut self, way: Way, room: usize) {
        self.fresh.push(Box::new(way));
        if self.fresh.len() == FRESH_MAX {
            self.settle(counted(room));
        }
    }

    /// The ways to as many nodes as there is room for, one to each and in the order of their nodes, and how many further nodes
    /// there are, as far as these are counted.
    pub(super) fn into_room(mut self, room: usize) -> (Vec<Box<Way>>, usize) {
        self.settle(counted(room));
        let further = self.settled.len().saturating_sub(room);
        keep(&mut self.settled, room);
        (self.settled, further)
    }

    /// Puts all in order, and keeps at most so many nodes.
    fn settle(&mut self, most: usize) {
        let mut fresh = core::mem::take(&mut self.fresh);
        fresh.sort_by(|a, b| a.to().cmp(b.to()));
        fresh.dedup_by(|way, known| {
            let is_known = way.to() == known.to();
            if is_known {
                known.join(way);
            }
            is_known
        });
        let is_behind = match (self.settled.last(), fresh.first()) {
            (Some(last), Some(first)) => last.to() < first.to(),
            _ => true,
        };
        if is_behind {
            self.settled.append(&mut fresh);
        } else {
            self.settled = merged(core::mem::take(&mut self.settled), fresh);
        }
        keep(&mut self.settled, most);
    }
}

/// Both, each of which is in order.
fn merged(known: Vec<Box<Way>>, fresh: Vec<Box<Way>>) -> Vec<Box<Way>> {
    let mut all = Vec::with_capacity(known.len() + fresh.len());
    let mut fresh = fresh.into_iter().peekable();
    for mut way in known {
        while let Some(before) = fresh.next_if(|one| one.to() < way.to()) {
            all.push(before);
        }
        if let Some(mut same) = fresh.next_if(|one| one.to() == way.to()) {
            way.join(&mut same);
        }
        all.push(way);
    }
    all.extend(fresh);
    all
}

/// Forgets the last ones, where there are more.
fn keep(ways: &mut Vec<Box<Way>>, most: usize) {
    if ways.len() <= most {
        return;
    }
    let mut first = ways.iter().filter(|way| way.is_first).count().min(most);
    let mut others = most - first;
    ways.retain(|way| {
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

    /// Takes over what another way to the same node says. Of several relations, the first counts.
    fn join(&mut self, other: &mut Self) {
        if (&other.by.kind, &other.by.from) < (&self.by.kind, &self.by.from) {
            core::mem::swap(&mut self.by, &mut other.by);
            self.is_on = other.is_on;
        }
        self.name = self.name.take().or_else(|| other.name.take());
        self.is_first |= other.is_first;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::decision::{Rank, RelationKind};

    fn decision(number: u8) -> Node {
        let root = format!("00000000-0000-0000-0000-0000000000{number:02}");
        format!("decision:org/a#{root}").parse().unwrap()
    }

    /// A way from decision 0 to another one.
    fn way((number, kind, is_on, is_named, is_first): (u8, RelationKind, bool, bool, bool)) -> Way {
        let (hub, other) = (decision(0), decision(number));
        let (from, to) = if is_on { (hub, other) } else { (other, hub) };
        Way {
            by: Edge { from, kind, to },
            is_on,
            name: is_named.then(|| DecisionName {
                rank: Rank::Normal,
                title: format!("Decision {number}"),
            }),
            is_first,
        }
    }

    type Told = (Node, Edge, Option<DecisionName>);

    /// Of all ways, one to each node, and those for which there is room.
    fn naive(ways: Vec<Way>, room: usize) -> (Vec<Told>, usize) {
        let mut by_node = BTreeMap::<Node, Vec<Way>>::new();
        for way in ways {
            by_node.entry(way.to().clone()).or_default().push(way);
        }
        let further = by_node.len().saturating_sub(room);
        let (first, others): (Vec<_>, Vec<_>) = by_node
            .into_iter()
            .partition(|(_, ways)| ways.iter().any(|way| way.is_first));
        let taken = first.into_iter().chain(others).take(room);
        let mut told: Vec<Told> = taken
            .map(|(node, ways)| {
                let edges = ways.iter().map(|way| &way.by);
                let edge = edges.min_by_key(|edge| (edge.kind, edge.from.clone()));
                let name = ways.iter().find_map(|way| way.name.clone());
                (node, edge.unwrap().clone(), name)
            })
            .collect();
        told.sort_by(|a, b| a.0.cmp(&b.0));
        (told, further)
    }

    fn any_told() -> impl Strategy<Value = Vec<(u8, RelationKind, bool, bool, bool)>> {
        let kinds = proptest::sample::select(RelationKind::BUILT_IN.to_vec());
        let is_first = proptest::bool::weighted(0.2);
        let one = (1u8..12, kinds, any::<bool>(), any::<bool>(), is_first);
        proptest::collection::vec(one, 0..60)
    }

    proptest! {
        #[test]
        fn whenever_ways_are_put_in_order_the_first_relations_to_those_that_come_first_are_kept(
            told in any_told(), settles in proptest::bits::u64::ANY, room in 0usize..14,
        ) {
            let mut ways = Ways::default();
            prop_assert!(ways.is_empty());
            for (at, one) in told.iter().enumerate() {
                ways.add(way(*one), room);
                if (settles >> at) & 1 == 1 {
                    ways.settle(counted(room));
                }
                prop_assert!(!ways.is_empty());
            }
            let (kept, further) = ways.into_room(room);
            let kept = kept.into_iter().map(|way| (way.to().clone(), way.by.clone(), way.name.clone()));
            let kept: Vec<Told> = kept.collect();
            prop_assert_eq!((kept, further), naive(told.into_iter().map(way).collect(), room));
        }

        #[test]
        fn those_that_are_forgotten_in_between_are_none_for_which_there_is_room(
            told in any_told(), settles in proptest::bits::u64::ANY, room in 0usize..14, more in 0usize..3,
        ) {
            let mut ways = Ways::default();
            for (at, one) in told.iter().enumerate() {
                ways.add(way(*one), room);
                if (settles >> at) & 1 == 1 {
                    ways.settle(room + more);
                    prop_assert!(ways.settled.len() <= room + more);
                }
            }
            let (kept, further) = ways.into_room(room);
            let (naive, most) = naive(told.into_iter().map(way).collect(), room);
            prop_assert!(further <= most && (further > 0 || most == 0 || more == 0));
            prop_assert!(kept.iter().map(|way| way.to()).eq(naive.iter().map(|(node, ..)| node)));
        }
    }
}
