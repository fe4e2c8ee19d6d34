//! Quotas: how many writes, and bytes of them, an organisation may give in a second.
//!
//! Owns the metering, by the generic cell rate algorithm (ITU-T I.371). Pure: the time is an argument. It
//! must not know who counts for which organisation, nor where commands wait.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// The longest that a burst may be, in ms.
pub const BURST_MS_MAX: u64 = 3_600_000;

/// What one organisation may write on one node in a second, in the long run. 0 stands for no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Commands.
    pub writes_per_s: u32,
    /// Bytes of commands.
    pub bytes_per_s: u64,
}

/// `[quotas]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuotasConfig {
    /// Commands of each organisation that `orgs` does not name; 0 for no bound.
    pub writes_per_s: u32,
    /// Bytes of commands of each organisation that `orgs` does not name; 0 for no bound.
    pub bytes_per_s: u64,
    /// How much of both an organisation that was calm may use at once: what it may write in so many ms.
    pub burst_ms: u64,
    /// Organisations by name, each with a quota of its own.
    pub orgs: BTreeMap<String, Quota>,
}

impl Default for QuotasConfig {
    fn default() -> Self {
        Self {
            writes_per_s: 0,
            bytes_per_s: 0,
            burst_ms: 10_000,
            orgs: BTreeMap::new(),
        }
    }
}

impl QuotasConfig {
    /// The quota of an organisation.
    #[must_use]
    pub fn of(&self, org: &str) -> Quota {
        self.orgs.get(org).copied().unwrap_or(Quota {
            writes_per_s: self.writes_per_s,
            bytes_per_s: self.bytes_per_s,
        })
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// `invalid_argument`, naming the one that is out of range.
    pub fn check(&self) -> Result<(), Error> {
        if self.burst_ms == 0 || self.burst_ms > BURST_MS_MAX {
            let why = format!("configuration quotas.burst_ms is out of range: 1 to {BURST_MS_MAX}");
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        Ok(())
    }
}

/// Counts what one organisation writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// When what was written so far is paid off, in ns: by its number, and by its bytes.
    writes_ns: u64,
    bytes_ns: u64,
}

impl Meter {
    /// Counts a write of so many bytes, unless the burst is used up: then nothing is counted. One write may
    /// be larger than a burst; whatever comes behind it pays for it.
    ///
    /// # Errors
    /// After how many ms it would be let through.
    pub fn take(
        &mut self,
        quota: Quota,
        burst_ms: u64,
        bytes: usize,
        now_ms: u64,
    ) -> Result<(), u64> {
        let now_ns = now_ms.saturating_mul(NS_PER_MS);
        let burst_ns = burst_ms.saturating_mul(NS_PER_MS);
        let (writes_per_s, bytes_per_s) = (quota.writes_per_s.into(), quota.bytes_per_s);
        let writes_ns = after(self.writes_ns, now_ns, 1, writes_per_s);
        let bytes_ns = after(self.bytes_ns, now_ns, bytes as u64, bytes_per_s);
        let ahead = |paid_ns: u64, rate| match rate {
            0 => 0,
            _ => (paid_ns.saturating_sub(now_ns) + 1).saturating_sub(burst_ns),
        };
        let wait_ns = ahead(self.writes_ns, writes_per_s).max(ahead(self.bytes_ns, bytes_per_s));
        if wait_ns > 0 {
            return Err(wait_ns.div_ceil(NS_PER_MS));
        }
        (self.writes_ns, self.bytes_ns) = (writes_ns, bytes_ns);
        Ok(())
    }

