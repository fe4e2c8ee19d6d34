//! Which entries of a scope declare a key: by the numbers that stand for key and value, in memory.
//!
//! Owns that those of one key are found without looking at others. It must not know where their rows lie.

use std::collections::BTreeSet;

use sillok_core::entry::ClaimHash;
use sillok_core::id::EntryId;

/// No id is smaller.
const FIRST: EntryId = EntryId::from_bytes([0; 16]);
/// No id is larger.
const LAST: EntryId = EntryId::from_bytes([u8::MAX; 16]);

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

    /// Brings those entries into `found` that declare the key of `claim` with another value and are admitted. Those that
    /// agree are not looked at, nor is more of any one value than there is room for.
    pub(crate) fn against(
        &self,
        claim: ClaimHash,
        admits: impl Fn(EntryId) -> bool,
        found: &mut Smallest,
    ) {
        let of_value = |value| ClaimHash { value, ..claim };
        let mut value_min = Some(u64::MIN);
        while let Some(value) = value_min {
            let left = (of_value(value), FIRST)..=(of_value(u64::MAX), LAST);
            let Some((next, _)) = self.known.range(left).next() else {
                return;
            };
            if next.value != claim.value {
                let alike = self.known.range((*next, FIRST)..=(*next, LAST));
                found.take_rising(alike.map(|(_, entry)| *entry), &admits);
            }
            value_min = next.value.checked_add(1);
        }
    }
}

/// The smallest ids of those that are found, so many at most.
#[derive(Debug)]
pub(crate) struct Smallest {
    ids: BTreeSet<EntryId>,
    limit: usize,
}

impl Smallest {
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            ids: BTreeSet::new(),
            limit,
        }
    }

    /// Takes what is admitted of ids in rising order. Behind the first one that there is no room for, none is looked at.
    fn take_rising(
        &mut self,
        ids: impl Iterator<Item = EntryId>,
        admits: impl Fn(EntryId) -> bool,
    ) {
        for id in ids {
            let is_full = self.ids.len() >= self.limit;
            if is_full && self.ids.last().is_none_or(|largest| id >= *largest) {
                return;
            }
            if admits(id) {
                self.ids.insert(id);
                if self.ids.len() > self.limit {
                    self.ids.pop_last();
                }
            }
        }
    }

    /// All of them, in rising order.
    pub(crate) fn into_vec(self) -> Vec<EntryId> {
        self.ids.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::num::NonZeroU64;

    use proptest::prelude::*;

    use super::*;

    fn id(number: u8) -> EntryId {
        EntryId::from_bytes([number; 16])
    }

    fn claim(key: u64, value: u64) -> ClaimHash {
        let key = NonZeroU64::new(key).unwrap();
        ClaimHash { key, value }
    }

    fn found(claims: &Claims, claim: ClaimHash, limit: usize) -> Vec<EntryId> {
        let mut found = Smallest::new(limit);
        claims.against(claim, |_| true, &mut found);
        found.into_vec()
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
            let others = (0..3).filter(|other| *other != entry);
            let mut expected: Vec<EntryId> = others
                .flat_map(|other| [id(other), id(u8::MAX - other)])
                .collect();
            expected.sort_unstable();
            assert_eq!(found(&claims, claim(2, value), 16), expected, "{value}");
        }
        claims.remove(Some(claim(2, 7)), id(1));
        claims.remove(None, id(1));
        let expected = [id(2), id(u8::MAX - 2), id(u8::MAX - 1)];
        assert_eq!(found(&claims, claim(2, 0), 16), expected);
        assert!(found(&claims, claim(9, 0), 16).is_empty());
    }

    #[test]
    fn of_many_that_declare_one_value_no_more_are_looked_at_than_there_is_room_for() {
        let mut claims = Claims::default();
        for number in 0..100 {
            claims.insert(Some(claim(2, 7)), id(number));
            claims.insert(Some(claim(2, 9)), id(100 + number));
        }
        let looked_at = Cell::new(0);
        let admits = |entry| {
            looked_at.set(looked_at.get() + 1);
            entry != id(0)
        };
        let mut found = Smallest::new(2);
        claims.against(claim(2, 8), admits, &mut found);
        assert_eq!(found.into_vec(), [id(1), id(2)]);
        assert_eq!(looked_at.get(), 3, "one of them was not admitted");
    }

    proptest! {
        /// Whatever is claimed: what is found is what would be found by looking at all of it.
        #[test]
        fn the_smallest_ids_are_found_whatever_they_declare(
            known in proptest::collection::vec((1u64..4, 0u64..4, 0u8..40), 0..60),
            key in 1u64..4, value in 0u64..4, limit in 0usize..6, odd: bool,
        ) {
            let mut claims = Claims::default();
            let mut expected = Vec::new();
            for (of_key, of_value, entry) in &known {
                claims.insert(Some(claim(*of_key, *of_value)), id(*entry));
                if *of_key == key && *of_value != value && (odd || entry % 2 == 0) {
                    expected.push(id(*entry));
                }
            }
            expected.sort_unstable();
            expected.dedup();
            expected.truncate(limit);
            let admits = |entry: EntryId| odd || (0u8..40).any(|even| even % 2 == 0 && entry == id(even));
            let mut found = Smallest::new(limit);
            claims.against(claim(key, value), admits, &mut found);
            prop_assert_eq!(found.into_vec(), expected);
        }
    }
}
