//! What depends on a file or a symbol, on the wire.
//!
//! Owns what a node that is asked about means in a work tree, and that each dependent is told once. It must not know how
//! dependents are found.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sillok_code::{
    CodeNode, CutReason, Dependent as Found, Dependents as FoundAll, DependentsCut,
    DependentsLimits, Named, Relation, SymbolRef, WorkTree, limits,
};
use sillok_core::decision::Node;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::recall::mark_as_data;
use sillok_core::scope::Scope;
use utoipa::{IntoParams, ToSchema};

use super::named::node_of;
use super::{refused, within};
use crate::api::schema;
use crate::code::Seen;

/// Dependents that are told of where nothing is said.
const DEPENDENTS_TOLD: usize = 1_000;
/// Symbols that one name may mean where it is asked what depends on them.
const STARTS_MAX: usize = 16;

/// Asks what depends on a file or a symbol.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DependentsQuery {
    /// Where the asker stands: the nearest work tree of this scope or of one around it is meant.
    #[param(value_type = schema::Scope, example = "org/acme/project/api")]
    pub scope: String,
    /// The file or the symbol: `file:PATH`, `symbol:NAME@PATH` or `symbol:NAME`.
    #[param(value_type = schema::Place, example = "symbol:total@src/cart.py")]
    pub of: String,
    /// At most so many, 1 to 10,000; 1,000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub nodes_max: Option<usize>,
    /// At most so many steps away, 1 to 8; 8 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 8)]
    pub depth_max: Option<u32>,
}

/// What a [`DependentsQuery`] asks.
pub(crate) struct DependentsAsked {
    pub(crate) scope: Scope,
    of: Node,
    limits: DependentsLimits,
}

impl DependentsQuery {
    /// What is asked.
    ///
    /// # Errors
    /// `invalid_scope`, `invalid_argument` or `too_large`.
    pub(crate) fn parse(self) -> Result<DependentsAsked, Error> {
        let scope = Scope::parse(&self.scope)?;
        let of: Node = self.of.parse()?;
        if !matches!(of, Node::File { .. } | Node::Symbol { .. }) {
            return Err(refused(
                "files and symbols have dependents of code; of decisions, ask for an impact",
            ));
        }
        let nodes_max = within(
            "dependents",
            DEPENDENTS_TOLD,
            limits::DEPENDENTS_MAX,
            self.nodes_max,
        )?;
        let depth_limit = limits::DEPENDENTS_DEPTH_MAX;
        let depth_max = self.depth_max.unwrap_or(depth_limit);
        if depth_max == 0 {
            return Err(refused("at least one step is looked at"));
        }
        if depth_max > depth_limit {
            return Err(Error::too_large(
                "steps",
                depth_limit.into(),
                depth_max.into(),
            ));
        }
        Ok(DependentsAsked {
            scope,
            of,
            limits: DependentsLimits {
                nodes_max,
                depth_max,
                ..DependentsLimits::default()
            },
        })
    }
}

/// How one piece of code depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeRelation {
    /// It imports it.
    Imports,
    /// It calls it.
    Calls,
}

/// What depends on something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeDependent {
    /// The file or the symbol.
    #[schema(value_type = schema::Place)]
    pub node: Node,
    /// Steps between it and what was asked about, from 1.
    pub depth: u32,
    /// What it was reached from.
    #[schema(value_type = schema::Place)]
    pub from: Node,
    /// How it depends on that.
    pub relation: CodeRelation,
    /// Whether that is certain: types of values are not known, so a name may mean another thing. What is not certain is told,
    /// and what depends on it is not looked for.
    pub certain: bool,
}

impl CodeDependent {
    /// It on one line.
    fn line(&self) -> String {
        let how = match (self.relation, self.certain) {
            (CodeRelation::Imports, true) => "imports",
            (CodeRelation::Imports, false) => "may import",
            (CodeRelation::Calls, true) => "calls",
            (CodeRelation::Calls, false) => "may call",
        };
        format!("{} {how} {}", self.node, self.from)
    }
}

/// Why something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeCutReason {
    /// As many were found as were asked for.
    Nodes,
    /// They lie further away than was asked for.
    Depth,
    /// As much was looked at as may be for one question.
    Lookups,
    /// The time of a question, a second, was over.
    Time,
}

/// What was not followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeCut {
    /// The first bound that was reached.
    pub reason: CodeCutReason,
    /// How many were found, and what depends on them was not looked for.
    pub unfollowed: u64,
    /// The first of them.
    #[schema(value_type = Vec<schema::Place>)]
    pub first: Vec<Node>,
}

/// What depends on a file or a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeDependents {
    /// The scope that the work tree is of.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// What was asked about: the file, or each symbol that has the name.
    #[schema(value_type = Vec<schema::Place>)]
    pub of: Vec<Node>,
    /// What depends on any of them, each once, and not they themselves: the nearest first, and of one depth in the order of their
    /// names.
    pub dependents: Vec<CodeDependent>,
    /// What was cut off, of each that was asked about; nothing when all is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<CodeCut>,
    /// The dependents, one a line, wrapped so that a model reads them as data: paths and names are what somebody wrote. The
    /// other fields are for programs.
    pub data_marked_text: String,
}

