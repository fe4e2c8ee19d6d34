//! The walk itself: which node is looked at next, and what it leads to.
//!
//! Owns the direction in which a relation carries a change, the order of nodes, and where a walk ends. It must not know
//! how nodes are read: it is told of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Affected, Cut, Impact, ImpactLimits, Source};
use crate::decision::{Edge, Node, Rank, RelationKind};
use crate::id::DecisionId;
use crate::limits::IMPACT_NODES_MAX;
use crate::scope::Scope;

/// What is known of a node that is looked at. Relations that the asker does not see are left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its own relations, if it is an active decision.
    pub out: Vec<Edge>,
    /// The relations of active decisions to it. Those that carry a change back matter alone: that something depends on it,
    /// that something is related to it by a declared kind which reaches back, and for a file, a symbol or evidence of the
    /// start that something applies to it or rests on it.
    pub into: Vec<Edge>,
    /// Its title, if it is a decision.
    pub title: Option<String>,
    /// Its rank, if it is a decision.
    pub rank: Option<Rank>,
}

/// A walk over relations, from the nodes that change. It reads nothing itself:
///
/// ```text
/// while let Some(node) = walk.next() {
///     match read(&node) {
///         Some(seen) => walk.seen(&node, seen),
///         None => walk.gone(&node),
///     }
/// }
/// let impact = walk.finish();
/// ```
///
/// Each node is asked for once, so it ends on a cycle, and takes time by the number of relations that it is told of. It
/// keeps at most `nodes_max` nodes, and about as many names again as [`Cut::nodes`] counts. The order of the relations of
/// a node does not matter: the same relations give the same impact.
#[derive(Debug)]
pub struct Walk {
    limits: ImpactLimits,
    start: Vec<Node>,
    affected: Vec<Affected>,
    /// Every node of the two.
    known: Known,
    /// Nodes that were reached when there were enough.
    left_out: Known,
    /// What the node that is told of leads to and that is not known yet, each with the first relation to it.
    ways: BTreeMap<Node, Edge>,
    /// Places in `affected` of decisions that do not hold.
    gone: BTreeSet<usize>,
    /// How many of the start nodes, and behind them of the affected ones, were asked for or need not be.
    asked: usize,
    /// Places of those that were asked for and not told of yet.
    waiting: VecDeque<Source>,
    /// Nodes at the greatest depth that lead on.
    deep: u64,
    stopped: bool,
}

impl Walk {
    /// A walk from the nodes that change. One that is given twice counts once.
    #[must_use]
    pub fn new(start: Vec<Node>, limits: ImpactLimits) -> Self {
        let mut known = Known::default();
        let start = start.into_iter().filter(|node| known.add(node)).collect();
        Self {
            limits,
            start,
            affected: Vec::new(),
            known,
            left_out: Known::default(),
            ways: BTreeMap::new(),
            gone: BTreeSet::new(),
            asked: 0,
            waiting: VecDeque::new(),
            deep: 0,
            stopped: false,
        }
    }

