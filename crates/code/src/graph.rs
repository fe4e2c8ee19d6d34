//! A work tree as nodes and edges.
//!
//! Owns which there are, and the bounds on them. It must not know the language in which they are asked for.

use std::collections::BTreeMap;

use crate::budget::{Budget, Ended};
use crate::dependents::CodeNode;
use crate::file_index::Call;
use crate::limits::GRAPH_LOOKUPS_MAX;
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
    /// Most symbols, calls, imports and files that are looked at.
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
            lookups_max: GRAPH_LOOKUPS_MAX,
        }
    }
}

/// Why some nodes or edges are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphCut {
    /// There are more of them than there is room for.
    Room,
    /// As much was looked at as may be.
    Lookups,
    /// The time was over.
    Time,
}

/// A work tree, or a part of it, as nodes and edges. The same files give the same ones in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeGraph {
    /// Files and symbols, each once.
    pub nodes: Vec<CodeNode>,
    /// Each edge once.
    pub edges: Vec<CodeEdge>,
    /// Why it is not whole; none where it is. Once it is cut nothing more is looked at.
    pub cut: Option<GraphCut>,
}

impl WorkTree {
    /// The files and symbols of a work tree, and what joins them. `is_over` is asked before the first thing that is looked at
    /// and each further 1,024; once it says so no more is.
    #[must_use]
    pub fn graph(&self, limits: &CodeGraphLimits, is_over: &dyn Fn() -> bool) -> CodeGraph {
        let mut making = Making {
            tree: self,
            limits,
            budget: Budget::new(limits.lookups_max, is_over),
            places: BTreeMap::new(),
            graph: CodeGraph::default(),
        };
        let files = making.files();
        for step in [Making::contents, Making::imports, Making::calls] {
            for number in &files {
                if making.graph.cut.is_some() {
                    break;
                }
                step(&mut making, *number);
            }
        }
        making.end()
    }
}

fn is_under(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder);
    folder.is_empty() || below.is_some_and(|below| below.starts_with('/'))
}

struct Making<'t, 'q> {
    tree: &'t WorkTree,
    limits: &'t CodeGraphLimits,
    budget: Budget<'q>,
    places: BTreeMap<CodeNode, usize>,
    graph: CodeGraph,
}

impl Making<'_, '_> {
    /// Whether so much may be looked at.
    fn take(&mut self, things: usize) -> bool {
        let may = self.budget.take(things);
        if let Some(ended) = self.budget.ended() {
            self.cut(match ended {
                Ended::Lookups => GraphCut::Lookups,
                Ended::Time => GraphCut::Time,
            });
        }
        may
    }

    fn cut(&mut self, why: GraphCut) {
        self.graph.cut.get_or_insert(why);
    }

    /// The files that begin edges, in order of their paths.
    fn files(&mut self) -> Vec<FileNumber> {
        let (tree, limits) = (self.tree, self.limits);
        let mut files = Vec::new();
        for (path, number) in tree.numbered_paths() {
            if !self.take(1) {
                break;
            }
            if is_under(path, &limits.under) {
                files.push(number);
            }
        }
        files
    }

    /// The place of a node; none where there is no room for it.
    fn node(&mut self, node: Option<CodeNode>) -> Option<usize> {
        let node = node?;
        if let Some(place) = self.places.get(&node) {
            return Some(*place);
        }
        let place = self.graph.nodes.len();
        if place >= self.limits.nodes_max {
            self.cut(GraphCut::Room);
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
            self.cut(GraphCut::Room);
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
            if self.graph.cut.is_some() || !self.take(1) {
                return;
            }
            let outer = match symbol.parent {
                Some(parent) => self.symbol(number, parent),
                None => file,
            };
            let inner = self.symbol(number, place);
            self.edge(outer, CodeEdgeKind::Contains, inner, true);
        }
    }

    fn imports(&mut self, number: FileNumber) {
        let tree = self.tree;
        let mut targets: BTreeMap<FileNumber, bool> = BTreeMap::new();
        for edge in tree.imports().edges(number) {
            for target in tree.targets_of(edge).filter(|target| *target != number) {
                if !self.take(1) {
                    return;
                }
                *targets.entry(target).or_default() |= edge.is_certain;
            }
        }
        let from = self.file(number);
        let mut targets: Vec<(FileNumber, bool)> = targets.into_iter().collect();
        targets.sort_by_key(|(target, _)| tree.path(*target));
        for (target, is_certain) in targets {
            let to = self.file(target);
            self.edge(from, CodeEdgeKind::Imports, to, is_certain);
        }
    }

    fn calls(&mut self, number: FileNumber) {
        let tree = self.tree;
        let mut found: BTreeMap<(Option<u32>, FileNumber, u32), bool> = BTreeMap::new();
        let calls: &[Call] = tree.file_at(number).map_or(&[], |file| &file.calls);
        for call in calls {
            if !self.take(1) {
                return;
            }
            let meant = tree.places_of(number, call, &mut self.budget);
            for (target, place) in meant.of {
                let key = (call.caller, target, place);
                *found.entry(key).or_default() |= meant.is_certain;
            }
        }
        // Whether the last of them was looked at to its end.
        self.take(0);
        // Numbers of files are handed out as files come: the order is that of their paths.
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|((caller, target, place), _)| (*caller, tree.path(*target), *place));
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
