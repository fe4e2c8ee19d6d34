//! What source files say, beside what decisions say of them.
//!
//! Owns that a file or a symbol is one node, whoever speaks of it: so from a decision over `APPLIES_TO` a query goes
//! on to what is called and imported. It must not know how work trees are read.

use std::collections::BTreeMap;

use sillok_actors::reads::GraphNode;
use sillok_code::{CodeEdgeKind, CodeGraphLimits, WorkTree};
use sillok_core::decision::Node;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::limits::{GRAPH_EDGES_MAX, GRAPH_NODES_MAX};
use sillok_graph::{GraphBuilder, NodeRef, Scalar};

use super::{Shared, add, check_time};
use crate::api::node_of;

/// An edge between two pieces of code, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodePartEdge {
    pub(crate) from: usize,
    pub(crate) kind: CodeEdgeKind,
    pub(crate) to: usize,
    pub(crate) is_certain: bool,
}

/// Files and symbols of a work tree as decisions name them, and what joins them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeParts {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<CodePartEdge>,
}

impl CodeParts {
    /// What lies below a folder of a work tree. Several symbols of one name in one file are one node, as they are for
    /// decisions. What a file calls beside its symbols is left out: a kind of edges begins at one label.
    ///
    /// # Errors
    /// `too_large`: what is asked for by a part of it would be taken for the whole.
    pub(crate) fn of(tree: &WorkTree, under: String) -> Result<Self, Error> {
        let limits = CodeGraphLimits {
            under,
            ..CodeGraphLimits::of(GRAPH_NODES_MAX, GRAPH_EDGES_MAX)
        };
        let graph = tree.graph(&limits);
        if graph.is_cut {
            let why = "there is more code than a graph may hold: name a folder of it (code_under)";
            return Err(Error::new(ErrorCode::TooLarge, why));
        }
        let mut parts = Self::default();
        let mut known: BTreeMap<Node, usize> = BTreeMap::new();
        let mut files = BTreeMap::new();
        let mut places = Vec::with_capacity(graph.nodes.len());
        for node in &graph.nodes {
            let node = node_of(tree, node);
            let next = parts.nodes.len();
            let place = *known.entry(node.clone()).or_insert(next);
            if place == next {
                if let Node::File { path } = &node {
                    files.insert(path.clone(), place);
                }
                parts.nodes.push(node);
            }
            places.push(place);
        }
        let is_file = |place: usize| matches!(parts.nodes[place], Node::File { .. });
        let edges = graph.edges.iter().filter_map(|edge| {
            let (from, to) = (places[edge.from], places[edge.to]);
            let from = match edge.kind {
                CodeEdgeKind::Imports => from,
                CodeEdgeKind::Calls if is_file(from) => return None,
                CodeEdgeKind::Calls => from,
                // A file holds all of its symbols, those in others as well.
                CodeEdgeKind::Contains => *files.get(file_of(&parts.nodes[to]))?,
            };
            Some(CodePartEdge {
                from,
                kind: edge.kind,
                to,
                is_certain: edge.is_certain,
            })
        });
        let mut edges: Vec<CodePartEdge> = edges.collect();
        edges.sort_by_key(|edge| (edge.from, edge.kind, edge.to, !edge.is_certain));
        edges.dedup_by_key(|edge| (edge.from, edge.kind, edge.to));
        parts.edges = edges;
        Ok(parts)
    }
}

fn file_of(node: &Node) -> &str {
    match node {
        Node::Symbol {
            file: Some(file), ..
        } => file,
        _ => "",
    }
}

/// The files and symbols that are in a graph already.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<Node, NodeRef>);

impl Held {
    /// What a node of the graph is called, where decisions and code may both speak of it.
    pub(super) fn named(node: &GraphNode) -> Option<Node> {
        match node {
            GraphNode::File { path } => Some(Node::File { path: path.clone() }),
            GraphNode::Symbol { name, file } => Some(Node::Symbol {
                name: name.clone(),
                file: file.clone(),
            }),
            _ => None,
        }
    }

    pub(super) fn keep(&mut self, node: Option<Node>, at: NodeRef) {
        if let Some(node) = node {
            self.0.insert(node, at);
        }
    }

    /// The node that is in the graph for a piece of code. A symbol that a decision names without a file is meant by
    /// it where just one symbol has that name.
    fn of(&self, node: &Node, named: &BTreeMap<&str, usize>) -> Option<NodeRef> {
        if let Some(at) = self.0.get(node) {
            return Some(*at);
        }
        let Node::Symbol { name, .. } = node else {
            return None;
        };
        let is_only = named.get(name.as_str()) == Some(&1);
        let bare = Node::Symbol {
            name: name.clone(),
            file: None,
        };
        self.0.get(&bare).filter(|_| is_only).copied()
    }
}

/// Adds the code to a graph that holds what decisions say.
pub(super) fn join(
    builder: &mut GraphBuilder,
    shared: &mut Shared,
    held: &Held,
    code: CodeParts,
    is_over: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &code.nodes {
        if let Node::Symbol { name, .. } = node {
            *named.entry(name).or_default() += 1;
        }
    }
    let mut nodes = Vec::with_capacity(code.nodes.len());
    for (number, node) in code.nodes.iter().enumerate() {
        check_time(number, is_over)?;
        let at = match held.of(node, &named) {
            Some(at) => at,
            None => match node {
                Node::File { path } => {
                    add(builder, shared, GraphNode::File { path: path.clone() })?
                }
                Node::Symbol { name, file } => {
                    let (name, file) = (name.clone(), file.clone());
                    add(builder, shared, GraphNode::Symbol { name, file })?
                }
                Node::Decision { .. } | Node::Evidence { .. } => {
                    unreachable!("code is files and symbols")
                }
            },
        };
        nodes.push(at);
    }
    for (number, edge) in code.edges.into_iter().enumerate() {
        check_time(number, is_over)?;
        let (from, to) = (nodes[edge.from], nodes[edge.to]);
        let certain = [("certain", Scalar::Bool(edge.is_certain))];
        match edge.kind {
            CodeEdgeKind::Imports => builder.add_edge("IMPORTS", from, to, &certain)?,
            CodeEdgeKind::Calls => builder.add_edge("CALLS", from, to, &certain)?,
            CodeEdgeKind::Contains => builder.add_edge("CONTAINS", from, to, &[])?,
        }
    }
    Ok(())
}
