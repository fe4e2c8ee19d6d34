//! Writing many rows, in transactions of bounded size.
//!
//! Owns where one transaction ends. It must not know what a row means, and is for whoever has the store
//! to itself: rows of one call may lie in several transactions.

use sillok_store::limits::{TXN_BYTES_MAX, write_cost};
use sillok_store::{Error as StoreError, Store, Txn as _};

use crate::rows::{self, Row};

/// What the writes of one transaction cost at which it is committed: one row more still fits.
const TXN_COST: usize = TXN_BYTES_MAX / 4;

/// Writes rows.
pub(crate) struct RowWriter<'a, S: Store> {
    pub(crate) store: &'a S,
    txn: S::Txn,
    cost: usize,
}

impl<'a, S: Store> RowWriter<'a, S> {
    pub(crate) async fn new(store: &'a S) -> Result<Self, StoreError> {
        Ok(Self {
            store,
            txn: store.begin().await?,
            cost: 0,
        })
    }

    /// Writes a row. Whether that filled a transaction: older snapshots may then be out of reach.
    pub(crate) async fn write(&mut self, row: Row) -> Result<bool, StoreError> {
        self.cost += write_cost(row.key.len(), row.value.as_ref().map_or(0, Vec::len));
        rows::write(&mut self.txn, row);
        let full = self.cost >= TXN_COST;
        if full {
            let next = self.store.begin().await?;
            core::mem::replace(&mut self.txn, next).commit().await?;
            self.cost = 0;
        }
        Ok(full)
    }

    pub(crate) async fn finish(self) -> Result<(), StoreError> {
        if self.cost > 0 {
            self.txn.commit().await?;
        }
        Ok(())
    }
}
