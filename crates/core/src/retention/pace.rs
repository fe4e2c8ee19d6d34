//! Pace: how much of a run of maintenance goes on at once, so that whoever writes meanwhile hardly notices.
//!
//! Owns the figures. Where nobody writes, a run has the node to itself: many commands of many entries each are under way,
//! so that the disk and the rules wait for nothing. Beside a writer, one command of few entries is, and then the run rests
//! for as long as that took: whatever a writer waits for, it waits behind one such command at most. It must not know who
//! writes, nor what a command does.

/// Entries that one command takes out while nobody writes: a scope's next writer waits for no longer than that takes.
pub const RETIRED_AT_ONCE: usize = 256;
/// Entries that one command takes out beside a writer.
pub const RETIRED_BESIDE: usize = 32;
/// For how long somebody who wrote counts as one who writes, in ms.
pub const WRITES_MS: u64 = 1_000;
/// The least and the longest rest after a command beside a writer, in ms. A store that hardly answers keeps no run from
/// its end.
pub const REST_MS: (u64, u64) = (1, 100);

/// Whether a run stands back, at a time of the boot clock, in ms: somebody wrote a moment before.
#[must_use]
pub fn stands_back(now_ms: u64, written_ms: Option<u64>) -> bool {
    written_ms.is_some_and(|written_ms| now_ms < written_ms.saturating_add(WRITES_MS))
}

/// How long a run rests after a command that took so long, in µs: how long in ms.
#[must_use]
pub fn rest_ms(took_us: u64) -> u64 {
    let (least, longest) = REST_MS;
    took_us.div_ceil(1_000).clamp(least, longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_stands_back_for_a_while_after_somebody_wrote() {
        assert!(!stands_back(5, None), "nobody ever wrote");
        assert!(stands_back(5, Some(5)));
        assert!(stands_back(5 + WRITES_MS - 1, Some(5)));
        assert!(!stands_back(5 + WRITES_MS, Some(5)));
        assert!(
            stands_back(5, Some(9)),
            "it was read before that was written"
        );
        assert!(stands_back(5, Some(u64::MAX)));
    }

    #[test]
    fn a_run_rests_as_long_as_it_kept_others_waiting_within_bounds() {
        assert_eq!(rest_ms(0), REST_MS.0);
        assert_eq!(rest_ms(4_001), 5);
        assert_eq!(rest_ms(3_600_000_000), REST_MS.1);
    }
}
