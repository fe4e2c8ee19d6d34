//! A rate limit without a lock: the generic cell rate algorithm (ITU-T I.371).
//!
//! Owns one principal's share. It must not know whom it counts, nor the time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts one principal's requests.
#[derive(Debug)]
pub(super) struct Bucket {
    /// When the requests counted so far are paid off, in nanoseconds.
    paid_ns: AtomicU64,
    /// What one request costs.
    cost_ns: u64,
    /// How far ahead of the time requests may run.
    ahead_ns: u64,
}

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

impl Bucket {
    /// A bucket that lets `rate_per_s` requests through in the long run, and `burst` at once.
    pub(super) fn new(rate_per_s: u32, burst: u32) -> Self {
        let cost_ns = (NS_PER_S / u64::from(rate_per_s.max(1))).max(1);
        Self {
            paid_ns: AtomicU64::new(0),
            cost_ns,
            ahead_ns: cost_ns * u64::from(burst.max(1)),
        }
    }

    /// Counts a request at `now_ms`.
    ///
    /// # Errors
    /// After how many milliseconds it would be let through.
    pub(super) fn take(&self, now_ms: u64) -> Result<(), u64> {
        let now_ns = now_ms.saturating_mul(NS_PER_MS);
        let limit_ns = now_ns.saturating_add(self.ahead_ns);
        let pay = |paid_ns: u64| {
            Some(paid_ns.max(now_ns) + self.cost_ns).filter(|paid| *paid <= limit_ns)
        };
        match self
            .paid_ns
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay)
        {
            Ok(_) => Ok(()),
            Err(paid_ns) => Err((paid_ns + self.cost_ns)
                .saturating_sub(limit_ns)
                .div_ceil(NS_PER_MS)),
        }
    }

    /// Whether it counts nothing at `now_ms`, so that a new one would do as well.
    pub(super) fn is_idle(&self, now_ms: u64) -> bool {
        self.paid_ns.load(Ordering::Relaxed) <= now_ms.saturating_mul(NS_PER_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate_counts() {
        let bucket = Bucket::new(10, 5);
        assert!((0..5).all(|_| bucket.take(1_000).is_ok()));
        assert_eq!(bucket.take(1_000), Err(100));
        assert_eq!(bucket.take(1_060), Err(40));
        assert!(bucket.take(1_100).is_ok() && bucket.take(1_100).is_err());
        assert!(!bucket.is_idle(1_100) && bucket.is_idle(2_000));
        assert_eq!((0..10).filter(|_| bucket.take(60_000).is_ok()).count(), 5);
    }
}
