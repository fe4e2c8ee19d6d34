//! Listed anchors: those that were not dropped, in the order in which they load.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `N`, [`ScopeKey`] (16), [`DomainKey`] (16), the event that added the anchor (8), [`AnchorId`] (16) | nothing | written once, cleared when the anchor is dropped |

use sillok_core::id::{AnchorId, Seq};

use super::decision_listed::DomainKey;
use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::AnchorListed;
const FORMAT: u8 = 1;

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The anchor's domain.
    pub domain: DomainKey,
    /// The event that added it.
    pub added: Seq,
    /// The anchor.
    pub anchor: AnchorId,
}

/// The key of an anchor's place.
#[must_use]
pub fn key(place: &Key) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[
            place.scope.as_bytes(),
            place.domain.as_bytes(),
            &place.added.get().to_be_bytes(),
            place.anchor.as_bytes(),
        ],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let scope = reader.scope()?;
    let domain = DomainKey::from_bytes(reader.array()?);
    let added = Seq::new(reader.u64()?);
    let anchor = AnchorId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key {
        scope,
        domain,
        added,
        anchor,
    })
}

/// The anchors of one domain of a scope that were not dropped, in the order in which they were added: those behind one
/// of them, all of them behind none.
#[must_use]
pub fn range_after(
    scope: &ScopeKey,
    domain: DomainKey,
    after: Option<(Seq, AnchorId)>,
) -> KeyRange {
    let list = codec::build(FAMILY, &[scope.as_bytes(), domain.as_bytes()]);
    let all = KeyRange::prefix(&list);
    match after {
        None => all,
        Some((added, anchor)) => KeyRange {
            begin: successor(&key(&Key {
                scope: *scope,
                domain,
                added,
                anchor,
            })),
            ..all
        },
    }
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &()) -> Vec<u8> {
    codec::encode(FORMAT, value)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<(), Error> {
    codec::decode(FAMILY, FORMAT, key, value)
}
