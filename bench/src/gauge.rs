//! A gauge: counts acknowledgements under a steady load, and how long each took.
//!
//! Owns the window in which anything counts, and the first failure, which ends the load. It must
//! not know what is acknowledged.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::error::Error;
use crate::scale::Window;

/// The longest latency that is told apart, in microseconds; what takes longer counts as this.
const LATENCY_US_MAX: u64 = 120_000_000;
/// How often a window looks whether the load has failed.
const POLL: Duration = Duration::from_millis(20);

const WARMING: u8 = 0;
const COUNTING: u8 = 1;
const OVER: u8 = 2;

/// Latencies in microseconds.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 2)
        .expect("the bounds are in order, two digits are few")
}

/// Microseconds since `started`.
pub(crate) fn elapsed_us(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Shared by everybody who makes the load.
pub(crate) struct Gauge {
    phase: AtomicU8,
    records: AtomicU64,
    /// One for each lane, so that lanes do not wait for one another.
    latencies: Vec<Mutex<Histogram<u64>>>,
    failure: Mutex<Option<Error>>,
}

/// What a window gave.
pub(crate) struct Measured {
    /// Records that were acknowledged in it.
    pub(crate) records: u64,
    /// How long it was.
    pub(crate) elapsed: Duration,
    /// Of each acknowledgement in it, in microseconds.
    pub(crate) latency: Histogram<u64>,
}

impl Measured {
    /// Records in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.records as f64 / self.elapsed.as_secs_f64()
    }
}

impl Gauge {
    /// A gauge for a load of so many lanes.
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            phase: AtomicU8::new(WARMING),
            records: AtomicU64::new(0),
            latencies: (0..lanes).map(|_| Mutex::new(histogram())).collect(),
            failure: Mutex::new(None),
        }
    }

    /// Whether the load goes on.
    pub(crate) fn is_on(&self) -> bool {
        self.phase.load(Ordering::Relaxed) != OVER
    }

    /// Notes that `records` records that were sent off at `sent` were acknowledged now.
    pub(crate) fn acknowledged(&self, lane: usize, sent: Instant, records: u64) {
        if self.phase.load(Ordering::Relaxed) != COUNTING {
            return;
        }
        self.records.fetch_add(records, Ordering::Relaxed);
        let mut latency = self.latencies[lane]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        latency.saturating_record(elapsed_us(sent));
    }

    /// Ends the load: the figures would mean nothing.
    pub(crate) fn fail(&self, error: impl Into<Error>) {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error.into());
        self.phase.store(OVER, Ordering::Relaxed);
    }

    /// Waits through the window, and ends the load. Blocks the thread.
    ///
    /// # Errors
    /// The first failure of the load.
    pub(crate) fn measure(&self, window: Window) -> Result<Measured, Error> {
        self.wait(window.warm);
        let began = Instant::now();
        let counts =
            self.phase
                .compare_exchange(WARMING, COUNTING, Ordering::Relaxed, Ordering::Relaxed);
        if counts.is_ok() {
            self.wait(window.measured);
        }
        self.phase.store(OVER, Ordering::Relaxed);
        let elapsed = began.elapsed();
        if let Some(error) = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            return Err(error);
        }
        let mut latency = histogram();
        for lane in &self.latencies {
            let lane = lane.lock().unwrap_or_else(PoisonError::into_inner);
            latency
                .add(&*lane)
                .expect("all histograms have the same bounds");
        }
        let records = self.records.load(Ordering::Relaxed);
        if records == 0 {
            return Err(Error::Wrong(
                "nothing was acknowledged within the window".to_owned(),
            ));
        }
        Ok(Measured {
            records,
            elapsed,
            latency,
        })
    }

    fn wait(&self, span: Duration) {
        let began = Instant::now();
        while self.is_on() && began.elapsed() < span {
            std::thread::sleep(POLL.min(span.saturating_sub(began.elapsed())));
        }
    }
}
