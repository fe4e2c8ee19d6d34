//! Half-open ranges of keys.
//!
//! Must not know what a key means.

use bytes::Bytes;

use crate::limits::RESERVED_FIRST_BYTE;

/// The keys from `begin` up to, not including, `end`, in byte order. Empty when `begin >= end`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// First key of the range.
    pub begin: Bytes,
    /// First key behind the range.
    pub end: Bytes,
}

impl KeyRange {
    /// The keys from `begin` up to, not including, `end`.
    pub fn new(begin: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self {
            begin: begin.into(),
            end: end.into(),
        }
    }

    /// Every key that starts with `prefix`, `prefix` itself included.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        let mut end = prefix.to_vec();
        while end.last() == Some(&u8::MAX) {
            end.pop();
        }
        match end.last_mut() {
            Some(last) => *last += 1,
            // No key follows a prefix of 0xFF bytes alone; callers own none of those keys.
            None => end.push(RESERVED_FIRST_BYTE),
        }
        Self {
            begin: Bytes::copy_from_slice(prefix),
            end: Bytes::from(end),
        }
    }

    /// The one key.
    #[must_use]
    pub fn key(key: &[u8]) -> Self {
        Self {
            begin: Bytes::copy_from_slice(key),
            end: successor(key),
        }
    }

    /// Every key that a caller may use.
    #[must_use]
    pub fn all() -> Self {
        Self {
            begin: Bytes::new(),
            end: Bytes::from_static(&[RESERVED_FIRST_BYTE]),
        }
    }

    /// Whether no key can lie in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.begin >= self.end
    }

    /// Whether the range holds `begin` and no other key.
    #[must_use]
    pub fn is_one_key(&self) -> bool {
        let behind = self.end.strip_prefix(&self.begin[..]);
        behind.is_some_and(|behind| behind == [0])
    }

    /// Whether `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.begin.as_ref() <= key && key < self.end.as_ref()
    }

    /// Bytes of the longer one of both ends.
    #[must_use]
    pub fn longest_end(&self) -> usize {
        self.begin.len().max(self.end.len())
    }

    /// The part of the range that callers may use: nothing at or past the engines' own keys.
    #[must_use]
    pub fn clamped(&self) -> Self {
        let all = Self::all();
        Self {
            begin: self.begin.clone(),
            end: self.end.clone().min(all.end),
        }
    }
}

/// The first key behind `key` in byte order.
#[must_use]
pub fn successor(key: &[u8]) -> Bytes {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    Bytes::from(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_range_holds_exactly_the_keys_with_the_prefix() {
        let range = KeyRange::prefix(b"a\xff");
        assert!(range.contains(b"a\xff") && range.contains(b"a\xff\xff\xff"));
        assert!(!range.contains(b"a\xfe\xff") && !range.contains(b"b"));
        assert_eq!(range.end.as_ref(), b"b");
    }

    #[test]
    fn the_empty_prefix_is_every_key_of_callers() {
        assert_eq!(KeyRange::prefix(b""), KeyRange::all());
        assert!(!KeyRange::all().contains(&[0xFF]));
        assert!(KeyRange::all().contains(&[0xFE, 0xFF]));
    }

    #[test]
    fn a_key_range_holds_the_key_alone() {
        let range = KeyRange::key(b"k");
        assert!(range.contains(b"k") && !range.contains(b"k\0") && !range.contains(b"j"));
        assert!(range.is_one_key());
    }

    #[test]
    fn only_a_range_up_to_the_very_next_key_is_one_key() {
        assert!(KeyRange::new("k", "k\0").is_one_key());
        assert!(KeyRange::new("k\0", "k\0\0").is_one_key());
        for (begin, end) in [
            ("k", "k"),
            ("k", "k\u{1}"),
            ("k", "k\0\0"),
            ("k", "l"),
            ("k", "l\0"),
            ("k\0", "k"),
        ] {
            assert!(!KeyRange::new(begin, end).is_one_key(), "{begin:?} {end:?}");
        }
    }
}
