//! What source files say, on the wire: a work tree, its symbols, and what depends on what.
//!
//! Owns the bounds that a request may ask for, and how files and symbols are named there: as decisions name them. It must not
//! know how files are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sillok_code::{
    CodeNode, CutReason, Dependent as Found, Dependents as FoundAll, DependentsLimits, Relation,
    SymbolKind, SymbolRef, WorkTree, limits,
};
use sillok_core::decision::Node;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::scope::Scope;
use utoipa::{IntoParams, ToSchema};

use super::schema;
use crate::code::Seen;

/// Symbols that are told of at once, and how many where nothing is said.
const SYMBOLS_TOLD_MAX: usize = 1_000;
const SYMBOLS_TOLD: usize = 100;
/// Dependents that are told of where nothing is said.
const DEPENDENTS_TOLD: usize = 1_000;
/// Symbols that one name may mean where it is asked what depends on them.
const STARTS_MAX: usize = 16;

/// Asks what is known of a work tree.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkTreeQuery {
    /// Where the asker stands: the nearest work tree of this scope or of one around it is meant.
    pub scope: String,
}

/// What is known of a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkTreeView {
    /// The scope that it is the work tree of.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// How many looks at it were put in; with none, nothing is known yet. Another number says that something may be other than
    /// it was.
    pub looks: u64,
    /// Source files that are listed.
    pub files: u64,
    /// Symbols of all of them.
    pub symbols: u64,
    /// Files that are listed and could not be read, or are too large: nothing is known of what they hold.
    pub unread: u64,
    /// Entries that were passed over, by why: `links`, `special` (devices, pipes, sockets), `names` (no UTF-8, or too long),
    /// `unreadable`, `files` (over the number that is listed), `rules` (files of what git ignores that were not read).
    pub passed: BTreeMap<String, u64>,
    /// Whether the look ended at its bound, so that something is missing.
    pub cut: bool,
    /// Whether some folders of what the server follows are not watched, so that a change there is seen late or not at all.
    pub partial: bool,
}

impl WorkTreeView {
    pub(crate) fn of(seen: &Seen<'_>) -> Self {
        let tree = seen.tree;
        let (mut symbols, mut unread) = (0, 0);
        for path in tree.paths() {
            match tree.file(path) {
                Some(file) => symbols += file.symbols.len() as u64,
                None => unread += 1,
            }
        }
        let passed = tree.passed();
        let passed = [
            ("links", passed.links),
            ("special", passed.special),
            ("names", passed.names),
            ("unreadable", passed.unreadable),
            ("files", passed.files),
            ("rules", passed.rules),
        ];
        Self {
            scope: seen.scope.clone(),
            looks: tree.generation(),
            files: tree.len() as u64,
            symbols,
            unread,
            passed: passed
                .into_iter()
                .map(|(why, many)| (why.to_owned(), many))
                .collect(),
            cut: tree.is_cut(),
            partial: seen.is_partial,
        }
    }
}

/// Asks which symbols a file has, or which have a name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SymbolsQuery {
    /// Where the asker stands: the nearest work tree of this scope or of one around it is meant.
    pub scope: String,
    /// Of this file, by its path from the root of the work tree. At least one of `file` and `name` is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Of this name: the qualified one, such as `Client::read`, or the last part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// At most so many, 1 to 1,000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// What a [`SymbolsQuery`] asks.
pub(crate) struct SymbolsAsked {
    pub(crate) scope: Scope,
    file: Option<String>,
    name: Option<String>,
    limit: usize,
}

impl SymbolsQuery {
    /// What is asked.
    ///
    /// # Errors
    /// `invalid_scope`, `invalid_argument` or `too_large`.
    pub(crate) fn parse(self) -> Result<SymbolsAsked, Error> {
        let scope = Scope::parse(&self.scope)?;
        let limit = within("symbols", SYMBOLS_TOLD, SYMBOLS_TOLD_MAX, self.limit)?;
        if self.file.is_none() && self.name.is_none() {
            return Err(refused("name a file, a symbol, or both"));
        }
        let file = match self.file.as_deref().map(Node::file).transpose()? {
            Some(Node::File { path }) => Some(path),
            _ => None,
        };
        if let Some(name) = &self.name {
            Node::symbol(name, None)?;
        }
        Ok(SymbolsAsked {
            scope,
            file,
            name: self.name,
            limit,
        })
    }
}

