//! Events: the source of truth, chained by hash.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `e`, [`ScopeKey`] (16), [`Seq`] (8) | [`StoredEvent`] | written once; its content may be erased later |
//!
//! The value is the bytes that were sealed; what they mean is read by the chain.

use sillok_core::chain::StoredEvent;
use sillok_core::id::Seq;

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Event;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The event's position in it.
    pub seq: Seq,
}

/// The key of an event.
#[must_use]
pub fn key(scope: &ScopeKey, seq: Seq) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), &seq.get().to_be_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let seq = Seq::new(reader.u64()?);
    reader.end()?;
    Ok(Key { scope, seq })
}

/// The events of a scope behind `seq`, in order; behind [`Seq::ZERO`], all of them.
#[must_use]
pub fn range_after(scope: &ScopeKey, seq: Seq) -> KeyRange {
    KeyRange {
        begin: successor(&key(scope, seq)),
        ..range_of_scope(scope)
    }
}

/// The events of a scope behind `after`, up to and including `through`.
#[must_use]
pub fn range_through(scope: &ScopeKey, after: Seq, through: Seq) -> KeyRange {
    KeyRange {
        begin: successor(&key(scope, after)),
        end: successor(&key(scope, through)),
    }
}

/// Every event of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &StoredEvent) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<StoredEvent, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
