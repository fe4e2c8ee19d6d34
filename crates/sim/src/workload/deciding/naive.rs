//! What a brief loads and what a change reaches, found in the plainest way.
//!
//! Owns a second telling of the loading order, of the direction of relations, of who sees what, and of what speaks against a
//! decision or is of its domain: all that stands is sorted by one key, and the reach of a change is widened, one relation at
//! a time, until nothing is added. It shares no code with what nodes do. What anchors lead to, `kept` tells.

mod found;
mod kept;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sillok_core::ErrorCode;
use sillok_core::brief::Layer;
use sillok_core::command::DecisionRef;
use sillok_core::decision::{
    DeclaredKind, Domain, Edge, NewDecision, Node, Rank, Reach, Relation, RelationKind,
};
use sillok_core::entry::Claim;
use sillok_core::id::DecisionId;
use sillok_core::limits::{CONTRADICTIONS_MAX, IMPACT_DEPTH_MAX};
use sillok_core::scope::{Scope, ScopePrefix};

pub(super) use self::found::{Answers, Led, answers, has_word};
pub(super) use self::kept::Anchored;
use super::asked::{Against, Asker};
use super::view::{Chain, View};

/// Who looks, and at what beside what stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    pub(super) by: &'a Asker,
    /// A decision that is looked at whether it holds or not, with relations that it has or would have.
    pub(super) beside: Option<(&'a Node, &'a [Relation])>,
}

impl<'a> Look<'a> {
    /// At what stands alone.
    pub(super) const fn by(by: &'a Asker) -> Self {
        Self { by, beside: None }
    }
}

/// What a change of some nodes reaches.
#[derive(Clone, Debug, Default)]
pub(super) struct Closure {
    /// Each with the number of relations to it.
    pub(super) nodes: BTreeMap<Node, u32>,
    /// Decisions that do not hold, to which a relation leads all the same. Nobody is told of them, and they lead nowhere.
    pub(super) ended: BTreeSet<Node>,
    /// Whether a relation more leads to something else.
    pub(super) leads_on: bool,
}

/// A decision that a brief loads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded<'a> {
    pub(super) layer: Layer,
    pub(super) scope: &'a Scope,
    pub(super) root: DecisionId,
    pub(super) number: u64,
    pub(super) text: &'a NewDecision,
}

/// The layer of a decision; none where its rank and domain have none.
fn layer(rank: Rank, is_global: bool) -> Option<Layer> {
    match (rank, is_global) {
        (Rank::Policy, true) => Some(Layer::Policy),
        (Rank::Policy, false) => None,
        (Rank::Axis, true) => Some(Layer::GlobalAxis),
        (Rank::Axis, false) => Some(Layer::DomainAxis),
        (Rank::Lock, _) => Some(Layer::Lock),
        (Rank::Normal, _) => Some(Layer::Normal),
    }
}

