//! Symbols on the wire: those of a file, or of a name, with their signatures.
//!
//! Owns that what somebody wrote in a source file is marked as data. It must not know how files are read, nor what is masked
//! there.

use serde::{Deserialize, Serialize};
use sillok_code::{Named, SymbolRef, WorkTree};
use sillok_core::decision::Node;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::recall::mark_as_data;
use sillok_core::scope::Scope;
use utoipa::{IntoParams, ToSchema};

use super::named::symbol_node;
use super::{refused, within};
use crate::api::schema;
use crate::code::Seen;

/// Symbols that are told of at once, and how many where nothing is said.
const SYMBOLS_TOLD_MAX: usize = 1_000;
const SYMBOLS_TOLD: usize = 100;

/// Asks which symbols a file has, or which have a name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SymbolsQuery {
    /// Where the asker stands: the nearest work tree of this scope or of one around it is meant.
    #[param(value_type = schema::Scope, example = "org/acme/project/api")]
    pub scope: String,
    /// Of this file, by its path from the root of the work tree. At least one of `file` and `name` is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::FilePath>, example = "src/cart.py")]
    pub file: Option<String>,
    /// Of this name: the qualified one, such as `Client::read`, or the last part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::SymbolName>)]
    pub name: Option<String>,
    /// At most so many, 1 to 1,000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1_000)]
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
    #[schema(value_type = schema::Place)]
    pub node: Node,
    /// Its id, 32 hexadecimal digits: it stays when its body, its signature or the path of its file changes.
    #[schema(value_type = schema::ShortHash)]
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
    /// What stands before its body, without comments; its first 512 bytes. Secrets in it are masked.
    pub signature: String,
}

impl CodeSymbol {
    fn of(tree: &WorkTree, at: &SymbolRef) -> Option<Self> {
        let symbol = tree.symbol(at)?;
        Some(Self {
            node: symbol_node(tree, at),
            id: symbol.id.to_string(),
            kind: symbol.kind.name().to_owned(),
            name: symbol.name.to_string(),
            file: at.path.to_string(),
            first_line: symbol.lines.0,
            last_line: symbol.lines.1,
            signature: symbol.signature.to_string(),
        })
    }

    /// It on one line.
    fn line(&self) -> String {
        let (file, line) = (&self.file, self.first_line);
        format!(
            "{file}:{line} {} {}: {}",
            self.kind, self.name, self.signature
        )
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
    /// Whether there may be still more: 10,000 have the name, or the time of a question was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The symbols, one a line, wrapped so that a model reads them as data: names and signatures are what somebody wrote. The
    /// other fields are for programs.
    pub data_marked_text: String,
}

impl SymbolsFound {
    /// Those that are asked for, and found before `is_over`.
    ///
    /// # Errors
    /// `not_found` for a file that is not listed, or of which nothing is known.
    pub(crate) fn of(
        seen: &Seen<'_>,
        asked: &SymbolsAsked,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let tree = seen.tree;
        let found = match (&asked.file, &asked.name) {
            (None, name) => tree.find_named(name.as_deref().unwrap_or_default(), is_over),
            (Some(path), name) => Named {
                symbols: symbols_of(tree, path, name.as_deref())?,
                is_cut: false,
            },
        };
        let told = found.symbols.iter().take(asked.limit);
        let symbols: Vec<CodeSymbol> = told.filter_map(|at| CodeSymbol::of(tree, at)).collect();
        let lines: Vec<String> = symbols.iter().map(CodeSymbol::line).collect();
        Ok(Self {
            scope: seen.scope.clone(),
            more: found.symbols.len().saturating_sub(asked.limit) as u64,
            cut: found.is_cut,
            data_marked_text: mark_as_data(&lines.join("\n")),
            symbols,
        })
    }
}

/// The symbols of a file, or those of a name in it.
fn symbols_of(tree: &WorkTree, path: &str, name: Option<&str>) -> Result<Vec<SymbolRef>, Error> {
    let (Some(listed), Some(file)) = (tree.listed(path), tree.file(path)) else {
        let what = format!("{path} is no source file of the work tree that is known");
        return Err(Error::new(ErrorCode::NotFound, what));
    };
    if let Some(name) = name {
        return Ok(tree.symbols_in(path, name));
    }
    let places = (0..).zip(&file.symbols).map(|(place, _)| SymbolRef {
        path: listed.clone(),
        place,
    });
    Ok(places.collect())
}
