//! Tables written at once, of more entries than a commit takes, in a directory where there are none.
//!
//! Owns that nothing is kept in memory of what is written, that indices are built once and over all of it, and that the
//! cursor comes last. It must not know where entries come from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use sillok_core::entry::Kind;
use sillok_core::ports::{IndexDoc, vector_table};
use sillok_core::stamp::Stamp;

use crate::columns::{rows_of, searchable};
use crate::config::LanceConfig;
use crate::error::Error;
use crate::layout::tables_in;
use crate::pool::Pool;
use crate::table::Table;
use crate::tables::Tables;

/// Writes the index of these entries to the directory `path`, which is made when it is missing. Each entry comes once. An
/// index that is opened there has everything up to the latest of their stamps.
///
/// # Errors
/// [`Error::Config`] when `config` contradicts itself or tables lie there; [`Error::Io`] and [`Error::Lance`] when files
/// cannot be written.
pub fn write_tables(
    path: impl Into<PathBuf>,
    config: LanceConfig,
    batches: impl Iterator<Item = Vec<IndexDoc>> + Send + 'static,
) -> Result<(), Error> {
    let threads = config.threads;
    let tables = Tables::new(path.into(), config)?;
    if !tables_in(&tables.root)?.is_empty() {
        return Err(Error::Config("tables are written where there are none"));
    }
    Pool::start(threads)?.run_blocking(async move { tables.write(batches).await })
}

impl Tables {
    async fn write(
        &self,
        batches: impl Iterator<Item = Vec<IndexDoc>> + Send,
    ) -> Result<(), Error> {
        let mut through: Option<Stamp> = None;
        let mut vectors = BTreeMap::<PathBuf, usize>::new();
        for docs in batches {
            let mut by_table = BTreeMap::<(String, Kind), Vec<IndexDoc>>::new();
            for doc in docs {
                through = through.max(Some(doc.stamp));
                let key = vector_table(&doc.scope, doc.table);
                by_table.entry(key).or_default().push(doc);
            }
            for docs in by_table.into_values() {
                let table = self.table_of(&docs[0].scope, docs[0].table);
                let with_vector = docs
                    .iter()
                    .filter(|doc| searchable(doc, &table.shared.config).is_some());
                *vectors.entry(table.directory.clone()).or_default() += with_vector.count();
                table.add(&docs).await?;
            }
        }
        for table in self.all() {
            let count = vectors.get(&table.directory);
            if count.is_some_and(|count| *count >= table.shared.config.index_rows_min) {
                table.index_anew().await?;
            }
        }
        self.vouch(through).await
    }
}

impl Table {
    /// Adds rows of entries that the table does not hold.
    async fn add(&self, docs: &[IndexDoc]) -> Result<(), Error> {
        let rows = rows_of(docs, &self.shared.config)?;
        let shown = self.view.read().dataset.clone();
        let params = WriteParams {
            mode: match shown {
                Some(_) => WriteMode::Append,
                None => WriteMode::Create,
            },
            session: Some(Arc::clone(&self.session)),
            max_bytes_per_file: self.shared.config.fragment_bytes_max,
            ..WriteParams::default()
        };
        let insert = match shown {
            Some(dataset) => InsertBuilder::new(dataset),
            None => InsertBuilder::new(self.uri()?),
        };
        let insert = insert.with_params(&params);
        let written = Box::pin(insert.execute(vec![rows])).await?;
        self.view.write().dataset = Some(Arc::new(written));
        Ok(())
    }
}
