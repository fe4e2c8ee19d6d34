//! The columns of all tables, for whoever plans over them.
//!
//! Owns that a scan runs on the index's own threads, and what is handed over. It must not know searches: what these hold in
//! memory is not needed here.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use sillok_core::ports::{BoxFuture, EntryColumns, PortError};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use tokio::sync::mpsc;

use crate::ages::{AGES, Ages, WORTHS, Worths};
use crate::config::LanceConfig;
use crate::error::Error;
use crate::pool::Pool;
use crate::tables::Tables;

/// Batches that a scan is ahead of whoever takes them.
const BATCHES_AHEAD: usize = 2;

/// The columns of an index's tables, and nothing else of it.
#[derive(Debug)]
pub struct LanceColumns {
    pub(crate) tables: Arc<Tables>,
    pub(crate) pool: Pool,
}

impl LanceColumns {
    /// Opens the tables of the index in the directory `path` for plans alone: none of their rows comes into memory.
    ///
    /// # Errors
    /// As [`LanceIndex::open`](crate::LanceIndex::open).
    pub fn open(path: impl Into<PathBuf>, config: LanceConfig) -> Result<Self, Error> {
        let columns = Self::at(path.into(), config)?;
        let tables = Arc::clone(&columns.tables);
        columns
            .pool
            .run_blocking(async move { tables.load_columns().await })?;
        Ok(columns)
    }

    /// Nothing of what lies at `root` as yet, which is made when it is missing.
    pub(crate) fn at(root: PathBuf, config: LanceConfig) -> Result<Self, Error> {
        config.check()?;
        std::fs::create_dir_all(&root).map_err(|source| Error::Io {
            path: root.clone(),
            source,
        })?;
        Ok(Self {
            pool: Pool::start(config.threads)?,
            tables: Arc::new(Tables::new(root, config)?),
        })
    }

    /// Reads the columns that [`EntryColumns::ages`] hands over, and looks at none of them. How many rows there are.
    ///
    /// # Errors
    /// What the tables answered.
    pub async fn read_through(&self) -> Result<u64, PortError> {
        let mut rows = 0;
        let count = |batch: &RecordBatch| {
            rows += batch.num_rows() as u64;
            Ok(())
        };
        self.hand_over(&AGES, count).await?;
        Ok(rows)
    }

    /// Scans these columns of all tables on the pool, and hands the batches over here.
    async fn hand_over(
        &self,
        names: &'static [&'static str],
        mut take: impl FnMut(&RecordBatch) -> Result<(), Error> + Send,
    ) -> Result<(), PortError> {
        let (sender, mut batches) = mpsc::channel(BATCHES_AHEAD);
        let tables = Arc::clone(&self.tables);
        let scanned = self
            .pool
            .run(async move { tables.scan(names, &sender).await });
        let mut taken = Ok(());
        while let Some(batch) = batches.recv().await {
            taken = take(&batch);
            if taken.is_err() {
                break;
            }
        }
        // The scan ends once nobody takes its batches any more.
        drop(batches);
        Ok(taken.and(scanned.await)?)
    }
}

impl EntryColumns for LanceColumns {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        let take = move |batch: &RecordBatch| {
            each(&Ages::of(batch)?.columns());
            Ok(())
        };
        Box::pin(self.hand_over(&AGES, take))
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        let take = move |batch: &RecordBatch| {
            each(&Worths::of(batch)?.columns());
            Ok(())
        };
        Box::pin(self.hand_over(&WORTHS, take))
    }
}
