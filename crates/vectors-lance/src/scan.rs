//! Scans of whole columns, for whoever plans over all entries.
//!
//! Owns that a scan reads no further ahead than its batches are taken. It must not know what they are for.

use arrow_array::RecordBatch;
use futures::TryStreamExt as _;
use lance::dataset::scanner::DatasetRecordBatchStream;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::table::Table;
use crate::tables::Tables;

/// Rows of a batch.
const ROWS: usize = 65_536;
/// Bytes that are read before their rows are taken.
const READ_AHEAD_BYTES: u64 = 64 << 20;

impl Tables {
    /// Sends these columns of all rows of all tables, batch by batch, until nobody takes them any more.
    pub(crate) async fn scan(
        &self,
        names: &[&str],
        to: &mpsc::Sender<RecordBatch>,
    ) -> Result<(), Error> {
        for table in self.all() {
            let sent = table.send(names, to).await;
            if !sent.map_err(|error| table.named(error))? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads these columns of all rows of all tables: how many rows there are.
    pub(crate) async fn read_through(&self, names: &[&str]) -> Result<u64, Error> {
        let mut rows = 0;
        for table in self.all() {
            if let Some(mut batches) = table.batches(names).await? {
                while let Some(batch) = batches.try_next().await? {
                    rows += batch.num_rows() as u64;
                }
            }
        }
        Ok(rows)
    }
}

impl Table {
    /// Sends these columns of all rows: whether somebody took them.
    async fn send(&self, names: &[&str], to: &mpsc::Sender<RecordBatch>) -> Result<bool, Error> {
        self.check()?;
        if let Some(mut batches) = self.batches(names).await? {
            while let Some(batch) = batches.try_next().await? {
                if to.send(batch).await.is_err() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// These columns of all rows, in no order; none while nothing was ever stored.
    async fn batches(&self, names: &[&str]) -> Result<Option<DatasetRecordBatchStream>, Error> {
        let Some(dataset) = self.view.read().dataset.clone() else {
            return Ok(None);
        };
        let mut scan = dataset.scan();
        scan.project(names)?
            .batch_size(ROWS)
            .scan_in_order(false)
            .io_buffer_size(READ_AHEAD_BYTES);
        Ok(Some(scan.try_into_stream().await?))
    }
}
