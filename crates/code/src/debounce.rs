//! When changes of a work tree are told.
//!
//! Owns gathering them until nothing changes for a while, and when it is all of the tree that changed. It must not know
//! a clock, nor where events come from: time is an argument, counted from whenever the caller likes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::limits::{CHANGED_PATHS_MAX, DEBOUNCE_MS, DEBOUNCE_MS_MAX, RETRY_MS, RETRY_MS_MAX};

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Something is other at a path from the root of the work tree, or below it.
    Path(PathBuf),
    /// Something is other somewhere: events were lost.
    Anything,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// At these paths, and below them.
    Paths(BTreeSet<PathBuf>),
    /// Everywhere.
    Everything,
}

impl Batch {
    /// What [`crate::Plan::look`] is given for it.
    #[must_use]
    pub fn into_only(self) -> Option<BTreeSet<PathBuf>> {
        match self {
            Self::Paths(paths) => Some(paths),
            Self::Everything => None,
        }
    }

    /// Where to look for both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Paths(mut paths), Self::Paths(more)) => {
                paths.extend(more);
                if paths.len() > CHANGED_PATHS_MAX {
                    return Self::Everything;
                }
                Self::Paths(paths)
            }
            _ => Self::Everything,
        }
    }
}

/// How long is waited before what failed so many times in a row is tried again.
pub(crate) fn backoff(failures: u32) -> Duration {
    let doubled = RETRY_MS << failures.saturating_sub(1).min(RETRY_MS_MAX.ilog2());
    Duration::from_millis(doubled.min(RETRY_MS_MAX))
}

/// How long changes are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebounceOptions {
    /// How long nothing must change.
    pub quiet: Duration,
    /// How long a change waits at most.
    pub longest: Duration,
    /// Paths that are told one by one, at most.
    pub paths_max: usize,
}

impl Default for DebounceOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(DEBOUNCE_MS),
            longest: Duration::from_millis(DEBOUNCE_MS_MAX),
            paths_max: CHANGED_PATHS_MAX,
        }
    }
}

/// Changes that are not told yet.
#[derive(Debug)]
pub struct Debounce {
    options: DebounceOptions,
    paths: BTreeSet<PathBuf>,
    is_everything: bool,
    /// When the first and the last of them happened.
    since: Option<(Duration, Duration)>,
}

impl Debounce {
    /// Nothing happened yet.
    #[must_use]
    pub const fn new(options: DebounceOptions) -> Self {
        Self {
            options,
            paths: BTreeSet::new(),
            is_everything: false,
            since: None,
        }
    }

    /// Notes what happened at `now`.
    pub fn note(&mut self, change: Change, now: Duration) {
        let (first, last) = self.since.unwrap_or((now, now));
        self.since = Some((first, last.max(now)));
        match change {
            Change::Path(path) if !self.is_everything => {
                self.paths.insert(path);
            }
            Change::Path(_) => {}
            Change::Anything => self.is_everything = true,
        }
        self.is_everything |= self.paths.len() > self.options.paths_max;
        if self.is_everything {
            self.paths.clear();
        }
    }

    /// When there is something to tell; none as long as nothing happened.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        let (first, last) = self.since?;
        let quiet = last.saturating_add(self.options.quiet);
        Some(quiet.min(first.saturating_add(self.options.longest)))
    }

    /// What is to be told at `now`; none before it is due.
    pub fn take(&mut self, now: Duration) -> Option<Batch> {
        if self.due()? > now {
            return None;
        }
        self.since = None;
        let paths = core::mem::take(&mut self.paths);
        Some(if core::mem::take(&mut self.is_everything) {
            Batch::Everything
        } else {
            Batch::Paths(paths)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn path(name: &str) -> Change {
        Change::Path(name.into())
    }

    #[test]
    fn what_changes_together_is_told_once_when_it_is_quiet() {
        let mut debounce = Debounce::new(DebounceOptions::default());
        assert_eq!((debounce.due(), debounce.take(ms(5_000))), (None, None));
        debounce.note(path("a"), ms(0));
        debounce.note(path("b"), ms(900));
        debounce.note(path("a"), ms(950));
        assert_eq!(debounce.due(), Some(ms(1_950)));
        assert_eq!(debounce.take(ms(1_949)), None);
        let told = debounce.take(ms(1_950)).unwrap();
        assert_eq!(told, Batch::Paths(["a".into(), "b".into()].into()));
        assert_eq!(debounce.take(ms(9_000)), None);
    }

    #[test]
    fn what_never_rests_is_told_all_the_same() {
        let mut debounce = Debounce::new(DebounceOptions::default());
        for at in 0..30 {
            debounce.note(path("a"), ms(at * 500));
        }
        assert_eq!(debounce.due(), Some(ms(DEBOUNCE_MS_MAX)));
    }

    #[test]
    fn with_a_lost_event_or_too_many_paths_everything_is_looked_at() {
        let mut debounce = Debounce::new(DebounceOptions {
            paths_max: 2,
            ..DebounceOptions::default()
        });
        debounce.note(path("a"), ms(0));
        debounce.note(Change::Anything, ms(0));
        debounce.note(path("b"), ms(0));
        assert_eq!(debounce.take(ms(1_000)), Some(Batch::Everything));
        for name in ["a", "b", "c"] {
            debounce.note(path(name), ms(2_000));
        }
        assert_eq!(debounce.take(ms(3_000)), Some(Batch::Everything));
        debounce.note(path("a"), ms(4_000));
        assert_eq!(
            debounce.take(ms(5_000)),
            Some(Batch::Paths(["a".into()].into()))
        );
    }

    #[test]
    fn two_batches_are_one_that_has_all_of_both() {
        let paths = |names: &[&str]| Batch::Paths(names.iter().map(PathBuf::from).collect());
        assert_eq!(
            paths(&["a", "b"]).and(paths(&["b", "c"])),
            paths(&["a", "b", "c"])
        );
        let many: BTreeSet<PathBuf> = (0..CHANGED_PATHS_MAX)
            .map(|name| name.to_string().into())
            .collect();
        assert_eq!(
            Batch::Paths(many).and(paths(&["one more"])),
            Batch::Everything
        );
        assert_eq!(Batch::Everything.and(paths(&["a"])), Batch::Everything);
        assert_eq!(paths(&["a"]).and(Batch::Everything), Batch::Everything);
    }

    #[test]
    fn what_fails_again_and_again_is_tried_ever_less_often() {
        assert_eq!([1, 2, 3].map(backoff), [1_000, 2_000, 4_000].map(ms));
        assert_eq!([7, 64, u32::MAX].map(backoff), [ms(RETRY_MS_MAX); 3]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_waits_longer_than_it_may(
            events in proptest::collection::vec((0_u64..3_000, 0_u8..5), 1..60),
        ) {
            let mut debounce = Debounce::new(DebounceOptions::default());
            let (mut now, mut waiting, mut since) = (0, BTreeSet::new(), None);
            for (after, name) in events {
                let next = now + after;
                while let Some(due) = debounce.due().filter(|due| *due <= ms(next)) {
                    prop_assert!(due <= ms(since.unwrap() + DEBOUNCE_MS_MAX));
                    let told = debounce.take(due).unwrap();
                    prop_assert_eq!(told, Batch::Paths(core::mem::take(&mut waiting)));
                    since = None;
                }
                now = next;
                debounce.note(path(&name.to_string()), ms(now));
                waiting.insert(PathBuf::from(name.to_string()));
                since.get_or_insert(now);
            }
            prop_assert!(debounce.due().is_some());
        }
    }
}
