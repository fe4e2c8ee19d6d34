//! Bundles: records gathered into one append.
//!
//! Owns when a bundle ends: so long after its first record, or once it is full. Time is an argument. It must not know where
//! records come from, nor how they are sent.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};
use crate::limits::{APPEND_BYTES_MAX, BUNDLE_MS_MAX, RECORDS_PER_COMMAND_MAX};

/// `[bundle]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BundleConfig {
    /// How long after its first record a bundle ends, in ms.
    pub window_ms: u64,
    /// Bytes that it holds, unless a single record has more.
    pub bytes_max: usize,
    /// Records that it holds.
    pub records_max: usize,
}

impl Default for BundleConfig {
    fn default() -> Self {
        Self {
            window_ms: 2_000,
            bytes_max: 1 << 20,
            records_max: 100,
        }
    }
}

impl BundleConfig {
    /// Checks that what it allows is one append.
    ///
    /// # Errors
    /// `invalid_argument`, naming the key.
    pub fn check(&self) -> Result<(), Error> {
        let within = [
            ("window_ms", self.window_ms <= BUNDLE_MS_MAX),
            (
                "bytes_max",
                (1..=APPEND_BYTES_MAX).contains(&self.bytes_max),
            ),
            (
                "records_max",
                (1..=RECORDS_PER_COMMAND_MAX).contains(&self.records_max),
            ),
        ];
        match within.iter().find(|(_, holds)| !holds) {
            None => Ok(()),
            Some((key, _)) => {
                let why = format!("bundle.{key} is out of its range");
                Err(Error::new(ErrorCode::InvalidArgument, why))
            }
        }
    }
}

/// Records that are gathered, in the order in which they came.
///
/// Whoever holds one takes what [`push`](Self::push) gives, asks [`due_ms`](Self::due_ms) how long it may wait for the next
/// record, calls [`elapsed`](Self::elapsed) by then, and [`flush`](Self::flush) at the end of a task: nothing else ends a bundle.
#[derive(Clone, Debug)]
pub struct Bundler<T> {
    config: BundleConfig,
    open: Vec<T>,
    bytes: usize,
    /// When the first record of the open bundle came.
    begun_ms: u64,
}

impl<T> Bundler<T> {
    /// One that gathers nothing yet.
    #[must_use]
    pub const fn new(config: BundleConfig) -> Self {
        Self {
            config,
            open: Vec::new(),
            bytes: 0,
            begun_ms: 0,
        }
    }

    /// Takes a record of so many bytes that came at `now_ms`, by a clock that never goes back. Gives the bundles that end with
    /// it, in order: the one before, where that is over or has no room for the record, and its own, where it fills one.
    #[must_use]
    pub fn push(&mut self, record: T, bytes: usize, now_ms: u64) -> Ended<T> {
        let is_over = self.is_over(now_ms);
        let has_no_room = self.bytes.saturating_add(bytes) > self.config.bytes_max;
        let before = if is_over || has_no_room {
            self.flush()
        } else {
            None
        };
        if self.open.is_empty() {
            self.begun_ms = now_ms;
        }
        self.open.push(record);
        self.bytes = self.bytes.saturating_add(bytes);
        let is_full =
            self.open.len() >= self.config.records_max || self.bytes >= self.config.bytes_max;
        // A window of no width gathers nothing.
        let own = if is_full || self.is_over(now_ms) {
            self.flush()
        } else {
            None
        };
        Ended { before, own }
    }

    /// The bundle that is open, if its time is over.
    #[must_use]
    pub fn elapsed(&mut self, now_ms: u64) -> Option<Vec<T>> {
        if self.is_over(now_ms) {
            self.flush()
        } else {
            None
        }
    }

    /// The bundle that is open, if one is, whatever time it is: nothing more comes.
    #[must_use]
    pub fn flush(&mut self) -> Option<Vec<T>> {
        self.bytes = 0;
        let bundle = core::mem::take(&mut self.open);
        (!bundle.is_empty()).then_some(bundle)
    }

    /// How long the open bundle may wait for another record, in ms; none when none is open.
    #[must_use]
    pub fn due_ms(&self, now_ms: u64) -> Option<u64> {
        let waited_ms = now_ms.saturating_sub(self.begun_ms);
        (!self.open.is_empty()).then(|| self.config.window_ms.saturating_sub(waited_ms))
    }

    fn is_over(&self, now_ms: u64) -> bool {
        self.due_ms(now_ms) == Some(0)
    }
}

/// The bundles that a record ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended<T> {
    /// The one before it.
    pub before: Option<Vec<T>>,
    /// The one that it is the last of.
    pub own: Option<Vec<T>>,
}

