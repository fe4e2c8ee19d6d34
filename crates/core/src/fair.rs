//! Fairness: who is next among those who wait, when some want much more than others.
//!
//! Owns the order: round and round through the groups for which somebody waits, one at a time. Pure; what
//! waits, and for what, is the caller's.

use std::collections::{BTreeMap, VecDeque};

/// Waiting ones, by group.
#[derive(Clone, Debug)]
pub struct FairQueue<G, T> {
    /// The groups for which somebody waits; the first one is next.
    turns: VecDeque<G>,
    waiting: BTreeMap<G, VecDeque<T>>,
}

impl<G, T> Default for FairQueue<G, T> {
    fn default() -> Self {
        Self {
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
        }
    }
}

impl<G: Ord + Clone, T> FairQueue<G, T> {
    /// Adds one, behind all others of its group. A group for which nobody waited comes last.
    pub fn push(&mut self, group: G, item: T) {
        let of_group = self.waiting.entry(group.clone()).or_default();
        if of_group.is_empty() {
            self.turns.push_back(group);
        }
        of_group.push_back(item);
    }

    /// Takes the next one: the first of the group whose turn it is, which then comes behind all others.
    pub fn pop(&mut self) -> Option<T> {
        let group = self.turns.pop_front()?;
        let of_group = self.waiting.get_mut(&group)?;
        let item = of_group.pop_front();
        if of_group.is_empty() {
            self.waiting.remove(&group);
        } else {
            self.turns.push_back(group);
        }
        item
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_that_wants_little_waits_for_one_of_each_other_at_most() {
        let mut queue = FairQueue::default();
        for number in 0..100 {
            queue.push("busy", number);
        }
        assert_eq!(queue.pop(), Some(0));
        queue.push("calm", 1_000);
        assert_eq!([queue.pop(), queue.pop()], [Some(1), Some(1_000)]);
        assert_eq!(queue.pop(), Some(2));
        assert!(!queue.is_empty());
    }

    proptest! {
        /// Nothing is lost, each group stays in order, and nobody who waits sees another group twice before
        /// its own turn.
        #[test]
        fn everybody_comes_in_turn(steps in prop::collection::vec(prop::option::of(0_u8..4), 0..200)) {
            let mut queue = FairQueue::default();
            let (mut given, mut taken) = (Vec::new(), Vec::new());
            let mut since: BTreeMap<u8, BTreeMap<u8, u32>> = BTreeMap::new();
            for (number, step) in steps.into_iter().enumerate() {
                if let Some(group) = step {
                    queue.push(group, (group, number));
                    since.entry(group).or_default();
                    given.push((group, number));
                    continue;
                }
                let Some((group, number)) = queue.pop() else { continue };
                taken.push((group, number));
                let is_left = given.iter().any(|item| item.0 == group && !taken.contains(item));
                since.remove(&group);
                for passed in since.values_mut() {
                    let times = passed.entry(group).or_default();
                    *times += 1;
                    prop_assert!(*times <= 1, "{group} came twice");
                }
                if is_left {
                    since.insert(group, BTreeMap::new());
                }
            }
            taken.extend(core::iter::from_fn(|| queue.pop()));
            prop_assert!(queue.is_empty());
            for group in 0..4 {
                let of = |items: &[(u8, usize)]| -> Vec<usize> {
                    items.iter().filter(|item| item.0 == group).map(|item| item.1).collect()
                };
                prop_assert_eq!(of(&given), of(&taken));
            }
        }
    }
}
