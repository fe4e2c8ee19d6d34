//! Whose turn it is among the slots that a round has to read.
//!
//! A pass reads some of them only. What is far behind takes several passes, and would keep everything
//! behind it waiting if it always came first.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::slot::Slot;

/// The turns of one round.
#[derive(Default)]
pub(super) struct Turns {
    passes: u64,
    /// The pass that last read a slot and left some of it unread.
    last: BTreeMap<Slot, u64>,
}

impl Turns {
    /// The slots in the order in which they are read: first those of which nothing was left unread, and
    /// then whoever waits for longest.
    pub(super) fn in_order<'a>(&self, slots: impl IntoIterator<Item = &'a Slot>) -> Vec<Slot> {
        let mut slots: Vec<Slot> = slots.into_iter().copied().collect();
        slots.sort_by_key(|slot| self.last.get(slot).copied());
        slots
    }

    /// A pass has read some slots, and left some of them unread.
    pub(super) fn passed(&mut self, read: &BTreeSet<Slot>, unread: &BTreeSet<Slot>) {
        self.passes += 1;
        for slot in read.difference(unread) {
            self.last.remove(slot);
        }
        let turns = unread.iter().map(|slot| (*slot, self.passes));
        self.last.extend(turns);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT_ONCE: usize = 2;

    fn slots(numbers: std::ops::Range<u16>) -> BTreeSet<Slot> {
        numbers.map(|number| Slot::new(number).unwrap()).collect()
    }

    /// A pass over the first of some slots, all of which are far behind. Which these were.
    fn pass(turns: &mut Turns, far: &BTreeSet<Slot>) -> BTreeSet<Slot> {
        let read = turns.in_order(far).into_iter().take(AT_ONCE).collect();
        turns.passed(&read, &read);
        read
    }

    proptest! {
        #[test]
        fn of_those_that_are_far_behind_none_is_read_twice_before_another_once(
            count in 1_u16..40, late in 0_u16..40, passes in 1_usize..100,
        ) {
            let mut far = slots(0..count);
            let mut turns = Turns::default();
            for _ in 0..passes {
                pass(&mut turns, &far);
            }
            // Some come later, and go first once; then they take turns with those that were there before.
            far.extend(slots(count..count + late));
            let round = far.len().div_ceil(AT_ONCE);
            let mut read = BTreeSet::new();
            for _ in 0..round {
                read.extend(pass(&mut turns, &far));
            }
            prop_assert_eq!(read, far);
        }
    }

    #[test]
    fn what_was_read_to_its_end_goes_first_when_it_comes_again() {
        let far = slots(0..3);
        let mut turns = Turns::default();
        for _ in 0..10 {
            pass(&mut turns, &far);
        }
        let last = Slot::new(2).unwrap();
        turns.passed(&BTreeSet::from([last]), &BTreeSet::new());
        assert_eq!(turns.in_order(&far)[0], last);
    }
}
