//! `[index]`: which engine answers searches, and what it may take.

use serde::{Deserialize, Serialize};
use sillok_actors::config::IndexerConfig;

/// Which engine answers searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexEngine {
    /// Lance tables in the data directory.
    Lance,
    /// Everything in memory, searched exactly, and built anew at each start. For small stores.
    Exact,
}

/// `[index]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexConfig {
    /// Which engine answers searches.
    pub engine: IndexEngine,
    /// Entries that are stored at once; of those that have left recall, four times as many.
    pub batch_entries: usize,
    /// How long writes are gathered before they are stored, in ms. They are visible before.
    pub gather_ms: u64,
    /// The index is optimised after so many stored entries.
    pub optimise_after_entries: u64,
    /// How long to wait after the index did not answer, in ms.
    pub retry_after_ms: u64,
    /// Bytes that loaded parts of indices take, over all tables.
    pub cache_bytes: usize,
    /// Bytes that loaded file metadata takes, over all tables.
    pub metadata_cache_bytes: usize,
    /// Threads that search, store and build.
    pub threads: usize,
}

impl Default for IndexConfig {
    fn default() -> Self {
        let indexer = IndexerConfig::default();
        Self {
            engine: IndexEngine::Lance,
            batch_entries: indexer.batch_entries,
            gather_ms: indexer.gather_ms,
            optimise_after_entries: indexer.optimise_after_entries,
            retry_after_ms: indexer.retry_after_ms,
            cache_bytes: 2 << 30,
            metadata_cache_bytes: 32 << 20,
            threads: 2,
        }
    }
}
