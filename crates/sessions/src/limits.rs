//! Bounds of what is read. Whatever lies over one is passed over and counted, or refused by name.
//!
//! Owns the numbers alone.

/// Bytes of one `.traj` file, which is read whole. Recorded runs are a few hundred kilobytes; this is ample.
pub const TRAJECTORY_BYTES_MAX: u64 = 256 << 20;
/// Bytes of one session file, which is read line by line.
pub const SESSION_BYTES_MAX: u64 = 16 << 30;
/// Bytes of one line. Of a longer one no more than this is ever held.
pub const LINE_BYTES_MAX: usize = 64 << 20;
/// Bytes at the beginning of a file among which its session and its first prompt are looked for.
pub const HEAD_BYTES_MAX: u64 = 8 << 20;
/// Lines at the beginning of a file by which its format is told.
pub const DETECTION_LINES_MAX: usize = 64;
/// Blocks of one line: texts, calls, results.
pub const BLOCKS_MAX: usize = 4_096;
/// Calls whose results have not come: of more, the oldest are forgotten.
pub const OPEN_CALLS_MAX: usize = 256;
/// Reasons for passing something over that are told apart; what comes on top is counted together.
pub const REASONS_MAX: usize = 64;
/// Bytes of the name of a reason that a file gives.
pub const REASON_BYTES_MAX: usize = 48;
/// Characters of a title, and of the name of a tool.
pub const TITLE_CHARS_MAX: usize = 120;
/// Bytes of a working directory.
pub const DIRECTORY_BYTES_MAX: usize = 1 << 10;
/// Bytes of the name of a branch.
pub const BRANCH_BYTES_MAX: usize = 256;
/// Bytes of an id that a file gives to a session, a line, an agent or a call.
pub const ID_BYTES_MAX: usize = 128;
/// Lines of an output among which the code is looked for that a command ended with.
pub const OUTPUT_HEAD_LINES: usize = 8;
/// Folders inside one another that are gone into.
pub const WALK_DEPTH_MAX: usize = 16;
/// Entries of folders that are looked at.
pub const WALK_ENTRIES_MAX: usize = 1_000_000;
/// Files that are found in them.
pub const WALK_FILES_MAX: usize = 100_000;
