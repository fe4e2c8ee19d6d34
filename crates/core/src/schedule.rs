//! What is done again and again: when it is due, and how it went the last time.
//!
//! Owns the rule. It must not know what is done, nor how a calendar is written: that is behind the
//! [`Calendar`](crate::ports::Calendar) port.

use serde::{Deserialize, Serialize};

use crate::limits::CLOCK_BEHIND_MS_MAX;
use crate::time::Timestamp;

/// What is known of the runs of one schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// The time of the calendar up to which nothing is due any more.
    pub through: Timestamp,
    /// The last run that came to its end, if there was one.
    pub last: Option<Run>,
}

/// A run that came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The node that carried it out.
    pub node: String,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// What it did.
    pub did: Outcome,
    /// The file of the checkpoint that it signed, if it did.
    pub checkpoint: Option<String>,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Entries that were taken out of recall.
    pub retired: u64,
    /// Skills that were offered to their organisation.
    pub offered: u64,
    /// Scopes of which so much is due that somebody has to say so.
    pub asks: u64,
    /// Scopes, skills, vector tables and places of checkpoints that refused, and what could not be read.
    pub refused: u64,
    /// Promotions that have failed as often as they may, and wait for somebody.
    pub halted: u64,
}

impl Runs {
    /// Nothing was done yet, and what the calendar named before `now` is not made up for.
    #[must_use]
    pub const fn begin(now: Timestamp) -> Self {
        Self {
            through: now,
            last: None,
        }
    }

    /// The time of the calendar for which something is to be done now, if there is one: `latest` is the newest
    /// that it names up to `now`. Those that were missed, since nobody ran, are made up for by one run.
    ///
    /// A node whose clock is ahead does what is due before the others would, and they do it no more. When a
    /// clock was ahead by more than clocks may be, what it led to keeps nobody from doing what is due.
    #[must_use]
    pub fn due(&self, latest: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        latest.filter(|latest| *latest > self.through || self.is_wrong(now))
    }

    /// What is known once a run is over, as the clock says then. A run that somebody asked for by hand stands for
    /// no time of the calendar.
    #[must_use]
    pub fn after(&self, run: Run, due: Option<Timestamp>) -> Self {
        let through = match due {
            Some(due) if self.is_wrong(run.ended) => due,
            Some(due) => due.max(self.through),
            None => self.through,
        };
        let last = Some(run);
        Self { through, last }
    }

    fn is_wrong(&self, now: Timestamp) -> bool {
        self.through > now.plus_ms(CLOCK_BEHIND_MS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn at(ms: u64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn run() -> Run {
        Run {
            node: "n".into(),
            began: at(1),
            ended: at(2),
            did: Outcome::default(),
            checkpoint: None,
        }
    }

    /// A calendar that names every hundredth millisecond.
    const fn latest(now: u64) -> Option<Timestamp> {
        match now / 100 {
            0 => None,
            hundreds => Some(at(hundreds * 100)),
        }
    }

    #[test]
    fn each_time_of_the_calendar_is_due_once_and_missed_ones_together() {
        let begun = Runs::begin(at(150));
        assert_eq!(
            begun.due(latest(199), at(199)),
            None,
            "nothing was due since"
        );
        assert_eq!(begun.due(latest(200), at(200)), Some(at(200)));
        let done = begun.after(run(), Some(at(200)));
        assert_eq!(done.due(latest(299), at(299)), None);
        assert_eq!(
            done.due(latest(950), at(950)),
            Some(at(900)),
            "one run for all of them"
        );
        assert_eq!(Runs::begin(at(10)).due(None, at(50)), None);
    }

    #[test]
    fn a_run_by_hand_stands_for_no_time_of_the_calendar() {
        let done = Runs::begin(at(150)).after(run(), None);
        assert_eq!(done.last, Some(run()));
        assert_eq!(done.due(latest(200), at(200)), Some(at(200)));
    }

    #[test]
    fn a_clock_that_was_ahead_once_stops_nothing() {
        let far = at(90_000 + CLOCK_BEHIND_MS_MAX);
        let ahead = Runs::begin(at(50)).after(run(), Some(far));
        assert_eq!(ahead.due(latest(450), at(450)), Some(at(400)));
        let corrected = ahead.after(run(), Some(at(400)));
        assert_eq!(corrected.due(latest(460), at(460)), None);
        assert_eq!(corrected.due(latest(500), at(500)), Some(at(500)));
    }

    #[test]
    fn nodes_whose_clocks_differ_run_once_for_each_time() {
        // One clock is three times of the calendar ahead of the other.
        let (mut runs, mut ran) = (Runs::begin(at(1_050)), Vec::new());
        for now in (1_050..3_000).step_by(10) {
            for clock in [now + 300, now] {
                if let Some(due) = runs.due(latest(clock), at(clock)) {
                    ran.push(due);
                    runs = runs.after(run(), Some(due));
                }
            }
        }
        let times: Vec<Timestamp> = (13..=32).map(|hundreds| at(hundreds * 100)).collect();
        assert_eq!(ran, times);
        // Whoever was thought dead and ends late makes none due again.
        let late = runs.after(run(), Some(at(1_300)));
        assert_eq!(late.through, runs.through);
    }

    proptest! {
        /// However long somebody sleeps between two looks, no time is due twice, and none is left behind.
        #[test]
        fn looks_at_rising_times_run_once_for_all_that_was_missed(steps in proptest::collection::vec(1u64..400, 1..40)) {
            let mut now = 1_000;
            let mut runs = Runs::begin(at(now));
            for step in steps {
                now += step;
                if let Some(due) = runs.due(latest(now), at(now)) {
                    prop_assert!(due > runs.through && due <= at(now));
                    runs = runs.after(run(), Some(due));
                }
                prop_assert_eq!(runs.due(latest(now), at(now)), None);
                prop_assert!(latest(now).is_none_or(|latest| latest <= runs.through));
            }
        }
    }
}
