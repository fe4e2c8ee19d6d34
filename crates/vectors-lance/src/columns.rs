//! The columns of a table, and how a state of an entry becomes a row and back.
//!
//! Owns names, types and ordinals, which are stored and never change their meaning. It must not
//! know datasets.

use core::num::NonZeroU64;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt8Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, Float64Array,
    RecordBatch, StringArray, UInt8Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use sillok_core::entry::{ClaimHash, Status, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_core::time::Timestamp;

use crate::config::LanceConfig;
use crate::directory::Row;
use crate::error::Error;
use crate::filter::Attributes;

/// What a row is merged by: scope and entry in one.
pub(crate) const KEY: &str = "key";
/// The text, in the full-text index.
pub(crate) const CONTENT: &str = "content";
/// The vector, in the vector index; null when there is none of the searched space.
pub(crate) const VECTOR: &str = "vector";
/// The columns that the directory is made of.
pub(crate) const DIRECTORY: [&str; 10] = [
    "scope",
    "entry",
    "table",
    "status",
    "failure",
    "confidence",
    "claim_key",
    "claim_value",
    "space",
    "stamp",
];

/// The squares of lengths that a stored vector has: far from 1 on either side, as embedders are left to round.
const LENGTH_SQUARES: core::ops::RangeInclusive<f32> = 0.25..=4.0;

/// Statuses by their stored ordinals, which never change.
const STATUSES: [Status; 5] = [
    Status::Hypothesis,
    Status::Verified,
    Status::Published,
    Status::Deprecated,
    Status::Archived,
];

/// The columns of a table whose vectors have `dimensions` coordinates.
pub(crate) fn schema(dimensions: usize) -> Arc<Schema> {
    let required = |name: &str, data_type| Field::new(name, data_type, false);
    Arc::new(Schema::new(vec![
        required(KEY, DataType::Utf8),
        required("scope", DataType::Utf8),
        required("entry", DataType::FixedSizeBinary(16)),
        required("version", DataType::UInt64),
        required("table", DataType::UInt8),
        required("status", DataType::UInt8),
        required("failure", DataType::Boolean),
        required("confidence", DataType::Float64),
        required("content_hash", DataType::FixedSizeBinary(32)),
        required(CONTENT, DataType::Utf8),
        required("space", DataType::Utf8),
        required("created_at_ms", DataType::UInt64),
        required("age_from_ms", DataType::UInt64),
        Field::new("resolved_at_ms", DataType::UInt64, true),
        required("value", DataType::Float64),
        required("origin", DataType::UInt64),
        Field::new("claim_key", DataType::UInt64, true),
        Field::new("claim_value", DataType::UInt64, true),
        required("stamp", DataType::FixedSizeBinary(14)),
        Field::new(VECTOR, vector_type(dimensions), true),
    ]))
}

fn vector_type(dimensions: usize) -> DataType {
    let width = i32::try_from(dimensions).expect("the configuration bounds the dimensions");
    DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), width)
}

/// The document's vector, if it is one that can be searched: of the configured space, with a
/// direction.
pub(crate) fn searchable<'a>(doc: &'a IndexDoc, config: &LanceConfig) -> Option<&'a [f32]> {
    let embedding = doc
        .embedding
        .as_ref()
        .filter(|embedding| embedding.space == config.space)?;
    has_direction(&embedding.values, config.dimensions).then_some(&embedding.values)
}

/// Whether `values` is a vector of the space that points somewhere.
pub(crate) fn has_direction(values: &[f32], dimensions: usize) -> bool {
    values.len() == dimensions
        && values.iter().all(|v| v.is_finite())
        && values.iter().any(|v| *v != 0.0)
}

