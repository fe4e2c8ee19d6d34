//! What must hold of what somebody was told that a change reaches.
//!
//! Owns the comparison with one point of what was committed, of an impact and of the references of a brief: how each is
//! reached, and which are told of where there is no room for all. What is reached there, `naive` says.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::decision::{Edge, Node, Rank};

use super::super::asked::Reached;
use super::super::naive::{Look, carries};
use super::super::view::View;

/// What is wrong about an impact with limits of nodes and of depth, if anything: what is told is all, or as much as there is
/// room for, and that there is more is told where it is so and nowhere else. A decision that does not hold counts among the
/// nodes: that nothing is to be told of it is found out once it has its place.
pub(super) fn wrong_impact(
    view: &View<'_>,
    (look, start): (Look<'_>, &[Node]),
    (nodes_max, depth_max): (usize, u32),
    (told, is_cut): (&[Reached], bool),
) -> Option<String> {
    let found = view.closure(look, start, depth_max);
    let references: Vec<&Reached> = told.iter().collect();
    let wrong = wrong_reach(view, (look, start), &found.nodes, &references);
    if wrong.is_some() {
        return wrong;
    }
    let (all, ended) = (found.nodes.len(), found.ended.len());
    let most = all.min(nodes_max);
    let least = all.min(nodes_max.saturating_sub(ended));
    if !(least..=most).contains(&told.len()) {
        let told = told.len();
        return Some(format!(
            "{told} nodes are told of {all}, with room for {nodes_max}"
        ));
    }
    let is_full = all + ended > nodes_max;
    if is_cut != (is_full || found.leads_on) {
        return Some(format!("that it goes on is said to be {is_cut}"));
    }
    let choice = Choice::of(view, (look, start), &found.nodes, told)?;
    choice.wrong(nodes_max)
}

/// Whether an impact that is right shows which nodes there is room for first: of what one node leads to, some are told of and
/// some left out, and some come before others.
pub(super) fn shows_choice(
    view: &View<'_>,
    (look, start): (Look<'_>, &[Node]),
    depth_max: u32,
    told: &[Reached],
) -> bool {
    let found = view.closure(look, start, depth_max);
    let choice = Choice::of(view, (look, start), &found.nodes, told);
    choice.is_some_and(|choice| choice.is_between_both())
}

/// What an impact tells of and what it leaves out, where it leaves out something that is reached. What is left out is left out
/// from one node on; of what that one leads to, an axis, a lock and what it itself is related to come before all others.
struct Choice<'a> {
    /// The relations between what is seen.
    edges: BTreeSet<Edge>,
    /// The relations to decisions that do not hold.
    dead_ends: BTreeSet<Edge>,
    /// The nodes in the order in which it is looked what they lead to, and whether the impact begins with them.
    sources: Vec<(&'a Node, bool)>,
    /// The place of the first of them that leads to something that is left out.
    from: usize,
    /// What is told of, each with the place of the node that its path comes from.
    told: Vec<(&'a Node, Option<usize>)>,
    left_out: Vec<&'a Node>,
    /// The axes and locks that are reached.
    guarded: BTreeSet<&'a Node>,
}

impl<'a> Choice<'a> {
    /// None where all that is reached is told of. What is told of has to be reached as it says, the nearest first.
    fn of(
        view: &View<'_>,
        (look, start): (Look<'_>, &'a [Node]),
        reached: &'a BTreeMap<Node, u32>,
        told: &'a [Reached],
    ) -> Option<Self> {
        let known: BTreeSet<&Node> = told.iter().map(|one| &one.node).collect();
        let is_left_out = |node: &&Node| !known.contains(*node);
        let left_out: Vec<&Node> = reached.keys().filter(is_left_out).collect();
        if left_out.is_empty() {
            return None;
        }
        let edges = view.edges(look);
        let starts = start.iter().map(|node| (node, true));
        let further = told.iter().map(|one| (&one.node, false));
        let sources: Vec<(&Node, bool)> = starts.chain(further).collect();
        let leads_out = |source: &(&Node, bool)| {
            let mut left_out = left_out.iter();
            left_out.any(|node| leads_to(&edges, *source, node))
        };
        let from = sources.iter().position(leads_out);
        let from = from.expect("what is nearest of it lies right behind the start or what is told");
        let told = told.iter().map(|one| {
            let before = before(one);
            let place = sources.iter().position(|(node, _)| Some(*node) == before);
            (&one.node, place)
        });
        let guarded = reached.keys().filter(|node| {
            let text = view.seen(look.by, node);
            text.is_some_and(|text| [Rank::Axis, Rank::Lock].contains(&text.rank))
        });
        Some(Self {
            dead_ends: view.dead_ends(look),
            from,
            told: told.collect(),
            guarded: guarded.collect(),
            edges,
            sources,
            left_out,
        })
    }

    /// What is wrong about it, if anything, with room for so many nodes. Where nothing is left for what stands, decisions that do
    /// not hold have taken all of the room: what leads to them is related to them itself, so they come first.
    fn wrong(&self, nodes_max: usize) -> Option<String> {
        let (source, _) = self.sources[self.from];
        let behind = |one: &&(&Node, Option<usize>)| one.1.is_some_and(|place| place > self.from);
        if let Some((node, _)) = self.told.iter().find(behind) {
            return Some(format!(
                "what lies behind {source} is left out, and {node} is told of"
            ));
        }
        let other = self.told_from().find(|node| !self.comes_first(node));
        let mut left_out = self.left_out.iter();
        let first = left_out.find(|node| self.comes_first(node));
        if let (Some(first), Some(other)) = (first, other) {
            return Some(format!("{first} is left out, and {other} is told of"));
        }
        // Where nothing is told of that comes behind them, they may be what there was no room for.
        let most = self.ended_behind(self.from + 1);
        let least = if other.is_some() { most } else { 0 };
        let told = self.told.len();
        let fits = told + least <= nodes_max && nodes_max <= told + most;
        (!fits).then(|| {
            format!(
                "what lies behind {source} is left out, with {told} nodes told of, {least} to {most} \
                 that do not hold, and room for {nodes_max}"
            )
        })
    }

    /// Whether something that comes first and something else lie behind the node from which on nodes are left out, and some of
    /// that is told of.
    fn is_between_both(&self) -> bool {
        let source = self.sources[self.from];
        let left_out = self.left_out.iter().copied();
        let left_out = left_out.filter(|node| leads_to(&self.edges, source, node));
        let all: Vec<&Node> = self.told_from().chain(left_out).collect();
        let first = all.iter().filter(|node| self.comes_first(node)).count();
        (1..all.len()).contains(&first) && self.told_from().next().is_some()
    }

    /// What is told of right behind the node from which on nodes are left out.
    fn told_from(&self) -> impl Iterator<Item = &'a Node> {
        let from = Some(self.from);
        let told = self.told.iter().filter(move |(_, place)| *place == from);
        told.map(|(node, _)| *node)
    }

    /// Whether there is room for a node before there is for others that the same one leads to: for what is guarded, and for what
    /// that one itself is related to.
    fn comes_first(&self, to: &Node) -> bool {
        let source = self.sources[self.from];
        let mut own = self.edges.iter().filter(|edge| edge.from == *source.0);
        let is_guarded = self.guarded.contains(to) && leads_to(&self.edges, source, to);
        is_guarded || own.any(|edge| carries(edge, source.0, source.1).as_ref() == Some(to))
    }

    /// How many decisions that do not hold lie behind the first so many nodes.
    fn ended_behind(&self, count: usize) -> usize {
        let mut ended = BTreeSet::new();
        for (from, starts) in &self.sources[..count] {
            let edges = self.dead_ends.iter();
            ended.extend(edges.filter_map(|edge| carries(edge, from, *starts)));
        }
        ended.len()
    }
}

/// The node that the path to another one comes to before it.
fn before(one: &Reached) -> Option<&Node> {
    let last = one.path.last()?;
    Some(if last.to == one.node {
        &last.from
    } else {
        &last.to
    })
}

/// Whether a change of a node, with which an impact may begin, is carried to another one.
fn leads_to(edges: &BTreeSet<Edge>, (from, starts): (&Node, bool), to: &Node) -> bool {
    let mut edges = edges.iter();
    edges.any(|edge| carries(edge, from, starts).as_ref() == Some(to))
}

/// What is wrong about references to what is reached, as many of them as are told.
pub(super) fn wrong_reach(
    view: &View<'_>,
    (look, start): (Look<'_>, &[Node]),
    reached: &BTreeMap<Node, u32>,
    told: &[&Reached],
) -> Option<String> {
    let edges = view.edges(look);
    let mut known = BTreeSet::new();
    let mut depth = 0;
    for one in told {
        if !known.insert(&one.node) {
            return Some(format!("{} is told of twice", one.node));
        }
        if reached.get(&one.node) != Some(&one.depth) || one.depth < depth {
            let right = reached.get(&one.node);
            return Some(format!("{one:?} is reached at {right:?}, behind {depth}"));
        }
        depth = one.depth;
        let rank = view.seen(look.by, &one.node).map(|text| text.rank);
        let stands = one.path.iter().all(|edge| edges.contains(edge));
        if rank != one.rank || !stands || !leads(start, one) {
            return Some(format!("{one:?} is not how what is of {rank:?} is reached"));
        }
    }
    // What is cut off lies behind what is told.
    let nearer = reached.values().filter(|one| **one < depth).count();
    let told = told.iter().filter(|one| one.depth < depth).count();
    (told != nearer)
        .then(|| format!("{told} nodes are told of {nearer} that are nearer than {depth}"))
}

/// Whether the path to a node leads there from the start, in as many steps as are told.
fn leads(start: &[Node], one: &Reached) -> bool {
    let Some((first, further)) = one.path.split_first() else {
        return false;
    };
    let mut ways = start.iter().filter_map(|from| carries(first, from, true));
    ways.any(|second| {
        let last = further
            .iter()
            .try_fold(second, |at, edge| carries(edge, &at, false));
        last.as_ref() == Some(&one.node) && one.path.len() as u64 == u64::from(one.depth)
    })
}

#[cfg(test)]
mod tests;
