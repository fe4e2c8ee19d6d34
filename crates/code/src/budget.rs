//! How much is looked at for one question.
//!
//! Owns the count, and when it is asked whether the time is over. It must not know what is looked at.

/// Things that are looked at between two times that it is asked whether the time is over.
const ASK_EVERY: usize = 1_024;

/// Why no more is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As much was looked at as may be.
    Lookups,
    /// The time is over.
    Time,
}

/// How much more may be looked at, and until when.
pub(crate) struct Budget<'q> {
    left: usize,
    is_over: &'q dyn Fn() -> bool,
    unasked: usize,
    ended: Option<Ended>,
}

impl<'q> Budget<'q> {
    /// `is_over` is asked before the first thing and each further 1,024.
    pub(crate) fn new(left: usize, is_over: &'q dyn Fn() -> bool) -> Self {
        Self {
            left,
            is_over,
            unasked: ASK_EVERY,
            ended: None,
        }
    }

    /// Takes what it costs to look at so many things; false where they may not be looked at, nor any other from then on.
    pub(crate) fn take(&mut self, things: usize) -> bool {
        if self.ended.is_some() {
            return false;
        }
        let Some(left) = self.left.checked_sub(things) else {
            self.ended = Some(Ended::Lookups);
            return false;
        };
        self.left = left;
        self.unasked = self.unasked.saturating_add(things);
        if self.unasked >= ASK_EVERY {
            self.unasked = 0;
            self.ended = (self.is_over)().then_some(Ended::Time);
        }
        self.ended.is_none()
    }

    /// Why something was not looked at, where that is so: what was found then is not all there is.
    pub(crate) const fn ended(&self) -> Option<Ended> {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    #[test]
    fn what_is_all_taken_has_not_ended_and_one_more_ends_it_for_good() {
        let mut budget = Budget::new(5, &|| false);
        assert!(budget.take(2) && budget.take(3));
        assert_eq!(budget.ended(), None);
        assert!(!budget.take(1));
        assert_eq!(budget.ended(), Some(Ended::Lookups));
        let mut budget = Budget::new(5, &|| false);
        assert!(!budget.take(6) && !budget.take(1));
    }

    #[test]
    fn the_time_is_asked_for_first_and_then_from_time_to_time() {
        let asked = Cell::new(0);
        let is_over = || {
            asked.set(asked.get() + 1);
            asked.get() > 2
        };
        let mut budget = Budget::new(usize::MAX, &is_over);
        assert!(budget.take(1));
        assert_eq!(asked.get(), 1);
        for _ in 1..ASK_EVERY {
            assert!(budget.take(1));
        }
        assert_eq!(asked.get(), 1);
        assert!(budget.take(1));
        assert_eq!(asked.get(), 2);
        assert!(!budget.take(ASK_EVERY));
        assert_eq!(budget.ended(), Some(Ended::Time));
        assert!(!budget.take(1));
        assert_eq!(asked.get(), 3);
    }
}
