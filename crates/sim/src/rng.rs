//! Randomness, split by (seed, purpose, entity), so that one part that draws more does not move the
//! others.

use std::collections::BTreeMap;

use rand::Rng as _;
use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// A stream of random numbers that depends on nothing but what it was made from.
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `purpose` and `entity` under `seed`.
    #[must_use]
    pub fn new(seed: u64, purpose: &str, entity: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 simulation");
        hasher.update(&seed.to_le_bytes());
        hasher.update(&entity.to_le_bytes());
        hasher.update(purpose.as_bytes());
        Self(ChaCha8Rng::from_seed(*hasher.finalize().as_bytes()))
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "a range is not empty");
        self.0.random_range(low..=high)
    }

    /// An index below `len`.
    pub fn index(&mut self, len: usize) -> usize {
        assert!(len > 0, "there is something to choose from");
        self.0.random_range(0..len)
    }

    /// One of `items`.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// True with this chance, in a thousandth.
    pub fn permille(&mut self, chance: u32) -> bool {
        chance > 0 && self.0.random_range(0..1_000) < chance
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

/// What a world draws for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    Cognifier,
    Commit,
    Damage,
    Disk,
    Embedder,
    Fate,
    Index,
    Listener,
    Outside,
    Page,
    Read,
    Start,
    Stream,
    Way,
}

impl Purpose {
    /// What its streams are made from, so that the order of the list above decides nothing.
    const fn name(self) -> &'static str {
        match self {
            Self::Cognifier => "cognifier",
            Self::Commit => "commit",
            Self::Damage => "damage",
            Self::Disk => "disk",
            Self::Embedder => "embedder",
            Self::Fate => "fate",
            Self::Index => "index",
            Self::Listener => "listener",
            Self::Outside => "outside",
            Self::Page => "page",
            Self::Read => "read",
            Self::Start => "start",
            Self::Stream => "stream",
            Self::Way => "way",
        }
    }
}

/// The streams of one seed, each made when it is first drawn from.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    seed: u64,
    known: BTreeMap<(Purpose, u64), Stream>,
}

impl Streams {
    /// The streams of `seed`.
    #[must_use]
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            known: BTreeMap::new(),
        }
    }

    /// The stream of `purpose` and `entity`.
    pub(crate) fn of(&mut self, purpose: Purpose, entity: u64) -> &mut Stream {
        let made = || Stream::new(self.seed, purpose.name(), entity);
        self.known.entry((purpose, entity)).or_insert_with(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_each_part_and_repeat() {
        let first = |seed, purpose, entity| Stream::new(seed, purpose, entity).between(0, u64::MAX);
        assert_eq!(first(1, "a", 1), first(1, "a", 1));
        for other in [first(2, "a", 1), first(1, "b", 1), first(1, "a", 2)] {
            assert_ne!(first(1, "a", 1), other);
        }
    }

    #[test]
    fn a_stream_goes_on_whatever_the_others_draw() {
        let mut alone = Stream::new(1, "disk", 1);
        let mut streams = Streams::new(1);
        for other in 0..9 {
            let number = streams.of(Purpose::Disk, 1).between(0, u64::MAX);
            assert_eq!(number, alone.between(0, u64::MAX));
            streams.of(Purpose::Disk, 2).index(other + 1);
            streams.of(Purpose::Page, 1).index(other + 1);
        }
    }
}