impl<T> Ended<T> {
    /// Both, in order.
    pub fn into_bundles(self) -> impl Iterator<Item = Vec<T>> {
        self.before.into_iter().chain(self.own)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONFIG: BundleConfig = BundleConfig {
        window_ms: 2_000,
        bytes_max: 100,
        records_max: 4,
    };

    #[test]
    fn a_bundle_ends_2_000_ms_after_its_first_record_and_not_after_its_last() {
        let mut bundler = Bundler::new(BundleConfig::default());
        assert_eq!(bundler.due_ms(0), None);
        for (number, at) in [(0, 10_000), (1, 11_000), (2, 11_999)] {
            let ended = bundler.push(number, 1, at);
            assert_eq!((ended.before, ended.own), (None, None));
        }
        assert_eq!(bundler.due_ms(11_999), Some(1));
        assert_eq!(bundler.elapsed(11_999), None);
        assert_eq!(bundler.elapsed(12_000), Some(vec![0, 1, 2]));
        assert_eq!(bundler.elapsed(20_000), None);
        assert_eq!(bundler.flush(), None);
    }

    #[test]
    fn a_record_that_comes_late_begins_a_bundle_of_its_own() {
        let mut bundler = Bundler::new(CONFIG);
        assert_eq!(bundler.push('a', 1, 0).own, None);
        let ended = bundler.push('b', 1, 5_000);
        assert_eq!((ended.before, ended.own), (Some(vec!['a']), None));
        assert_eq!(bundler.due_ms(5_000), Some(2_000));
        assert_eq!(bundler.flush(), Some(vec!['b']));
    }

    #[test]
    fn a_full_bundle_does_not_wait() {
        let mut bundler = Bundler::new(CONFIG);
        let last = (0..4).map(|n| bundler.push(n, 1, 0)).last().unwrap();
        assert_eq!(last.own, Some(vec![0, 1, 2, 3]));
        assert_eq!(bundler.push(4, 60, 0).own, None);
        let ended = bundler.push(5, 60, 0);
        assert_eq!((ended.before, ended.own), (Some(vec![4]), None));
        let ended = bundler.push(6, 900, 0);
        let bundles: Vec<_> = ended.into_bundles().collect();
        assert_eq!(bundles, [vec![5], vec![6]], "one alone may be larger");
    }

    #[test]
    fn ranges_are_those_of_one_append() {
        assert_eq!(BundleConfig::default().check(), Ok(()));
        for (wrong, key) in [
            (
                BundleConfig {
                    window_ms: BUNDLE_MS_MAX + 1,
                    ..CONFIG
                },
                "window_ms",
            ),
            (
                BundleConfig {
                    bytes_max: 0,
                    ..CONFIG
                },
                "bytes_max",
            ),
            (
                BundleConfig {
                    bytes_max: APPEND_BYTES_MAX + 1,
                    ..CONFIG
                },
                "bytes_max",
            ),
            (
                BundleConfig {
                    records_max: 0,
                    ..CONFIG
                },
                "records_max",
            ),
            (
                BundleConfig {
                    records_max: RECORDS_PER_COMMAND_MAX + 1,
                    ..CONFIG
                },
                "records_max",
            ),
        ] {
            let refused = wrong.check().unwrap_err();
            assert!(refused.message.contains(key), "{refused}");
        }
    }

    proptest! {
        /// Whatever comes when: each record is in one bundle, in order; no bundle is over its bounds, spans more than its
        /// window or was held longer than it; and one ends before it need only where it has no room for the next record or is
        /// full.
        #[test]
        fn bundles_part_what_came_in_order_and_within_their_bounds(
            came in proptest::collection::vec((0_u64..3_000, 1_usize..130), 0..60),
            ticks in any::<bool>(),
        ) {
            let mut bundler = Bundler::new(CONFIG);
            let (mut now, mut ended) = (0, Vec::new());
            for (number, (wait, bytes)) in came.iter().enumerate() {
                if ticks && let Some(due) = bundler.due_ms(now).filter(|due| due <= wait) {
                    let at = now + due;
                    let over = bundler.elapsed(at);
                    prop_assert!(over.is_some(), "what is due is over");
                    ended.extend(over.map(|bundle| (bundle, at, false)));
                }
                now += wait;
                let pushed = bundler.push((number, *bytes, now), *bytes, now);
                ended.extend(pushed.before.map(|bundle| (bundle, now, false)));
                ended.extend(pushed.own.map(|bundle| (bundle, now, false)));
            }
            ended.extend(bundler.flush().map(|bundle| (bundle, now, true)));
            let all = ended.iter().flat_map(|(bundle, ..)| bundle).map(|(number, ..)| *number);
            prop_assert!(all.eq(0..came.len()), "each once, in order");
            for (place, (bundle, at, is_last)) in ended.iter().enumerate() {
                let bytes: usize = bundle.iter().map(|(_, bytes, _)| bytes).sum();
                prop_assert!(bundle.len() <= CONFIG.records_max);
                prop_assert!(bytes <= CONFIG.bytes_max || bundle.len() == 1);
                let (begun, last) = (bundle[0].2, bundle[bundle.len() - 1].2);
                prop_assert!(last - begun < CONFIG.window_ms);
                prop_assert!(!ticks || at - begun <= CONFIG.window_ms, "held for longer");
                let next = ended.get(place + 1).map(|(next, ..)| next[0].1);
                let is_full = bundle.len() == CONFIG.records_max || bytes >= CONFIG.bytes_max;
                let lacks_room = next.is_some_and(|next| bytes + next > CONFIG.bytes_max);
                prop_assert!(*is_last || is_full || lacks_room || at - begun >= CONFIG.window_ms);
            }
        }
    }
}
