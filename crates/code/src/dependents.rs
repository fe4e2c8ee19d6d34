//! What depends on a file or a symbol.
//!
//! Owns the walk backwards over imports and calls, its bounds, and what is said of what was not followed. It must not know what
//! anybody concludes from it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::budget::{Budget, Ended};
use crate::calls::Place;
use crate::imports::ImportEdge;
use crate::limits::{CUT_NAMES_MAX, DEPENDENTS_DEPTH_MAX, DEPENDENTS_LOOKUPS_MAX, DEPENDENTS_MAX};
use crate::tables::FileNumber;
use crate::work_tree::{SymbolRef, WorkTree};

/// A file or a symbol of a work tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeNode {
    /// A file, as a path from the root.
    File(Arc<str>),
    /// A symbol.
    Symbol(SymbolRef),
}

/// How something depends on what it was reached from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// The file imports the file, or the symbol by its name.
    Imports,
    /// The code calls the symbol.
    Calls,
}

/// One that depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// What it is.
    pub node: CodeNode,
    /// Steps from what was asked about, from 1.
    pub depth: u32,
    /// What it was reached from.
    pub from: CodeNode,
    /// How.
    pub relation: Relation,
    /// Whether the last step is certain. From what is not, the walk does not go on.
    pub is_certain: bool,
}

/// How far the walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependentsLimits {
    /// How many are told.
    pub nodes_max: usize,
    /// Steps from one to what was asked about.
    pub depth_max: u32,
    /// Symbols, calls, imports and files that are looked at.
    pub lookups_max: usize,
}

impl Default for DependentsLimits {
    fn default() -> Self {
        Self {
            nodes_max: DEPENDENTS_MAX,
            depth_max: DEPENDENTS_DEPTH_MAX,
            lookups_max: DEPENDENTS_LOOKUPS_MAX,
        }
    }
}

/// Why the walk ended before everything was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutReason {
    /// As many were found as are told.
    Nodes,
    /// They lie deeper than the walk goes.
    Depth,
    /// As much was looked at as may be.
    Lookups,
    /// The time was over.
    Time,
}

impl From<Ended> for CutReason {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Lookups => Self::Lookups,
            Ended::Time => Self::Time,
        }
    }
}

/// What was not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependentsCut {
    /// The first bound that was reached.
    pub reason: CutReason,
    /// How many were found, and what depends on them was not looked for.
    pub unfollowed: usize,
    /// The first of them.
    pub first: Vec<CodeNode>,
}

/// What depends on something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependents {
    /// The nearest first; of one depth in the order of nodes.
    pub all: Vec<Dependent>,
    /// What was cut off, if anything was.
    pub cut: Option<DependentsCut>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    File(FileNumber),
    Symbol(Place),
}

/// A step that was found.
struct Step {
    to: At,
    relation: Relation,
    is_certain: bool,
    /// Whether the walk goes on from it.
    goes_on: bool,
}

struct Search<'t, 'q> {
    tree: &'t WorkTree,
    limits: DependentsLimits,
    budget: Budget<'q>,
    /// Each node once, with its place in `all`; none for where the walk began.
    seen: BTreeMap<At, Option<usize>>,
    all: Vec<Dependent>,
    unfollowed: Vec<CodeNode>,
    unfollowed_count: usize,
    reason: Option<CutReason>,
}

impl WorkTree {
    /// What depends on a file or a symbol, breadth first; none where the work tree has no such node. `is_over` is asked before
    /// the first thing that is looked at and each further 1,024; once it says so no more is.
    #[must_use]
    pub fn dependents(
        &self,
        of: &CodeNode,
        limits: DependentsLimits,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Dependents> {
        let start = match of {
            CodeNode::File(path) => At::File(self.number(path)?),
            CodeNode::Symbol(symbol) => {
                self.symbol(symbol)?;
                At::Symbol((self.number(&symbol.path)?, symbol.place))
            }
        };
        let mut search = Search {
            tree: self,
            limits,
            budget: Budget::new(limits.lookups_max, is_over),
            seen: BTreeMap::from([(start, None)]),
            all: Vec::new(),
            unfollowed: Vec::new(),
            unfollowed_count: 0,
            reason: None,
        };
        search.run(start);
        Some(search.end())
    }

    fn node(&self, at: At) -> Option<CodeNode> {
        match at {
            At::File(number) => self.path(number).cloned().map(CodeNode::File),
            At::Symbol(place) => self.named(place).map(CodeNode::Symbol),
        }
    }
}

impl Search<'_, '_> {
    fn run(&mut self, start: At) {
        let mut open = VecDeque::from([(start, 0)]);
        while let Some((at, depth)) = open.pop_front() {
            let bound = if depth >= self.limits.depth_max {
                Some(CutReason::Depth)
            } else if self.all.len() >= self.limits.nodes_max {
                Some(CutReason::Nodes)
            } else {
                self.budget.ended().map(CutReason::from)
            };
            if let Some(reason) = bound {
                self.not_followed(at, reason);
                continue;
            }
            let Some(from) = self.tree.node(at) else {
                continue;
            };
            for step in self.steps(at) {
                if self.take(&from, depth + 1, &step) && step.goes_on {
                    open.push_back((step.to, depth + 1));
                }
            }
            if let Some(ended) = self.budget.ended() {
                self.not_followed(at, ended.into());
            }
        }
    }

