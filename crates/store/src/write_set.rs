//! What a transaction wants to write, and what it read: the two sets that the committer compares.
//!
//! Owns the folding of writes to one key, and the check of bounds. Must not know where committed
//! values are kept.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::limits::{
    KEY_BYTES_MAX, RESERVED_FIRST_BYTE, STAMPED_KEYS_MAX, TXN_BYTES_MAX, VALUE_BYTES_MAX,
};
use crate::range_set::RangeSet;
use crate::{Error, KeyRange, Stamp};

/// The last word of a transaction on one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// The key gets this value.
    Set(Bytes),
    /// The key is removed.
    Clear,
    /// The number committed before is raised by this much, wrapping.
    Add(i64),
}

/// The writes of one transaction: first `cleared` takes effect, then `keys`, then `stamped`.
#[derive(Debug, Clone, Default)]
pub struct WriteSet {
    keys: BTreeMap<Bytes, Write>,
    cleared: RangeSet,
    stamped: Vec<(Bytes, Bytes)>,
    bytes: usize,
    refused: Option<Error>,
}

/// The reads of one transaction that take part in conflict detection.
#[derive(Debug, Clone, Default)]
pub struct ReadSet {
    /// Keys read one by one.
    pub keys: Vec<Bytes>,
    /// Ranges read, or declared by `conflict_on`.
    pub ranges: Vec<KeyRange>,
    bytes: usize,
}

impl ReadSet {
    /// Adds a key.
    pub fn add_key(&mut self, key: &[u8]) {
        self.bytes += key.len();
        self.keys.push(Bytes::copy_from_slice(key));
    }

    /// Adds a range; an empty one has no effect.
    pub fn add_range(&mut self, range: KeyRange) {
        if !range.is_empty() {
            self.bytes += range.begin.len() + range.end.len();
            self.ranges.push(range);
        }
    }

    /// Whether nothing was read in conflict.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }
}

impl WriteSet {
    /// Writes `value` at `key`.
    pub fn set(&mut self, key: Bytes, value: Bytes) {
        if self.admit(&key, value.len()) {
            self.keys.insert(key, Write::Set(value));
        }
    }

    /// Removes `key`.
    pub fn clear(&mut self, key: Bytes) {
        if self.admit(&key, 0) {
            self.keys.insert(key, Write::Clear);
        }
    }

    /// Removes every key of `range`, those written before in this transaction included.
    pub fn clear_range(&mut self, range: &KeyRange) {
        let range = range.clamped();
        if range.is_empty() {
            return;
        }
        let longest = range.begin.len().max(range.end.len());
        if longest > KEY_BYTES_MAX {
            self.refuse(Error::TooLarge {
                what: "key",
                limit: KEY_BYTES_MAX,
                got: longest,
            });
            return;
        }
        self.bytes += range.begin.len() + range.end.len();
        let inside: Vec<Bytes> = self
            .keys
            .range::<Bytes, _>(&range.begin..&range.end)
            .map(|(key, _)| key.clone())
            .collect();
        for key in inside {
            self.keys.remove(&key);
        }
        self.cleared.insert(&range);
    }

    /// Adds `delta` to the number at `key`.
    pub fn add(&mut self, key: Bytes, delta: i64) {
        if !self.admit(&key, size_of::<i64>()) {
            return;
        }
        let write = match self.keys.get(&key) {
            Some(Write::Set(value)) => Write::Set(sum(Some(value), delta)),
            Some(Write::Clear) => Write::Set(sum(None, delta)),
            Some(Write::Add(before)) => Write::Add(before.wrapping_add(delta)),
            None if self.cleared.contains(&key) => Write::Set(sum(None, delta)),
            None => Write::Add(delta),
        };
        self.keys.insert(key, write);
    }

    /// Writes `value` at `prefix` followed by the stamp of the commit.
    pub fn set_stamped(&mut self, prefix: Bytes, value: Bytes) {
        let key_bytes = prefix.len() + Stamp::LEN;
        if prefix.first() == Some(&RESERVED_FIRST_BYTE) || prefix.is_empty() {
            self.refuse(Error::InvalidKey {
                reason: "a stamped key needs a prefix of its own",
            });
        } else if key_bytes > KEY_BYTES_MAX {
            self.refuse(Error::TooLarge {
                what: "key",
                limit: KEY_BYTES_MAX,
                got: key_bytes,
            });
        } else if value.len() > VALUE_BYTES_MAX {
            self.refuse_value(value.len());
        } else if self.stamped.len() == STAMPED_KEYS_MAX {
            let got = self.stamped.len() + 1;
            self.refuse(Error::TooLarge {
                what: "stamped keys",
                limit: STAMPED_KEYS_MAX,
                got,
            });
        } else {
            self.bytes += key_bytes + value.len();
            self.stamped.push((prefix, value));
        }
    }

    /// The last word of this transaction on `key`, unless that is left to the committed value.
    #[must_use]
    pub fn lookup(&self, key: &[u8]) -> Option<&Write> {
        match self.keys.get(key) {
            Some(write) => Some(write),
            None if self.cleared.contains(key) => Some(&Write::Clear),
            None => None,
        }
    }

