//! Which foreign messages were counted, so that each counts once however often it is read.
//!
//! Owns what is remembered of them, which is bounded. It must not know what makes a message foreign.

use std::collections::BTreeSet;

/// Foreign messages that are known by their places.
const KNOWN_MAX: usize = 1_024;

/// Where a message lies: when it was stored, and its number. A stream that was made anew begins with the first number
/// again, and later.
type Place = (u64, u64);

/// The foreign messages that were counted.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The latest of them.
    places: BTreeSet<Place>,
    /// Where there is no room for all: everything up to here counts as known.
    through: Option<Place>,
}

impl Known {
    /// Whether a message was not counted yet, as far as that is known. It is from now on. Who reads on finds each
    /// message once, however many there are; of more than there is room for, one that somebody reads first who reads
    /// backwards may be left out.
    pub(super) fn is_new(&mut self, seq: u64, stored_ns: u64) -> bool {
        let place = (stored_ns, seq);
        if self.through.is_some_and(|through| place <= through) || !self.places.insert(place) {
            return false;
        }
        if self.places.len() > KNOWN_MAX {
            self.through = self.places.pop_first();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 3 * KNOWN_MAX as u64;

    #[test]
    fn each_counts_once_however_many_there_are_and_however_often_they_are_read() {
        let mut known = Known::default();
        // The ends of slots are read first, again and again.
        let ends = [MANY - 1, MANY];
        let mut counted = 0;
        for _ in 0..3 {
            for seq in ends.into_iter().chain(1..=MANY) {
                counted += u64::from(known.is_new(seq, 10 * seq));
            }
        }
        assert_eq!(counted, MANY);
        assert!(known.places.len() <= KNOWN_MAX);
    }

    #[test]
    fn one_that_is_lower_than_all_that_are_known_counts_once_too() {
        let mut known = Known::default();
        for seq in 2..=KNOWN_MAX as u64 + 1 {
            assert!(known.is_new(seq, seq));
        }
        for is_first in [true, false, false] {
            assert_eq!(known.is_new(1, 1), is_first);
        }
        assert!(!known.is_new(2, 2));
        // In a stream that was made anew the numbers begin again.
        assert!(known.is_new(1, 10_000));
        assert!(!known.is_new(1, 10_000));
    }
}
