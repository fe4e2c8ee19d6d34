//! The rows that a request admits, in the shapes in which indices ask for them.
//!
//! Owns the test of one row, which runs for every row of each partition that is searched. It must
//! not know what made a row admitted.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use lance::dataset::scanner::{RowAddrMask, RowAddrTreeMap};
use lance_index::prefilter::PreFilter;

use crate::bits::{bits_of, holds};
use crate::classes::Addresses;

/// A set of row addresses.
#[derive(Debug)]
pub(crate) struct Admission {
    /// For the full-text index, which tests few rows.
    mask: Arc<RowAddrMask>,
    /// For the vector index: a bit for each row of each data file that has an admitted row.
    files: BTreeMap<u64, Vec<u64>>,
    rows: u64,
}

/// Every `count`-th of the admitted rows that a partition of the vector index holds.
#[derive(Debug)]
pub(crate) struct Slice {
    admission: Arc<Admission>,
    index: u64,
    count: u64,
}

impl Admission {
    /// The set of these addresses; none when there are none.
    pub(crate) fn of(addresses: &Addresses) -> Option<Self> {
        let rows = addresses.len();
        if rows == 0 {
            return None;
        }
        let mut set = RowAddrTreeMap::new();
        let mut files = BTreeMap::new();
        for (file, places) in addresses.files() {
            files.insert(u64::from(*file), bits_of(places));
            set.insert_bitmap(*file, places.clone());
        }
        Some(Self {
            mask: Arc::new(RowAddrMask::from_allowed(set)),
            files,
            rows,
        })
    }

    /// Number of addresses.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether the row at this address is admitted.
    pub(crate) fn admits(&self, address: u64) -> bool {
        let bits = self.files.get(&(address >> 32));
        bits.is_some_and(|bits| holds(bits, address))
    }

    /// The `index`-th of `count` slices, which together are the whole set.
    pub(crate) fn slice(self: &Arc<Self>, index: u64, count: u64) -> Slice {
        assert!(index < count, "a slice is one of those that there are");
        Slice {
            admission: Arc::clone(self),
            index,
            count,
        }
    }

    /// Places of the admitted ones of these addresses.
    fn places<'a>(&self, addresses: impl Iterator<Item = &'a u64>) -> Vec<u64> {
        let mut admitted = Vec::new();
        // Neighbours in a partition mostly come from one file.
        let (mut file, mut bits) = (u64::MAX, [].as_slice());
        let mut place = 0;
        #[expect(
            clippy::explicit_counter_loop,
            reason = "a million rows are tested for one search of as many, each through another iterator less"
        )]
        for address in addresses {
            if address >> 32 != file {
                file = address >> 32;
                bits = self.files.get(&file).map_or([].as_slice(), Vec::as_slice);
            }
            if holds(bits, *address) {
                admitted.push(place);
            }
            place += 1;
        }
        admitted
    }
}

impl Slice {
    /// Whether the row at this address is admitted, in whichever slice it is.
    pub(crate) fn admits(&self, address: u64) -> bool {
        self.admission.admits(address)
    }
}

impl PreFilter for Admission {
    fn wait_for_ready<'life0, 'async_trait>(
        &'life0 self,
    ) -> Pin<Box<dyn Future<Output = lance::Result<()>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(core::future::ready(Ok(())))
    }

    fn is_empty(&self) -> bool {
        // A filter that admits everything would be empty; this one is asked for by a request.
        false
    }

    fn mask(&self) -> Arc<RowAddrMask> {
        Arc::clone(&self.mask)
    }

    fn filter_row_ids<'a>(&self, rows: Box<dyn Iterator<Item = &'a u64> + 'a>) -> Vec<u64> {
        self.places(rows)
    }
}

impl PreFilter for Slice {
    fn wait_for_ready<'life0, 'async_trait>(
        &'life0 self,
    ) -> Pin<Box<dyn Future<Output = lance::Result<()>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(core::future::ready(Ok(())))
    }

    fn is_empty(&self) -> bool {
        false
    }

    fn mask(&self) -> Arc<RowAddrMask> {
        // A superset: who asks for the mask cannot know which rows share a partition.
        self.admission.mask()
    }

    fn filter_row_ids<'a>(&self, rows: Box<dyn Iterator<Item = &'a u64> + 'a>) -> Vec<u64> {
        let mut places = self.admission.places(rows);
        if self.count > 1 {
            let mut turn = 0;
            places.retain(|_| {
                turn += 1;
                (turn - 1) % self.count == self.index
            });
        }
        places
    }
}
