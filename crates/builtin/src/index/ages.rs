//! What runs of maintenance are planned by, as columns.

use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

/// The columns of some entries, a row each.
#[derive(Default)]
pub(super) struct Columns {
    entry: Vec<EntryId>,
    table: Vec<Table>,
    status: Vec<Status>,
    age_from: Vec<Timestamp>,
    value: Vec<f64>,
    origin: Vec<u64>,
    scopes: Vec<Scope>,
    scope: Vec<u32>,
    version: Vec<u64>,
    resolved_at: Vec<Option<Timestamp>>,
}

impl Columns {
    /// Those of entries that come scope by scope.
    pub(super) fn of<'a>(docs: impl Iterator<Item = &'a IndexDoc>) -> Self {
        let mut columns = Self::default();
        for doc in docs {
            if columns.scopes.last() != Some(&doc.scope) {
                columns.scopes.push(doc.scope.clone());
            }
            let scope = u32::try_from(columns.scopes.len() - 1);
            columns
                .scope
                .push(scope.expect("as many scopes as lie in memory"));
            columns.entry.push(doc.entry);
            columns.table.push(doc.table);
            columns.status.push(doc.status);
            columns.age_from.push(doc.age.from);
            columns.value.push(doc.age.value);
            columns.origin.push(doc.age.origin);
            columns.version.push(doc.version);
            columns.resolved_at.push(doc.age.resolved_at);
        }
        columns
    }

    pub(super) fn ages(&self) -> AgeColumns<'_> {
        AgeColumns {
            worth: self.worths(),
            scopes: &self.scopes,
            scope: &self.scope,
            version: &self.version,
            resolved_at: &self.resolved_at,
        }
    }

    pub(super) fn worths(&self) -> WorthColumns<'_> {
        WorthColumns {
            entry: &self.entry,
            table: &self.table,
            status: &self.status,
            age_from: &self.age_from,
            value: &self.value,
            origin: &self.origin,
        }
    }
}