/// A named piece of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeSymbol {
    /// It as decisions name it.
    #[schema(value_type = schema::Node)]
    pub node: Node,
    /// Its id, 32 hexadecimal digits: it stays when its body, its signature or the path of its file changes.
    pub id: String,
    /// What it is: `function`, `method`, `class`, `struct`, `enum`, `union`, `interface`, `type_alias`, `constant`, `variable`,
    /// `module` or `macro`.
    pub kind: String,
    /// Its name with those of what it lies in.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Its first line, from 1.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// What stands before its body, without comments; its first 512 bytes.
    pub signature: String,
}

impl CodeSymbol {
    fn of(tree: &WorkTree, at: &SymbolRef) -> Option<Self> {
        let symbol = tree.symbol(at)?;
        let kind: SymbolKind = symbol.kind;
        Some(Self {
            node: symbol_node(tree, at),
            id: symbol.id.to_string(),
            kind: kind.name().to_owned(),
            name: symbol.name.to_string(),
            file: at.path.to_string(),
            first_line: symbol.lines.0,
            last_line: symbol.lines.1,
            signature: symbol.signature.to_string(),
        })
    }
}

/// The symbols of a file, or of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SymbolsFound {
    /// The scope that the work tree is of.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// By their files, and in a file in the order in which they begin.
    pub symbols: Vec<CodeSymbol>,
    /// How many more there are.
    pub more: u64,
}

impl SymbolsFound {
    /// Those that are asked for.
    ///
    /// # Errors
    /// `not_found` for a file that is not listed, or of which nothing is known.
    pub(crate) fn of(seen: &Seen<'_>, asked: &SymbolsAsked) -> Result<Self, Error> {
        let tree = seen.tree;
        let found = match (&asked.file, &asked.name) {
            (None, name) => tree.symbols_named(name.as_deref().unwrap_or_default()),
            (Some(path), name) => {
                let all = symbols_of(tree, path)?;
                let is_meant =
                    |at: &SymbolRef| name.as_deref().is_none_or(|name| is_named(tree, at, name));
                all.into_iter().filter(is_meant).collect()
            }
        };
        let more = found.len().saturating_sub(asked.limit) as u64;
        let told = found.iter().take(asked.limit);
        Ok(Self {
            scope: seen.scope.clone(),
            symbols: told.filter_map(|at| CodeSymbol::of(tree, at)).collect(),
            more,
        })
    }
}

fn symbols_of(tree: &WorkTree, path: &str) -> Result<Vec<SymbolRef>, Error> {
    let listed = tree.paths().find(|listed| ***listed == *path);
    let (Some(listed), Some(file)) = (listed, tree.file(path)) else {
        let what = format!("{path} is no source file of the work tree that is known");
        return Err(Error::new(ErrorCode::NotFound, what));
    };
    let places = (0..).zip(&file.symbols).map(|(place, _)| SymbolRef {
        path: listed.clone(),
        place,
    });
    Ok(places.collect())
}

fn is_named(tree: &WorkTree, at: &SymbolRef, name: &str) -> bool {
    let file = tree.file(&at.path);
    let symbol = tree.symbol(at);
    symbol.zip(file).is_some_and(|(symbol, file)| {
        &*symbol.name == name || symbol.own_name(file.language) == name
    })
}

/// Asks what depends on a file or a symbol.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DependentsQuery {
    /// Where the asker stands: the nearest work tree of this scope or of one around it is meant.
    pub scope: String,
    /// The file or the symbol: `file:PATH`, `symbol:NAME@PATH` or `symbol:NAME`.
    pub of: String,
    /// At most so many, 1 to 10,000; 1,000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_max: Option<usize>,
    /// At most so many steps away, 1 to 8; 8 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[schema(value_type = schema::Node)]
    pub node: Node,
    /// Steps between it and what was asked about, from 1.
    pub depth: u32,
    /// What it was reached from.
    #[schema(value_type = schema::Node)]
    pub from: Node,
    /// How it depends on that.
    pub relation: CodeRelation,
    /// Whether that is certain: types of values are not known, so a name may mean another thing. What is not certain is told,
    /// and what depends on it is not looked for.
    pub certain: bool,
}

