//! Pace: how much of a run of maintenance goes on at once, so that whoever writes meanwhile hardly notices.
//!
//! Owns when a run stands back, how many entries a command names then, and the rest after it. Where nobody wrote for a
//! while, a run has the node to itself: many commands of many entries each are under way, so that the disk and the rules wait
//! for nothing, and the first to write again waits behind those. Beside writers one command of few entries is under way, and
//! then the run rests for as long as that took, within bounds. It must not know what a command does.

/// Entries that one command takes out where nobody writes.
pub const RETIRED_AT_ONCE: usize = 256;
/// Entries that one command takes out beside writers: those of its scope wait for no longer than that takes.
pub const RETIRED_BESIDE: usize = 32;
/// For how long a node counts as written to after a command of somebody came, in ms: long enough for one who writes now and then.
pub const WRITTEN_MS: u64 = 10_000;
/// The least and the longest rest after a command beside writers, in ms. A store that hardly answers keeps no run from
/// its end.
pub const REST_MS: (u64, u64) = (1, 100);

/// Who writes to a node, beside the node itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writers {
    /// Commands that wait or are under way.
    pub under_way: usize,
    /// When the last one came, on the boot clock in ms.
    pub last_ms: Option<u64>,
}

/// Whether a run stands back, at a time of the boot clock in ms.
#[must_use]
pub fn stands_back(now_ms: u64, writers: Writers) -> bool {
    let lately = |last_ms: u64| now_ms < last_ms.saturating_add(WRITTEN_MS);
    writers.under_way > 0 || writers.last_ms.is_some_and(lately)
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

    fn last(last_ms: Option<u64>) -> Writers {
        Writers {
            under_way: 0,
            last_ms,
        }
    }

    #[test]
    fn a_run_stands_back_while_somebody_writes_and_for_a_while_after() {
        assert!(!stands_back(5, last(None)), "nobody ever wrote");
        assert!(stands_back(5, last(Some(5))));
        assert!(stands_back(5 + WRITTEN_MS - 1, last(Some(5))));
        assert!(!stands_back(5 + WRITTEN_MS, last(Some(5))));
        assert!(
            stands_back(5, last(Some(9))),
            "it was read before that came"
        );
        assert!(stands_back(5, last(Some(u64::MAX))));
        let waits = Writers {
            under_way: 1,
            last_ms: Some(5),
        };
        assert!(
            stands_back(5 + 2 * WRITTEN_MS, waits),
            "it has no answer yet"
        );
    }

    #[test]
    fn a_run_rests_as_long_as_it_kept_others_waiting_within_bounds() {
        assert_eq!(rest_ms(0), REST_MS.0);
        assert_eq!(rest_ms(4_001), 5);
        assert_eq!(rest_ms(3_600_000_000), REST_MS.1);
    }
}
