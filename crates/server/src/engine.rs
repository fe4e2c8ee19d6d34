//! The store that a server runs on: its own, in the data directory, or one that it shares with others.
//!
//! Owns the choice between the two. The embedded engine is called as itself, since it serves many
//! transactions a millisecond; a shared one lies across a network, beside which an allocation is nothing.

use bytes::Bytes;
use sillok_store::{
    AnyStore, AnyTxn, Committed, Error, FjallStore, KeyRange, RangeOptions, Read, Store, Txn,
};

/// The store of a server.
#[derive(Clone)]
pub enum Engine {
    /// In the data directory, which no other process has.
    Own(FjallStore),
    /// Reached by all nodes of a cluster.
    Shared(AnyStore),
}

impl Engine {
    /// Whether other nodes may have it too.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}

impl Store for Engine {
    type Txn = EngineTxn;

    async fn begin(&self) -> Result<EngineTxn, Error> {
        match self {
            Self::Own(store) => store.begin().await.map(EngineTxn::Own),
            Self::Shared(store) => store.begin().await.map(EngineTxn::Shared),
        }
    }

    fn generation(&self) -> u32 {
        match self {
            Self::Own(store) => store.generation(),
            Self::Shared(store) => store.generation(),
        }
    }
}

/// A transaction of an [`Engine`].
#[expect(
    clippy::large_enum_variant,
    reason = "there are few at a time, and the large one is the fast one"
)]
pub enum EngineTxn {
    /// Of the store in the data directory.
    Own(<FjallStore as Store>::Txn),
    /// Of the shared one.
    Shared(AnyTxn),
}

/// The same call on either one.
macro_rules! either {
    ($engine:expr, $txn:ident => $call:expr) => {
        match $engine {
            EngineTxn::Own($txn) => $call,
            EngineTxn::Shared($txn) => $call,
        }
    };
}

impl Txn for EngineTxn {
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