/// Why something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeCutReason {
    /// As many were found as were asked for.
    Nodes,
    /// They lie further away than was asked for.
    Depth,
    /// As many files were looked into as may be for one question.
    Lookups,
}

/// What was not followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeCut {
    /// The first bound that was reached.
    pub reason: CodeCutReason,
    /// How many were found, and what depends on them was not looked for.
    pub unfollowed: u64,
    /// The first of them.
    #[schema(value_type = Vec<schema::Node>)]
    pub first: Vec<Node>,
}

/// What depends on a file or a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeDependents {
    /// The scope that the work tree is of.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// What was asked about: the file, or each symbol that has the name.
    #[schema(value_type = Vec<schema::Node>)]
    pub of: Vec<Node>,
    /// What depends on any of them, each once: the nearest first, and of one depth in the order of their names.
    pub dependents: Vec<CodeDependent>,
    /// What was cut off, of each that was asked about; nothing when all is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<CodeCut>,
}

impl CodeDependents {
    /// What depends on what is asked about.
    ///
    /// # Errors
    /// `not_found` where the work tree has no such file or symbol, `invalid_argument` where too many have the name.
    pub(crate) fn of(seen: &Seen<'_>, asked: &DependentsAsked) -> Result<Self, Error> {
        let tree = seen.tree;
        let starts = starts(tree, &asked.of)?;
        let mut nearest: BTreeMap<Node, CodeDependent> = BTreeMap::new();
        let mut cut = Vec::new();
        for start in &starts {
            let Some(FoundAll { all, cut: missing }) = tree.dependents(start, asked.limits) else {
                continue;
            };
            for found in all {
                let found = dependent(tree, &found);
                let known = nearest.get(&found.node);
                if known.is_none_or(|known| found.depth < known.depth) {
                    nearest.insert(found.node.clone(), found);
                }
            }
            cut.extend(missing.map(|missing| {
                CodeCut {
                    reason: match missing.reason {
                        CutReason::Nodes => CodeCutReason::Nodes,
                        CutReason::Depth => CodeCutReason::Depth,
                        CutReason::Lookups => CodeCutReason::Lookups,
                    },
                    unfollowed: missing.unfollowed as u64,
                    first: missing
                        .first
                        .iter()
                        .map(|node| node_of(tree, node))
                        .collect(),
                }
            }));
        }
        let mut dependents: Vec<CodeDependent> = nearest.into_values().collect();
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
        let mut of: Vec<Node> = starts.iter().map(|start| node_of(tree, start)).collect();
        of.dedup();
        Ok(Self {
            scope: seen.scope.clone(),
            of,
            dependents,
            cut,
        })
    }
}

/// What of a work tree a node means.
fn starts(tree: &WorkTree, of: &Node) -> Result<Vec<CodeNode>, Error> {
    let found: Vec<CodeNode> = match of {
        Node::File { path } => {
            let listed = tree.paths().find(|listed| ***listed == **path);
            listed.cloned().map(CodeNode::File).into_iter().collect()
        }
        Node::Symbol { name, file } => {
            let named = tree.symbols_named(name).into_iter();
            let is_there = |at: &SymbolRef| file.as_deref().is_none_or(|file| *at.path == *file);
            named.filter(is_there).map(CodeNode::Symbol).collect()
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

/// A file or a symbol as decisions name it.
pub(crate) fn node_of(tree: &WorkTree, node: &CodeNode) -> Node {
    match node {
        CodeNode::File(path) => Node::File {
            path: path.to_string(),
        },
        CodeNode::Symbol(at) => symbol_node(tree, at),
    }
}

fn symbol_node(tree: &WorkTree, at: &SymbolRef) -> Node {
    let name = tree.symbol(at).map(|symbol| symbol.name.to_string());
    Node::Symbol {
        name: name.unwrap_or_default(),
        file: Some(at.path.to_string()),
    }
}

fn within(what: &str, usual: usize, most: usize, asked: Option<usize>) -> Result<usize, Error> {
    match asked.unwrap_or(usual) {
        0 => Err(refused(&format!("at least one of {what} is asked for"))),
        asked if asked > most => Err(Error::too_large(what, most as u64, asked as u64)),
        asked => Ok(asked),
    }
}

fn refused(why: &str) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}