    /// Keys with a write of their own, in key order.
    #[must_use]
    pub fn keys(&self) -> &BTreeMap<Bytes, Write> {
        &self.keys
    }

    /// Ranges removed before `keys` takes effect.
    #[must_use]
    pub fn cleared(&self) -> &RangeSet {
        &self.cleared
    }

    /// Prefixes and values of the stamped keys, in the order of their indexes.
    #[must_use]
    pub fn stamped(&self) -> &[(Bytes, Bytes)] {
        &self.stamped
    }

    /// Keys and values taken apart: keys with a write, and stamped ones.
    #[must_use]
    pub fn into_parts(self) -> (BTreeMap<Bytes, Write>, Vec<(Bytes, Bytes)>) {
        (self.keys, self.stamped)
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.cleared.is_empty() && self.stamped.is_empty()
    }

    /// Bytes of keys and values that were handed in, overwritten ones included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The first write that was refused, or a transaction that is too large with its reads.
    ///
    /// # Errors
    /// `TooLarge` or `InvalidKey`.
    pub fn check(&self, reads: &ReadSet) -> Result<(), Error> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let got = self.bytes + reads.bytes;
        if got > TXN_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "transaction",
                limit: TXN_BYTES_MAX,
                got,
            });
        }
        Ok(())
    }

    fn admit(&mut self, key: &[u8], value_bytes: usize) -> bool {
        if let Err(error) = check_key(key) {
            self.refuse(error);
            return false;
        }
        if value_bytes > VALUE_BYTES_MAX {
            self.refuse_value(value_bytes);
            return false;
        }
        self.bytes += key.len() + value_bytes;
        true
    }

    fn refuse_value(&mut self, got: usize) {
        self.refuse(Error::TooLarge {
            what: "value",
            limit: VALUE_BYTES_MAX,
            got,
        });
    }

    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }
}

/// Whether a caller may read or write `key`.
///
/// # Errors
/// `InvalidKey` for an empty key or one of the engines' own, `TooLarge` for a long one.
pub fn check_key(key: &[u8]) -> Result<(), Error> {
    match key.first() {
        None => Err(Error::InvalidKey {
            reason: "the key is empty",
        }),
        Some(&RESERVED_FIRST_BYTE) => Err(Error::InvalidKey {
            reason: "keys from 0xFF on belong to the engine",
        }),
        Some(_) if key.len() > KEY_BYTES_MAX => Err(Error::TooLarge {
            what: "key",
            limit: KEY_BYTES_MAX,
            got: key.len(),
        }),
        Some(_) => Ok(()),
    }
}

/// `base`, read as a little-endian number cut or filled to 8 bytes, plus `delta`, wrapping.
#[must_use]
pub fn sum(base: Option<&Bytes>, delta: i64) -> Bytes {
    let mut number = [0; size_of::<i64>()];
    if let Some(base) = base {
        let known = base.len().min(number.len());
        number[..known].copy_from_slice(&base[..known]);
    }
    let total = i64::from_le_bytes(number).wrapping_add(delta);
    Bytes::copy_from_slice(&total.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &'static str) -> Bytes {
        Bytes::from_static(name.as_bytes())
    }

    #[test]
    fn additions_fold_into_what_was_written_before() {
        let mut writes = WriteSet::default();
        writes.set(key("set"), sum(None, 5));
        writes.add(key("set"), 2);
        writes.clear(key("cleared"));
        writes.add(key("cleared"), 3);
        writes.add(key("twice"), i64::MAX);
        writes.add(key("twice"), 1);
        assert_eq!(writes.lookup(b"set"), Some(&Write::Set(sum(None, 7))));
        assert_eq!(writes.lookup(b"cleared"), Some(&Write::Set(sum(None, 3))));
        assert_eq!(writes.lookup(b"twice"), Some(&Write::Add(i64::MIN)));
    }

    #[test]
    fn clearing_a_range_forgets_the_writes_before_it_and_not_those_after() {
        let mut writes = WriteSet::default();
        writes.set(key("b"), key("old"));
        writes.add(key("c"), 1);
        writes.clear_range(&KeyRange::new("a", "d"));
        writes.add(key("c"), 4);
        assert_eq!(writes.lookup(b"b"), Some(&Write::Clear));
        assert_eq!(writes.lookup(b"c"), Some(&Write::Set(sum(None, 4))));
        assert_eq!(writes.lookup(b"d"), None);
    }

    #[test]
    fn a_value_of_another_length_is_cut_or_filled() {
        assert_eq!(
            sum(Some(&Bytes::from_static(&[1, 1])), 1).as_ref(),
            &[2, 1, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(sum(Some(&Bytes::from_static(&[7; 9])), 0).as_ref(), &[7; 8]);
    }

    #[test]
    fn the_first_refused_write_is_the_answer() {
        let mut writes = WriteSet::default();
        writes.set(Bytes::new(), key("v"));
        writes.set(key("k"), Bytes::from(vec![0; VALUE_BYTES_MAX + 1]));
        assert!(matches!(
            writes.check(&ReadSet::default()),
            Err(Error::InvalidKey { .. })
        ));
    }
}
