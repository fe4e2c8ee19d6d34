//! The bytes of a store that nobody serves, read and changed as its owner could.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sillok_core::slot::{SLOT_HASH, SLOTS};
use sillok_store::keys::{Family, ScopeKey};
use sillok_store::{
    Error, FjallConfig, FjallStore, KeyRange, Layout, RangeOptions, Read, Store, Txn,
};

/// Rows that are read at once. More than any test writes.
const ROWS_MAX: usize = 100_000;
/// The longest that the store may stay locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A row, or its absence.
pub(crate) type Row = (Bytes, Option<Bytes>);

/// The store of a data directory.
pub(crate) struct Vault {
    path: PathBuf,
}

impl Vault {
    pub(crate) fn at(data: &Path) -> Self {
        Self {
            path: data.join("store"),
        }
    }

    /// Opens the store. It is free again once the answer is dropped.
    fn open(&self) -> FjallStore {
        let layout = Layout {
            generation_at_creation: 1,
            slot_count: u32::from(SLOTS),
            slot_hash: SLOT_HASH.to_owned(),
        };
        let fatal = Arc::new(|reason: &str| panic!("the store failed: {reason}"));
        let config = FjallConfig::new(&self.path, layout, fatal);
        let started = Instant::now();
        loop {
            match FjallStore::open(&config) {
                // A process that another test is just starting may still hold a copy of the lock.
                Err(Error::Locked { .. }) if started.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                opened => return opened.expect("nobody else has the store"),
            }
        }
    }

    /// All rows of a family.
    pub(crate) async fn rows(&self, family: Family) -> Vec<(Bytes, Bytes)> {
        self.range(&family.range()).await
    }

    /// All rows whose keys begin with a scope, of whatever family.
    pub(super) async fn rows_of(&self, scope: &ScopeKey) -> BTreeMap<Bytes, Bytes> {
        let mut rows = BTreeMap::new();
        for family in Family::ALL {
            let prefix = [&[family.letter()], scope.as_bytes().as_slice()].concat();
            rows.extend(self.range(&KeyRange::prefix(&prefix)).await);
        }
        rows
    }

    async fn range(&self, range: &KeyRange) -> Vec<(Bytes, Bytes)> {
        let store = self.open();
        let mut txn = store
            .begin()
            .await
            .expect("an open store takes transactions");
        let rows = txn
            .range(range, RangeOptions::first(ROWS_MAX, Read::Snapshot))
            .await;
        let rows = rows.expect("an open store is read");
        assert!(rows.len() < ROWS_MAX, "all rows were read");
        // Rows may share memory with what is about to be closed.
        let own = |bytes: Bytes| Bytes::copy_from_slice(&bytes);
        rows.into_iter()
            .map(|(key, value)| (own(key), own(value)))
            .collect()
    }

    /// Writes and removes rows, in one transaction.
    pub(crate) async fn write(&self, rows: &[Row]) {
        let store = self.open();
        let mut txn = store
            .begin()
            .await
            .expect("an open store takes transactions");
        for (key, value) in rows {
            match value {
                Some(value) => txn.set(key.clone(), value.clone()),
                None => txn.clear(key.clone()),
            }
        }
        txn.commit().await.expect("nobody else writes");
    }
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}
