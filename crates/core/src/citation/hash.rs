//! The hash of all that an entry rests on.
//!
//! Owns its form. It must not know who asks whether the citations are still those that were looked at.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::Citation;

/// BLAKE3 of citations, in their order: by it somebody names those that an entry had when they were looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CitationsHash([u8; 32]);

impl CitationsHash {
    /// Hashes `citations`, each with all that it says.
    #[must_use]
    pub fn of(citations: &[Citation]) -> Self {
        let bytes = postcard::to_allocvec(citations);
        let bytes = bytes.expect("plain data structures always encode");
        Self(blake3::derive_key("sillok 2026 citations", &bytes))
    }
}

impl fmt::Debug for CitationsHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: Option<(u32, u32)>) -> Citation {
        Citation::File {
            path: path.into(),
            lines,
            fingerprint: None,
        }
    }

    #[test]
    fn places_order_and_number_matter() {
        let (one, two) = (file("src/a.rs", None), file("src/b.rs", None));
        let all = [one.clone(), two.clone()];
        let hash = CitationsHash::of(&all);
        assert_eq!(hash, CitationsHash::of(&all.clone()));
        for other in [
            vec![two.clone(), one.clone()],
            vec![one.clone()],
            vec![one.clone(), two.clone(), two],
            vec![one, file("src/b.rs", Some((1, 2)))],
        ] {
            assert_ne!(hash, CitationsHash::of(&other), "{other:?}");
        }
    }
}
