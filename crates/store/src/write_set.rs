//! What a transaction wants to write, and what it read: the two sets that the committer compares.
//!
//! Owns the folding of writes to one key, and the check of bounds. Must not know where committed
//! values are kept.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::limits::{
    KEY_BYTES_MAX, RESERVED_FIRST_BYTE, STAMPED_KEYS_MAX, TXN_BYTES_MAX, VALUE_BYTES_MAX,
    read_cost, stamped_cost, write_cost,
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
    bounds: Bounds,
}

/// What a transaction holds so far, held against the bounds, and the first write that was refused.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    bytes: usize,
    cost: usize,
    stamped: usize,
    refused: Option<Error>,
}

/// The reads of one transaction that take part in conflict detection.
#[derive(Debug, Clone, Default)]
pub struct ReadSet {
    /// Keys read, or declared by `conflict_on`, one by one.
    pub keys: Vec<Bytes>,
    /// Ranges read, or declared by `conflict_on`, that hold more than one key.
    pub ranges: Vec<KeyRange>,
    cost: usize,
}

impl ReadSet {
    /// Adds a key, which is counted apart.
    pub fn add_key(&mut self, key: &[u8]) {
        self.keys.push(Bytes::copy_from_slice(key));
    }

    /// Adds a range; an empty one has no effect. One that holds a single key is judged as that key, which
    /// is found at once, where a range is looked for among all recent writes; it counts as a range.
    pub fn add_range(&mut self, range: KeyRange) {
        if range.is_empty() {
            return;
        }
        self.count(range.longest_end());
        if range.is_one_key() {
            self.keys.push(range.begin);
        } else {
            self.ranges.push(range);
        }
    }

    /// Counts a read of a key. One that the transaction's own write answers counts too: it conflicts with
    /// nothing, but an engine that leaves conflicts to a cluster cannot tell.
    pub fn count(&mut self, key_bytes: usize) {
        self.cost += read_cost(key_bytes);
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
        if self.bounds.admit(&key, value.len()) {
            self.keys.insert(key, Write::Set(value));
        }
    }

    /// Removes `key`.
    pub fn clear(&mut self, key: Bytes) {
        if self.bounds.admit(&key, 0) {
            self.keys.insert(key, Write::Clear);
        }
    }

    /// Removes every key of `range`, those written before in this transaction included.
    pub fn clear_range(&mut self, range: &KeyRange) {
        let range = range.clamped();
        if !self.bounds.admit_range(&range) {
            return;
        }
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
        if !self.bounds.admit(&key, size_of::<i64>()) {
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
        if self.bounds.admit_stamped(&prefix, value.len()) {
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

    /// Whether a key of a range that is not empty was written, removed with others, or added to.
    #[must_use]
    pub fn touches(&self, range: &KeyRange) -> bool {
        let mut keys = self.keys.range::<Bytes, _>(&range.begin..&range.end);
        keys.next().is_some() || self.cleared.intersects(range)
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
        self.bounds.bytes
    }

    /// The first write that was refused, or a transaction that is too large with its reads.
    ///
    /// # Errors
    /// `TooLarge` or `InvalidKey`.
    pub fn check(&self, reads: &ReadSet) -> Result<(), Error> {
        self.bounds.check_with(reads.cost)
    }
}

impl Bounds {
    /// Counts a write, unless it is refused.
    pub fn admit(&mut self, key: &[u8], value_bytes: usize) -> bool {
        match check_key(key).and_then(|()| check_value(value_bytes)) {
            Ok(()) => {
                let cost = write_cost(key.len(), value_bytes);
                self.count_write(key.len() + value_bytes, cost)
            }
            Err(error) => self.refuse(error),
        }
    }

    /// Counts the removal of a range, unless it is refused; an empty one is none.
    pub fn admit_range(&mut self, range: &KeyRange) -> bool {
        if range.is_empty() {
            return false;
        }
        let longest = range.longest_end();
        match check_key_bytes(longest) {
            Ok(()) => self.count_write(longest, write_cost(longest, 0)),
            Err(error) => self.refuse(error),
        }
    }

    /// Counts a write at a stamped key with this prefix, unless it is refused.
    pub fn admit_stamped(&mut self, prefix: &[u8], value_bytes: usize) -> bool {
        let key_bytes = prefix.len() + Stamp::LEN;
        let checked = if prefix.first() == Some(&RESERVED_FIRST_BYTE) || prefix.is_empty() {
            Err(Error::InvalidKey {
                reason: "a stamped key needs a prefix of its own",
            })
        } else if self.stamped == STAMPED_KEYS_MAX {
            Err(Error::TooLarge {
                what: "stamped keys",
                limit: STAMPED_KEYS_MAX,
                got: self.stamped + 1,
            })
        } else {
            check_key_bytes(key_bytes).and_then(|()| check_value(value_bytes))
        };
        match checked {
            Ok(()) => {
                self.stamped += 1;
                let cost = stamped_cost(key_bytes, value_bytes);
                self.count_write(key_bytes + value_bytes, cost)
            }
            Err(error) => self.refuse(error),
        }
    }

    /// Counts a read that takes part in conflict detection, of a key or of a range whose longer end has
    /// so many bytes.
    pub fn count_read(&mut self, key_bytes: usize) {
        self.cost += read_cost(key_bytes);
    }

    /// Refuses the transaction for what an engine found. Always false: nothing is to be written.
    pub fn refuse(&mut self, error: Error) -> bool {
        self.refused.get_or_insert(error);
        false
    }

    /// Cost of the transaction so far, in bytes.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// The first write that was refused, or a transaction that is too large.
    ///
    /// # Errors
    /// `TooLarge` or `InvalidKey`.
    pub fn check(&self) -> Result<(), Error> {
        self.check_with(0)
    }

    fn check_with(&self, reads_cost: usize) -> Result<(), Error> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let got = self.cost + reads_cost;
        check_bound("transaction", got, TXN_BYTES_MAX)
    }

    fn count_write(&mut self, bytes: usize, cost: usize) -> bool {
        self.bytes += bytes;
        self.cost += cost;
        true
    }
}

fn check_bound(what: &'static str, got: usize, limit: usize) -> Result<(), Error> {
    if got > limit {
        return Err(Error::TooLarge { what, limit, got });
    }
    Ok(())
}

fn check_key_bytes(got: usize) -> Result<(), Error> {
    check_bound("key", got, KEY_BYTES_MAX)
}

fn check_value(got: usize) -> Result<(), Error> {
    check_bound("value", got, VALUE_BYTES_MAX)
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
        Some(_) => check_key_bytes(key.len()),
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
    fn a_range_of_one_key_is_read_as_the_key_and_counts_as_a_range() {
        let mut reads = ReadSet::default();
        reads.add_range(KeyRange::key(b"k"));
        assert_eq!(
            (reads.keys.as_slice(), reads.ranges.len()),
            (&[key("k")][..], 0)
        );
        assert_eq!(reads.cost, read_cost(2));
        let wider = KeyRange::new("k", "k\0\0");
        reads.add_range(wider.clone());
        reads.add_range(KeyRange::new("k", "k"));
        assert_eq!((reads.keys.len(), reads.ranges), (1, vec![wider]));
        assert_eq!(reads.cost, read_cost(2) + read_cost(3));
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
