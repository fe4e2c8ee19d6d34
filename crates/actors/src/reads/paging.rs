//! Pages of listings that pass over rows.
//!
//! Owns where such a page ends: when it is full, or when enough was looked at, whether it was listed or not. It must not know
//! what is listed.

use sillok_core::Error;
use sillok_core::limits::{PAGE_BYTES_MAX, PAGE_SCAN_ROWS_MAX};

use super::{Page, page_rows};

/// A page that is being filled with items `T`, each row of which has a place `C`.
///
/// ```text
/// let mut page = Paging::of(limit)?;
/// while page.has_room() {
///     let Some(row) = next row else { return page.whole() };
///     page.take(place of the row, its bytes, the item if it is listed);
/// }
/// page.so_far()
/// ```
pub(super) struct Paging<T, C> {
    rows_max: usize,
    items: Vec<T>,
    last: Option<C>,
    rows: usize,
    bytes: usize,
}

impl<T, C> Paging<T, C> {
    /// An empty page, for as many items as are asked for.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit.
    pub(super) fn of(limit: usize) -> Result<Self, Error> {
        Ok(Self {
            rows_max: page_rows(limit)?,
            items: Vec::new(),
            last: None,
            rows: 0,
            bytes: 0,
        })
    }

    /// Whether one more row is looked at.
    pub(super) fn has_room(&self) -> bool {
        self.items.len() < self.rows_max
            && self.rows < PAGE_SCAN_ROWS_MAX
            && self.bytes < PAGE_BYTES_MAX
    }

    /// Takes a row of so many bytes, with what is listed of it. What is passed over was read as well.
    pub(super) fn take(&mut self, place: C, bytes: usize, item: Option<T>) {
        self.last = Some(place);
        self.rows += 1;
        self.bytes += bytes;
        self.items.extend(item);
    }

    /// The page, where there are no more rows.
    pub(super) fn whole(self) -> Page<T, C> {
        Page {
            items: self.items,
            next: None,
        }
    }

    /// The page, where there may be more rows.
    pub(super) fn so_far(self) -> Page<T, C> {
        Page {
            items: self.items,
            next: self.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::limits::PAGE_ROWS_MAX;

    use super::*;

    /// Rows that a page looks at where each has so many bytes and every one is listed, or none.
    fn looked_at(bytes: usize, listed: bool) -> usize {
        let mut page = Paging::of(PAGE_ROWS_MAX).unwrap();
        let mut rows = 0;
        while page.has_room() {
            page.take(rows, bytes, listed.then_some(()));
            rows += 1;
        }
        assert_eq!(page.so_far().next, Some(rows - 1));
        rows
    }

    #[test]
    fn what_is_passed_over_counts_as_what_is_listed() {
        assert_eq!(looked_at(1, true), PAGE_ROWS_MAX);
        assert_eq!(looked_at(1, false), PAGE_SCAN_ROWS_MAX);
        let large = PAGE_BYTES_MAX / 10;
        for listed in [true, false] {
            assert_eq!(looked_at(large, listed), 11);
            assert_eq!(looked_at(2 * PAGE_BYTES_MAX, listed), 1);
        }
    }
}
