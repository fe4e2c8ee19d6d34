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
    wrong_choice(view, (look, start), &found.nodes, told)
}

/// What is wrong about which nodes an impact tells of that has no room for all, if anything. What is left out is left out from
/// one node on; of what that one leads to, an axis, a lock and what it is related to itself come before all others.
fn wrong_choice(
    view: &View<'_>,
    (look, start): (Look<'_>, &[Node]),
    reached: &BTreeMap<Node, u32>,
    told: &[Reached],
) -> Option<String> {
    let known: BTreeSet<&Node> = told.iter().map(|one| &one.node).collect();
    let left_out: Vec<&Node> = reached
        .keys()
        .filter(|node| !known.contains(node))
        .collect();
    if left_out.is_empty() {
        return None;
    }
    let edges = view.edges(look);
    let is_guarded = |node: &Node| {
        let text = view.seen(look.by, node);
        text.is_some_and(|text| [Rank::Axis, Rank::Lock].contains(&text.rank))
    };
    let starts = start.iter().map(|node| (node, true));
    let further = told.iter().map(|one| (&one.node, false));
    let sources: Vec<(&Node, bool)> = starts.chain(further).collect();
    let place = |one: &Reached| {
        let from = before(one)?;
        sources.iter().position(|(node, _)| *node == from)
    };
    let last = told.iter().filter_map(place).max()?;
    let of_last = told.iter().filter(|one| place(one) == Some(last));
    let mut others = of_last.map(|one| &one.node);
    let other = others.find(|&node| !comes_first(&edges, sources[last], (node, is_guarded(node))));
    for node in left_out {
        let mut earlier = sources[..last].iter();
        if let Some((from, _)) = earlier.find(|from| leads_to(&edges, **from, node)) {
            return Some(format!(
                "{node} is left out, and what lies behind {from} is told of"
            ));
        }
        let is_first = comes_first(&edges, sources[last], (node, is_guarded(node)));
        if let Some(other) = other.filter(|_| is_first) {
            return Some(format!("{node} is left out, and {other} is told of"));
        }
    }
    None
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

/// Whether there is room for what a node leads to before there is for others: for what is guarded, and for what the node is
/// related to itself.
fn comes_first(
    edges: &BTreeSet<Edge>,
    (from, starts): (&Node, bool),
    (to, is_guarded): (&Node, bool),
) -> bool {
    let mut own = edges.iter().filter(|edge| edge.from == *from);
    let leads = is_guarded && leads_to(edges, (from, starts), to);
    leads || own.any(|edge| carries(edge, from, starts).as_ref() == Some(to))
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
