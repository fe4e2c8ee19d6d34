//! What the embedded engine may be tuned to.
//!
//! Must not know how the values are read from a file.

use std::path::PathBuf;
use std::sync::Arc;

use crate::committer::CommitterConfig;
use crate::header::Layout;

/// Called once with the reason when the engine cannot go on: an I/O error at commit. The process
/// has to end in it; should it return, the store answers `Closed` and acknowledges nothing more.
pub type OnFatal = Arc<dyn Fn(&str) + Send + Sync>;

/// Configuration of a [`super::FjallStore`].
#[derive(Clone)]
pub struct FjallConfig {
    /// The data directory.
    pub path: PathBuf,
    /// What is written at creation and checked at each opening.
    pub layout: Layout,
    /// The commit that the first one of a store follows that is created: 0, or the last one of the backup
    /// that it is restored from. An existing store keeps its own count.
    pub counter_at_creation: u64,
    /// Bytes of the table in memory at which it is sealed and written out.
    pub memtable_bytes_max: u64,
    /// Sealed tables in memory at which commits wait for one to be written out, at least 1.
    pub sealed_memtables_max: usize,
    /// Bytes of all journals at which tables are written out to drop the oldest; at least
    /// [`FjallConfig::JOURNAL_BYTES_MIN`].
    pub journal_bytes_max: u64,
    /// Bytes of the cache of blocks.
    pub cache_bytes: u64,
    /// Threads that write out and compact tables, at least 1. With several, fjall keeps one of them
    /// spinning while the others compact, which costs more than it gives on a small machine.
    pub worker_threads: usize,
    /// Groups, and the window of remembered writes.
    pub committer: CommitterConfig,
    /// What ends the process.
    pub on_fatal: OnFatal,
}

impl FjallConfig {
    /// The least that fjall accepts for its journals.
    pub const JOURNAL_BYTES_MIN: u64 = 64 << 20;

    /// Defaults for a store in `path`, which keep a process under 400 MB with a million records.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, layout: Layout, on_fatal: OnFatal) -> Self {
        Self {
            path: path.into(),
            layout,
            counter_at_creation: 0,
            memtable_bytes_max: 16 << 20,
            sealed_memtables_max: 3,
            journal_bytes_max: 2 * Self::JOURNAL_BYTES_MIN,
            cache_bytes: 64 << 20,
            worker_threads: 1,
            committer: CommitterConfig::default(),
            on_fatal,
        }
    }
}
