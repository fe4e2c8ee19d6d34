//! The real clock and the real randomness behind the ports of the rules.
//!
//! Owns the only calls of the operating system's clocks and generator. Everything else is given
//! time and randomness.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sillok_actors::ports::RngFactory;
use sillok_core::ports::{BoxFuture, Clock, Rng};
use sillok_core::time::Timestamp;

/// Bytes that are drawn from the operating system at once. Small, since every actor holds some.
const POOL_BYTES: usize = 256;

/// The clocks of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Timestamp::from_ms(milliseconds(since))
    }

    fn monotonic_us(&self) -> u64 {
        u64::try_from(since_boot().as_micros()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

/// The time since the machine was started, with the time in which it was suspended: the standard
/// library's `Instant` leaves that out, and a lease would outlive it.
#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).expect("it is behind the start");
    let nanoseconds = u32::try_from(time.tv_nsec).expect("less than a second");
    Duration::new(seconds, nanoseconds)
}

/// The time since this was first asked for. Where a machine is suspended it may stand still: only one
/// node alone, which holds no lease, is meant to run here.
#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The operating system's generator, read some bytes ahead.
#[derive(Debug)]
pub struct SystemRng {
    pool: [u8; POOL_BYTES],
    used: usize,
}

impl Default for SystemRng {
    fn default() -> Self {
        Self {
            pool: [0; POOL_BYTES],
            used: POOL_BYTES,
        }
    }
}

impl Rng for SystemRng {
    fn fill(&mut self, bytes: &mut [u8]) {
        if bytes.len() > POOL_BYTES {
            return random(bytes);
        }
        if self.used + bytes.len() > POOL_BYTES {
            random(&mut self.pool);
            self.used = 0;
        }
        let end = self.used + bytes.len();
        bytes.copy_from_slice(&self.pool[self.used..end]);
        // What was handed out must not be handed out or found again.
        self.pool[self.used..end].fill(0);
        self.used = end;
    }
}

/// Fills `bytes` from the operating system.
pub(crate) fn random(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system has randomness");
}

/// A generator of its own for each actor.
#[must_use]
pub fn rng_factory() -> RngFactory {
    Arc::new(|| Box::new(SystemRng::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_monotonic_clock_is_that_since_the_machine_was_started() {
        let direct_ms = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            u64::try_from(time.tv_sec * 1_000 + time.tv_nsec / 1_000_000).unwrap()
        };
        let before = direct_ms();
        let ours = SystemClock.monotonic_ms();
        assert!((before..=direct_ms()).contains(&ours));
    }

    #[test]
    fn no_bytes_are_handed_out_twice() {
        let mut rng = SystemRng::default();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let mut bytes = [0; 16];
            rng.fill(&mut bytes);
            assert!(bytes != [0; 16] && seen.insert(bytes));
        }
        let mut long = [0; 2 * POOL_BYTES];
        rng.fill(&mut long);
        assert!(long.iter().any(|byte| *byte != 0));
    }
}
