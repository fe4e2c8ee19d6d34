//! Turns: how many calls a minute a provider is asked for.
//!
//! Owns the wait for a turn. A call whose turn comes too late is refused at once, and not kept waiting.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock as _;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use sillok_core::ports::PortError;

/// The turns of one engine.
pub(crate) struct Turns {
    limiter: DefaultDirectRateLimiter,
    per_minute: NonZeroU32,
}

impl Turns {
    /// So many calls a minute, and as many at once.
    pub(crate) fn new(per_minute: u32) -> Self {
        let per_minute = NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN);
        Self {
            limiter: RateLimiter::direct(Quota::per_minute(per_minute)),
            per_minute,
        }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// `Unavailable` where it would come later than after `patience`.
    pub(crate) async fn take(&self, patience: Duration) -> Result<(), PortError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let Err(not_yet) = self.limiter.check() else {
                return Ok(());
            };
            let wait = not_yet.wait_time_from(self.limiter.clock().now());
            if tokio::time::Instant::now() + wait > deadline {
                let why = format!(
                    "{} calls a minute are configured, and no turn is left in time",
                    self.per_minute
                );
                return Err(PortError::Unavailable(why));
            }
            tokio::time::sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_whose_turn_comes_too_late_is_refused_at_once() {
        let turns = Turns::new(2);
        let patience = Duration::from_secs(1);
        turns.take(patience).await.unwrap();
        turns.take(patience).await.unwrap();
        let refused = turns.take(patience).await.unwrap_err();
        assert!(
            matches!(&refused, PortError::Unavailable(why) if why.contains("2 calls a minute"))
        );
    }
}
