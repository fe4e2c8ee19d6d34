//! Bounds on what a work tree and citations may make the gate do.
//!
//! Owns the numbers. It must not know what is said where one is reached.

use std::time::Duration;

/// Bytes of a file that is read. What is larger is no source: nothing is said of it, and nothing is looked for in it.
pub const FILE_BYTES_MAX: u64 = 8 << 20;
/// Bytes of all files that one question has read in the places that are cited.
pub const LOOKED_BYTES_MAX: u64 = 256 << 20;
/// Citations that one question has looked at.
pub const CITATIONS_MAX: usize = 4_096;
/// How often a file is read that changes meanwhile.
pub const READS_MAX: u32 = 3;
/// Files of a work tree that are listed.
pub const LISTED_MAX: usize = 1_000_000;
/// Files that are put in order before they are looked into, of those that are as near.
pub const SORTED_MAX: usize = 1_024;
/// Directories that lie in one another.
pub const DEPTH_MAX: usize = 256;
/// Files whose fingerprints are kept in memory; then all are forgotten.
pub const KEPT_FILES_MAX: usize = 16_384;
/// Ranges and symbols of one file that are kept of it.
pub const KEPT_OF_FILE_MAX: usize = 256;
/// What is remembered to have moved, or to be nowhere.
pub const REMEMBERED_MAX: usize = 4_096;
/// Bytes of the file that remembers it.
pub const REMEMBERED_BYTES_MAX: u64 = 16 << 20;
/// How long it is believed that something is nowhere else, where a search that ends early finds it nowhere. That it is not in
/// its place is seen anew each time.
pub const NOWHERE_FOR: Duration = Duration::from_secs(10 * 60);
