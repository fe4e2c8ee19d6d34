//! The two traits that every engine fills, and the plain values that they exchange.
//!
//! Must not know any engine.

use std::future::Future;

use bytes::Bytes;

use crate::key_range::successor;
use crate::{Error, KeyRange, Stamp};

/// Ordered bytes with serializable transactions. A clone is another handle on the same store.
pub trait Store: Clone + Send + Sync + 'static {
    /// The engine's transaction.
    type Txn: Txn;

    /// Begins a transaction that sees every commit acknowledged before the call.
    ///
    /// # Errors
    /// `Closed` or `Unavailable`.
    fn begin(&self) -> impl Future<Output = Result<Self::Txn, Error>> + Send;

    /// The generation that this store's stamps carry.
    fn generation(&self) -> u32;
}

/// One transaction: reads from one moment, writes that appear all at once or never. Dropping it
/// before `commit` writes nothing. Invalid writes are remembered and refused by `commit`.
pub trait Txn: Send {
    /// The value of `key`, the transaction's own writes included. A key with a pending `add` reads
    /// as the sum. Keys of `set_stamped` do not exist before the commit, so they are not seen.
    ///
    /// # Errors
    /// `TooLarge` or `InvalidKey` for a key that no caller may use, `TooOld`, `Unavailable`.
    fn get(
        &mut self,
        key: &[u8],
        read: Read,
    ) -> impl Future<Output = Result<Option<Bytes>, Error>> + Send;

    /// The pairs of `range` in key order, or from its end backwards, the transaction's own writes
    /// included. With `Read::Conflict`, an insert into what was looked at conflicts too: the whole
    /// range, or, where the limit cut it, up to the last key returned.
    ///
    /// # Errors
    /// `TooOld` or `Unavailable`.
    fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> impl Future<Output = Result<Vec<(Bytes, Bytes)>, Error>> + Send;

    /// Writes `value` at `key`.
    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>);

    /// Removes `key`.
    fn clear(&mut self, key: impl Into<Bytes>);

    /// Removes every key of `range` that exists at commit. On the embedded engines the cost is one
    /// tombstone for each of these keys.
    fn clear_range(&mut self, range: &KeyRange);

    /// Adds `delta`, wrapping, to the 64-bit little-endian number at `key`; an absent key counts as
    /// 0, a value of another length is cut or filled with zeros to 8 bytes. Reads nothing, so
    /// additions never conflict with each other.
    fn add(&mut self, key: impl Into<Bytes>, delta: i64);

    /// Writes `value` at `prefix` followed by the [`Stamp`] of the commit, whose index counts the
    /// calls of this transaction from 0.
    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>);

    /// Makes the commit conflict with other writes into `range`, as if it had been read. To be called
    /// before the transaction itself writes into it: FoundationDB leaves out what a transaction has
    /// written, as it does with reads.
    fn conflict_on(&mut self, range: &KeyRange);

    /// Commits. Once it answers `Ok`, the writes are durable and every later `begin` sees them. A
    /// transaction that wrote nothing always commits, and writes nothing. Dropping the future
    /// before it answers leaves the outcome unknown.
    ///
    /// # Errors
    /// `Conflict` and `TooOld`: run it anew. `TooLarge`, `InvalidKey`: refused for good.
    /// `OutcomeUnknown`: it may have happened. `Closed`, `Unavailable`.
    fn commit(self) -> impl Future<Output = Result<Committed, Error>> + Send;
}

/// Whether a read takes part in conflict detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// A later write by another transaction makes the commit fail.
    Conflict,
    /// No conflict comes from this read.
    Snapshot,
}

/// How a range is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeOptions {
    /// Pairs returned at most.
    pub limit: usize,
    /// From the end of the range backwards.
    pub reverse: bool,
    /// Whether the read takes part in conflict detection.
    pub read: Read,
}

impl RangeOptions {
    /// The first `limit` pairs in key order.
    #[must_use]
    pub fn first(limit: usize, read: Read) -> Self {
        Self {
            limit,
            reverse: false,
            read,
        }
    }

    /// The last `limit` pairs, last one first.
    #[must_use]
    pub fn last(limit: usize, read: Read) -> Self {
        Self {
            limit,
            reverse: true,
            read,
        }
    }

    /// The part of `range` whose content decided that a read gave `pairs`.
    #[must_use]
    pub fn looked_at(&self, range: &KeyRange, pairs: &[(Bytes, Bytes)]) -> KeyRange {
        match pairs.last() {
            Some((last, _)) if pairs.len() == self.limit && self.reverse => KeyRange {
                begin: last.clone(),
                end: range.end.clone(),
            },
            Some((last, _)) if pairs.len() == self.limit => KeyRange {
                begin: range.begin.clone(),
                end: successor(last),
            },
            _ => range.clone(),
        }
    }
}

/// What a commit gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Where the commit lies in the order of all commits, with index 0. For a transaction that
    /// wrote nothing: the last commit that it saw.
    pub stamp: Stamp,
}
