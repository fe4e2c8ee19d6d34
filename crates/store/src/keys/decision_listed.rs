//! Listed decisions: the chains that are active, in the order in which they load.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `L`, [`ScopeKey`] (16), [`Rank`] (1), [`DomainKey`] (16), the event that began the chain (8), [`DecisionId`] (16) | nothing | written when the chain begins, is restored or moves here from another rank or domain, cleared when it is withdrawn or moves away |
//!
//! A chain has one row while it is active and none while it is not, so whoever reads this family sees
//! active decisions alone, however many versions they had before. Which version is the active one their heads say.
//!
//! A row says nothing beside its key, and so a change of a decision that stays where it is listed leaves it as it is: an
//! engine that merges what was rewritten would read a listing the slower the more its decisions were changed. That is
//! format 2. Format 1 says the number of the version that was active when the row was written; nothing writes it any more, and
//! since a row of it stays until its decision moves, is withdrawn or is made anew from its events, nothing may go by that number.

use sillok_core::decision::{DecisionHead, Domain, Rank};
use sillok_core::id::{DecisionId, Seq};

use super::{Family, ScopeKey, codec};
use crate::key_range::successor;
use crate::{Error, KeyRange};

const FAMILY: Family = Family::DecisionListed;
/// The number of a version.
const NUMBERED: u8 = 1;
/// Nothing.
const BARE: u8 = 2;

/// A domain inside a key: zeros for all domains together, else the first 16 bytes of the BLAKE3 hash
/// of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DomainKey([u8; Self::LEN]);

impl DomainKey {
    /// Bytes of a domain inside a key.
    pub const LEN: usize = 16;

    /// The key of `domain`.
    #[must_use]
    pub fn of(domain: &Domain) -> Self {
        if domain.is_global() {
            Self([0; Self::LEN])
        } else {
            Self(codec::short_hash(domain.as_str()))
        }
    }

    /// The key with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes that stand in keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The scope.
    pub scope: ScopeKey,
    /// The rank of the chain.
    pub rank: Rank,
    /// Its domain.
    pub domain: DomainKey,
    /// The event that began it.
    pub begun: Seq,
    /// Its root.
    pub root: DecisionId,
}

impl Key {
    /// Whether this is where `head`, which is of the same scope, says that its decision is listed.
    #[must_use]
    pub fn is_of(&self, head: &DecisionHead) -> bool {
        let says = (head.rank, DomainKey::of(&head.domain), head.begun_seq);
        head.active && self.root == head.root && (self.rank, self.domain, self.begun) == says
    }
}

/// The key of a chain's place.
#[must_use]
pub fn key(place: &Key) -> Vec<u8> {
    codec::build(
        FAMILY,
        &[
            place.scope.as_bytes(),
            &[place.rank as u8],
            place.domain.as_bytes(),
            &place.begun.get().to_be_bytes(),
            place.root.as_bytes(),
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
    let number = reader.u8()?;
    let rank = Rank::ALL.get(usize::from(number)).copied();
    let rank = rank.ok_or_else(|| reader.corrupt("there is no such rank"))?;
    let domain = DomainKey::from_bytes(reader.array()?);
    let begun = Seq::new(reader.u64()?);
    let root = DecisionId::from_bytes(reader.array()?);
    reader.end()?;
    Ok(Key {
        scope,
        rank,
        domain,
        begun,
        root,
    })
}

/// The active chains of one rank and one domain of a scope, in the order in which they were begun:
/// those behind one of them, all of them behind none.
#[must_use]
pub fn range_after(
    scope: &ScopeKey,
    rank: Rank,
    domain: DomainKey,
    after: Option<(Seq, DecisionId)>,
) -> KeyRange {
    let list = codec::build(
        FAMILY,
        &[scope.as_bytes(), &[rank as u8], domain.as_bytes()],
    );
    let all = KeyRange::prefix(&list);
    let last = after.map(|(begun, root)| Key {
        scope: *scope,
        rank,
        domain,
        begun,
        root,
    });
    behind(all, last)
}

/// The active chains of one rank of a scope, domain by domain: those behind one of them, all of them
/// behind none.
#[must_use]
pub fn range_of_rank(
    scope: &ScopeKey,
    rank: Rank,
    after: Option<(DomainKey, Seq, DecisionId)>,
) -> KeyRange {
    let all = KeyRange::prefix(&codec::build(FAMILY, &[scope.as_bytes(), &[rank as u8]]));
    let last = after.map(|(domain, begun, root)| Key {
        scope: *scope,
        rank,
        domain,
        begun,
        root,
    });
    behind(all, last)
}

/// What of a range lies behind one of its keys; all of it behind none.
fn behind(all: KeyRange, last: Option<Key>) -> KeyRange {
    let begin = last.map(|last| successor(&key(&last)));
    KeyRange {
        begin: begin.unwrap_or(all.begin),
        ..all
    }
}

/// The stored form of `value`: of format 1 where that is the number of a version, else of format 2.
#[must_use]
pub fn encode(value: &Option<u64>) -> Vec<u8> {
    match value {
        Some(number) => codec::encode(NUMBERED, number),
        None => codec::encode(BARE, &()),
    }
}

/// The value stored under `key`: the number that a row of format 1 says.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<Option<u64>, Error> {
    let (format, fields) = codec::open_any(FAMILY, NUMBERED..=BARE, key, value)?;
    if format == NUMBERED {
        return codec::decode_fields(FAMILY, key, fields).map(Some);
    }
    codec::decode_fields::<()>(FAMILY, key, fields).map(|()| None)
}
