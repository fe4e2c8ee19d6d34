//! Optimistic concurrency: which keys were written lately, and whether a transaction read one of
//! them too early.
//!
//! Owns the index of recent writes and its window. Must not know values, I/O or a clock: the window
//! is counted in bytes of remembered writes, so the same commits always give the same answers.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use bytes::Bytes;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::write_set::ReadSet;
use crate::{Error, KeyRange};

/// Memory of one remembered write beside its key: map entry, block entry and allocation.
const WRITE_OVERHEAD_BYTES: usize = 128;

/// Writes at which a block is full. A range is looked for in a full block by binary search, in the
/// last one by a walk over its keys.
const BLOCK_WRITES: usize = 256;

/// The last version at which each key was written, for the versions above a floor.
///
/// Single keys are found by their fingerprint alone: a table by key would fetch a key from memory for
/// each comparison. The table is never walked, so its order shows nowhere. Two keys of one fingerprint would only make a
/// transaction run anew. For ranges, the same writes lie in blocks in the order of versions; a block
/// is sorted by key when a range is first looked for in it. Removed ranges are kept as a step
/// function: an entry says which version removed the keys from it up to the next entry, 0 for none.
#[derive(Debug)]
pub struct Index {
    version_by_fingerprint: HashTable<(u64, u64)>,
    blocks: VecDeque<Block>,
    steps: BTreeMap<Bytes, u64>,
    bytes: usize,
    window_bytes_max: usize,
    floor: u64,
    last: u64,
}

/// The writes of some versions that follow each other.
#[derive(Debug, Default)]
struct Block {
    keys: Vec<Written>,
    ranges: Vec<KeyRange>,
    sorted: bool,
    bytes: usize,
    last: u64,
}

#[derive(Debug)]
struct Written {
    key: Bytes,
    fingerprint: u64,
    version: u64,
}

impl Index {
    /// An index that remembers nothing up to `version`, and later writes up to about
    /// `window_bytes_max` bytes of memory.
    #[must_use]
    pub fn new(version: u64, window_bytes_max: usize) -> Self {
        Self {
            version_by_fingerprint: HashTable::new(),
            blocks: VecDeque::new(),
            steps: BTreeMap::new(),
            bytes: 0,
            window_bytes_max,
            floor: version,
            last: version,
        }
    }

    /// The version from which on every write is remembered; a transaction that began before it
    /// cannot be judged.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Whether a transaction that began at `read_version` may commit with `reads`.
    ///
    /// # Errors
    /// `Conflict` when one of `reads` was written later, `TooOld` when that cannot be told.
    pub fn check(&mut self, read_version: u64, reads: &ReadSet) -> Result<(), Error> {
        assert!(
            read_version <= self.last,
            "a transaction cannot have begun in the future"
        );
        if reads.is_empty() || read_version == self.last {
            return Ok(());
        }
        if read_version < self.floor {
            return Err(Error::TooOld);
        }
        let written = reads
            .keys
            .iter()
            .any(|key| self.key_written(key, read_version))
            || reads
                .ranges
                .iter()
                .any(|range| self.range_written(range, read_version));
        if written {
            Err(Error::Conflict)
        } else {
            Ok(())
        }
    }

