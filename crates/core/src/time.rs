//! Points in time and spans of it, as plain numbers.
//!
//! Owns the units. It must not know where a time comes from: that is the [`Clock`] port.
//!
//! [`Clock`]: crate::ports::Clock

use core::fmt;

use serde::{Deserialize, Serialize};

/// One day in milliseconds.
pub const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The month that decay rates are stated for: 30 days, in milliseconds.
pub const MONTH_MS: u64 = 30 * DAY_MS;

/// Milliseconds since the Unix epoch (UTC).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch itself.
    pub const EPOCH: Self = Self(0);

    /// A point `ms` milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// Milliseconds from `earlier` to `self`; 0 when `earlier` is the later one.
    #[must_use]
    pub const fn since_ms(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The point `ms` milliseconds later, saturating.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// The point `ms` milliseconds earlier, not before the epoch.
    #[must_use]
    pub const fn minus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
