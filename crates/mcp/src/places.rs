//! Places for what is under way at one time, of which nobody gets more than a part.
//!
//! Owns their count, in all and of each principal. It must not know what they are for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Places. A clone counts the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    taken: Arc<Mutex<Taken>>,
    max: usize,
    each_max: usize,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    of: HashMap<String, usize>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    taken: Arc<Mutex<Taken>>,
    who: String,
}

impl Places {
    /// So many in all, and of each principal.
    pub(crate) fn new(max: usize, each_max: usize) -> Self {
        Self {
            taken: Arc::default(),
            max,
            each_max,
        }
    }

    /// A place for a principal, where there is one.
    pub(crate) fn take(&self, who: &str) -> Option<Place> {
        let mut taken = lock(&self.taken);
        let of_who = taken.of.get(who).copied().unwrap_or(0);
        if taken.all >= self.max || of_who >= self.each_max {
            return None;
        }
        taken.all += 1;
        taken.of.insert(who.to_owned(), of_who + 1);
        Some(Place {
            taken: Arc::clone(&self.taken),
            who: who.to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all -= 1;
        // Whoever has none is not remembered.
        if let Some(of_who) = taken.of.get_mut(&self.who) {
            *of_who -= 1;
            if *of_who == 0 {
                taken.of.remove(&self.who);
            }
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> std::sync::MutexGuard<'_, Taken> {
    // What is counted holds after each statement.
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_principal_leaves_places_for_the_others() {
        let places = Places::new(4, 2);
        let of_one: Vec<Place> = (0..9).filter_map(|_| places.take("a")).collect();
        assert_eq!(of_one.len(), 2);
        let others = [places.take("b"), places.take("c")];
        assert!(others.iter().all(Option::is_some));
        assert!(places.take("d").is_none(), "there are no more in all");
        drop(of_one);
        assert!(places.take("d").is_some() && places.take("a").is_some());
    }

    proptest! {
        #[test]
        fn no_more_are_taken_than_there_are_and_all_come_back(steps in prop::collection::vec((0usize..4, any::<bool>()), 0..80)) {
            let places = Places::new(5, 2);
            let mut held: Vec<(usize, Place)> = Vec::new();
            for (who, takes) in steps {
                let of_who = held.iter().filter(|(holder, _)| *holder == who).count();
                if takes {
                    let place = places.take(&who.to_string());
                    prop_assert_eq!(place.is_some(), held.len() < 5 && of_who < 2);
                    held.extend(place.map(|place| (who, place)));
                } else if let Some(at) = held.iter().position(|(holder, _)| *holder == who) {
                    held.remove(at);
                }
            }
            drop(held);
            let taken = lock(&places.taken);
            prop_assert!(taken.all == 0 && taken.of.is_empty());
        }
    }
}