    /// Remembers a write to each of `keys` and `ranges` at `version`, which is above all before.
    pub fn record<'a>(
        &mut self,
        version: u64,
        keys: impl Iterator<Item = &'a Bytes>,
        ranges: impl Iterator<Item = KeyRange>,
    ) {
        assert!(version > self.last, "versions rise");
        self.last = version;
        if self.blocks.back().is_none_or(Block::is_full) {
            self.blocks.push_back(Block::default());
        }
        let block = self
            .blocks
            .back_mut()
            .expect("there is a block that is not full");
        let before = block.bytes;
        block.last = version;
        block.sorted = false;
        for range in ranges {
            record_range(&mut self.steps, version, &range);
            block.bytes += 2 * (range.begin.len() + range.end.len() + WRITE_OVERHEAD_BYTES);
            block.ranges.push(range);
        }
        for key in keys {
            let fingerprint = xxh3_64(key);
            self.version_by_fingerprint
                .entry(fingerprint, |it| it.0 == fingerprint, |it| it.0)
                .and_modify(|it| it.1 = version)
                .or_insert((fingerprint, version));
            block.bytes += key.len() + WRITE_OVERHEAD_BYTES;
            block.keys.push(Written {
                key: key.clone(),
                fingerprint,
                version,
            });
        }
        self.bytes += block.bytes - before;
        self.prune();
    }

    fn key_written(&self, key: &[u8], read_version: u64) -> bool {
        let fingerprint = xxh3_64(key);
        self.version_by_fingerprint
            .find(fingerprint, |it| it.0 == fingerprint)
            .is_some_and(|(_, version)| *version > read_version)
            || step_at(&self.steps, key) > read_version
    }

    fn range_written(&mut self, range: &KeyRange, read_version: u64) -> bool {
        if range.is_empty() {
            return false;
        }
        let mut removed = self.steps.range::<Bytes, _>(&range.begin..&range.end);
        if step_at(&self.steps, &range.begin) > read_version
            || removed.any(|(_, version)| *version > read_version)
        {
            return true;
        }
        let later = self
            .blocks
            .iter_mut()
            .rev()
            .take_while(|block| block.last > read_version);
        later
            .into_iter()
            .any(|block| block.range_written(range, read_version))
    }

    /// Forgets whole blocks, oldest first, until the rest fits the window.
    fn prune(&mut self) {
        while self.bytes > self.window_bytes_max {
            let block = self.blocks.pop_front().expect("what has bytes has a block");
            self.bytes -= block.bytes;
            self.floor = block.last;
            for written in &block.keys {
                let same = (written.fingerprint, written.version);
                if let Ok(found) = self
                    .version_by_fingerprint
                    .find_entry(written.fingerprint, |it| *it == same)
                {
                    found.remove();
                }
            }
            for range in &block.ranges {
                forget_range(&mut self.steps, self.floor, range);
            }
        }
    }
}

impl Block {
    fn is_full(&self) -> bool {
        self.keys.len() + self.ranges.len() >= BLOCK_WRITES
    }

    fn range_written(&mut self, range: &KeyRange, read_version: u64) -> bool {
        if !self.is_full() {
            let mut keys = self.keys.iter();
            return keys.any(|it| it.version > read_version && range.contains(&it.key));
        }
        if !self.sorted {
            self.keys.sort_unstable_by(|a, b| a.key.cmp(&b.key));
            self.sorted = true;
        }
        let begin = self.keys.partition_point(|it| it.key < range.begin);
        let inside = self.keys[begin..]
            .iter()
            .take_while(|it| it.key < range.end);
        inside.into_iter().any(|it| it.version > read_version)
    }
}

/// The version of the last removed range that holds `key`.
fn step_at(steps: &BTreeMap<Bytes, u64>, key: &[u8]) -> u64 {
    if steps.is_empty() {
        return 0;
    }
    steps
        .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)))
        .next_back()
        .map_or(0, |(_, version)| *version)
}

fn record_range(steps: &mut BTreeMap<Bytes, u64>, version: u64, range: &KeyRange) {
    assert!(!range.is_empty(), "a removed range holds a key");
    let behind = step_at(steps, &range.end);
    for key in steps_within(steps, range) {
        steps.remove(&key);
    }
    steps.insert(range.begin.clone(), version);
    steps.insert(range.end.clone(), behind);
}

fn forget_range(steps: &mut BTreeMap<Bytes, u64>, floor: u64, range: &KeyRange) {
    let mut before = steps
        .range::<Bytes, _>(..&range.begin)
        .next_back()
        .map_or(0, |(_, version)| *version);
    for key in steps_within(steps, range) {
        let version = steps.get(&key).copied().expect("the key was just listed");
        let version = if version <= floor { 0 } else { version };
        if version == before {
            steps.remove(&key);
        } else {
            steps.insert(key, version);
        }
        before = version;
    }
}

/// The step entries from the begin of `range` to its end, both included.
fn steps_within(steps: &BTreeMap<Bytes, u64>, range: &KeyRange) -> Vec<Bytes> {
    steps
        .range::<Bytes, _>(&range.begin..=&range.end)
        .map(|(key, _)| key.clone())
        .collect()
}

#[cfg(test)]
mod tests;
