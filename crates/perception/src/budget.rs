//! Budgets: how many tokens the tasks of a project may use in a day.
//!
//! A call reserves what it may use before it is made, so that calls at the same time do not overspend together,
//! and is charged for what it did use. Days are those of UTC. The counts live in the memory of one node: a
//! restart begins them anew, and nodes do not add them up. It must not know what a call is for.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sillok_core::ports::PortError;
use sillok_core::time::Timestamp;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The budgets of all projects.
pub(crate) struct Budgets {
    tokens_per_day: u64,
    /// What each project has used today, or may be using.
    today: Mutex<Today>,
}

#[derive(Default)]
struct Today {
    day: u64,
    tokens: BTreeMap<String, u64>,
}

/// What a call may use, until it is settled. One that is never settled is charged for all of it.
#[must_use]
pub(crate) struct Reserved {
    project: String,
    day: u64,
    tokens: u64,
}

impl Budgets {
    /// So many tokens a day for each project.
    pub(crate) fn new(tokens_per_day: u64) -> Self {
        Self {
            tokens_per_day,
            today: Mutex::default(),
        }
    }

    /// Reserves what a call for a project may use.
    ///
    /// # Errors
    /// `Unavailable` where less is left of its day; `Unusable` where no day has so many, and asking again does
    /// not help.
    pub(crate) fn reserve(
        &self,
        project: &str,
        tokens: u64,
        now: Timestamp,
    ) -> Result<Reserved, PortError> {
        if tokens > self.tokens_per_day {
            let why = format!(
                "this call may use {tokens} tokens, and {project} has {} a day: raise \
                 cognifier.project_tokens_per_day, or lower cognifier.input_chars_max or \
                 cognifier.answer_tokens_max",
                self.tokens_per_day
            );
            return Err(PortError::Unusable(why));
        }
        let day = now.ms() / DAY_MS;
        let mut today = self.today.lock();
        // A clock that is set back gives nobody a second budget, unless it was ahead by days.
        if day > today.day || today.day > day + 1 {
            *today = Today {
                day,
                ..Today::default()
            };
        }
        let day = today.day;
        let used = today.tokens.get(project).copied().unwrap_or_default();
        let after = used.saturating_add(tokens);
        if after > self.tokens_per_day {
            let why = format!(
                "the token budget of {project} is spent for today: {used} of {} are used, and this call may \
                 use {tokens}",
                self.tokens_per_day
            );
            return Err(PortError::Unavailable(why));
        }
        today.tokens.insert(project.to_owned(), after);
        Ok(Reserved {
            project: project.to_owned(),
            day,
            tokens,
        })
    }

    /// Charges a call for what it used, instead of what it might have.
    pub(crate) fn settle(&self, reserved: Reserved, used: u64) {
        let mut today = self.today.lock();
        if today.day == reserved.day
            && let Some(tokens) = today.tokens.get_mut(&reserved.project)
        {
            *tokens = tokens.saturating_sub(reserved.tokens).saturating_add(used);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: Timestamp = Timestamp::from_ms(DAY_MS * 20_000 + DAY_MS / 2);

    #[test]
    fn a_project_has_its_budget_and_no_other_project_has_it() {
        let budgets = Budgets::new(100);
        drop(budgets.reserve("acme/a", 60, NOON).unwrap());
        let refused = budgets.reserve("acme/a", 41, NOON).err().unwrap();
        assert!(matches!(&refused, PortError::Unavailable(why) if why.contains("acme/a")));
        assert!(budgets.reserve("acme/a", 40, NOON).is_ok());
        assert!(budgets.reserve("acme/b", 100, NOON).is_ok());
    }

    #[test]
    fn a_call_that_no_day_has_room_for_is_not_put_off_to_the_next_one() {
        let budgets = Budgets::new(100);
        let refused = budgets.reserve("acme/a", 101, NOON).err().unwrap();
        let key = "cognifier.project_tokens_per_day";
        assert!(matches!(&refused, PortError::Unusable(why) if why.contains(key)));
        // Nothing was reserved, and what just fits is no such call.
        drop(budgets.reserve("acme/a", 100, NOON).unwrap());
        let later = budgets.reserve("acme/a", 100, NOON).err().unwrap();
        assert!(matches!(later, PortError::Unavailable(_)));
    }

    #[test]
    fn the_next_day_begins_anew_and_a_clock_set_back_does_not() {
        let budgets = Budgets::new(100);
        let late = budgets.reserve("acme/a", 100, NOON).unwrap();
        let tomorrow = NOON.plus_ms(DAY_MS);
        drop(budgets.reserve("acme/a", 90, tomorrow).unwrap());
        assert!(budgets.reserve("acme/a", 20, NOON).is_err());
        // What was reserved yesterday is not given back today.
        budgets.settle(late, 0);
        assert!(budgets.reserve("acme/a", 20, tomorrow).is_err());
    }

    proptest! {
        /// Whatever calls are made and settled with what they may use at most: the day's budget holds.
        #[test]
        fn calls_that_keep_to_what_they_reserved_never_overspend(
            calls in proptest::collection::vec((0u64..200, 0u64..200, any::<bool>()), 0..40),
        ) {
            let budgets = Budgets::new(500);
            let (mut spent, mut open) = (0, Vec::new());
            for (may, does, waits) in calls {
                let does = does.min(may);
                let Ok(reserved) = budgets.reserve("acme/a", may, NOON) else { continue };
                if waits {
                    open.push((reserved, does));
                } else {
                    budgets.settle(reserved, does);
                    spent += does;
                }
            }
            for (reserved, does) in open {
                budgets.settle(reserved, does);
                spent += does;
            }
            prop_assert!(spent <= 500);
            prop_assert!(budgets.reserve("acme/a", 500 - spent, NOON).is_ok(), "the rest is left");
            prop_assert!(budgets.reserve("acme/a", 1, NOON).is_err());
        }
    }
}
