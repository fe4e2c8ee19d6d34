//! The graph itself: nodes with labels, edges with a kind, properties of both.
//!
//! Owns how it is built, bounded and laid out. Once built it never changes: nothing here takes it
//! mutably. It must not know a query.

use std::collections::BTreeMap;
use std::sync::Arc;

use sillok_core::error::Error;

use crate::meter::invalid;
use crate::value::{Scalar, VALUE_BYTES, Value};

/// What a graph may hold. More is refused with `too_large`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphLimits {
    /// Most nodes.
    pub nodes_max: usize,
    /// Most edges.
    pub edges_max: usize,
    /// Most bytes of all that was added, by what it takes here. A text counts each time that it is added.
    pub bytes_max: usize,
}

/// A node of the graph that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef(u32);

/// Names that come again and again, by their number.
#[derive(Debug, Default)]
struct Names {
    by_name: BTreeMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.by_name.get(name) {
            return *number;
        }
        let number = index_of(self.names.len());
        let name: Arc<str> = Arc::from(name);
        self.by_name.insert(Arc::clone(&name), number);
        self.names.push(name);
        number
    }

    fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }
}

/// Positions are of 32 bits: limits keep them there, and what is beyond is refused before.
fn index_of(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

fn at(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

#[derive(Clone, Copy, Debug)]
struct Span {
    from: u32,
    to: u32,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        at(self.from)..at(self.to)
    }
}

#[derive(Debug)]
struct NodeRow {
    labels: Span,
    properties: Span,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeRow {
    pub(crate) kind: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    properties: Span,
}

/// Takes nodes and edges, then becomes a [`Graph`].
#[derive(Debug)]
pub struct GraphBuilder {
    limits: GraphLimits,
    bytes: usize,
    graph: Graph,
}

/// Nodes and edges to be asked. It holds what the asker may see, and nothing else.
#[derive(Debug, Default)]
pub struct Graph {
    names: Names,
    nodes: Vec<NodeRow>,
    labels: Vec<u32>,
    edges: Vec<EdgeRow>,
    properties: Vec<(u32, Value)>,
    leaving: Adjacent,
    entering: Adjacent,
    by_label: BTreeMap<u32, Vec<u32>>,
}

/// The edges of each node, in the order in which they were added.
#[derive(Debug, Default)]
struct Adjacent {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Adjacent {
    fn new(nodes: usize, edges: &[EdgeRow], end: impl Fn(&EdgeRow) -> u32) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        for edge in edges {
            starts[at(end(edge)) + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0_u32; edges.len()];
        for (i, edge) in edges.iter().enumerate() {
            let place = &mut next[at(end(edge))];
            sorted[at(*place)] = index_of(i);
            *place += 1;
        }
        Self {
            starts,
            edges: sorted,
        }
    }

    fn of(&self, node: u32) -> &[u32] {
        let node = at(node);
        &self.edges[at(self.starts[node])..at(self.starts[node + 1])]
    }
}

impl GraphBuilder {
    /// A graph without nodes that may become as large as `limits` says.
    #[must_use]
    pub fn new(limits: GraphLimits) -> Self {
        Self {
            limits,
            bytes: 0,
            graph: Graph::default(),
        }
    }

    /// Adds a node with its labels and its properties.
    ///
    /// # Errors
    ///
    /// `too_large` when there would be too many nodes or bytes.
    pub fn add_node(
        &mut self,
        labels: &[&str],
        properties: &[(&str, Scalar)],
    ) -> Result<NodeRef, Error> {
        let count = self.graph.nodes.len();
        refuse_over("nodes of the graph", self.limits.nodes_max, count + 1)?;
        self.grow(size_of::<NodeRow>() + 12 * (labels.len() + 1), properties)?;
        let node = index_of(count);
        let graph = &mut self.graph;
        let from = index_of(graph.labels.len());
        for label in labels {
            let number = graph.names.number(label);
            if graph.labels[at(from)..].contains(&number) {
                continue;
            }
            graph.labels.push(number);
            graph.by_label.entry(number).or_default().push(node);
        }
        let to = index_of(graph.labels.len());
        let properties = graph.add_properties(properties);
        graph.nodes.push(NodeRow {
            labels: Span { from, to },
            properties,
        });
        Ok(NodeRef(node))
    }

    /// Adds an edge of `kind` from one node to another, with its properties.
    ///
    /// # Errors
    ///
    /// `too_large` when there would be too many edges or bytes, `invalid_argument` when an end is a node of
    /// another graph.
    pub fn add_edge(
        &mut self,
        kind: &str,
        from: NodeRef,
        to: NodeRef,
        properties: &[(&str, Scalar)],
    ) -> Result<(), Error> {
        let count = self.graph.edges.len();
        refuse_over("edges of the graph", self.limits.edges_max, count + 1)?;
        if at(from.0.max(to.0)) >= self.graph.nodes.len() {
            return Err(invalid("an end of the edge is no node of this graph"));
        }
        self.grow(size_of::<EdgeRow>() + 16, properties)?;
        let kind = self.graph.names.number(kind);
        let properties = self.graph.add_properties(properties);
        self.graph.edges.push(EdgeRow {
            kind,
            from: from.0,
            to: to.0,
            properties,
        });
        Ok(())
    }

    /// The graph of what was added.
    #[must_use]
    pub fn build(self) -> Graph {
        let mut graph = self.graph;
        let nodes = graph.nodes.len();
        graph.leaving = Adjacent::new(nodes, &graph.edges, |edge| edge.from);
        graph.entering = Adjacent::new(nodes, &graph.edges, |edge| edge.to);
        graph
    }

    fn grow(&mut self, own: usize, properties: &[(&str, Scalar)]) -> Result<(), Error> {
        let texts: usize = properties
            .iter()
            .map(|(_, value)| match value {
                Scalar::Text(text) => text.len() + VALUE_BYTES,
                _ => VALUE_BYTES,
            })
            .sum();
        let bytes = self.bytes + own + texts;
        refuse_over("bytes of the graph", self.limits.bytes_max, bytes)?;
        self.bytes = bytes;
        Ok(())
    }
}

fn refuse_over(what: &str, limit: usize, got: usize) -> Result<(), Error> {
    let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    // The last position marks the end of a span.
    let limit = number(limit).min(u64::from(u32::MAX - 1));
    if number(got) > limit {
        return Err(Error::too_large(what, limit, number(got)));
    }
    Ok(())
}

impl Graph {
    /// How many nodes it has.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// How many edges it has.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    fn add_properties(&mut self, properties: &[(&str, Scalar)]) -> Span {
        let from = index_of(self.properties.len());
        for (name, value) in properties {
            let number = self.names.number(name);
            self.properties.push((number, Value::from(value)));
        }
        let to = index_of(self.properties.len());
        Span { from, to }
    }

    /// The number of a label, of a kind or of a property's name, where anything has it.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.names.find(name)
    }

    pub(crate) fn name(&self, number: u32) -> &Arc<str> {
        &self.names.names[at(number)]
    }

    pub(crate) fn node_count(&self) -> u32 {
        index_of(self.nodes.len())
    }

    pub(crate) fn with_label(&self, label: u32) -> &[u32] {
        self.by_label.get(&label).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn labels_of(&self, node: u32) -> &[u32] {
        &self.labels[self.nodes[at(node)].labels.range()]
    }

    pub(crate) fn edge(&self, edge: u32) -> EdgeRow {
        self.edges[at(edge)]
    }

    pub(crate) fn node_properties(&self, node: u32) -> &[(u32, Value)] {
        &self.properties[self.nodes[at(node)].properties.range()]
    }

    pub(crate) fn edge_properties(&self, edge: u32) -> &[(u32, Value)] {
        &self.properties[self.edges[at(edge)].properties.range()]
    }
}

/// The value that `properties` have under `key`.
pub(crate) fn property(properties: &[(u32, Value)], key: Option<u32>) -> Value {
    properties
        .iter()
        .find(|(number, _)| Some(*number) == key)
        .map_or(Value::Null, |(_, value)| value.clone())
}

/// The edges at a node, each with the node at its other end.
#[derive(Clone)]
pub(crate) struct Around<'g> {
    graph: &'g Graph,
    leaving: std::slice::Iter<'g, u32>,
    entering: std::slice::Iter<'g, u32>,
    /// Edges from a node to itself came among those that leave it.
    loops_came: bool,
}

impl<'g> Around<'g> {
    pub(crate) fn new(graph: &'g Graph, node: u32, leaving: bool, entering: bool) -> Self {
        let none: &[u32] = &[];
        Self {
            graph,
            leaving: if leaving {
                graph.leaving.of(node)
            } else {
                none
            }
            .iter(),
            entering: if entering {
                graph.entering.of(node)
            } else {
                none
            }
            .iter(),
            loops_came: leaving,
        }
    }
}

impl Iterator for Around<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        if let Some(edge) = self.leaving.next() {
            return Some((*edge, self.graph.edge(*edge).to));
        }
        loop {
            let edge = *self.entering.next()?;
            let row = self.graph.edge(edge);
            if !(self.loops_came && row.from == row.to) {
                return Some((edge, row.from));
            }
        }
    }
}
