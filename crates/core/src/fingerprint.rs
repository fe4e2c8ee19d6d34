//! Content hashes: when two texts are the same text.
//!
//! Owns the normalisation. It must not know embeddings: closeness in meaning is another matter.

use core::fmt;

use serde::{Deserialize, Serialize};

/// BLAKE3 of a text after normalisation: runs of white space become one space, ends are trimmed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes `content`, word by word.
    #[must_use]
    pub fn of(content: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for (index, word) in content.split_whitespace().enumerate() {
            if index > 0 {
                hasher.update(b" ");
            }
            hasher.update(word.as_bytes());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn white_space_does_not_matter(words in proptest::collection::vec("[a-z]{1,8}", 1..10)) {
            let spaced = format!("  {}\n", words.join(" \t\n "));
            prop_assert_eq!(ContentHash::of(&spaced), ContentHash::of(&words.join(" ")));
        }
    }

    #[test]
    fn words_matter() {
        assert_ne!(ContentHash::of("a b"), ContentHash::of("ab"));
        assert_ne!(ContentHash::of("A"), ContentHash::of("a"));
    }
}
