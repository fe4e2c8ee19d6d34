//! A set of keys made of disjoint ranges.
//!
//! Must not know transactions.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use crate::KeyRange;

/// Disjoint ranges in key order; ranges that overlap or touch become one.
#[derive(Debug, Clone, Default)]
pub struct RangeSet {
    end_by_begin: BTreeMap<Bytes, Bytes>,
}

impl RangeSet {
    /// Whether no key is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end_by_begin.is_empty()
    }

    /// Whether `key` is in the set.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.end_by_begin
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
            .next_back()
            .is_some_and(|(_, end)| key < end.as_ref())
    }

    /// Whether a key of `range`, which is not empty, is in the set.
    #[must_use]
    pub fn intersects(&self, range: &KeyRange) -> bool {
        self.end_by_begin
            .range::<Bytes, _>(..&range.end)
            .next_back()
            .is_some_and(|(_, end)| range.begin < *end)
    }

    /// Adds every key of `range`.
    pub fn insert(&mut self, range: &KeyRange) {
        if range.is_empty() {
            return;
        }
        let (mut begin, mut end) = (range.begin.clone(), range.end.clone());
        // Ranges are disjoint, so those that touch the new one are the last ones that begin at or
        // before its end.
        while let Some((other_begin, other_end)) = self
            .end_by_begin
            .range::<Bytes, _>((Bound::Unbounded, Bound::Included(&end)))
            .next_back()
            .filter(|(_, other_end)| **other_end >= begin)
            .map(|(other_begin, other_end)| (other_begin.clone(), other_end.clone()))
        {
            self.end_by_begin.remove(&other_begin);
            begin = begin.min(other_begin);
            end = end.max(other_end);
        }
        self.end_by_begin.insert(begin, end);
    }

    /// The ranges, in key order.
    pub fn iter(&self) -> impl Iterator<Item = KeyRange> + '_ {
        self.end_by_begin.iter().map(|(begin, end)| KeyRange {
            begin: begin.clone(),
            end: end.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_range_set_holds_the_union_of_its_ranges(
            ranges in proptest::collection::vec((0u8..40, 0u8..40), 0..12)
        ) {
            let mut set = RangeSet::default();
            let mut expected = BTreeSet::new();
            for (begin, end) in ranges {
                set.insert(&KeyRange::new(vec![begin], vec![end]));
                expected.extend(begin..end);
            }
            for key in 0u8..=40 {
                prop_assert_eq!(set.contains(&[key]), expected.contains(&key));
            }
            let ranges: Vec<_> = set.iter().collect();
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].end < pair[1].begin, "ranges are disjoint and merged");
            }
        }
    }
}