impl<'a> View<'a> {
    /// The decisions that hold for work in a scope and a domain, in the order of loading. The structural layer is not
    /// among them.
    pub(super) fn loaded(&self, scope: &Scope, domain: &Domain) -> Vec<Loaded<'a>> {
        let mut found = Vec::new();
        for (&(holder, root), chain) in &self.chains {
            let Some((number, text)) = chain.active() else {
                continue;
            };
            let is_global = text.domain.is_global();
            if !holder.contains(scope) || !(is_global || text.domain == *domain) {
                continue;
            }
            if let Some(layer) = layer(text.rank, is_global) {
                let wide = Reverse(holder.level());
                let place = (layer, !is_global, wide, chain.begun, root);
                let loaded = Loaded {
                    layer,
                    scope: holder,
                    root,
                    number,
                    text,
                };
                found.push((place, loaded));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, loaded)| loaded).collect()
    }

    /// The decision that a node is, if it holds and whoever asks sees it: what holds where that is asked, around it, or
    /// inside it as far as the token covers it.
    pub(super) fn seen(&self, by: &Asker, node: &Node) -> Option<&'a NewDecision> {
        let Node::Decision { scope, root } = node else {
            return None;
        };
        let chain = self.chains.get(&(scope, *root))?;
        let active = chain.active().filter(|_| is_visible(by, scope));
        active.map(|(_, text)| text)
    }

    /// Whether a node is there, holds and is seen. Files and symbols are names, which anything may have.
    pub(super) fn stands(&self, by: &Asker, node: &Node) -> bool {
        match node {
            Node::Decision { .. } => self.seen(by, node).is_some(),
            Node::Evidence { scope, id } => {
                is_visible(by, scope) && self.evidence.contains_key(&(scope, *id))
            }
            Node::File { .. } | Node::Symbol { .. } => true,
        }
    }

    /// The relations that stand between what is seen.
    pub(super) fn edges(&self, look: Look<'_>) -> BTreeSet<Edge> {
        let own = look.beside.map(|(own, _)| own);
        self.edges_to(look, |to| own == Some(to) || self.stands(look.by, to))
    }

    /// The relations of what is seen to decisions that do not hold, and would be seen if they did.
    pub(super) fn dead_ends(&self, look: Look<'_>) -> BTreeSet<Edge> {
        let own = look.beside.map(|(own, _)| own);
        self.edges_to(look, |to| match to {
            Node::Decision { scope, .. } => {
                own != Some(to) && is_visible(look.by, scope) && !self.stands(look.by, to)
            }
            Node::Evidence { .. } | Node::File { .. } | Node::Symbol { .. } => false,
        })
    }

    /// The relations of what is seen that lead to such nodes.
    fn edges_to(&self, look: Look<'_>, is_such: impl Fn(&Node) -> bool) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for &(holder, root) in self.chains.keys() {
            let from = Node::Decision {
                scope: holder.clone(),
                root,
            };
            let said = self.seen(look.by, &from);
            let said = said.map_or(&[][..], |text| text.relations.as_slice());
            let said = said.iter().filter(|one| is_such(&one.to));
            edges.extend(said.map(|one| one.edge_from(from.clone())));
        }
        if let Some((own, relations)) = look.beside {
            let said = relations.iter().filter(|one| is_such(&one.to));
            edges.extend(said.map(|one| one.edge_from(own.clone())));
        }
        edges
    }

    /// What a change of some nodes reaches, each with the number of relations to it.
    pub(super) fn reached(&self, look: Look<'_>, start: &[Node]) -> BTreeMap<Node, u32> {
        self.closure(look, start, IMPACT_DEPTH_MAX).nodes
    }

    /// The same over so many relations at most, with what lies at its edge.
    pub(super) fn closure(&self, look: Look<'_>, start: &[Node], depth_max: u32) -> Closure {
        let (edges, dead_ends) = (self.edges(look), self.dead_ends(look));
        let mut found = Closure::default();
        let mut last: BTreeSet<Node> = start.iter().cloned().collect();
        for depth in 1..=depth_max {
            let mut next = carried(&edges, &last, depth == 1);
            next.retain(|to| !start.contains(to) && !found.nodes.contains_key(to));
            let mut ended = carried(&dead_ends, &last, depth == 1);
            ended.retain(|to| !start.contains(to));
            found.ended.extend(ended);
            let nodes = next.iter().map(|node| (node.clone(), depth));
            found.nodes.extend(nodes);
            last = next;
        }
        let mut behind = carried(&edges, &last, false);
        behind.extend(carried(&dead_ends, &last, false));
        let is_known = |to: &Node| {
            start.contains(to) || found.nodes.contains_key(to) || found.ended.contains(to)
        };
        found.leads_on = !behind.iter().all(is_known);
        found
    }

    /// The decisions of a scope and those around it that declare the key of a claim with another value, those of the widest
    /// scope first, and of one scope by root. One of the scope itself does not speak against itself.
    pub(super) fn against(
        &self,
        scope: &Scope,
        claim: &Claim,
        besides: Option<DecisionId>,
    ) -> Vec<Against> {
        let mut against = Vec::new();
        for (&(holder, root), chain) in &self.chains {
            let is_itself = holder == scope && besides == Some(root);
            let Some((_, text)) = chain.active() else {
                continue;
            };
            let Some(other) = &text.claim else {
                continue;
            };
            let is_around = lies_in(scope.as_str(), holder.as_str());
            if is_around && !is_itself && other.key == claim.key && other.value != claim.value {
                against.push(Against {
                    scope: holder.clone(),
                    root,
                    rank: text.rank,
                    title: text.title.clone(),
                    claim: other.clone(),
                });
            }
        }
        against.sort_by_key(|one| (Reverse(one.scope.level()), one.root));
        against
    }

    /// Whether a decision of a scope, or of one around it, holds and is of a domain. One of the scope itself does not count for
    /// itself.
    pub(super) fn is_of_others(
        &self,
        scope: &Scope,
        domain: &Domain,
        besides: Option<DecisionId>,
    ) -> bool {
        self.chains.iter().any(|(&(holder, root), chain)| {
            let is_itself = holder == scope && besides == Some(root);
            let is_around = lies_in(scope.as_str(), holder.as_str());
            let active = chain.active().filter(|_| is_around && !is_itself);
            active.is_some_and(|(_, text)| text.domain == *domain)
        })
    }

    /// Why a decision of a scope that says this cannot be saved, if it cannot.
    pub(super) fn refusal(
        &self,
        scope: &Scope,
        change: Option<DecisionRef>,
        text: &NewDecision,
    ) -> Option<ErrorCode> {
        let mut had: &[Relation] = &[];
        if let Some(DecisionRef {
            root,
            expected_version,
        }) = change
        {
            let Some(chain) = self.chains.get(&(scope, root)) else {
                return Some(ErrorCode::NotFound);
            };
            match chain.active() {
                Some((number, said)) if number == expected_version => had = &said.relations,
                _ => return Some(ErrorCode::Conflict),
            }
        }
        let further = text.relations.iter().filter(|one| !had.contains(one));
        let mut refused = further.filter_map(|one| match &one.to {
            _ if !self.is_declared(scope, one.kind) => Some(ErrorCode::InvalidArgument),
            Node::Decision { scope: of, root } => match self.chains.get(&(of, *root)) {
                Some(chain) if lies_in(scope.as_str(), of.as_str()) => {
                    chain.active().is_none().then_some(ErrorCode::Conflict)
                }
                _ => Some(ErrorCode::NotFound),
            },
            Node::Evidence { scope: of, id } => {
                let is_around = lies_in(scope.as_str(), of.as_str());
                let is_there = is_around && self.evidence.contains_key(&(of, *id));
                (!is_there).then_some(ErrorCode::NotFound)
            }
            Node::File { .. } | Node::Symbol { .. } => None,
        });
        refused.next()
    }

    /// Whether a kind is built in, or the nearest scope that declares its name declares it so.
    fn is_declared(&self, scope: &Scope, kind: RelationKind) -> bool {
        let RelationKind::Declared(DeclaredKind { name, reach }) = kind else {
            return true;
        };
        let around = self
            .declared
            .iter()
            .filter(|((of, known), _)| *known == name && lies_in(scope.as_str(), of.as_str()));
        let nearest = around.max_by_key(|((of, _), _)| of.as_str().len());
        nearest.is_some_and(|(_, known)| *known == reach)
    }

    /// What each version of a chain says.
    pub(super) fn versions<'b>(
        &'b self,
        scope: &'b Scope,
        root: DecisionId,
    ) -> &'b [Option<&'a NewDecision>] {
        let chain: Option<&Chain<'a>> = self.chains.get(&(scope, root));
        chain.map_or(&[][..], |chain| chain.versions.as_slice())
    }
}

