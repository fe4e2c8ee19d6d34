//! Bounds on one look at a work tree. Nothing of it is worth keeping whoever logs waiting.

use std::time::Duration;

/// How long it may take to find out whether a work tree differs from its commit; beyond that it is not known.
pub const LOOK_MAX: Duration = Duration::from_millis(400);
/// Directories above one among which its repository is looked for.
pub const ANCESTORS_MAX: usize = 256;
/// Bytes of a file that says where a repository lies, or of one of its small files.
pub const SMALL_FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of an index. One of 200,000 files has about 20 MiB.
pub const INDEX_BYTES_MAX: u64 = 64 << 20;
/// Bytes of what the index is read into.
pub const INDEX_MEMORY_BYTES_MAX: usize = 256 << 20;
/// Files that are tracked.
pub const INDEX_FILES_MAX: usize = 400_000;
/// Directories, one in another, of a tree that is compared with the index.
pub const TREE_DEPTH_MAX: usize = 256;
/// Files whose content is read since their times do not tell whether they differ from the commit.
pub const COMPARED_FILES_MAX: usize = 2_000;
/// Bytes of those.
pub const COMPARED_BYTES_MAX: u64 = 32 << 20;
/// Bytes of a file that is named and read.
pub const FILE_BYTES_MAX: u64 = 4 << 20;
/// Bytes of all files that are read in one look.
pub const FILES_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a text in which names of files are looked for: half of them from its beginning, half from its end.
pub const TEXT_BYTES_MAX: usize = 256 << 10;
/// Names in one text that are looked up.
pub const NAMES_MAX: usize = 256;
/// Bytes of such a name.
pub const NAME_BYTES_MAX: usize = 512;
/// Names, files and directories that one look remembers.
pub const REMEMBERED_MAX: usize = 16_384;
