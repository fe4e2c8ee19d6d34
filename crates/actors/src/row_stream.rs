//! Rows of a range, one after the other, however many there are.
//!
//! Owns the paging. It must not know what a row means.

use std::collections::VecDeque;

use bytes::Bytes;
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Txn, key_range};

/// Rows that are read at once. A value has at most 100 kB.
const ROWS_AT_ONCE: usize = 256;
/// The same at most where pages grow, and the bytes beyond which a page is followed by a small one.
const GROWN_ROWS_AT_ONCE: usize = 1_024;
const GROWN_BYTES_MAX: usize = 256 << 10;

/// The rows of a range in rising order of their keys, or in falling order. Every row comes from the transaction that is
/// handed in, so one snapshot gives one consistent sequence.
#[derive(Debug)]
pub(crate) struct RowStream {
    left: KeyRange,
    buffer: VecDeque<(Bytes, Bytes)>,
    backwards: bool,
    ended: bool,
    /// Rows that are read at once.
    at_once: usize,
    /// Whether that grows each time that all of them were wanted, until they are long.
    grows: bool,
}

impl RowStream {
    pub(crate) fn new(range: KeyRange) -> Self {
        let ended = range.is_empty();
        Self {
            left: range,
            buffer: VecDeque::new(),
            backwards: false,
            ended,
            at_once: ROWS_AT_ONCE,
            grows: false,
        }
    }

    /// With more rows at once where many are wanted, as long as they are short.
    pub(crate) fn growing(self) -> Self {
        Self {
            grows: true,
            ..self
        }
    }

    /// From the end of the range to its beginning.
    pub(crate) fn backwards(range: KeyRange) -> Self {
        Self {
            backwards: true,
            ..Self::new(range)
        }
    }

    /// The next row; none behind the last one.
    pub(crate) async fn next(
        &mut self,
        txn: &mut impl Txn,
    ) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        if self.buffer.is_empty() && !self.ended {
            let options = match self.backwards {
                false => RangeOptions::first(self.at_once, Read::Snapshot),
                true => RangeOptions::last(self.at_once, Read::Snapshot),
            };
            let rows = txn.range(&self.left, options).await?;
            self.ended = rows.len() < self.at_once;
            self.at_once = if self.grows && bytes_of(&rows) <= GROWN_BYTES_MAX {
                (self.at_once * 2).min(GROWN_ROWS_AT_ONCE)
            } else {
                ROWS_AT_ONCE
            };
            if let Some((last, _)) = rows.last() {
                match self.backwards {
                    false => self.left.begin = key_range::successor(last),
                    true => self.left.end = last.clone(),
                }
            }
            self.buffer = rows.into();
        }
        Ok(self.buffer.pop_front())
    }

    /// All rows that are left.
    pub(crate) async fn collect(
        mut self,
        txn: &mut impl Txn,
    ) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let mut rows = Vec::new();
        while let Some(row) = self.next(txn).await? {
            rows.push(row);
        }
        Ok(rows)
    }
}

fn bytes_of(rows: &[(Bytes, Bytes)]) -> usize {
    rows.iter()
        .map(|(key, value)| key.len() + value.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use sillok_store::{MemoryConfig, MemoryStore, Store as _};

    use super::*;

    /// Rows of which those in the middle are long.
    const ROWS: usize = 9_000;
    const LONG: core::ops::Range<usize> = 4_000..5_000;

    #[tokio::test]
    async fn pages_grow_while_rows_are_short_and_hold_the_same_rows() {
        let store = MemoryStore::new(MemoryConfig::default());
        for first in (0..ROWS).step_by(1_000) {
            let mut txn = store.begin().await.unwrap();
            for number in first..first + 1_000 {
                let bytes = if LONG.contains(&number) { 4_000 } else { 100 };
                txn.set(format!("a{number:05}").into_bytes(), vec![7; bytes]);
            }
            txn.commit().await.unwrap();
        }
        let mut txn = store.begin().await.unwrap();
        let range = || KeyRange::prefix(b"a");
        let all = RowStream::new(range()).collect(&mut txn).await.unwrap();
        assert_eq!(all.len(), ROWS);
        let mut rows = RowStream::new(range()).growing();
        let (mut found, mut pages) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next(&mut txn).await.unwrap() {
            if found.len() == pages.iter().sum::<usize>() {
                pages.push(1 + rows.buffer.len());
            }
            found.push(row);
        }
        assert_eq!(found, all);
        assert_eq!(pages[..3], [256, 512, 1_024]);
        assert!(pages.iter().all(|rows| *rows <= GROWN_ROWS_AT_ONCE));
        // One page is begun before it is known that its rows are long; those behind it are small again.
        let first_long = pages.iter().scan(0, |end, rows| {
            *end += rows;
            Some(*end)
        });
        let first_long = first_long.take_while(|end| *end <= LONG.start).count();
        assert_eq!(pages[first_long + 1], ROWS_AT_ONCE);
    }
}
