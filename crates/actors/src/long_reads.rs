//! Reading for longer than a store keeps one moment: FoundationDB does so for five seconds.
//!
//! Owns going on from the next moment, and saying that this happened. Whoever reads so must make sure that
//! what was read belongs together. It must not know what is read.

use bytes::Bytes;
use sillok_store::{Committed, Error, KeyRange, RangeOptions, Read, Store, Txn};

/// A store whose transactions, as long as they only look, outlive the moment that they began at.
#[derive(Clone)]
pub(crate) struct LongReads<S>(S);

/// A transaction of [`LongReads`].
pub(crate) struct LongTxn<S: Store> {
    store: S,
    txn: S::Txn,
    /// Whether it wrote, or wants to conflict: then it is one of one moment.
    is_bound: bool,
    has_gone_on: bool,
}

impl<S: Store> LongReads<S> {
    pub(crate) fn of(store: &S) -> Self {
        Self(store.clone())
    }
}

impl<S: Store> LongTxn<S> {
    /// Whether all that was read so far is of one moment.
    pub(crate) fn is_of_one_moment(&self) -> bool {
        !self.has_gone_on
    }

    /// Whether a read that failed so is to be tried at the next moment, which is there then.
    async fn goes_on(&mut self, error: &Error) -> Result<bool, Error> {
        if !matches!(error, Error::TooOld) || self.is_bound {
            return Ok(false);
        }
        self.txn = self.store.begin().await?;
        self.has_gone_on = true;
        Ok(true)
    }

    /// The transaction as it is to be written with.
    fn bound(&mut self) -> &mut S::Txn {
        self.is_bound = true;
        &mut self.txn
    }
}

impl<S: Store> Store for LongReads<S> {
    type Txn = LongTxn<S>;

    async fn begin(&self) -> Result<LongTxn<S>, Error> {
        Ok(LongTxn {
            txn: self.0.begin().await?,
            store: self.0.clone(),
            is_bound: false,
            has_gone_on: false,
        })
    }

    fn generation(&self) -> u32 {
        self.0.generation()
    }
}

impl<S: Store> Txn for LongTxn<S> {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        self.is_bound |= read == Read::Conflict;
        match self.txn.get(key, read).await {
            Err(error) if self.goes_on(&error).await? => self.txn.get(key, read).await,
            answer => answer,
        }
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        self.is_bound |= options.read == Read::Conflict;
        match self.txn.range(range, options).await {
            Err(error) if self.goes_on(&error).await? => self.txn.range(range, options).await,
            answer => answer,
        }
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.bound().set(key, value);
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        self.bound().clear(key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.bound().clear_range(range);
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        self.bound().add(key, delta);
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.bound().set_stamped(prefix, value);
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        self.bound().conflict_on(range);
    }

    async fn commit(self) -> Result<Committed, Error> {
        self.txn.commit().await
    }
}
