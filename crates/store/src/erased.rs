//! Any store behind one type, for whoever learns only at run time which engine it is.
//!
//! Owns nothing but the passing on. Each call costs an allocation, which is little beside a store that
//! lies across a network.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::{Committed, Error, KeyRange, RangeOptions, Read, Store, Txn};

/// A store of any engine.
#[derive(Clone)]
pub struct AnyStore(Arc<dyn ErasedStore>);

impl AnyStore {
    /// The same store, without its type.
    pub fn new(store: impl Store) -> Self {
        Self(Arc::new(store))
    }
}

impl std::fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyStore")
            .field("generation", &self.0.generation())
            .finish_non_exhaustive()
    }
}

impl Store for AnyStore {
    type Txn = AnyTxn;

    async fn begin(&self) -> Result<AnyTxn, Error> {
        self.0.begin().await.map(AnyTxn)
    }

    fn generation(&self) -> u32 {
        self.0.generation()
    }
}

/// A transaction of any engine.
pub struct AnyTxn(Box<dyn ErasedTxn>);

impl Txn for AnyTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        self.0.get(key, read).await
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        self.0.range(range, options).await
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.0.set(key.into(), value.into());
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        self.0.clear(key.into());
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.0.clear_range(range);
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        self.0.add(key.into(), delta);
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.0.set_stamped(prefix.into(), value.into());
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        self.0.conflict_on(range);
    }

    async fn commit(self) -> Result<Committed, Error> {
        self.0.commit().await
    }
}

/// [`Store`], as far as an object can be one.
trait ErasedStore: Send + Sync {
    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn ErasedTxn>, Error>>;
    fn generation(&self) -> u32;
}

impl<S: Store> ErasedStore for S {
    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn ErasedTxn>, Error>> {
        let erase = |txn| Box::new(txn) as Box<dyn ErasedTxn>;
        async move { Store::begin(self).await.map(erase) }.boxed()
    }

    fn generation(&self) -> u32 {
        Store::generation(self)
    }
}

/// [`Txn`], as far as an object can be one.
trait ErasedTxn: Send {
    fn get<'a>(
        &'a mut self,
        key: &'a [u8],
        read: Read,
    ) -> BoxFuture<'a, Result<Option<Bytes>, Error>>;
    fn range<'a>(
        &'a mut self,
        range: &'a KeyRange,
        options: RangeOptions,
    ) -> BoxFuture<'a, Result<Vec<(Bytes, Bytes)>, Error>>;
    fn set(&mut self, key: Bytes, value: Bytes);
    fn clear(&mut self, key: Bytes);
    fn clear_range(&mut self, range: &KeyRange);
    fn add(&mut self, key: Bytes, delta: i64);
    fn set_stamped(&mut self, prefix: Bytes, value: Bytes);
    fn conflict_on(&mut self, range: &KeyRange);
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Committed, Error>>;
}

impl<T: Txn + 'static> ErasedTxn for T {
    fn get<'a>(
        &'a mut self,
        key: &'a [u8],
        read: Read,
    ) -> BoxFuture<'a, Result<Option<Bytes>, Error>> {
        Txn::get(self, key, read).boxed()
    }

    fn range<'a>(
        &'a mut self,
        range: &'a KeyRange,
        options: RangeOptions,
    ) -> BoxFuture<'a, Result<Vec<(Bytes, Bytes)>, Error>> {
        Txn::range(self, range, options).boxed()
    }

    fn set(&mut self, key: Bytes, value: Bytes) {
        Txn::set(self, key, value);
    }

    fn clear(&mut self, key: Bytes) {
        Txn::clear(self, key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        Txn::clear_range(self, range);
    }

    fn add(&mut self, key: Bytes, delta: i64) {
        Txn::add(self, key, delta);
    }

    fn set_stamped(&mut self, prefix: Bytes, value: Bytes) {
        Txn::set_stamped(self, prefix, value);
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        Txn::conflict_on(self, range);
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Committed, Error>> {
        Txn::commit(*self).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryConfig, MemoryStore};

    crate::conformance_suite!(conformance, async {
        (AnyStore::new(MemoryStore::new(MemoryConfig::default())), ())
    });
}
