//! Decisions: the head of each chain of versions.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `D`, [`ScopeKey`] (16), [`DecisionId`] (16) | [`DecisionHead`] | rewritten with every version of the chain, never deleted |
//!
//! A chain that was withdrawn keeps its head, which says so.

use serde::Deserialize;
use sillok_core::decision::{DecisionHead, Rank};
use sillok_core::id::DecisionId;

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Decision;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The root of the chain.
    pub root: DecisionId,
}

/// The key of a head.
#[must_use]
pub fn key(scope: &ScopeKey, root: DecisionId) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), root.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let root = DecisionId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { scope, root })
}

/// All chains of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The chains of a scope behind one of them; all of them behind none.
#[must_use]
pub fn range_after(scope: &ScopeKey, after: Option<DecisionId>) -> KeyRange {
    let all = range_of_scope(scope);
    match after {
        None => all,
        Some(root) => KeyRange {
            begin: successor(&key(scope, root)),
            ..all
        },
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &DecisionHead) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<DecisionHead, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}

/// What a decision is called and how strong it is: what of a head is read for each of thousands, of which nothing else is
/// told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Whether the decision applies.
    pub active: bool,
    /// How strong it is.
    pub rank: Rank,
    /// What was decided, in a line.
    pub title: String,
}

/// The fields of a head up to its title, in its order.
#[derive(Deserialize)]
struct Front<'a>(
    DecisionId,
    u64,
    bool,
    Rank,
    #[serde(borrow)] &'a str,
    #[serde(borrow)] Option<&'a str>,
    #[serde(borrow)] &'a str,
);

/// The summary of the head stored under `key`. What stands behind its title is not decoded: most of a head is what it is
/// related to.
///
/// # Errors
/// `Corrupt`.
pub fn decode_summary(key: &[u8], value: &[u8]) -> Result<Summary, Error> {
    let fields = codec::open(FAMILY, FORMAT, key, value)?;
    let Front(_root, _version, active, rank, _domain, _phase, title) =
        codec::decode_front(FAMILY, key, fields)?;
    Ok(Summary {
        active,
        rank,
        title: title.to_owned(),
    })
}
