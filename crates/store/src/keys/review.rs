//! Reviews: what only a person can decide, and what was said to it.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `w`, [`ScopeKey`] (16), [`ReviewId`] (16) | [`Review`] | written once, and once more with its answer |

use sillok_core::id::ReviewId;
use sillok_core::review::Review;

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Review;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The question.
    pub review: ReviewId,
}

/// The key of the row.
#[must_use]
pub fn key(scope: &ScopeKey, review: ReviewId) -> Vec<u8> {
    codec::build(FAMILY, &[scope.as_bytes(), review.as_bytes()])
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let review = ReviewId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key { scope, review })
}

/// All questions of a scope.
#[must_use]
pub fn range_of_scope(scope: &ScopeKey) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes()]))
}

/// The questions of a scope behind one of them; all of them behind none.
#[must_use]
pub fn range_after(scope: &ScopeKey, after: Option<ReviewId>) -> KeyRange {
    let all = range_of_scope(scope);
    match after {
        None => all,
        Some(review) => KeyRange {
            begin: successor(&key(scope, review)),
            ..all
        },
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &Review) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Review, Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