/// The documents as rows.
pub(crate) fn rows_of(docs: &[IndexDoc], config: &LanceConfig) -> Result<RecordBatch, Error> {
    let strings = |value: &dyn Fn(&IndexDoc) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(docs.iter().map(value)))
    };
    let numbers = |value: &dyn Fn(&IndexDoc) -> Option<u64>| -> ArrayRef {
        Arc::new(UInt64Array::from_iter(docs.iter().map(value)))
    };
    let vectors = docs.iter().map(|doc| searchable(doc, config));
    let width = i32::try_from(config.dimensions).expect("the configuration bounds the dimensions");
    let columns: Vec<ArrayRef> = vec![
        strings(&|doc| format!("{}/{}", doc.scope, doc.entry)),
        strings(&|doc| doc.scope.as_str().to_owned()),
        Arc::new(FixedSizeBinaryArray::try_from_iter(
            docs.iter().map(|doc| doc.entry.as_bytes()),
        )?),
        Arc::new(UInt64Array::from_iter_values(
            docs.iter().map(|doc| doc.version),
        )),
        Arc::new(UInt8Array::from_iter_values(
            docs.iter().map(|doc| doc.table.ordinal()),
        )),
        Arc::new(UInt8Array::from_iter_values(
            docs.iter().map(|doc| ordinal(doc.status)),
        )),
        Arc::new(BooleanArray::from_iter(
            docs.iter().map(|doc| Some(doc.failure)),
        )),
        Arc::new(Float64Array::from_iter_values(
            docs.iter().map(|doc| doc.confidence),
        )),
        Arc::new(FixedSizeBinaryArray::try_from_iter(
            docs.iter().map(|doc| doc.content_hash.as_bytes()),
        )?),
        strings(&|doc| doc.content.clone()),
        strings(&|doc| {
            searchable(doc, config).map_or_else(String::new, |_| config.space.0.clone())
        }),
        Arc::new(UInt64Array::from_iter_values(
            docs.iter().map(|doc| doc.created_at.ms()),
        )),
        Arc::new(UInt64Array::from_iter_values(
            docs.iter().map(|doc| doc.age.from.ms()),
        )),
        numbers(&|doc| doc.age.resolved_at.map(Timestamp::ms)),
        Arc::new(Float64Array::from_iter_values(
            docs.iter().map(|doc| doc.age.value),
        )),
        Arc::new(UInt64Array::from_iter_values(
            docs.iter().map(|doc| doc.age.origin),
        )),
        numbers(&|doc| doc.claim.map(|claim| claim.key.get())),
        numbers(&|doc| doc.claim.map(|claim| claim.value)),
        Arc::new(FixedSizeBinaryArray::try_from_iter(
            docs.iter().map(|doc| doc.stamp.to_bytes()),
        )?),
        Arc::new(
            FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
                vectors.map(|vector| {
                    vector.map(|values| values.iter().map(|v| Some(*v)).collect::<Vec<_>>())
                }),
                width,
            ),
        ),
    ];
    Ok(RecordBatch::try_new(schema(config.dimensions), columns)?)
}

/// The table and the status that are stored as these ordinals.
pub(crate) fn named(table: u8, status: u8) -> Result<(Table, Status), Error> {
    let table = Table::ALL.get(usize::from(table));
    let named = table.zip(STATUSES.get(usize::from(status)));
    let (table, status) = named.ok_or_else(unknown)?;
    Ok((*table, *status))
}

/// A row holds what no version writes.
pub(crate) fn unknown() -> Error {
    damaged("a row holds what no version writes")
}

fn ordinal(status: Status) -> u8 {
    let position = STATUSES
        .iter()
        .position(|known| *known == status)
        .expect("every status has an ordinal");
    u8::try_from(position).expect("there are five statuses")
}