/// How many of so many references a brief has room for: they take a quarter of the items that its policies leave, and one has
/// room in any case.
pub(super) fn referred(reached: usize, policies: usize, items_max: usize) -> usize {
    (0..reached)
        .filter(|before| *before == 0 || policies + (before + 1) * 4 <= items_max)
        .count()
}

/// Those that are told of what speaks against a claim: the first of each scope, as many as there is room for, however many
/// stand before or behind them.
pub(super) fn told_of(against: &[Against]) -> Vec<&Against> {
    let mut of_scope: BTreeMap<&Scope, usize> = BTreeMap::new();
    let mut told = Vec::new();
    for one in against {
        let before = of_scope.entry(&one.scope).or_default();
        if *before < CONTRADICTIONS_MAX {
            told.push(one);
        }
        *before += 1;
    }
    told
}

/// Whether whoever asks sees what a scope holds.
fn is_visible(by: &Asker, scope: &Scope) -> bool {
    let (at, of) = (by.scope.as_str(), scope.as_str());
    let is_covered = match &by.prefix {
        ScopePrefix::All => true,
        ScopePrefix::Scope(prefix) => lies_in(of, prefix.as_str()),
    };
    lies_in(at, of) || (lies_in(of, at) && is_covered)
}

/// Whether a scope is another one or lies in it, by their names alone.
fn lies_in(inner: &str, outer: &str) -> bool {
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whom a change of one of these nodes reaches over one of these relations.
fn carried(edges: &BTreeSet<Edge>, last: &BTreeSet<Node>, at_the_start: bool) -> BTreeSet<Node> {
    let mut carried = BTreeSet::new();
    for edge in edges {
        let over = last.iter();
        carried.extend(over.filter_map(|from| carries(edge, from, at_the_start)));
    }
    carried
}

/// Whom a change of `from` reaches over a relation, at the start of a walk or later.
pub(super) fn carries(edge: &Edge, from: &Node, at_the_start: bool) -> Option<Node> {
    let (forth, back) = match edge.kind {
        RelationKind::Constrains | RelationKind::Validates => (true, false),
        RelationKind::DependsOn => (false, true),
        // What applies to a file is reached from it only where the file itself is what changes.
        RelationKind::AppliesTo => (true, at_the_start),
        // Evidence changes what rests on it, where it is at hand, and nothing changes evidence.
        RelationKind::RestsOn => (false, at_the_start),
        RelationKind::Declared(kind) => match kind.reach {
            Reach::Forward => (true, false),
            Reach::Backward => (false, true),
            Reach::Both => (true, true),
            Reach::Neither => (false, false),
        },
    };
    if forth && edge.from == *from {
        Some(edge.to.clone())
    } else if back && edge.to == *from {
        Some(edge.from.clone())
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
