//! Time and chance of this machine: the one place that asks for them.

use std::time::{Duration, Instant};

use sillok_core::id::CommandId;
use sillok_core::time::Timestamp;

/// The time by this machine's clock.
#[must_use]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let ms = since.unwrap_or_default().as_millis();
    Timestamp::from_ms(u64::try_from(ms).unwrap_or(u64::MAX))
}

/// Makes command ids, each behind the one before it.
#[derive(Debug, Default)]
pub struct Ids {
    last_ms: u64,
}

impl Ids {
    /// A new id: the time, which rises from id to id, and chance.
    ///
    /// # Panics
    /// If the operating system gives no random bytes.
    pub fn make(&mut self) -> CommandId {
        self.last_ms = now().ms().max(self.last_ms + 1);
        let mut random = [0; 10];
        getrandom::fill(&mut random).expect("the operating system gives random bytes");
        CommandId::from_parts(Timestamp::from_ms(self.last_ms), random)
    }
}

/// Until when something may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    /// So many milliseconds from now.
    #[must_use]
    pub fn after_ms(ms: u64) -> Self {
        Self(Instant::now() + Duration::from_millis(ms))
    }

    /// The earlier of this and so many milliseconds from now.
    #[must_use]
    pub fn or_after_ms(self, ms: u64) -> Self {
        Self(self.0.min(Self::after_ms(ms).0))
    }

    /// What is left; nothing when it is over.
    #[must_use]
    pub fn left(self) -> Option<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        (left > Duration::ZERO).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_also_within_a_millisecond() {
        let mut ids = Ids::default();
        let made: Vec<_> = (0..1_000).map(|_| ids.make()).collect();
        assert!(made.is_sorted_by(|one, other| one < other));
        assert!(made.iter().all(|id| id.time().is_ok()));
    }

    #[test]
    fn a_deadline_that_is_over_leaves_nothing() {
        assert_eq!(Deadline::after_ms(0).left(), None);
        assert!(
            Deadline::after_ms(60_000).or_after_ms(10).left().unwrap() < Duration::from_millis(11)
        );
    }
}
