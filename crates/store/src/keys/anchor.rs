//! Anchors: hints that point to decisions and evidence.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `A`, [`ScopeKey`] (16), [`AnchorId`] (16) | [`Anchor`] | written once, and once more when it is dropped |
//!
//! An anchor that was dropped keeps its row, which says so.

use sillok_core::anchor::Anchor;
use sillok_core::id::AnchorId;

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Anchor;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The anchor.
    pub anchor: AnchorId,
}

/// The key of an anchor.
#[must_use]
pub fn key(scope: &ScopeKey, anchor: AnchorId) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), anchor.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let anchor = AnchorId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { scope, anchor })
}

/// All anchors of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The anchors of a scope behind one of them; all of them behind none.
#[must_use]
pub fn range_after(scope: &ScopeKey, after: Option<AnchorId>) -> KeyRange {
    let all = range_of_scope(scope);
    match after {
        None => all,
        Some(anchor) => KeyRange {
            begin: successor(&key(scope, anchor)),
            ..all
        },
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Anchor) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Anchor, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
