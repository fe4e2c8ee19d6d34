//! What can be set about the index: the space, sizes of caches, and when indices are built.
//!
//! Owns the defaults. It must not know how they are used.

use sillok_core::entry::{Kind, SpaceId};

use crate::error::Error;

/// Settings of a [`LanceIndex`](crate::LanceIndex).
#[derive(Clone, Debug, PartialEq)]
pub struct LanceConfig {
    /// The space whose vectors are searched. Vectors of other spaces are not stored.
    pub space: SpaceId,
    /// Coordinates of each vector of that space.
    pub dimensions: usize,
    /// Most bytes that loaded parts of indices take, over all tables. What does not fit is read anew by each search that comes
    /// by it (ADR 0039).
    pub index_cache_bytes: usize,
    /// Most bytes that loaded file metadata takes, over all tables.
    pub metadata_cache_bytes: usize,
    /// Threads that search, store and build. At least 1.
    pub threads: usize,
    /// From so many rows with a vector on, a table gets indices; below, memory alone is searched.
    pub index_rows_min: usize,
    /// So many rows that no index covers make [`optimise`](sillok_core::ports::VectorIndex::optimise)
    /// index them.
    pub tail_rows_min: usize,
    /// With so many rows that no index covers, storing more waits until they are indexed. This
    /// bounds memory. Over `index_rows_min` and `tail_rows_min`.
    pub tail_rows_max: usize,
    /// Segments of one index: at so many they are merged into one.
    pub index_segments_max: usize,
    /// Rows of one partition of a vector index, about.
    pub partition_rows: usize,
    /// Partitions of the vector index that a search looks into, at least: of a million rows all (ADR 0039).
    pub probes: usize,
    /// Candidates that a search of the graph keeps, at least.
    pub search_candidates: usize,
    /// Data files of one table: with more, small ones are compacted.
    pub fragments_max: usize,
    /// Share of the rows in a table's data files that are no longer there: over it,
    /// [`optimise`](sillok_core::ports::VectorIndex::optimise) writes files and indices anew without them. 0 to 1.
    pub gone_share_max: f64,
    /// Most rows of one compacted data file.
    pub fragment_rows_max: usize,
    /// Most bytes of one compacted data file.
    pub fragment_bytes_max: usize,
    /// Versions of a table that are kept, the latest ones. More than there are commits while one
    /// search runs.
    pub versions_kept: usize,
    /// Attempts at a commit that another one of the same table overtook. For the last one of a
    /// step of maintenance, commits of data wait.
    pub commit_attempts_max: usize,
    /// Words of a query that count; the rest is ignored.
    pub query_words_max: usize,
}

impl LanceConfig {
    /// The defaults, for vectors of `space` with `dimensions` coordinates.
    #[must_use]
    pub fn new(space: SpaceId, dimensions: usize) -> Self {
        Self {
            space,
            dimensions,
            index_cache_bytes: 2 << 30,
            metadata_cache_bytes: 32 << 20,
            threads: 2,
            index_rows_min: 2_048,
            tail_rows_min: 1_024,
            tail_rows_max: 16_384,
            index_segments_max: 4,
            partition_rows: 65_536,
            probes: 16,
            search_candidates: 64,
            fragments_max: 64,
            gone_share_max: 0.2,
            fragment_rows_max: 262_144,
            fragment_bytes_max: 1 << 30,
            versions_kept: 32,
            commit_attempts_max: 8,
            query_words_max: 64,
        }
    }

    /// Checks that it does not contradict itself.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.dimensions == 0 || i32::try_from(self.dimensions).is_err() {
            return Err(Error::Config("dimensions are 1 or more"));
        }
        if self.threads == 0
            || self.commit_attempts_max == 0
            || self.versions_kept == 0
            || self.partition_rows == 0
        {
            return Err(Error::Config(
                "threads, attempts, versions and rows of a partition are 1 or more",
            ));
        }
        if self.tail_rows_max <= self.tail_rows_min.max(self.index_rows_min) {
            return Err(Error::Config(
                "tail_rows_max is over tail_rows_min and index_rows_min",
            ));
        }
        Ok(())
    }
}

/// Shape of the graph that the vector index of one kind is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HnswParams {
    /// Candidates kept while the graph is built.
    pub ef_construction: usize,
    /// Links of each node.
    pub m: usize,
}

impl HnswParams {
    /// The shape that the specification gives for `kind`.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Episodic | Kind::State => Self {
                ef_construction: 64,
                m: 16,
            },
            Kind::Knowledge => Self {
                ef_construction: 128,
                m: 32,
            },
        }
    }
}