    /// Whether it counts nothing at `now_ms`, so that a new one would do as well.
    #[must_use]
    pub fn is_idle(&self, now_ms: u64) -> bool {
        self.writes_ns.max(self.bytes_ns) <= now_ms.saturating_mul(NS_PER_MS)
    }
}

/// When everything is paid off once `cost` more was written.
fn after(paid_ns: u64, now_ns: u64, cost: u64, rate_per_s: u64) -> u64 {
    if rate_per_s == 0 {
        return paid_ns;
    }
    let cost_ns = u128::from(cost) * u128::from(NS_PER_S) / u128::from(rate_per_s);
    let cost_ns = u64::try_from(cost_ns).unwrap_or(u64::MAX);
    paid_ns.max(now_ns).saturating_add(cost_ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BURST_MS: u64 = 500;

    const fn quota(writes_per_s: u32, bytes_per_s: u64) -> Quota {
        Quota {
            writes_per_s,
            bytes_per_s,
        }
    }

    #[test]
    fn a_burst_passes_and_then_the_rate_counts() {
        let mut meter = Meter::default();
        let mut take = |now_ms| meter.take(quota(10, 0), BURST_MS, 1, now_ms);
        assert!((0..5).all(|_| take(1_000).is_ok()));
        assert_eq!(take(1_000), Err(1));
        assert!(take(1_001).is_ok());
        assert_eq!(take(1_001), Err(100));
        assert_eq!(take(1_061), Err(40));
        assert!(take(1_101).is_ok());
        assert!(!meter.is_idle(1_101) && meter.is_idle(2_000));
    }

    #[test]
    fn bytes_count_by_themselves_and_one_write_may_be_larger_than_a_burst() {
        let mut meter = Meter::default();
        let mut take = |bytes, now_ms| meter.take(quota(1_000, 100), BURST_MS, bytes, now_ms);
        assert!(take(1_000, 0).is_ok());
        assert_eq!(take(1, 0), Err(9_501), "a thousand bytes take ten seconds");
        assert_eq!(take(1, 9_500), Err(1));
        assert!(take(1, 9_501).is_ok());
    }

    #[test]
    fn what_is_turned_away_counts_for_nothing() {
        let mut meter = Meter::default();
        let tight = quota(1, 1);
        assert!(meter.take(tight, 1, 1, 0).is_ok());
        let before = meter;
        assert!(meter.take(tight, 1, 1_000_000, 0).is_err());
        assert_eq!(meter, before);
    }

    #[test]
    fn without_a_bound_everything_passes() {
        let mut meter = Meter::default();
        assert!((0..10_000).all(|_| meter.take(quota(0, 0), 1, usize::MAX, 0).is_ok()));
        assert!(meter.is_idle(0));
    }

    #[test]
    fn an_organisation_has_its_own_quota_or_that_of_all_others() {
        let mut config = QuotasConfig {
            writes_per_s: 5,
            ..QuotasConfig::default()
        };
        config.orgs.insert("acme".to_owned(), quota(0, 7));
        assert_eq!(config.of("acme"), quota(0, 7));
        assert_eq!(config.of("other"), quota(5, 0));
        assert!(config.check().is_ok());
        for wrong in [0, BURST_MS_MAX + 1] {
            config.burst_ms = wrong;
            let refused = config.check().unwrap_err();
            assert!(refused.message.contains("quotas.burst_ms"), "{refused}");
        }
    }

    proptest! {
        /// Whatever is asked for and when: what passes is at most the burst, one write, and the rate, and
        /// who comes again when told to is let through.
        #[test]
        fn no_more_passes_than_the_quota_says(
            writes_per_s in 1_u32..1_000,
            bytes_per_s in 1_u64..100_000,
            burst_ms in 1_u64..5_000,
            asked in prop::collection::vec((0_u64..300, 0_usize..20_000), 1..200),
        ) {
            let quota = quota(writes_per_s, bytes_per_s);
            let (mut meter, mut now_ms) = (Meter::default(), 0);
            let (mut writes, mut bytes, mut largest) = (0_u64, 0_u64, 0_u64);
            for (later_ms, size) in asked {
                now_ms += later_ms;
                match meter.take(quota, burst_ms, size, now_ms) {
                    Ok(()) => {
                        writes += 1;
                        bytes += size as u64;
                        largest = largest.max(size as u64);
                    }
                    Err(wait_ms) => {
                        let mut later = meter;
                        prop_assert!(later.take(quota, burst_ms, size, now_ms + wait_ms).is_ok());
                        let mut early = meter;
                        prop_assert!(early.take(quota, burst_ms, size, now_ms + wait_ms - 1).is_err());
                    }
                }
            }
            let span_ms = now_ms + burst_ms;
            // Each cost is rounded down to a whole ns.
            let slack = 2;
            prop_assert!(writes <= span_ms * u64::from(writes_per_s) / 1_000 + slack);
            prop_assert!(bytes <= span_ms * bytes_per_s / 1_000 + largest + slack);
        }
    }
}
