//! Reuse: what tasks say of the entries that they used.
//!
//! Owns the outcomes of a report, what is counted of them, and when they ask for a person's look.
//! Which status follows is [`crate::provenance`]'s.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::TrustConfig;
use crate::error::{Error, ErrorCode};
use crate::id::EntryId;
use crate::principal::Actor;
use crate::scope::Scope;
use crate::time::Timestamp;

/// What a task says of an entry that it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReuseOutcome {
    /// It helped.
    Helped,
    /// What it says is not so.
    Wrong,
    /// It was so once.
    Stale,
}

impl ReuseOutcome {
    /// All outcomes.
    pub const ALL: [Self; 3] = [Self::Helped, Self::Wrong, Self::Stale];

    /// The outcome's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Helped => "helped",
            Self::Wrong => "wrong",
            Self::Stale => "stale",
        }
    }
}

impl fmt::Display for ReuseOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReuseOutcome {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == text);
        known.ok_or_else(|| {
            let why = "the outcomes of a use are helped, wrong and stale";
            Error::new(ErrorCode::InvalidArgument, why)
        })
    }
}

/// What one task says of one entry: its last word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The entry.
    pub entry: EntryId,
    /// The task.
    pub task: Scope,
    /// What it says.
    pub outcome: ReuseOutcome,
    /// Who said so for it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// How many tasks say what of an entry. Each task counts once, with its last word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tasks that it helped.
    pub helped: u64,
    /// Tasks that found it wrong.
    pub wrong: u64,
    /// Tasks that found it stale.
    pub stale: u64,
    /// Of `wrong`, those that a person was asked about.
    pub wrong_asked: u64,
}

impl Usage {
    /// The counts once a task whose last word was `before` says `outcome`.
    #[must_use]
    pub const fn reported(self, before: Option<ReuseOutcome>, outcome: ReuseOutcome) -> Self {
        let mut usage = self;
        if let Some(before) = before {
            let count = usage.count(before);
            *count = count.saturating_sub(1);
        }
        *usage.count(outcome) += 1;
        if usage.wrong_asked > usage.wrong {
            usage.wrong_asked = usage.wrong;
        }
        usage
    }

    const fn count(&mut self, outcome: ReuseOutcome) -> &mut u64 {
        match outcome {
            ReuseOutcome::Helped => &mut self.helped,
            ReuseOutcome::Wrong => &mut self.wrong,
            ReuseOutcome::Stale => &mut self.stale,
        }
    }

    /// Whether enough tasks found it wrong, since a person was last asked, to ask again.
    #[must_use]
    pub const fn asks(&self, config: &TrustConfig) -> bool {
        self.wrong - self.wrong_asked >= config.wrong_to_review
    }

    /// The share of uses that went well, 0 to 1. What published the entry counts as one that did;
    /// that something is stale says nothing of it while it held.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of tasks are far under 2^53"
    )]
    pub fn success_rate(&self) -> f64 {
        let good = self.helped as f64 + 1.0;
        good / (good + self.wrong as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_task_counts_once_with_its_last_word(
            words in proptest::collection::vec((0u8..5, proptest::sample::select(ReuseOutcome::ALL.to_vec())), 0..60)
        ) {
            let mut said: BTreeMap<u8, ReuseOutcome> = BTreeMap::new();
            let mut usage = Usage::default();
            for (task, outcome) in words {
                usage = usage.reported(said.insert(task, outcome), outcome);
                if usage.asks(&TrustConfig::default()) {
                    usage.wrong_asked = usage.wrong;
                }
                let count = |outcome| said.values().filter(|said| **said == outcome).count() as u64;
                prop_assert_eq!(usage.helped, count(ReuseOutcome::Helped));
                prop_assert_eq!(usage.wrong, count(ReuseOutcome::Wrong));
                prop_assert_eq!(usage.stale, count(ReuseOutcome::Stale));
                prop_assert!(usage.wrong_asked <= usage.wrong);
                prop_assert!((0.0..=1.0).contains(&usage.success_rate()));
            }
        }
    }

    #[test]
    fn a_person_is_asked_at_the_second_task_and_again_two_later() {
        let config = TrustConfig::default();
        let mut usage = Usage::default();
        let mut asked = Vec::new();
        for _ in 0..4 {
            usage = usage.reported(None, ReuseOutcome::Wrong);
            asked.push(usage.asks(&config));
            if usage.asks(&config) {
                usage.wrong_asked = usage.wrong;
            }
        }
        assert_eq!(asked, [false, true, false, true]);
    }

    #[test]
    fn two_failures_make_a_skill_worse_than_even() {
        let wrong = |count| {
            Usage {
                wrong: count,
                ..Usage::default()
            }
            .success_rate()
        };
        assert_eq!(wrong(0), 1.0);
        assert_eq!(wrong(1), 0.5);
        assert!(wrong(2) < 0.5);
    }

    #[test]
    fn names_parse() {
        for outcome in ReuseOutcome::ALL {
            assert_eq!(outcome.as_str().parse::<ReuseOutcome>().unwrap(), outcome);
        }
        assert!("good".parse::<ReuseOutcome>().is_err());
    }
}
