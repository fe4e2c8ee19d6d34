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
use crate::layout::tables_in;
use crate::pool::Pool;
use crate::tables::Tables;

/// Batches that a scan is ahead of whoever takes them.
const BATCHES_AHEAD: usize = 2;

/// The columns of an index's tables, and nothing else of it.
#[derive(Debug)]
pub struct LanceColumns {
    tables: Arc<Tables>,
    pool: Pool,
}

impl LanceColumns {
    /// Opens the tables of the index in the directory `path` for plans alone: none of their rows comes into memory.
    ///
    /// # Errors
    /// As [`LanceIndex::open`](crate::LanceIndex::open).
    pub fn open(path: impl Into<PathBuf>, config: LanceConfig) -> Result<Self, Error> {
        let threads = config.threads;
        let tables = Arc::new(Tables::new(path.into(), config)?);
        let pool = Pool::start(threads)?;
        let opening = Arc::clone(&tables);
        pool.run_blocking(async move { opening.load_columns().await })?;
        Ok(Self { tables, pool })
    }

    /// Reads the columns that [`EntryColumns::ages`] hands over, and looks at none of them. How many rows there are.
    ///
    /// # Errors
    /// What the tables answered.
    pub async fn read_through(&self) -> Result<u64, PortError> {
        let tables = Arc::clone(&self.tables);
        let read = self
            .pool
            .run(async move { tables.read_through(&AGES).await });
        Ok(read.await?)
    }
}

impl EntryColumns for LanceColumns {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { Ok(ages(&self.tables, &self.pool, each).await?) })
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { Ok(worths(&self.tables, &self.pool, each).await?) })
    }
}

/// Hands over what [`EntryColumns::ages`] does.
pub(crate) async fn ages(
    tables: &Arc<Tables>,
    pool: &Pool,
    each: &mut (dyn FnMut(&AgeColumns<'_>) + Send),
) -> Result<(), Error> {
    let take = |batch: &RecordBatch| {
        each(&Ages::of(batch)?.columns());
        Ok(())
    };
    hand_over(tables, pool, &AGES, take).await
}

/// Hands over what [`EntryColumns::worths`] does.
pub(crate) async fn worths(
    tables: &Arc<Tables>,
    pool: &Pool,
    each: &mut (dyn FnMut(&WorthColumns<'_>) + Send),
) -> Result<(), Error> {
    let take = |batch: &RecordBatch| {
        each(&Worths::of(batch)?.columns());
        Ok(())
    };
    hand_over(tables, pool, &WORTHS, take).await
}

/// Scans these columns of all tables on the pool, and hands the batches over here.
async fn hand_over(
    tables: &Arc<Tables>,
    pool: &Pool,
    names: &'static [&'static str],
    mut take: impl FnMut(&RecordBatch) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let (sender, mut batches) = mpsc::channel(BATCHES_AHEAD);
    let tables = Arc::clone(tables);
    let scanned = pool.run(async move { tables.scan(names, &sender).await });
    let mut taken = Ok(());
    while let Some(batch) = batches.recv().await {
        taken = take(&batch);
        if taken.is_err() {
            break;
        }
    }
    // The scan ends once nobody takes its batches any more.
    drop(batches);
    taken.and(scanned.await)
}

impl Tables {
    /// Opens the tables that lie in the directory for scans of their columns alone.
    async fn load_columns(&self) -> Result<(), Error> {
        for name in tables_in(&self.root)? {
            let table = self.named(name);
            // What was cut off before its first version holds nothing.
            if table.exists() {
                table.load_columns().await?;
            }
        }
        Ok(())
    }
}
