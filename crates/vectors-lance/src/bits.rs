//! The places of one data file's rows as a bit each, which is the quickest to ask.
//!
//! Owns which word and which bit of it stand for a row. It must not know why a row is among them.

use roaring::RoaringBitmap;

/// A bit for each place up to the last one that is named.
pub(crate) fn bits_of(places: &RoaringBitmap) -> Vec<u64> {
    let words = places.max().map_or(0, |last| word_of(last.into()) + 1);
    let mut bits = vec![0; words];
    let mut runs = places.iter();
    while let Some(run) = runs.next_range() {
        let (first, last) = (u64::from(*run.start()), u64::from(*run.end()));
        let (begin, end) = (word_of(first), word_of(last));
        // All bits from the first on, and all up to the last one.
        let (from, to) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        if begin == end {
            bits[begin] |= from & to;
        } else {
            bits[begin] |= from;
            bits[begin + 1..end].fill(u64::MAX);
            bits[end] |= to;
        }
    }
    bits
}

/// Whether the bits of its data file have the place of this address.
#[inline]
pub(crate) fn holds(bits: &[u64], address: u64) -> bool {
    let word = bits.get(word_of(address)).copied().unwrap_or(0);
    word >> (address % 64) & 1 == 1
}

/// Where in its file's bits an address has its bit.
#[inline]
fn word_of(address: u64) -> usize {
    usize::try_from((address & u64::from(u32::MAX)) / 64).expect("a file has under 2^32 rows")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs of places: within a word, over several, up to the edges of words, and where the set itself begins anew.
    fn places() -> impl Strategy<Value = RoaringBitmap> {
        let near = |edge: u32| edge - 2..edge + 3;
        let firsts = prop_oneof![0..400_u32, near(64), near(128), near(1 << 16)];
        let lengths = prop_oneof![1..4_u32, 60..69_u32, 126..131_u32, 1..300_u32];
        prop::collection::vec((firsts, lengths), 0..6).prop_map(|runs| {
            let mut places = RoaringBitmap::new();
            for (first, length) in runs {
                places.insert_range(first..first + length);
            }
            places
        })
    }

    proptest! {
        #[test]
        fn bits_hold_the_places_that_are_named_and_no_others(
            places in places(),
            file in prop::sample::select(vec![0, 1, u64::from(u32::MAX)]),
        ) {
            let bits = bits_of(&places);
            let held = (0..(1 << 16) + 1_000_u32)
                .filter(|place| holds(&bits, file << 32 | u64::from(*place)));
            prop_assert_eq!(held.collect::<Vec<u32>>(), places.iter().collect::<Vec<u32>>());
            let words = places.max().map_or(0, |last| u64::from(last) / 64 + 1);
            prop_assert_eq!(bits.len() as u64, words, "no word is kept in which there is none");
        }
    }

    #[test]
    fn the_last_place_that_a_file_can_have_has_a_bit() {
        let last = u64::from(u32::MAX);
        assert_eq!(word_of(7 << 32 | last), (1 << 26) - 1);
        assert!(!holds(&[u64::MAX], last));
    }
}
