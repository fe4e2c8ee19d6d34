//! One transaction of the cluster.
//!
//! The client library buffers writes, lays them over what is read, and keeps the conflict ranges. What
//! it is not left: the bounds, which are counted as on the other engines, and stamped keys. These are
//! handed over at the commit only, since a range that holds one cannot be read any more before.

use std::sync::Arc;

use bytes::Bytes;
use foundationdb::options::{ConflictRangeType, MutationType, StreamingMode};
use foundationdb::{RangeOption, Transaction};
use sillok_store::write_set::{Bounds, check_key};
use sillok_store::{Committed, Error, KeyRange, RangeOptions, Read, Txn};

use crate::store::Shared;
use crate::{error, stamps};

/// A transaction of a [`crate::FdbStore`].
pub struct FdbTxn {
    store: Arc<Shared>,
    txn: Transaction,
    version: u64,
    bounds: Bounds,
    /// Prefixes and values, in the order of their indexes.
    stamped: Vec<(Bytes, Bytes)>,
    has_writes: bool,
}

impl FdbTxn {
    /// Begins one that sees what is committed now.
    pub(crate) async fn begin(store: Arc<Shared>) -> Result<Self, Error> {
        let txn = store.transaction()?;
        let version = txn.get_read_version().await;
        let version = version.map_err(error::of_begin)?;
        store.give_time(&txn)?;
        Ok(Self {
            store,
            txn,
            version: version.unsigned_abs(),
            bounds: Bounds::default(),
            stamped: Vec::new(),
            has_writes: false,
        })
    }

    /// The pairs of a range that is not empty, batch by batch.
    async fn read(
        &self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let prefix_bytes = self.store.prefix.len();
        let begin_and_end = (self.store.key(&range.begin), self.store.key(&range.end));
        let mut rest = Some(RangeOption {
            // As many as there are goes for the largest limit; the library counts in 32 bits.
            limit: (options.limit < i32::MAX as usize).then_some(options.limit),
            mode: StreamingMode::WantAll,
            reverse: options.reverse,
            ..RangeOption::from(begin_and_end)
        });
        let is_snapshot = options.read == Read::Snapshot;
        let mut pairs = Vec::new();
        let mut iteration = 1;
        while let Some(part) = rest {
            let found = self.txn.get_range(&part, iteration, is_snapshot).await;
            let found = found.map_err(|error| error::of_read("reading a range", error))?;
            pairs.extend(found.iter().map(|pair| {
                let key = Bytes::copy_from_slice(&pair.key()[prefix_bytes..]);
                (key, Bytes::copy_from_slice(pair.value()))
            }));
            rest = part.next_range(&found);
            iteration += 1;
        }
        Ok(pairs)
    }

    /// What a commit answers to a transaction that wrote nothing.
    fn seen(&self) -> Committed {
        let stamp = stamps::through(self.store.generation, self.version);
        Committed { stamp }
    }
}

impl Txn for FdbTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        check_key(key)?;
        if read == Read::Conflict {
            self.bounds.count_read(key.len());
        }
        let value = self.txn.get(&self.store.key(key), read == Read::Snapshot);
        let value = value
            .await
            .map_err(|error| error::of_read("reading", error))?;
        Ok(value.map(|value| Bytes::copy_from_slice(&value)))
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let range = range.clamped();
        if range.is_empty() || options.limit == 0 {
            return Ok(Vec::new());
        }
        let pairs = self.read(&range, options).await?;
        if options.read == Read::Conflict {
            let looked_at = options.looked_at(&range, &pairs);
            self.bounds.count_read(looked_at.longest_end());
        }
        Ok(pairs)
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (key, value) = (key.into(), value.into());
        if self.bounds.admit(&key, value.len()) {
            self.has_writes = true;
            self.txn.set(&self.store.key(&key), &value);
        }
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        let key = key.into();
        if self.bounds.admit(&key, 0) {
            self.has_writes = true;
            self.txn.clear(&self.store.key(&key));
        }
    }

    fn clear_range(&mut self, range: &KeyRange) {
        let range = range.clamped();
        if self.bounds.admit_range(&range) {
            self.has_writes = true;
            let (begin, end) = (self.store.key(&range.begin), self.store.key(&range.end));
            self.txn.clear_range(&begin, &end);
        }
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        let key = key.into();
        if self.bounds.admit(&key, size_of::<i64>()) {
            self.has_writes = true;
            let key = self.store.key(&key);
            self.txn
                .atomic_op(&key, &delta.to_le_bytes(), MutationType::Add);
        }
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (prefix, value) = (prefix.into(), value.into());
        if self.bounds.admit_stamped(&prefix, value.len()) {
            self.has_writes = true;
            self.stamped.push((prefix, value));
        }
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        let range = range.clamped();
        if range.is_empty() {
            return;
        }
        self.bounds.count_read(range.longest_end());
        let (begin, end) = (self.store.key(&range.begin), self.store.key(&range.end));
        let added = self
            .txn
            .add_conflict_range(&begin, &end, ConflictRangeType::Read);
        if let Err(error) = added {
            self.bounds
                .refuse(error::of_read("declaring a conflict", error));
        }
    }

    async fn commit(self) -> Result<Committed, Error> {
        self.bounds.check()?;
        if !self.has_writes {
            return Ok(self.seen());
        }
        let generation = self.store.generation;
        for (index, (prefix, value)) in (0..).zip(&self.stamped) {
            let key = stamps::stamped_key(self.store.key(prefix), generation, index);
            self.txn
                .atomic_op(&key, value, MutationType::SetVersionstampedKey);
        }
        // It has to be asked for before the commit, and is answered after it.
        let versionstamp = self.txn.get_versionstamp();
        let cost = self.bounds.cost();
        let committed = self.txn.commit().await;
        let _committed = committed.map_err(|failed| error::of_commit(*failed, cost))?;
        let stamp = versionstamp.await.ok();
        let stamp = stamp.and_then(|stamp| stamps::of_versionstamp(generation, &stamp));
        // It committed; but nobody knows where, which is for the caller the same as not to know whether.
        let stamp = stamp.ok_or(Error::OutcomeUnknown)?;
        Ok(Committed { stamp })
    }
}