impl CodeDependents {
    /// What depends on what is asked about, as far as it is found before `is_over`.
    ///
    /// # Errors
    /// `not_found` where the work tree has no such file or symbol, `invalid_argument` where too many have the name.
    pub(crate) fn of(
        seen: &Seen<'_>,
        asked: &DependentsAsked,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let tree = seen.tree;
        let starts = starts(tree, &asked.of, is_over)?;
        let mut of: Vec<Node> = starts.iter().map(|start| node_of(tree, start)).collect();
        // Those of one name in one file need not be neighbours.
        let mut named = BTreeSet::new();
        of.retain(|node| named.insert(node.clone()));
        let (mut nearest, mut cut) = (Nearest::default(), Vec::new());
        for start in &starts {
            let found = tree.dependents(start, asked.limits, is_over);
            let Some(FoundAll { all, cut: missing }) = found else {
                continue;
            };
            for found in all {
                nearest.take(dependent(tree, &found));
            }
            cut.extend(missing.map(|missing| not_followed(tree, &missing)));
        }
        for start in &of {
            nearest.0.remove(start);
        }
        let mut dependents: Vec<CodeDependent> = nearest.0.into_values().collect();
        dependents.sort_by_key(|one| one.depth);
        let over = dependents.len().saturating_sub(asked.limits.nodes_max);
        if over > 0 {
            let rest = dependents.split_off(asked.limits.nodes_max).into_iter();
            cut.push(CodeCut {
                reason: CodeCutReason::Nodes,
                unfollowed: over as u64,
                first: rest
                    .take(limits::CUT_NAMES_MAX)
                    .map(|one| one.node)
                    .collect(),
            });
        }
        let lines: Vec<String> = dependents.iter().map(CodeDependent::line).collect();
        Ok(Self {
            scope: seen.scope.clone(),
            of,
            data_marked_text: mark_as_data(&lines.join("\n")),
            dependents,
            cut,
        })
    }
}

/// Each dependent once, whatever it was reached from.
#[derive(Default)]
struct Nearest(BTreeMap<Node, CodeDependent>);

impl Nearest {
    /// Keeps what is nearer than what is known, or as near and certain where that is not.
    fn take(&mut self, found: CodeDependent) {
        let is_better = |known: &CodeDependent| {
            let is_surer = found.certain && !known.certain;
            found.depth < known.depth || (found.depth == known.depth && is_surer)
        };
        if self.0.get(&found.node).is_none_or(is_better) {
            self.0.insert(found.node.clone(), found);
        }
    }
}

fn not_followed(tree: &WorkTree, missing: &DependentsCut) -> CodeCut {
    let first = missing.first.iter();
    CodeCut {
        reason: match missing.reason {
            CutReason::Nodes => CodeCutReason::Nodes,
            CutReason::Depth => CodeCutReason::Depth,
            CutReason::Lookups => CodeCutReason::Lookups,
            CutReason::Time => CodeCutReason::Time,
        },
        unfollowed: missing.unfollowed as u64,
        first: first.map(|node| node_of(tree, node)).collect(),
    }
}

/// What of a work tree a node means.
fn starts(tree: &WorkTree, of: &Node, is_over: &dyn Fn() -> bool) -> Result<Vec<CodeNode>, Error> {
    let symbols = |found: Vec<SymbolRef>| -> Vec<CodeNode> {
        found.into_iter().map(CodeNode::Symbol).collect()
    };
    let found: Vec<CodeNode> = match of {
        Node::File { path } => {
            let listed = tree.listed(path).cloned();
            listed.map(CodeNode::File).into_iter().collect()
        }
        Node::Symbol {
            name,
            file: Some(file),
        } => symbols(tree.symbols_in(file, name)),
        Node::Symbol { name, file: None } => {
            let Named {
                symbols: found,
                is_cut,
            } = tree.find_named(name, is_over);
            if is_cut && is_over() {
                let why = format!("the time was over before all was found that is known as {of}");
                return Err(Error::new(ErrorCode::TooLarge, why));
            }
            symbols(found)
        }
        Node::Decision { .. } | Node::Evidence { .. } => Vec::new(),
    };
    if found.is_empty() {
        let what = format!("the work tree has nothing that is known as {of}");
        return Err(Error::new(ErrorCode::NotFound, what));
    }
    if found.len() > STARTS_MAX {
        let many = found.len();
        return Err(refused(&format!(
            "{many} symbols are named {of}: name the file, or the qualified name"
        )));
    }
    Ok(found)
}

fn dependent(tree: &WorkTree, found: &Found) -> CodeDependent {
    CodeDependent {
        node: node_of(tree, &found.node),
        depth: found.depth,
        from: node_of(tree, &found.from),
        relation: match found.relation {
            Relation::Imports => CodeRelation::Imports,
            Relation::Calls => CodeRelation::Calls,
        },
        certain: found.is_certain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_ways_of_one_length_the_certain_one_is_told() {
        let file = |path: &str| Node::file(path).unwrap();
        let found = |depth, from: &str, certain| CodeDependent {
            node: file("a.py"),
            depth,
            from: file(from),
            relation: CodeRelation::Calls,
            certain,
        };
        let ways = [
            found(2, "b.py", false),
            found(2, "c.py", true),
            found(1, "d.py", false),
            found(3, "e.py", true),
        ];
        let told = |ways: &[&CodeDependent]| {
            let mut nearest = Nearest::default();
            for way in ways {
                nearest.take((*way).clone());
            }
            nearest.0.remove(&file("a.py")).unwrap()
        };
        let [unsure, sure, near, far] = &ways;
        assert_eq!(told(&[unsure, sure]), *sure);
        assert_eq!(told(&[sure, unsure]), *sure);
        assert_eq!(told(&[sure, near, far]), *near);
    }
}
