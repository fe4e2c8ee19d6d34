//! Patterns of `MATCH`, as steps that bind one slot after the other.
//!
//! Owns where a pattern is begun and when a condition is asked: at the first step behind which all
//! that it reads is known. It begins at what is bound, else at what a condition pins down, else at a
//! label; among equals, with what stands first in the text.

use std::collections::BTreeSet;
use std::sync::Arc;

use grafeo_adapters::query::cypher::{
    BinaryOp, Direction, Expression, MatchClause, NodePattern, PathFunction, Pattern,
    RelationshipPattern,
};
use sillok_core::error::Error;

use crate::meter::invalid;
use crate::plan::{Along, Expand, Expr, Match, Op, Shortest, Slot, Stage, Walk, Way};
use crate::scope::Compiler;

/// Most nodes and relationships of all patterns of a query: each may be a level of the stack.
const PATTERN_PARTS_MAX: usize = 128;

/// A pattern whose parts have their slots.
struct Chain<'a> {
    nodes: Vec<(Slot, &'a NodePattern)>,
    edges: Vec<(Slot, &'a RelationshipPattern)>,
    path: Option<Slot>,
    function: Option<PathFunction>,
}

/// A condition, and which slots of this clause have to be bound before it is asked.
struct Condition {
    needs: BTreeSet<Slot>,
    expr: Expr,
}

struct Steps {
    bound: BTreeSet<Slot>,
    /// Slots that a condition holds to one value.
    pinned: BTreeSet<Slot>,
    conditions: Vec<Condition>,
    ops: Vec<Op>,
}

impl Steps {
    fn go(&mut self, way: Way) {
        self.ops.push(Op::Go(way));
    }

    fn bind(&mut self, slot: Slot) {
        self.bound.insert(slot);
    }

    /// Asks all that can be asked by now.
    fn ask(&mut self) {
        let (ready, later) = std::mem::take(&mut self.conditions)
            .into_iter()
            .partition(|one: &Condition| one.needs.is_subset(&self.bound));
        self.conditions = later;
        let ready: Vec<Condition> = ready;
        self.ops
            .extend(ready.into_iter().map(|one| Op::Filter(one.expr)));
    }

    fn score(&self, (slot, node): &(Slot, &NodePattern)) -> u8 {
        if self.bound.contains(slot) {
            0
        } else if self.pinned.contains(slot) {
            1
        } else if node.labels.is_empty() {
            3
        } else {
            2
        }
    }

    /// The best place to begin, and how good it is.
    fn start(&self, chain: &Chain<'_>) -> (u8, usize) {
        let scores = chain.nodes.iter().map(|node| self.score(node));
        scores.zip(0..).min().unwrap_or((3, 0))
    }
}

impl Compiler<'_> {
    pub(crate) fn matching(
        &mut self,
        clause: &MatchClause,
        condition: Option<&Expression>,
        optional: bool,
        once: bool,
    ) -> Result<Stage, Error> {
        let id = self.state();
        let bound: BTreeSet<Slot> = self.names.values().copied().collect();
        let mut chains = Vec::new();
        for pattern in &clause.patterns {
            chains.push(self.shape(pattern)?);
        }
        let parts = chains.iter().map(|one| one.nodes.len() + one.edges.len());
        self.parts += parts.sum::<usize>();
        if self.parts > PATTERN_PARTS_MAX {
            return Err(invalid(format!(
                "the patterns of a query have at most {PATTERN_PARTS_MAX} nodes and relationships"
            )));
        }
        let slots = new_slots(&chains, &bound);
        let conditions = self.conditions(&chains, condition, &slots)?;
        let pinned = conditions.iter().filter_map(pins).collect();
        let mut steps = Steps {
            bound,
            pinned,
            conditions,
            ops: Vec::new(),
        };
        let once = once && chains.iter().map(|one| one.edges.len()).sum::<usize>() == 1;
        steps.ask();
        while !chains.is_empty() {
            let best = (0..chains.len()).min_by_key(|at| steps.start(&chains[*at]).0);
            let chain = chains.remove(best.unwrap_or(0));
            self.walk_chain(&chain, &mut steps, once)?;
        }
        Ok(Stage::Match(Match {
            id,
            optional,
            ops: steps.ops,
            slots: slots.into_iter().collect(),
        }))
    }

    fn shape<'a>(&mut self, pattern: &'a Pattern) -> Result<Chain<'a>, Error> {
        let (path, function, inner) = match pattern {
            Pattern::NamedPath {
                name,
                path_function,
                pattern,
            } => (Some(self.define(name)?), *path_function, pattern.as_ref()),
            other => (None, None, other),
        };
        let mut chain = Chain {
            nodes: Vec::new(),
            edges: Vec::new(),
            path,
            function,
        };
        match inner {
            Pattern::Node(node) => chain
                .nodes
                .push((self.known(node.variable.as_deref()), node)),
            Pattern::Path(of) => {
                let start = self.known(of.start.variable.as_deref());
                chain.nodes.push((start, &of.start));
                for edge in &of.chain {
                    chain
                        .edges
                        .push((self.known(edge.variable.as_deref()), edge));
                    let target = self.known(edge.target.variable.as_deref());
                    chain.nodes.push((target, &edge.target));
                }
            }
            Pattern::NamedPath { .. } => return Err(invalid("a path has one name")),
        }
        Ok(chain)
    }

    /// The slot of a part of a pattern: its variable's, or a new one.
    fn known(&mut self, name: Option<&str>) -> Slot {
        let Some(name) = name else {
            return self.slot();
        };
        if let Some(slot) = self.names.get(name).copied() {
            self.read.insert(slot);
            return slot;
        }
        let slot = self.slot();
        self.names.insert(name.to_owned(), slot);
        slot
    }

    fn conditions(
        &mut self,
        chains: &[Chain<'_>],
        condition: Option<&Expression>,
        slots: &BTreeSet<Slot>,
    ) -> Result<Vec<Condition>, Error> {
        let mut found = Vec::new();
        for chain in chains {
            for (slot, node) in &chain.nodes {
                for (name, value) in &node.properties {
                    found.push(self.noting(|this| this.has(*slot, name, value))?);
                }
            }
            for (slot, edge) in &chain.edges {
                if edge.length.is_some() {
                    if edge.where_clause.is_some() {
                        return Err(invalid(
                            "a relationship of several steps takes no WHERE of its own",
                        ));
                    }
                    continue;
                }
                for (name, value) in &edge.properties {
                    found.push(self.noting(|this| this.has(*slot, name, value))?);
                }
                if let Some(inline) = &edge.where_clause {
                    found.push(self.noting(|this| this.expr(inline))?);
                }
            }
        }
        let mut rest = condition;
        let mut parts = Vec::new();
        while let Some(Expression::Binary {
            left,
            op: BinaryOp::And,
            right,
        }) = rest
        {
            parts.push(right.as_ref());
            rest = Some(left);
        }
        for part in rest.into_iter().chain(parts.into_iter().rev()) {
            found.push(self.noting(|this| this.expr(part))?);
        }
        let conditions = found.into_iter().map(|(expr, read)| Condition {
            needs: read.intersection(slots).copied().collect(),
            expr,
        });
        Ok(conditions.collect())
    }

    /// `slot.name = value`.
    fn has(&mut self, slot: Slot, name: &str, value: &Expression) -> Result<Expr, Error> {
        let value = self.expr(value)?;
        self.read.insert(slot);
        let number = self.graph.number(name);
        let property = Expr::Property(Box::new(Expr::Slot(slot)), Arc::from(name), number);
        Ok(Expr::Chain(Box::new(property), vec![(BinaryOp::Eq, value)]))
    }

    fn walk_chain(
        &mut self,
        chain: &Chain<'_>,
        steps: &mut Steps,
        once: bool,
    ) -> Result<(), Error> {
        if chain.function.is_some() {
            self.shortest(chain, steps)?;
        } else {
            let (_, start) = steps.start(chain);
            self.begin(chain.nodes[start], steps);
            for at in start..chain.edges.len() {
                self.step(chain, at, true, steps, once)?;
            }
            for at in (0..start).rev() {
                self.step(chain, at, false, steps, once)?;
            }
        }
        if let Some(slot) = chain.path {
            steps.go(Way::Path {
                slot,
                start: chain.nodes[0].0,
                edges: chain.edges.iter().map(|(slot, _)| *slot).collect(),
            });
            steps.bind(slot);
            steps.ask();
        }
        Ok(())
    }

    /// Binds the node at which a pattern is begun.
    fn begin(&self, (slot, node): (Slot, &NodePattern), steps: &mut Steps) {
        if !steps.bound.contains(&slot) {
            let label = node.labels.first().map(|name| self.graph.number(name));
            steps.go(Way::Scan { slot, label });
            steps.bind(slot);
        } else if node.labels.is_empty() {
            // What it is bound to may be no node.
            let labels = Vec::new();
            steps.ops.push(Op::Labels { slot, labels });
        }
        self.labels((slot, node), steps);
        steps.ask();
    }

    fn labels(&self, (slot, node): (Slot, &NodePattern), steps: &mut Steps) {
        // The first one of a node that is scanned is asked again, which costs less than telling.
        if !node.labels.is_empty() {
            let labels = node.labels.iter().map(|name| self.graph.number(name));
            let labels = labels.collect();
            steps.ops.push(Op::Labels { slot, labels });
        }
    }

    /// Along the edge of this position, as it is written or against it.
    fn step(
        &mut self,
        chain: &Chain<'_>,
        at: usize,
        forward: bool,
        steps: &mut Steps,
        once: bool,
    ) -> Result<(), Error> {
        let (edge, pattern) = chain.edges[at];
        let (from, to) = if forward { (at, at + 1) } else { (at + 1, at) };
        let (from, to) = (chain.nodes[from].0, chain.nodes[to]);
        let along = self.along(pattern, forward);
        let edge_bound = steps.bound.contains(&edge);
        let to_bound = steps.bound.contains(&to.0);
        steps.go(match pattern.length {
            None => Way::Expand(Expand {
                from,
                edge,
                edge_bound,
                to: to.0,
                to_bound,
                along,
            }),
            Some(_) if edge_bound => {
                return Err(invalid(
                    "relationships of several steps are found, not given",
                ));
            }
            Some(length) => {
                let one = self.slot();
                let min = length.min.unwrap_or(1);
                Way::Walk(Walk {
                    from,
                    edges: edge,
                    listed: pattern.variable.is_some() || chain.path.is_some(),
                    to: to.0,
                    to_bound,
                    along,
                    min,
                    max: length.max.unwrap_or(u32::MAX),
                    one,
                    each: self.each(one, pattern, steps)?,
                    reversed: !forward,
                    once: once && min <= 1 && pattern.variable.is_none() && chain.path.is_none(),
                })
            }
        });
        steps.bind(edge);
        steps.bind(to.0);
        self.labels(to, steps);
        steps.ask();
        Ok(())
    }

    /// What holds of each edge of several.
    fn each(
        &mut self,
        one: Slot,
        pattern: &RelationshipPattern,
        steps: &Steps,
    ) -> Result<Vec<Expr>, Error> {
        let mut each = Vec::new();
        for (name, value) in &pattern.properties {
            let (expr, mut read) = self.noting(|this| this.has(one, name, value))?;
            read.remove(&one);
            if !read.is_subset(&steps.bound) {
                return Err(invalid(
                    "what holds of each relationship of several has to be known before them",
                ));
            }
            each.push(expr);
        }
        Ok(each)
    }

    fn along(&self, pattern: &RelationshipPattern, forward: bool) -> Along {
        let direction = match (pattern.direction, forward) {
            (Direction::Outgoing, false) => Direction::Incoming,
            (Direction::Incoming, false) => Direction::Outgoing,
            (direction, _) => direction,
        };
        let kinds = pattern
            .types
            .iter()
            .filter_map(|name| self.graph.number(name));
        Along {
            direction,
            kinds: (!pattern.types.is_empty()).then(|| kinds.collect()),
        }
    }

    fn shortest(&mut self, chain: &Chain<'_>, steps: &mut Steps) -> Result<(), Error> {
        let [(edges, pattern)] = chain.edges.as_slice() else {
            return Err(invalid(
                "a shortest path has one relationship, such as -[*]->",
            ));
        };
        let (min, max) = match pattern.length {
            None => (1, 1),
            Some(length) => (length.min.unwrap_or(1), length.max.unwrap_or(u32::MAX)),
        };
        if min > 1 || !pattern.properties.is_empty() || pattern.where_clause.is_some() {
            return Err(invalid(
                "a shortest path begins at 0 or 1 steps, and asks nothing of its relationships but their kinds",
            ));
        }
        if steps.bound.contains(edges) {
            return Err(invalid(
                "the relationships of a shortest path are found, not given",
            ));
        }
        self.begin(chain.nodes[0], steps);
        self.begin(chain.nodes[1], steps);
        steps.go(Way::Shortest(Shortest {
            from: chain.nodes[0].0,
            to: chain.nodes[1].0,
            edges: *edges,
            along: self.along(pattern, true),
            min,
            max,
            all: chain.function == Some(PathFunction::AllShortestPaths),
        }));
        steps.bind(*edges);
        steps.ask();
        Ok(())
    }
}

/// The slots that this clause binds.
fn new_slots(chains: &[Chain<'_>], bound: &BTreeSet<Slot>) -> BTreeSet<Slot> {
    let mut slots = BTreeSet::new();
    for chain in chains {
        slots.extend(chain.nodes.iter().map(|(slot, _)| *slot));
        slots.extend(chain.edges.iter().map(|(slot, _)| *slot));
        slots.extend(chain.path);
    }
    slots.retain(|slot| !bound.contains(slot));
    slots
}

/// The one slot whose value a condition gives away.
fn pins(condition: &Condition) -> Option<Slot> {
    let Expr::Chain(_, rest) = &condition.expr else {
        return None;
    };
    let equal = matches!(rest.as_slice(), [(BinaryOp::Eq, _)]);
    let only = condition
        .needs
        .first()
        .filter(|_| condition.needs.len() == 1);
    only.copied().filter(|_| equal)
}
