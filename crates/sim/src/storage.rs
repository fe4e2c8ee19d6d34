//! What a world stores its rows in: one store that all nodes reach, or one node's own disk.
//!
//! Owns the choice, and nothing else: it answers at once, and whoever simulates delays wraps it.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use sillok_store::buffered::BufferedTxn;
use sillok_store::{Committed, Error, KeyRange, MemoryStore, RangeOptions, Read, Store, Txn};

use crate::disk::DiskEngine;
use crate::heap::Sim;
use crate::writes::Writes;

/// Where the rows are.
#[derive(Clone)]
pub(crate) enum Storage {
    /// With all nodes' rows, as FoundationDB has them.
    Shared(MemoryStore),
    /// On the disk of the only node, as fjall has them.
    Disk(Sim),
}

/// A transaction on either.
pub(crate) enum StorageTxn {
    Shared(BufferedTxn<MemoryStore>),
    Disk(BufferedTxn<DiskEngine>, Arc<Mutex<Writes>>),
}

impl Store for Storage {
    type Txn = StorageTxn;

    async fn begin(&self) -> Result<StorageTxn, Error> {
        Ok(match self {
            Self::Shared(store) => StorageTxn::Shared(store.begin().await?),
            Self::Disk(sim) => {
                let (txn, writes) = sim.begin_on_disk();
                StorageTxn::Disk(txn, writes)
            }
        })
    }

    fn generation(&self) -> u32 {
        match self {
            Self::Shared(store) => Store::generation(store),
            Self::Disk(_) => 1,
        }
    }
}

macro_rules! either {
    ($self:ident, $txn:ident => $what:expr) => {
        match $self {
            StorageTxn::Shared($txn) => $what,
            StorageTxn::Disk($txn, _) => $what,
        }
    };
}

impl Txn for StorageTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        either!(self, txn => txn.get(key, read).await)
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        either!(self, txn => txn.range(range, options).await)
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        either!(self, txn => txn.set(key, value));
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        either!(self, txn => txn.clear(key));
    }

    fn clear_range(&mut self, range: &KeyRange) {
        either!(self, txn => txn.clear_range(range));
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        either!(self, txn => txn.add(key, delta));
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        either!(self, txn => txn.set_stamped(prefix, value));
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        either!(self, txn => txn.conflict_on(range));
    }

    async fn commit(self) -> Result<Committed, Error> {
        either!(self, txn => txn.commit().await)
    }
}
