//! Chance that can be repeated, and texts that resemble no other text.
//!
//! The seed of a test is printed; `SILLOK_TEST_SEED` sets it.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The chance of one test, from `SILLOK_TEST_SEED` or from the operating system.
    pub(crate) fn of_test(name: &str) -> Self {
        let given = std::env::var("SILLOK_TEST_SEED")
            .ok()
            .and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(name));
        println!("{name}: SILLOK_TEST_SEED={seed}");
        Self(seed)
    }

    /// A chance of its own for one of several tasks.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is a choice");
        usize::try_from(self.next() % bound as u64).expect("it is below a usize")
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A word of six to nine letters that means nothing.
    fn word(&mut self) -> String {
        let letters = 6 + self.below(4);
        (0..letters)
            .map(|_| char::from(b"abcdefghijklmnopqrstuvwxyz"[self.below(26)]))
            .collect()
    }

    /// Words that mean nothing.
    pub(crate) fn words(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| self.word())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A sentence that no other call gives, and that nothing is similar to.
pub(crate) fn phrase() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mut chance = Chance(RandomState::new().hash_one(call));
    format!("{} {call}", chance.words(8))
}
