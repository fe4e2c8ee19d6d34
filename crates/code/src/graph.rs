//! A work tree as nodes and edges.
//!
//! Owns which there are, and the bounds on them. It must not know the language in which they are asked for.

use std::collections::BTreeMap;

use crate::calls::Budget;
use crate::dependents::CodeNode;
use crate::file_index::Call;
use crate::limits::DEPENDENTS_LOOKUPS_MAX;
use crate::tables::FileNumber;
use crate::work_tree::WorkTree;

/// How two nodes are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeEdgeKind {
    /// A file imports another one.
    Imports,
    /// A file or a symbol holds a symbol.
    Contains,
    /// A symbol, or a file beside its symbols, calls a symbol.
    Calls,
}

/// An edge, by the places of its ends among the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodeEdge {
    /// Where it begins.
    pub from: usize,
    /// How they are joined.
    pub kind: CodeEdgeKind,
    /// Where it leads.
    pub to: usize,
    /// Whether it is certain (see [`crate::Meaning`]).
    pub is_certain: bool,
}

/// Which part of a work tree is taken, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeGraphLimits {
    /// What lies below this folder begins edges; all of the tree for an empty one.
    pub under: String,
    /// Most nodes.
    pub nodes_max: usize,
    /// Most edges.
    pub edges_max: usize,
    /// Most files in which names of calls are looked up.
    pub lookups_max: usize,
}

impl CodeGraphLimits {
    /// All of a work tree, as far as a graph that is queried has room for it.
    #[must_use]
    pub fn of(nodes_max: usize, edges_max: usize) -> Self {
        Self {
            under: String::new(),
            nodes_max,
            edges_max,
            lookups_max: DEPENDENTS_LOOKUPS_MAX,
        }
    }
}

/// A work tree, or a part of it, as nodes and edges. The same files give the same ones in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeGraph {
    /// Files and symbols, each once.
    pub nodes: Vec<CodeNode>,
    /// Each edge once.
    pub edges: Vec<CodeEdge>,
    /// Whether a bound was reached: some nodes or edges are not there then.
    pub is_cut: bool,
}

impl WorkTree {
    /// The files and symbols of a work tree, and what joins them.
    #[must_use]
    pub fn graph(&self, limits: &CodeGraphLimits) -> CodeGraph {
        let mut making = Making {
            tree: self,
            limits,
            budget: Budget(limits.lookups_max),
            places: BTreeMap::new(),
            graph: CodeGraph::default(),
        };
        let files: Vec<FileNumber> = self
            .paths()
            .filter(|path| is_under(path, &limits.under))
            .filter_map(|path| self.number(path))
            .collect();
        for number in &files {
            making.contents(*number);
        }
        for number in &files {
            making.imports(*number);
        }
        for number in files {
            making.calls(number);
        }
        making.end()
    }
}

fn is_under(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder);
    folder.is_empty() || below.is_some_and(|below| below.starts_with('/'))
}

struct Making<'t> {
    tree: &'t WorkTree,
    limits: &'t CodeGraphLimits,
    budget: Budget,
    places: BTreeMap<CodeNode, usize>,
    graph: CodeGraph,
}

impl Making<'_> {
    /// The place of a node; none where there is no room for it.
    fn node(&mut self, node: Option<CodeNode>) -> Option<usize> {
        let node = node?;
        if let Some(place) = self.places.get(&node) {
            return Some(*place);
        }
        let place = self.graph.nodes.len();
        if place >= self.limits.nodes_max {
            self.graph.is_cut = true;
            return None;
        }
        self.graph.nodes.push(node.clone());
        self.places.insert(node, place);
        Some(place)
    }

    fn file(&mut self, number: FileNumber) -> Option<usize> {
        self.node(self.tree.path(number).cloned().map(CodeNode::File))
    }

    fn symbol(&mut self, number: FileNumber, place: u32) -> Option<usize> {
        self.node(self.tree.named((number, place)).map(CodeNode::Symbol))
    }

    fn edge(
        &mut self,
        from: Option<usize>,
        kind: CodeEdgeKind,
        to: Option<usize>,
        is_certain: bool,
    ) {
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        if self.graph.edges.len() >= self.limits.edges_max {
            self.graph.is_cut = true;
            return;
        }
        self.graph.edges.push(CodeEdge {
            from,
            kind,
            to,
            is_certain,
        });
    }

    fn contents(&mut self, number: FileNumber) {
        let file = self.file(number);
        let symbols = self.tree.file_at(number).map(|file| &file.symbols);
        for (place, symbol) in (0..).zip(symbols.into_iter().flatten()) {
            let outer = match symbol.parent {
                Some(parent) => self.symbol(number, parent),
                None => file,
            };
            let inner = self.symbol(number, place);
            self.edge(outer, CodeEdgeKind::Contains, inner, true);
        }
    }

    fn imports(&mut self, number: FileNumber) {
        let mut targets: BTreeMap<FileNumber, bool> = BTreeMap::new();
        for edge in self.tree.import_edges(number) {
            *targets.entry(edge.target).or_default() |= edge.is_certain;
        }
        let from = self.file(number);
        let mut targets: Vec<(FileNumber, bool)> = targets.into_iter().collect();
        targets.sort_by_key(|(target, _)| self.tree.path(*target));
        for (target, is_certain) in targets {
            let to = self.file(target);
            self.edge(from, CodeEdgeKind::Imports, to, is_certain);
        }
    }

    fn calls(&mut self, number: FileNumber) {
        let mut found: BTreeMap<(Option<u32>, FileNumber, u32), bool> = BTreeMap::new();
        let calls: &[Call] = self.tree.file_at(number).map_or(&[], |file| &file.calls);
        for call in calls {
            if !self.budget.take() {
                self.graph.is_cut = true;
                break;
            }
            let meant = self.tree.places_of(number, call, &mut self.budget);
            for (target, place) in meant.of {
                let key = (call.caller, target, place);
                *found.entry(key).or_default() |= meant.is_certain;
            }
        }
        // Numbers of files are handed out as files come: the order is that of their paths.
        let mut found: Vec<_> = found.into_iter().collect();
        found
            .sort_by_key(|((caller, target, place), _)| (*caller, self.tree.path(*target), *place));
        for ((caller, target, place), is_certain) in found {
            let from = match caller {
                Some(caller) => self.symbol(number, caller),
                None => self.file(number),
            };
            let to = self.symbol(target, place);
            self.edge(from, CodeEdgeKind::Calls, to, is_certain);
        }
    }

    fn end(mut self) -> CodeGraph {
        self.graph.edges.sort_unstable();
        self.graph
    }
}
