//! Matching: scans, single edges and named paths. Walks of several edges are in `walk.rs`.
//!
//! Owns that one `MATCH` goes along an edge once. Each node and each edge that is looked at is a step.

use std::sync::Arc;

use grafeo_adapters::query::cypher::Direction;

use crate::graph::Around;
use crate::meter::Stop;
use crate::plan::{Along, Expand, Frame, Label, Match, Op, Slot, Way};
use crate::run::Exec;
use crate::value::{Path, VALUE_BYTES, Value};

/// Where in the plan a match goes on: its frame, its stage, itself and the next of its steps.
#[derive(Clone, Copy)]
pub(crate) struct Next<'p> {
    pub(crate) frame: &'p Frame,
    pub(crate) at: usize,
    pub(crate) of: &'p Match,
    pub(crate) op: usize,
}

impl<'g> Exec<'g, '_> {
    pub(crate) fn op(
        &mut self,
        frame: &Frame,
        at: usize,
        of: &Match,
        op: usize,
    ) -> Result<(), Stop> {
        // Conditions are gone through in a loop: a text may hold more of them than the stack has room for.
        let mut here = op;
        loop {
            match of.ops.get(here) {
                Some(Op::Filter(condition)) => {
                    if !self.holds(condition)? {
                        return Ok(());
                    }
                }
                Some(Op::Labels { slot, labels }) => {
                    self.meter.step()?;
                    let Value::Node(node) = self.row[*slot] else {
                        return Ok(());
                    };
                    if !labels.iter().all(|label| self.has_label(node, *label)) {
                        return Ok(());
                    }
                }
                None => {
                    self.states[of.id].matched = true;
                    return self.stage(frame, at + 1);
                }
                Some(Op::Go(way)) => {
                    let op = here + 1;
                    return self.way(Next { frame, at, of, op }, way);
                }
            }
            here += 1;
        }
    }

    fn way(&mut self, next: Next<'_>, way: &Way) -> Result<(), Stop> {
        match way {
            Way::Scan { slot, label } => self.scan(next, *slot, *label),
            Way::Expand(expand) => self.expand(next, expand),
            Way::Walk(walk) => self.walk(next, walk),
            Way::Shortest(shortest) => self.shortest(next, shortest),
            Way::Path { slot, start, edges } => self.path(next, *slot, *start, edges),
        }
    }

    pub(crate) fn go(&mut self, next: Next<'_>) -> Result<(), Stop> {
        self.op(next.frame, next.at, next.of, next.op)
    }

    fn scan(&mut self, next: Next<'_>, slot: Slot, label: Option<Label>) -> Result<(), Stop> {
        let graph = self.graph;
        match label {
            Some(label) => {
                let nodes = label.map_or(&[][..], |label| graph.with_label(label));
                for node in nodes {
                    self.meter.step()?;
                    self.row[slot] = Value::Node(*node);
                    self.go(next)?;
                }
            }
            None => {
                for node in 0..graph.node_count() {
                    self.meter.step()?;
                    self.row[slot] = Value::Node(node);
                    self.go(next)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn around(&self, node: u32, along: &Along) -> Around<'g> {
        let leaving = along.direction != Direction::Incoming;
        let entering = along.direction != Direction::Outgoing;
        Around::new(self.graph, node, leaving, entering)
    }

    pub(crate) fn is_along(&self, edge: u32, along: &Along) -> bool {
        let kind = self.graph.edge(edge).kind;
        along
            .kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&kind))
    }

    fn expand(&mut self, next: Next<'_>, expand: &Expand) -> Result<(), Stop> {
        let Value::Node(from) = self.row[expand.from] else {
            return Ok(());
        };
        for (edge, other) in self.around(from, &expand.along) {
            self.meter.step()?;
            if !self.is_along(edge, &expand.along) {
                continue;
            }
            if expand.edge_bound && !matches!(self.row[expand.edge], Value::Edge(e) if e == edge) {
                continue;
            }
            if expand.to_bound && !matches!(self.row[expand.to], Value::Node(n) if n == other) {
                continue;
            }
            if !self.states[next.of.id].used.insert(edge) {
                continue;
            }
            self.row[expand.edge] = Value::Edge(edge);
            self.row[expand.to] = Value::Node(other);
            self.go(next)?;
            self.states[next.of.id].used.remove(&edge);
        }
        Ok(())
    }

    /// Makes the path of what was matched, by following its edges from their first node.
    fn path(
        &mut self,
        next: Next<'_>,
        slot: Slot,
        start: Slot,
        parts: &[Slot],
    ) -> Result<(), Stop> {
        let mark = self.meter.mark();
        let Value::Node(start) = self.row[start] else {
            return Ok(());
        };
        let mut edges = Vec::new();
        for part in parts {
            match &self.row[*part] {
                Value::Edge(edge) => edges.push(*edge),
                Value::List(list) => edges.extend(list.items.iter().filter_map(|one| match one {
                    Value::Edge(edge) => Some(*edge),
                    _ => None,
                })),
                _ => return Ok(()),
            }
        }
        self.meter.take(VALUE_BYTES + 8 * edges.len())?;
        self.meter.work(VALUE_BYTES * edges.len(), 1)?;
        let mut nodes = Vec::with_capacity(edges.len() + 1);
        let mut here = start;
        nodes.push(here);
        for edge in &edges {
            let row = self.graph.edge(*edge);
            here = if row.from == here { row.to } else { row.from };
            nodes.push(here);
        }
        self.row[slot] = Value::Path(Arc::new(Path { nodes, edges }));
        self.go(next)?;
        self.row[slot] = Value::Null;
        self.meter.drop_to(mark);
        Ok(())
    }
}
