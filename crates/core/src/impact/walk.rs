//! The walk itself: which node is looked at next, and what it leads to.
//!
//! Owns the direction in which a relation carries a change, the order of nodes, and where a walk ends. It must not know
//! how nodes are read: it is told of them.

use std::collections::{BTreeSet, VecDeque};

use super::ways::{Way, Ways};
use super::{Affected, Cut, Impact, ImpactLimits, Source};
use crate::decision::{Edge, NamedEdge, Node, Rank, RelationKind};
use crate::id::DecisionId;
use crate::scope::Scope;

/// What is known of a node that is looked at. Relations that the asker does not see are left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its own relations, if it is an active decision.
    pub out: Vec<Edge>,
    /// The relations of active decisions to it. Those that carry a change back matter alone: that something depends on it,
    /// that something is related to it by a declared kind which reaches back, and for a file, a symbol or evidence of the
    /// start that something applies to it or rests on it. What is told of the name of a decision is taken for its name.
    pub into: Vec<NamedEdge>,
    /// Its title, if it is a decision.
    pub title: Option<String>,
    /// Its rank, if it is a decision.
    pub rank: Option<Rank>,
}

/// A walk over relations, from the nodes that change. It reads nothing itself:
///
/// ```text
/// while let Some(node) = walk.next() {
///     // Its relations are worth reading where `walk.wants_relations(&node)`, each while `walk.may_read()`.
///     match read(&node) {
///         Some(seen) => walk.seen(&node, seen),
///         None => walk.gone(&node),
///     }
/// }
/// let impact = walk.finish();
/// ```
///
/// Each node is asked for once, so it ends on a cycle, and takes time by the number of relations that it is told of. It keeps
/// at most `nodes_max` nodes, and of what one node leads to, relations to some 12,000 further ones. The order of the relations
/// of a node does not matter: the same relations give the same impact, and so does a walk that is told of none that it does not
/// want. Whether relations say the names of their decisions decides, where there is not room for all, for which nodes there is:
/// what a decision itself is related to, and an axis or a lock that is related to it, come before what is normal. One thing more
/// may follow from order and names, by which of several relations a node is reached, and only where its neighbour leads to more
/// than [`IMPACT_NODES_MAX`](crate::limits::IMPACT_NODES_MAX) nodes beyond the room. Only the time that runs out leaves a
/// decision without its name whose relations do not say it.
#[derive(Debug)]
pub struct Walk {
    limits: ImpactLimits,
    start: Vec<Node>,
    affected: Vec<Affected>,
    /// Every node of the two.
    known: Known,
    /// How many nodes relations led to when there were enough. None of them was looked at.
    left_out: u64,
    /// What the node that is told of leads to and that is not known yet.
    ways: Ways,
    /// Places in `affected` of decisions that do not hold.
    gone: BTreeSet<usize>,
    /// How many of the start nodes, and behind them of the affected ones, were asked for or need not be.
    asked: usize,
    /// Places of those that were asked for and not told of yet.
    waiting: VecDeque<Source>,
    /// How many nodes at the greatest depth have relations that lead on. Where to was not looked at.
    deep: u64,
    /// Relations that were read.
    read: usize,
    /// Whether one was not, since there were enough.
    unread: bool,
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
            left_out: 0,
            ways: Ways::default(),
            gone: BTreeSet::new(),
            asked: 0,
            waiting: VecDeque::new(),
            deep: 0,
            read: 0,
            unread: false,
            stopped: false,
        }
    }

    /// The node that is to be looked at next: every node of the start, then every decision that was reached. Files and
    /// symbols that were merely reached lead nowhere, so there is nothing to look at; evidence is never reached. Once the walk
    /// is cut, a decision leads nowhere either. One whose relation said its name is passed by then: it holds, or else it would
    /// have no relation.
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

    /// Whether relations lead to more than is told of. Nodes are reached by their depth, so nothing that is reached from
    /// there on is told of either: no relation makes a difference any more, and of nodes only title and rank do, where no
    /// relation said them.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.left_out > 0 || self.deep > 0
    }

    /// Whether it makes a difference to be told of further relations to a node that was asked for. Where there is no more
    /// room, the first way on says that something may be cut, and nothing behind that is looked at. Where enough relations were
    /// read, what decisions say themselves is still followed.
    ///
    /// # Panics
    /// As [`Self::seen`].
    #[must_use]
    pub fn wants_relations(&self, node: &Node) -> bool {
        let source = self.awaited(node);
        !self.unread && !self.is_cut() && (self.has_room(source) || self.ways.is_empty())
    }

    /// Whether a relation of this kind to a node that was asked for carries a change back to the decision that has it.
    ///
    /// # Panics
    /// As [`Self::seen`].
    #[must_use]
    pub fn follows_back(&self, node: &Node, kind: RelationKind) -> bool {
        carries_back(kind, matches!(self.awaited(node), Source::Start(_)))
    }

    /// Whether one more relation may be read, which is counted. Where not, no further one is.
    #[must_use]
    pub const fn may_read(&mut self) -> bool {
        if self.read >= self.limits.relations_max {
            self.unread = true;
            return false;
        }
        self.read += 1;
        true
    }

    /// Tells some of the relations of a node that was asked for; [`Self::seen`] then tells the rest of them. So a node that
    /// a million decisions depend on need not be held in memory whole.
    ///
    /// # Panics
    /// As [`Self::seen`].
    pub fn part<E: Into<NamedEdge>>(&mut self, node: &Node, edges: impl IntoIterator<Item = E>) {
        let source = self.awaited(node);
        if self.is_cut() {
            return;
        }
        let starts = matches!(source, Source::Start(_));
        let room = self.room();
        for told in edges {
            let NamedEdge { edge, name } = told.into();
            let way = if carries_on(edge.kind) && edge.from == *node {
                Way {
                    by: edge,
                    is_on: true,
                    name: None,
                    is_first: true,
                }
            } else if carries_back(edge.kind, starts) && edge.to == *node {
                Way {
                    by: edge,
                    is_on: false,
                    is_first: name.as_ref().is_some_and(|name| name.rank.is_guarded()),
                    name,
                }
            } else {
                continue;
            };
            if !self.known.holds(way.to()) {
                self.ways.add(way, room);
            }
        }
    }

    /// Tells what is known of a node that was asked for.
    ///
    /// # Panics
    /// When nodes are told of in another order than they were asked for in: the impact would depend on it.
    pub fn seen(&mut self, node: &Node, seen: Seen) {
        self.part(node, seen.out);
        self.part(node, seen.into);
        let source = self.answered(node);
        let ways = core::mem::take(&mut self.ways);
        if let Source::Affected(index) = source {
            let affected = &mut self.affected[index];
            (affected.title, affected.rank) = (seen.title, seen.rank);
        }
        let depth = self.depth(source);
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
        self.ways = Ways::default();
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
            nodes: self.left_out,
            depth: self.deep,
            relations: self.unread,
            time: self.stopped,
        };
        let affected = if self.gone.is_empty() {
            self.affected
        } else {
            without(&self.gone, self.affected)
        };
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
            let affected = self.affected.get(index)?;
            let is_named = affected.title.is_some() && affected.rank.is_some();
            if affected.node.is_decision() && !(is_named && self.is_cut()) {
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

    fn depth(&self, source: Source) -> u32 {
        match source {
            Source::Start(_) => 0,
            Source::Affected(index) => self.affected[index].depth,
        }
    }

    /// Whether there is room for what a node leads to.
    fn has_room(&self, source: Source) -> bool {
        self.room() > 0 && self.depth(source) < self.limits.depth_max
    }

    /// How many more nodes there is room for.
    const fn room(&self) -> usize {
        self.limits.nodes_max.saturating_sub(self.affected.len())
    }

    /// Adds what was reached in one step, as much as there is room for. Where there is none, one way alone says that there
    /// may be more: others need not have been told.
    fn reach(&mut self, from: Source, depth: u32, ways: Ways) {
        let room = self.room();
        let (ways, further) = ways.into_room(room);
        let further = if room == 0 { further.min(1) } else { further };
        self.left_out += further as u64;
        // Once the walk is cut, nobody asks what is known.
        if self.left_out == 0 {
            self.known.add_all(ways.iter().map(|way| way.to()));
        }
        self.affected.reserve(ways.len());
        for way in ways {
            let node = way.to().clone();
            let Way { by, name, .. } = *way;
            let (title, rank) = name.map(|name| (name.title, name.rank)).unzip();
            self.affected.push(Affected {
                node,
                depth,
                from,
                by,
                title,
                rank,
            });
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

/// The affected nodes without those at these places.
fn without(gone: &BTreeSet<usize>, all: Vec<Affected>) -> Vec<Affected> {
    let mut places = Vec::with_capacity(all.len());
    let mut affected: Vec<Affected> = Vec::with_capacity(all.len());
    for (index, mut one) in all.into_iter().enumerate() {
        places.push(affected.len());
        if gone.contains(&index) {
            continue;
        }
        if let Source::Affected(before) = one.from {
            // What does not hold led nowhere, so that one is still there.
            one.from = Source::Affected(places[before]);
        }
        affected.push(one);
    }
    affected
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

    /// Adds nodes. A set that is made of many at once is made sooner than one that takes them one by one.
    fn add_all<'a>(&mut self, nodes: impl Iterator<Item = &'a Node>) {
        let mut decisions = Vec::new();
        for node in nodes {
            match node {
                Node::Decision { scope, root } => decisions.push((*root, scope.clone())),
                Node::File { .. } | Node::Symbol { .. } | Node::Evidence { .. } => {
                    self.others.insert(node.clone());
                }
            }
        }
        if self.decisions.len() < decisions.len() {
            let before = core::mem::replace(&mut self.decisions, decisions.into_iter().collect());
            self.decisions.extend(before);
        } else {
            self.decisions.extend(decisions);
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
}