    /// Notes a step, unless its node is known. Whether it is new.
    fn take(&mut self, from: &CodeNode, depth: u32, step: &Step) -> bool {
        if let Some(known) = self.seen.get(&step.to) {
            // What is reached twice is certain where one way is.
            if let Some(known) = known.and_then(|place| self.all.get_mut(place)) {
                known.is_certain |= step.is_certain && known.depth == depth;
            }
            return false;
        }
        if self.all.len() >= self.limits.nodes_max {
            self.not_followed(step.to, CutReason::Nodes);
            return false;
        }
        let Some(node) = self.tree.node(step.to) else {
            return false;
        };
        self.seen.insert(step.to, Some(self.all.len()));
        self.all.push(Dependent {
            node,
            depth,
            from: from.clone(),
            relation: step.relation,
            is_certain: step.is_certain,
        });
        true
    }

    fn not_followed(&mut self, at: At, reason: CutReason) {
        self.reason.get_or_insert(reason);
        self.unfollowed_count += 1;
        if self.unfollowed.len() < CUT_NAMES_MAX {
            self.unfollowed.extend(self.tree.node(at));
        }
    }

    /// What depends on this in one step, in order of what it is called.
    fn steps(&mut self, at: At) -> Vec<Step> {
        let mut steps = Vec::new();
        match at {
            At::File(number) => {
                self.importers(number, &mut steps);
                let symbols = self
                    .tree
                    .file_at(number)
                    .map_or(0, |file| file.symbols.len());
                for place in (0..).take(symbols) {
                    if !self.budget.take(1) {
                        break;
                    }
                    self.callers((number, place), Some(number), &mut steps);
                }
            }
            At::Symbol(place) => {
                self.importers_by_name(place, &mut steps);
                self.callers(place, None, &mut steps);
            }
        }
        let tree = self.tree;
        steps.sort_by_cached_key(|step| (tree.node(step.to), step.relation, !step.is_certain));
        steps
    }

    fn importers(&mut self, number: FileNumber, steps: &mut Vec<Step>) {
        let tree = self.tree;
        let target = tree.target_for(number);
        let importing = tree.imports().importing(target);
        for importing in importing.filter(|importing| *importing != number) {
            if !self.budget.take(1 + tree.imports().edges(importing).len()) {
                return;
            }
            let is_certain = tree.edges_to(importing, target).any(|edge| edge.is_certain);
            steps.push(Step {
                to: At::File(importing),
                relation: Relation::Imports,
                is_certain,
                goes_on: is_certain,
            });
        }
    }

    /// Files that import a symbol by its name. What they do with it is told by their calls.
    fn importers_by_name(&mut self, (number, place): Place, steps: &mut Vec<Step>) {
        let tree = self.tree;
        let Some(file) = tree.file_at(number) else {
            return;
        };
        let symbol = file.symbols.get(place as usize);
        let Some(name) = symbol.map(|symbol| symbol.own_name(file.language)) else {
            return;
        };
        let target = tree.target_for(number);
        let importing = tree.imports().importing(target);
        for importing in importing.filter(|importing| *importing != number) {
            if !self.budget.take(1 + tree.imports().edges(importing).len()) {
                return;
            }
            let imports = tree.file_at(importing).map(|file| &file.imports);
            let is_named = |edge: &&ImportEdge| {
                let import = imports.and_then(|imports| imports.get(edge.import as usize));
                import.is_some_and(|it| it.name.as_deref() == Some(name))
            };
            let edges = tree.edges_to(importing, target).filter(is_named);
            let is_certain = edges.map(|edge| edge.is_certain).max();
            steps.extend(is_certain.map(|is_certain| Step {
                to: At::File(importing),
                relation: Relation::Imports,
                is_certain,
                goes_on: false,
            }));
        }
    }

    /// The code that calls a symbol, but for that of one file.
    fn callers(&mut self, of: Place, but: Option<FileNumber>, steps: &mut Vec<Step>) {
        let tree = self.tree;
        let Some(file) = tree.file_at(of.0) else {
            return;
        };
        let symbol = file.symbols.get(of.1 as usize);
        let Some(name) = symbol.map(|symbol| symbol.own_name(file.language)) else {
            return;
        };
        for calling in tree.tables().calling(name).filter(|it| Some(*it) != but) {
            if !self.budget.take(1) {
                return;
            }
            let Some(caller_file) = tree.file_at(calling) else {
                continue;
            };
            if !caller_file.language.reaches(file.language) {
                continue;
            }
            for call in caller_file.calls_of(name) {
                if !self.budget.take(1) {
                    return;
                }
                // Of a call that was not looked at to its end nothing is meant.
                let meant = tree.places_of(calling, call, &mut self.budget);
                if !meant.of.contains(&of) {
                    continue;
                }
                steps.push(Step {
                    to: call
                        .caller
                        .map_or(At::File(calling), |caller| At::Symbol((calling, caller))),
                    relation: Relation::Calls,
                    is_certain: meant.is_certain,
                    goes_on: meant.is_certain && call.caller.is_some(),
                });
            }
        }
    }

    fn end(self) -> Dependents {
        let cut = self.reason.map(|reason| DependentsCut {
            reason,
            unfollowed: self.unfollowed_count,
            first: self.unfollowed,
        });
        Dependents { all: self.all, cut }
    }
}