    /// The node that is to be looked at next: every node of the start, then every decision that was reached. Files and
    /// symbols that were merely reached lead nowhere, so there is nothing to look at; evidence is never reached.
    ///
    /// Further ones may be asked for before the first is told of, to read several at once; then none means that there is
    /// none yet.
    #[expect(
        clippy::should_implement_trait,
        reason = "what comes next depends on what is told in between"
    )]
    pub fn next(&mut self) -> Option<Node> {
        let source = self.upcoming()?;
        self.asked += 1;
        self.waiting.push_back(source);
        Some(self.node(source).clone())
    }

    /// Tells some of the relations of a node that was asked for; [`Self::seen`] then tells the rest of them. So a node that
    /// a million decisions depend on need not be held in memory whole.
    ///
    /// # Panics
    /// As [`Self::seen`].
    pub fn part(&mut self, node: &Node, edges: &[Edge]) {
        let source = self.awaited(node);
        let starts = matches!(source, Source::Start(_));
        for edge in edges {
            let to = if carries_on(edge.kind) && edge.from == *node {
                &edge.to
            } else if carries_back(edge.kind, starts) && edge.to == *node {
                &edge.from
            } else {
                continue;
            };
            if !self.known.holds(to) {
                self.gather(to, edge);
            }
        }
    }

    /// Tells what is known of a node that was asked for.
    ///
    /// # Panics
    /// When nodes are told of in another order than they were asked for in: the impact would depend on it.
    pub fn seen(&mut self, node: &Node, seen: Seen) {
        self.part(node, &seen.out);
        self.part(node, &seen.into);
        let source = self.answered(node);
        let ways = core::mem::take(&mut self.ways);
        let depth = match source {
            Source::Start(_) => 0,
            Source::Affected(index) => {
                let affected = &mut self.affected[index];
                (affected.title, affected.rank) = (seen.title, seen.rank);
                affected.depth
            }
        };
        if depth < self.limits.depth_max {
            self.reach(source, depth + 1, ways);
        } else if !ways.is_empty() {
            self.deep += 1;
        }
    }

    /// Tells that a node that was asked for is a decision that does not hold: one that was withdrawn, or that is not
    /// there. Nothing affects it, and it affects nothing. It counts among the nodes that a walk goes to.
    ///
    /// # Panics
    /// As [`Self::seen`].
    pub fn gone(&mut self, node: &Node) {
        let source = self.answered(node);
        self.ways.clear();
        if let Source::Affected(index) = source {
            self.gone.insert(index);
        }
    }

    /// Ends the walk where it is, since the time ran out. Where all was looked at, nothing is cut.
    pub fn stop_for_time(&mut self) {
        self.stopped |= !self.waiting.is_empty() || self.upcoming().is_some();
    }

    /// What was found.
    #[must_use]
    pub fn finish(self) -> Impact {
        let cut = Cut {
            nodes: self.left_out.len() as u64,
            depth: self.deep,
            time: self.stopped,
        };
        let mut places = Vec::with_capacity(self.affected.len());
        let mut affected: Vec<Affected> = Vec::with_capacity(self.affected.len());
        for (index, mut one) in self.affected.into_iter().enumerate() {
            places.push(affected.len());
            if self.gone.contains(&index) {
                continue;
            }
            if let Source::Affected(before) = one.from {
                // What does not hold led nowhere, so that one is still there.
                one.from = Source::Affected(places[before]);
            }
            affected.push(one);
        }
        Impact {
            start: self.start,
            affected,
            cut: (cut != Cut::default()).then_some(cut),
        }
    }

    /// The place of the next node to look at.
    fn upcoming(&mut self) -> Option<Source> {
        if self.stopped {
            return None;
        }
        if self.asked < self.start.len() {
            return Some(Source::Start(self.asked));
        }
        loop {
            let index = self.asked - self.start.len();
            if self.affected.get(index)?.node.is_decision() {
                return Some(Source::Affected(index));
            }
            self.asked += 1;
        }
    }

    /// The place of the node that is told of.
    fn awaited(&self, node: &Node) -> Source {
        let source = self.waiting.front().copied();
        let source = source.expect("a node is told of once, after it was asked for");
        assert!(
            self.node(source) == node,
            "nodes are told of in the order in which they were asked for"
        );
        source
    }

    /// The same, and no more is told of it.
    fn answered(&mut self, node: &Node) -> Source {
        let source = self.awaited(node);
        self.waiting.pop_front();
        source
    }

    fn node(&self, source: Source) -> &Node {
        match source {
            Source::Start(index) => &self.start[index],
            Source::Affected(index) => &self.affected[index].node,
        }
    }

    /// Adds a way to a node. Of several to the same one, the first counts; of too many nodes, the first that fill what room
    /// there is and the count of what is left out.
    fn gather(&mut self, to: &Node, by: &Edge) {
        match self.ways.get_mut(to) {
            Some(known) if (by.kind, &by.from) < (known.kind, &known.from) => *known = by.clone(),
            Some(_) => {}
            None => {
                self.ways.insert(to.clone(), by.clone());
                let room = self.limits.nodes_max.saturating_sub(self.affected.len());
                if self.ways.len() > room.saturating_add(IMPACT_NODES_MAX) {
                    self.ways.pop_last();
                }
            }
        }
    }

    /// Adds what was reached in one step, as much as there is room for.
    fn reach(&mut self, from: Source, depth: u32, ways: BTreeMap<Node, Edge>) {
        for (node, by) in ways {
            if self.affected.len() < self.limits.nodes_max {
                self.known.add(&node);
                self.affected.push(Affected {
                    node,
                    depth,
                    from,
                    by,
                    title: None,
                    rank: None,
                });
            } else if self.left_out.len() < IMPACT_NODES_MAX {
                self.left_out.add(&node);
            }
        }
    }
}

/// Whether a change of a decision affects what its relation of this kind leads to.
const fn carries_on(kind: RelationKind) -> bool {
    match kind {
        RelationKind::Constrains | RelationKind::Validates | RelationKind::AppliesTo => true,
        // What rests on evidence does not change it.
        RelationKind::DependsOn | RelationKind::RestsOn => false,
        RelationKind::Declared(kind) => kind.reach.carries_on(),
    }
}

/// Whether a change of what a relation of this kind leads to affects the decision that has it.
const fn carries_back(kind: RelationKind, from_the_start: bool) -> bool {
    match kind {
        RelationKind::DependsOn => true,
        RelationKind::AppliesTo | RelationKind::RestsOn => from_the_start,
        RelationKind::Constrains | RelationKind::Validates => false,
        RelationKind::Declared(kind) => kind.reach.carries_back(),
    }
}

/// Nodes that were met. Decisions are told apart by their roots first, which differ early where the names of scopes begin
/// alike.
#[derive(Debug, Default)]
struct Known {
    decisions: BTreeSet<(DecisionId, Scope)>,
    others: BTreeSet<Node>,
}

impl Known {
    fn holds(&self, node: &Node) -> bool {
        match node {
            Node::Decision { scope, root } => self.decisions.contains(&(*root, scope.clone())),
            Node::File { .. } | Node::Symbol { .. } | Node::Evidence { .. } => {
                self.others.contains(node)
            }
        }
    }

    /// Adds a node; whether it was not there.
    fn add(&mut self, node: &Node) -> bool {
        match node {
            Node::Decision { scope, root } => self.decisions.insert((*root, scope.clone())),
            Node::File { .. } | Node::Symbol { .. } | Node::Evidence { .. } => {
                self.others.insert(node.clone())
            }
        }
    }

    fn len(&self) -> usize {
        self.decisions.len() + self.others.len()
    }
}
