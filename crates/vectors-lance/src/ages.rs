//! The columns by which runs of maintenance are planned, as batches of a table have them.
//!
//! Owns their way from Arrow to the form that the rules take. It must not know what is due.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt8Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

use crate::columns::{column, named, unknown};
use crate::error::Error;

/// The columns by which entries of tasks are ranked.
pub(crate) const WORTHS: [&str; 6] = ["entry", "table", "status", "age_from_ms", "value", "origin"];
/// With those by which it is found what is due.
pub(crate) const AGES: [&str; 9] = [
    "entry",
    "table",
    "status",
    "age_from_ms",
    "value",
    "origin",
    "scope",
    "version",
    "resolved_at_ms",
];

/// The columns [`WORTHS`] of a batch.
pub(crate) struct Worths<'a> {
    entry: Vec<EntryId>,
    table: Vec<Table>,
    status: Vec<Status>,
    age_from: Vec<Timestamp>,
    value: &'a [f64],
    origin: &'a [u64],
}

impl<'a> Worths<'a> {
    pub(crate) fn of(batch: &'a RecordBatch) -> Result<Self, Error> {
        let entries = column(batch, "entry")?.as_fixed_size_binary();
        let (entries, rest) = entries.value_data().as_chunks();
        if !rest.is_empty() || entries.len() != batch.num_rows() {
            return Err(unknown());
        }
        let tables = column(batch, "table")?.as_primitive::<UInt8Type>();
        let statuses = column(batch, "status")?.as_primitive::<UInt8Type>();
        let ages = column(batch, "age_from_ms")?.as_primitive::<UInt64Type>();
        let mut worths = Self {
            entry: entries.iter().copied().map(EntryId::from_bytes).collect(),
            table: Vec::with_capacity(batch.num_rows()),
            status: Vec::with_capacity(batch.num_rows()),
            age_from: ages
                .values()
                .iter()
                .copied()
                .map(Timestamp::from_ms)
                .collect(),
            value: column(batch, "value")?
                .as_primitive::<Float64Type>()
                .values(),
            origin: column(batch, "origin")?
                .as_primitive::<UInt64Type>()
                .values(),
        };
        for (table, status) in tables.values().iter().zip(statuses.values()) {
            let (table, status) = named(*table, *status)?;
            worths.table.push(table);
            worths.status.push(status);
        }
        Ok(worths)
    }

    pub(crate) fn columns(&self) -> WorthColumns<'_> {
        WorthColumns {
            entry: &self.entry,
            table: &self.table,
            status: &self.status,
            age_from: &self.age_from,
            value: self.value,
            origin: self.origin,
        }
    }
}

/// The columns [`AGES`] of a batch.
pub(crate) struct Ages<'a> {
    worths: Worths<'a>,
    scopes: Vec<Scope>,
    scope: Vec<u32>,
    version: &'a [u64],
    resolved_at: Vec<Option<Timestamp>>,
}

impl<'a> Ages<'a> {
    pub(crate) fn of(batch: &'a RecordBatch) -> Result<Self, Error> {
        let resolved = column(batch, "resolved_at_ms")?.as_primitive::<UInt64Type>();
        let resolved_at = match resolved.null_count() == resolved.len() {
            true => vec![None; resolved.len()],
            false => resolved
                .iter()
                .map(|at| at.map(Timestamp::from_ms))
                .collect(),
        };
        let (scopes, scope) = scopes(batch)?;
        Ok(Self {
            worths: Worths::of(batch)?,
            scopes,
            scope,
            version: column(batch, "version")?
                .as_primitive::<UInt64Type>()
                .values(),
            resolved_at,
        })
    }

    pub(crate) fn columns(&self) -> AgeColumns<'_> {
        AgeColumns {
            worth: self.worths.columns(),
            scopes: &self.scopes,
            scope: &self.scope,
            version: self.version,
            resolved_at: &self.resolved_at,
        }
    }
}

/// The scopes of a batch, each once, and which of them each row lies in. Rows of one scope mostly follow each other.
fn scopes(batch: &RecordBatch) -> Result<(Vec<Scope>, Vec<u32>), Error> {
    let paths = column(batch, "scope")?.as_string::<i32>();
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    let mut scopes = Vec::new();
    let mut last = None;
    let mut places = Vec::with_capacity(paths.len());
    for row in 0..paths.len() {
        let path = paths.value(row);
        let place = match last {
            Some((before, place)) if before == path => place,
            _ => match known.get(path) {
                Some(place) => *place,
                None => {
                    let place = u32::try_from(scopes.len()).map_err(|_| unknown())?;
                    scopes.push(Scope::parse(path).map_err(|_| unknown())?);
                    known.insert(path, place);
                    place
                }
            },
        };
        last = Some((path, place));
        places.push(place);
    }
    Ok((scopes, places))
}
