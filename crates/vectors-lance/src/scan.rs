//! Scans of whole columns, for whoever plans over all entries.
//!
//! Owns that a scan reads no further ahead than its batches are taken. It must not know what they are for.

use arrow_array::RecordBatch;
use futures::TryStreamExt as _;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::table::Table;
use crate::tables::Tables;

/// Rows of a batch.
const ROWS: usize = 65_536;

impl Tables {
    /// Sends these columns of all rows of all tables, batch by batch, until nobody takes them any more.
    pub(crate) async fn scan(
        &self,
        names: &[&str],
        to: &mpsc::Sender<RecordBatch>,
    ) -> Result<(), Error> {
        for table in self.all() {
            let scanned = table.scan(names, to).await;
            scanned.map_err(|error| table.named(error))?;
        }
        Ok(())
    }
}

impl Table {
    async fn scan(&self, names: &[&str], to: &mpsc::Sender<RecordBatch>) -> Result<(), Error> {
        self.check()?;
        let Some(dataset) = self.view.read().dataset.clone() else {
            return Ok(());
        };
        let mut scan = dataset.scan();
        scan.project(names)?.batch_size(ROWS);
        let mut batches = scan.try_into_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            if to.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}
