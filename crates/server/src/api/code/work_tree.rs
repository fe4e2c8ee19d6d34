//! A work tree on the wire: how much is known of it, and what is missing.
//!
//! Owns what is counted. It must not know how files are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sillok_core::scope::Scope;
use utoipa::{IntoParams, ToSchema};

use crate::api::schema;
use crate::code::Seen;

/// Asks what is known of a work tree.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkTreeQuery {
    /// Where the asker stands: the nearest work tree of this scope or of one around it is meant.
    #[param(value_type = schema::Scope, example = "org/acme/project/api")]
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
    /// Why the last look came to nothing: what is known is that of the look before. Absent when it went well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Source files that are listed.
    pub files: u64,
    /// Symbols of all of them.
    pub symbols: u64,
    /// Files that were parsed since the server began: not those that it knew before.
    pub parsed: u64,
    /// Files that are listed and could not be read, or are too large: nothing is known of what they hold.
    pub unread: u64,
    /// What is not told of the files that were read, by what: `errors` (files of which the parser did not understand a part),
    /// `cut` (files with more than is kept of one), the `symbols`, `imports` and `calls` of those that are missing, `names`
    /// (symbols whose names decisions cannot say, such as with an `@` in them, or that hold a key), and `unfollowed` (files whose
    /// imports are not all followed: for want of room, since they are too many, or not yet, after a change that concerns many).
    pub left_out: BTreeMap<String, u64>,
    /// Entries that were passed over, by why: `links`, `special` (devices, pipes, sockets), `names` (no UTF-8, too long, with a
    /// backslash or a control character, or with a key in them), `unreadable`, `files` (over the number that is listed, or for
    /// which there is no room), `rules` (files of what git ignores that were not read).
    pub passed: BTreeMap<String, u64>,
    /// Whether the look ended at its bound, so that something is missing.
    pub cut: bool,
    /// Whether some folders of it are not watched, so that a change there is seen late.
    pub partial: bool,
}

impl WorkTreeView {
    pub(crate) fn of(seen: &Seen<'_>) -> Self {
        let tree = seen.tree;
        let totals = tree.totals();
        let passed = tree.passed();
        Self {
            scope: seen.scope.clone(),
            looks: tree.generation(),
            failed: seen.failed.clone(),
            files: tree.len() as u64,
            symbols: totals.symbols,
            parsed: seen.parsed,
            unread: totals.unread,
            left_out: named([
                ("errors", totals.errors),
                ("cut", totals.cut_files),
                ("symbols", totals.cut_symbols),
                ("imports", totals.cut_imports),
                ("calls", totals.cut_calls),
                ("names", totals.unsayable),
                ("unfollowed", tree.imports_cut() as u64),
            ]),
            passed: named([
                ("links", passed.links),
                ("special", passed.special),
                ("names", passed.names),
                ("unreadable", passed.unreadable),
                ("files", passed.files),
                ("rules", passed.rules),
            ]),
            cut: tree.is_cut(),
            partial: seen.is_partial,
        }
    }
}

fn named<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    let counts = counts.into_iter();
    counts.map(|(why, many)| (why.to_owned(), many)).collect()
}
