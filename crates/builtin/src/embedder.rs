//! An embedder by feature hashing: no model, no network, the same vector everywhere.
//!
//! Words, pairs of words and character n-grams of 3 to 5 are hashed into 384 signed dimensions
//! (Weinberger et al., ICML 2009), weighted by 1 + ln(count), and normalised. It sees shared words
//! and shared pieces of words, not meaning: a paraphrase in other words is far away. It must not
//! know what is embedded, nor indexes.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::ports::{BoxFuture, Embedder, PortError, SpaceThresholds};
use sillok_core::words::{Token, cut, is_hangul, is_negation, is_stopword};

/// Coordinates of each vector.
pub const DIMENSIONS: usize = 384;

/// The space's id. A change of anything that moves a vector needs a new one.
pub const SPACE: &str = "builtin-fh384-v1";

/// Measured on the tuned half of `tests/pairs`, by `make dedup-pairs`.
pub const THRESHOLDS: SpaceThresholds = SpaceThresholds {
    merge: 0.96,
    similar: 0.6,
};

/// The embedder.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashEmbedder;

impl HashEmbedder {
    /// The vector of one text: length 1, or all zero when the text has no words.
    #[must_use]
    pub fn vector(text: &str) -> Vec<f32> {
        let mut features = Features::with_capacity(text.len() * 3);
        features.read(text);
        features.vector()
    }
}

impl Embedder for HashEmbedder {
    fn space(&self) -> SpaceId {
        SpaceId(SPACE.to_owned())
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn thresholds(&self) -> SpaceThresholds {
        THRESHOLDS
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        let embed = |text: &&str| Embedding {
            space: self.space(),
            values: Self::vector(text),
        };
        let embeddings = texts.iter().map(embed).collect();
        Box::pin(core::future::ready(Ok(embeddings)))
    }
}

/// The classes of features, each with its weight. A feature's class is kept in the low bits of its
/// hash.
#[derive(Clone, Copy)]
enum Class {
    Word,
    Stopword,
    /// Numbers, operators and negations: small, and they change what is said.
    Exact,
    Pair,
    Gram,
    Part,
}

impl Class {
    const BITS: u32 = 3;
    const WEIGHTS: [f32; 6] = [1.0, 0.2, 1.8, 0.6, 0.16, 0.5];
}

/// The hashed features of one text.
struct Features {
    hashes: Vec<u64>,
    last_word: u64,
    stemmer: Stemmer,
}

impl Features {
    fn with_capacity(capacity: usize) -> Self {
        Self {
            hashes: Vec::with_capacity(capacity),
            last_word: 0,
            stemmer: Stemmer::create(Algorithm::English),
        }
    }

    fn read(&mut self, text: &str) {
        cut(text, |token| match token {
            Token::Word(word) if is_stopword(word) => {
                self.push(hash(word.as_bytes()), Class::Stopword);
            }
            Token::Word(word) => {
                let class = if is_negation(word) {
                    Class::Exact
                } else {
                    Class::Word
                };
                let stem = self.stem(word);
                self.word(hash(stem.as_bytes()), class);
                self.grams(word);
            }
            Token::Part(part) => {
                let stem = self.stem(part);
                self.push(hash(stem.as_bytes()), Class::Part);
            }
            Token::Exact(exact) => self.word(hash(exact.as_bytes()), Class::Exact),
        });
    }

    fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        if word.is_ascii() {
            self.stemmer.stem(word)
        } else {
            Cow::Borrowed(word)
        }
    }

    fn word(&mut self, hash: u64, class: Class) {
        self.push(hash, class);
        if self.last_word != 0 {
            self.push(mix(self.last_word.rotate_left(23) ^ hash), Class::Pair);
        }
        self.last_word = hash;
    }

    /// The n-grams of a word between its bounds. A Hangul syllable holds two or three letters, so
    /// its grams are shorter.
    fn grams(&mut self, word: &str) {
        const CHARS_MAX: usize = 64;
        let mut bounded = ['\u{2}'; CHARS_MAX];
        let mut length = 1;
        for c in word.chars().take(CHARS_MAX - 2) {
            bounded[length] = c;
            length += 1;
        }
        length += 1;
        let (shortest, longest) = if word.starts_with(is_hangul) {
            (2, 3)
        } else {
            (3, 5)
        };
        let bounded = &bounded[..length];
        for start in 0..(length + 1).saturating_sub(shortest) {
            let mut state = SEED;
            for (size, c) in (1..=longest).zip(&bounded[start..]) {
                state = (state ^ u64::from(u32::from(*c))).wrapping_mul(PRIME);
                if size >= shortest {
                    self.push(mix(state), Class::Gram);
                }
            }
        }
    }

    fn push(&mut self, hash: u64, class: Class) {
        self.hashes.push((hash << Class::BITS) | class as u64);
    }

    fn vector(mut self) -> Vec<f32> {
        // Sorted, so that equal features stand together and sums do not depend on their order.
        self.hashes.sort_unstable();
        let mut values = vec![0.0_f32; DIMENSIONS];
        for equal in self.hashes.chunk_by(|a, b| a == b) {
            let feature = equal[0];
            let class =
                usize::try_from(feature & ((1 << Class::BITS) - 1)).expect("three bits fit");
            let place = usize::try_from((feature >> 16) % DIMENSIONS as u64)
                .expect("it is under the dimensions");
            let sign = if feature >> 15 & 1 == 0 { 1.0 } else { -1.0 };
            values[place] += sign * Class::WEIGHTS[class] * sublinear(equal.len());
        }
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            values.iter_mut().for_each(|value| *value /= length);
        }
        values
    }
}

/// 1 + ln(count).
fn sublinear(count: usize) -> f32 {
    if count == 1 {
        return 1.0;
    }
    1.0 + f32::from(u16::try_from(count).unwrap_or(u16::MAX)).ln()
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a, mixed so that every bit depends on every byte. Part of the space: it never changes.
fn hash(bytes: &[u8]) -> u64 {
    mix(bytes.iter().fold(SEED, |state, byte| {
        (state ^ u64::from(*byte)).wrapping_mul(PRIME)
    }))
}

/// The finaliser of `SplitMix64`.
fn mix(mut state: u64) -> u64 {
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests;
