//! Which entries of a scope declare a key: by the numbers that stand for key and value, in memory.
//!
//! Owns that those of one key are found without looking at others. It must not know where their rows lie.

use std::collections::BTreeSet;
use std::ops::Bound;

use sillok_core::entry::ClaimHash;
use sillok_core::id::EntryId;

/// The claims of entries of one scope.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    known: BTreeSet<(ClaimHash, EntryId)>,
}

impl Claims {
    /// Notes what an entry claims, if it claims anything.
    pub(crate) fn insert(&mut self, claim: Option<ClaimHash>, entry: EntryId) {
        if let Some(claim) = claim {
            self.known.insert((claim, entry));
        }
    }

    /// Forgets what an entry claimed.
    pub(crate) fn remove(&mut self, claim: Option<ClaimHash>, entry: EntryId) {
        if let Some(claim) = claim {
            self.known.remove(&(claim, entry));
        }
    }

    /// The entries that declare the key of `claim` with another value. Those that agree are not looked at.
    pub(crate) fn against(&self, claim: ClaimHash) -> impl Iterator<Item = EntryId> {
        let of_value = |value| ClaimHash { value, ..claim };
        let (first, last) = (
            EntryId::from_bytes([0; 16]),
            EntryId::from_bytes([u8::MAX; 16]),
        );
        let below = (of_value(u64::MIN), first)..(claim, first);
        let above = (
            Bound::Excluded((claim, last)),
            Bound::Included((of_value(u64::MAX), last)),
        );
        let others = self.known.range(below).chain(self.known.range(above));
        others.map(|(_, entry)| *entry)
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU64;

    use super::*;

    fn id(number: u8) -> EntryId {
        EntryId::from_bytes([number; 16])
    }

    fn claim(key: u64, value: u64) -> ClaimHash {
        let key = NonZeroU64::new(key).unwrap();
        ClaimHash { key, value }
    }

    #[test]
    fn other_values_of_one_key_are_found_and_nothing_else() {
        let mut claims = Claims::default();
        let values = [0, 7, u64::MAX];
        for (entry, value) in (0..).zip(values) {
            claims.insert(Some(claim(2, value)), id(entry));
            // Of the keys beside it, and one that agrees.
            claims.insert(Some(claim(1, value)), id(10 + entry));
            claims.insert(Some(claim(3, value)), id(20 + entry));
            claims.insert(Some(claim(2, value)), id(u8::MAX - entry));
        }
        claims.insert(None, id(40));
        for (entry, value) in (0..).zip(values) {
            let mut found: Vec<EntryId> = claims.against(claim(2, value)).collect();
            found.sort_unstable();
            let others = (0..3).filter(|other| *other != entry);
            let mut expected: Vec<EntryId> = others
                .flat_map(|other| [id(other), id(u8::MAX - other)])
                .collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{value}");
        }
        claims.remove(Some(claim(2, 7)), id(1));
        claims.remove(None, id(1));
        let found: Vec<EntryId> = claims.against(claim(2, 0)).collect();
        assert_eq!(found, [id(u8::MAX - 1), id(2), id(u8::MAX - 2)]);
        assert_eq!(claims.against(claim(9, 0)).count(), 0);
    }
}
