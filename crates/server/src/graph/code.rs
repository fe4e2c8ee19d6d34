//! What source files say, beside what decisions say of them.
//!
//! Owns that a file or a symbol is one node, whoever speaks of it: so from a decision over `APPLIES_TO` a query goes
//! on to what is called and imported. It must not know how work trees are read.

use std::collections::{BTreeMap, BTreeSet};

use sillok_actors::reads::{GraphNode, GraphParts};
use sillok_code::{CodeEdgeKind, CodeGraphLimits, CodeNode, GraphCut, Named, SymbolRef, WorkTree};
use sillok_core::decision::Node;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::limits::{GRAPH_EDGES_MAX, GRAPH_NODES_MAX};
use sillok_graph::{GraphBuilder, NodeRef, Scalar};

use super::{Shared, add, check_time, out_of_time};
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
    /// The places of what decisions speak of, by what they call it.
    pub(crate) meant: BTreeMap<Node, usize>,
}

/// What of a work tree is put into a graph.
pub(crate) struct CodeAsked<'a> {
    /// Of what lies below this folder; of all for an empty one.
    pub(crate) under: String,
    /// What decisions speak of (see [`spoken_of`]).
    pub(crate) spoken_of: &'a [Node],
    /// Whether the time is over.
    pub(crate) is_over: &'a dyn Fn() -> bool,
}

impl CodeParts {
    /// What lies below a folder of a work tree. Several symbols of one name in one file are one node, as they are for
    /// decisions.
    ///
    /// # Errors
    /// `too_large`: what is asked for by a part of it would be taken for the whole.
    pub(crate) fn of(tree: &WorkTree, asked: CodeAsked<'_>) -> Result<Self, Error> {
        let limits = CodeGraphLimits {
            under: asked.under,
            ..CodeGraphLimits::of(GRAPH_NODES_MAX, GRAPH_EDGES_MAX)
        };
        let graph = tree.graph(&limits, asked.is_over);
        match graph.cut {
            None => {}
            Some(GraphCut::Time) => return Err(out_of_time()),
            Some(GraphCut::Room | GraphCut::Lookups) => {
                let why =
                    "there is more code than a graph may hold: name a folder of it (code_under)";
                return Err(Error::new(ErrorCode::TooLarge, why));
            }
        }
        let mut parts = Self::default();
        let mut known: BTreeMap<Node, usize> = BTreeMap::new();
        let mut files = BTreeMap::new();
        let mut places = Vec::with_capacity(graph.nodes.len());
        for (number, node) in graph.nodes.iter().enumerate() {
            check_time(number, asked.is_over)?;
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
        let edges = graph.edges.iter().filter_map(|edge| {
            let (from, to) = (places[edge.from], places[edge.to]);
            let from = match edge.kind {
                CodeEdgeKind::Imports | CodeEdgeKind::Calls => from,
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
        for node in asked.spoken_of {
            let meant = meant(tree, node, asked.is_over);
            let place = meant.and_then(|meant| known.get(&meant));
            parts
                .meant
                .extend(place.map(|place| (node.clone(), *place)));
        }
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

/// What of a work tree is meant by a file or a symbol that a decision names. A symbol may be named without its file, and
/// without what it lies in, where just one is called so: in the file that is named, or in all of the tree.
fn meant(tree: &WorkTree, spoken: &Node, is_over: &dyn Fn() -> bool) -> Option<Node> {
    let Node::Symbol { name, file } = spoken else {
        return Some(spoken.clone());
    };
    let found = match file {
        Some(file) => tree.symbols_in(file, name),
        None => {
            let Named { symbols, is_cut } = tree.find_named(name, is_over);
            if is_cut {
                return None;
            }
            symbols
        }
    };
    let named = |at: SymbolRef| node_of(tree, &CodeNode::Symbol(at));
    let mut found: BTreeSet<Node> = found.into_iter().map(named).collect();
    let is_whole = |node: &Node| matches!(node, Node::Symbol { name: whole, .. } if whole == name);
    if found.iter().any(is_whole) {
        found.retain(is_whole);
    }
    let only = found.pop_first()?;
    found.is_empty().then_some(only)
}

/// The files and symbols that decisions speak of.
pub(crate) fn spoken_of(parts: &GraphParts) -> Vec<Node> {
    parts.nodes.iter().filter_map(named).collect()
}

/// What a node of the graph is called, where decisions and code may both speak of it.
fn named(node: &GraphNode) -> Option<Node> {
    match node {
        GraphNode::File { path } => Some(Node::File { path: path.clone() }),
        GraphNode::Symbol { name, file } => Some(Node::Symbol {
            name: name.clone(),
            file: file.clone(),
        }),
        _ => None,
    }
}

/// The code that is in a graph already, by its places: what decisions speak of, under the name that the code gives it.
#[derive(Debug)]
pub(super) struct Held<'c> {
    code: &'c CodeParts,
    at: BTreeMap<usize, NodeRef>,
}

impl<'c> Held<'c> {
    pub(super) const fn new(code: &'c CodeParts) -> Self {
        Self {
            code,
            at: BTreeMap::new(),
        }
    }

    /// Adds what decisions speak of.
    pub(super) fn add(
        &mut self,
        builder: &mut GraphBuilder,
        shared: &mut Shared,
        node: GraphNode,
    ) -> Result<NodeRef, Error> {
        let place = named(&node).and_then(|named| self.code.meant.get(&named));
        match place {
            Some(place) => self.at(builder, shared, *place),
            None => add(builder, shared, node),
        }
    }

    /// The node of a piece of code.
    fn at(
        &mut self,
        builder: &mut GraphBuilder,
        shared: &mut Shared,
        place: usize,
    ) -> Result<NodeRef, Error> {
        if let Some(at) = self.at.get(&place) {
            return Ok(*at);
        }
        let node = match self.code.nodes[place].clone() {
            Node::File { path } => GraphNode::File { path },
            Node::Symbol { name, file } => GraphNode::Symbol { name, file },
            Node::Decision { .. } | Node::Evidence { .. } => {
                unreachable!("code is files and symbols")
            }
        };
        let at = add(builder, shared, node)?;
        self.at.insert(place, at);
        Ok(at)
    }

    /// Adds the code, and what joins it.
    pub(super) fn join(
        mut self,
        builder: &mut GraphBuilder,
        shared: &mut Shared,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let code = self.code;
        let mut nodes = Vec::with_capacity(code.nodes.len());
        for place in 0..code.nodes.len() {
            check_time(place, is_over)?;
            nodes.push(self.at(builder, shared, place)?);
        }
        for (number, edge) in code.edges.iter().enumerate() {
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
}