/// Addresses and directory rows of a batch with the columns [`DIRECTORY`] and the row ids.
pub(crate) fn directory_rows(
    batch: &RecordBatch,
    config: &LanceConfig,
) -> Result<Vec<(Scope, u64, Row)>, Error> {
    let addresses = row_ids(batch)?;
    let scopes = column(batch, "scope")?.as_string::<i32>();
    let entries = column(batch, "entry")?.as_fixed_size_binary();
    let tables = column(batch, "table")?.as_primitive::<UInt8Type>();
    let statuses = column(batch, "status")?.as_primitive::<UInt8Type>();
    let failures = column(batch, "failure")?.as_boolean();
    let confidences = column(batch, "confidence")?.as_primitive::<Float64Type>();
    let keys = column(batch, "claim_key")?.as_primitive::<UInt64Type>();
    let values = column(batch, "claim_value")?.as_primitive::<UInt64Type>();
    let spaces = column(batch, "space")?.as_string::<i32>();
    let stamps = column(batch, "stamp")?.as_fixed_size_binary();
    let row = |i: usize| {
        let scope = Scope::parse(scopes.value(i)).ok()?;
        let attributes = Attributes {
            table: *Table::ALL.get(usize::from(tables.value(i)))?,
            status: *STATUSES.get(usize::from(statuses.value(i)))?,
            failure: failures.value(i),
            confidence: confidences.value(i),
            claim: match keys.is_valid(i) && values.is_valid(i) {
                true => Some(ClaimHash {
                    key: NonZeroU64::new(keys.value(i))?,
                    value: values.value(i),
                }),
                false => None,
            },
        };
        let row = Row {
            entry: EntryId::from_bytes(entries.value(i).try_into().ok()?),
            stamp: Stamp::from_bytes(stamps.value(i))?,
            attributes,
            has_vector: spaces.value(i) == config.space.0,
        };
        Some((scope, addresses.value(i), row))
    };
    (0..batch.num_rows())
        .map(|i| row(i).ok_or_else(unknown))
        .collect()
}

/// Address, text and vector of a row.
pub(crate) type TextAndVector = (u64, String, Option<Vec<f32>>);

/// The rows of a batch with the row ids and the columns [`CONTENT`] and [`VECTOR`].
pub(crate) fn texts_and_vectors(batch: &RecordBatch) -> Result<Vec<TextAndVector>, Error> {
    let addresses = row_ids(batch)?;
    let texts = column(batch, CONTENT)?.as_string::<i32>();
    let rows = vectors(batch)?.into_iter().enumerate();
    Ok(rows
        .map(|(i, vector)| (addresses.value(i), texts.value(i).to_owned(), vector))
        .collect())
}

/// The vectors of a batch with the column [`VECTOR`]. Those that are stored have length 1, about.
pub(crate) fn vectors(batch: &RecordBatch) -> Result<Vec<Option<Vec<f32>>>, Error> {
    let vectors = column(batch, VECTOR)?.as_fixed_size_list();
    let vector = |i: usize| {
        let values = vectors.value(i);
        let values = values.as_primitive::<Float32Type>().values().to_vec();
        let square: f32 = values.iter().map(|value| value * value).sum();
        let is_sound = LENGTH_SQUARES.contains(&square);
        let vector = is_sound.then_some(values);
        vector.ok_or_else(|| damaged("a vector has another length than is stored"))
    };
    (0..batch.num_rows())
        .map(|i| vectors.is_valid(i).then(|| vector(i)).transpose())
        .collect()
}

/// Row ids and scores of a search's answer.
pub(crate) fn scored(batch: &RecordBatch, score: &str) -> Result<Vec<(u64, f32)>, Error> {
    let scores = column(batch, score)?.as_primitive::<Float32Type>();
    Ok(row_ids(batch)?
        .values()
        .iter()
        .copied()
        .zip(scores.values().iter().copied())
        .collect())
}

fn row_ids(batch: &RecordBatch) -> Result<&UInt64Array, Error> {
    Ok(column(batch, lance::dataset::ROW_ID)?.as_primitive::<UInt64Type>())
}

pub(crate) fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, Error> {
    batch
        .column_by_name(name)
        .ok_or_else(|| damaged("a column is missing"))
}

fn damaged(why: &str) -> Error {
    Error::Damaged(why.into())
}
