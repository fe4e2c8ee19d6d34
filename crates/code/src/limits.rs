//! Bounds on what a work tree may make this crate do.
//!
//! Owns the numbers. It must not know what is cut where one is reached: who reaches it says so.

/// Bytes of a file that is parsed. A longer one is listed, and nothing is said of what it holds.
pub const FILE_BYTES_MAX: u64 = 2 << 20;
/// Symbols that are kept of one file.
pub const SYMBOLS_MAX: usize = 20_000;
/// Different calls that are kept of one file: one for each caller and callee.
pub const CALLS_MAX: usize = 50_000;
/// Imports that are kept of one file.
pub const IMPORTS_MAX: usize = 5_000;
/// Symbols that lie in one another. What lies deeper is counted as cut: each byte is hashed once for each that it lies in.
pub const NESTING_MAX: usize = 32;
/// Bytes of a signature that are kept. Its fingerprint is of all of it.
pub const SIGNATURE_BYTES_MAX: usize = 512;
/// Bytes of a name, and of what an import names.
pub const NAME_BYTES_MAX: usize = 256;
/// Bytes of a name with those of what it lies in. What would have a longer one is counted as cut.
pub const QUALIFIED_BYTES_MAX: usize = 1_024;
/// Bytes of a node that is read as a name. Nodes lie in one another: each must be left alone before its bytes are looked at.
pub const TEXT_BYTES_MAX: usize = 1_024;
/// Nodes that are looked through on the way from a declaration to its name.
pub const DECLARATORS_MAX: usize = 32;
/// Parts that are read of one import statement.
pub const IMPORT_PARTS_MAX: usize = 20_000;

/// Calls of the parser's progress callback for a file without bytes, and of how many bytes each is one more. The parser makes
/// one for each hundred of its steps, and takes a step or two for a token; recovery from errors takes more.
pub const PARSE_TURNS_MIN: u64 = 5_000;
/// See [`PARSE_TURNS_MIN`].
pub const PARSE_TURN_BYTES: u64 = 8;

/// Entries of folders that one walk looks at, files that are passed over as well.
pub const ENTRIES_MAX: u64 = 1_000_000;
/// Files of a work tree that are listed.
pub const FILES_MAX: usize = 200_000;
/// Links that are followed on one way, where any is.
pub const LINKS_MAX: u32 = 40;
/// Folders on one way, where the kernel does not go it: each stays open until the end.
pub const STEPS_MAX: usize = 256;
/// Times that it is tried to open one path while something on the way is renamed.
pub const OPENS_MAX: u32 = 16;
/// Bytes of the paths of files and folders that one walk finds, about, with what is kept of each.
pub const FOUND_BYTES_MAX: usize = 64 << 20;
/// Bytes of a path from the root of the work tree.
pub const PATH_BYTES_MAX: usize = 1_024;
/// Globs of what is passed over.
pub const GLOBS_MAX: usize = 256;
/// Folders that are named as those that are read.
pub const FOLDERS_MAX: usize = 256;
/// Bytes of a file of rules of what git ignores. A longer one is not read.
pub const RULE_FILE_BYTES_MAX: u64 = 128 << 10;
/// Bytes of all such files that one walk reads.
pub const RULE_BYTES_MAX: u64 = 16 << 20;
/// Lines that are read of such a file.
pub const RULES_MAX: usize = 4_096;
/// Bytes of a file in which git says where something else lies.
pub const POINTER_BYTES_MAX: u64 = 4_096;
/// Bytes of memory that what is known of files may take, about, with what is looked up in each work tree. What does not fit is
/// listed, and nothing is said of it.
pub const INDEX_BYTES_MAX: usize = 256 << 20;
/// Threads that read and parse. Commits and answers need the other cores.
pub const THREADS: usize = 2;

/// Files that one import may mean.
pub const TARGETS_MAX: usize = 256;
/// Symbols that one call may mean. A name that more of them have says nothing.
pub const CANDIDATES_MAX: usize = 16;
/// Files of one name that are looked at for a class.
pub const LOOKUPS_MAX: usize = 4_096;
/// Headers of one name. A name that more of them have says nothing.
pub const HEADERS_MAX: usize = 1_024;
/// Places that are looked at for the imports of one file. One import more may be resolved than there are left.
pub const FILE_LOOKUPS_MAX: usize = 250_000;
/// Places that are looked at before something else may have its turn. One file more may be resolved than there are left.
pub const SETTLE_LOOKUPS_MAX: usize = 100_000;
/// Imports of one file that are resolved again one by one. Of more, all of the file are.
pub const WAITING_IMPORTS_MAX: usize = 64;
/// Packages of one name that are looked at.
pub const PACKAGES_MAX: usize = 64;
/// Files that the imports of one file may mean, in all.
pub const EDGES_MAX: usize = 10_000;
/// What is told of what depends on something.
pub const DEPENDENTS_MAX: usize = 10_000;
/// Steps from a dependent to what it depends on.
pub const DEPENDENTS_DEPTH_MAX: u32 = 8;
/// Symbols, calls, imports and files that are looked at for one such question.
pub const DEPENDENTS_LOOKUPS_MAX: usize = 4_000_000;
/// The same for a work tree as nodes and edges.
pub const GRAPH_LOOKUPS_MAX: usize = 40_000_000;
/// Symbols of one name that are told of.
pub const NAMED_MAX: usize = 10_000;
/// Names that are told of what was not followed.
pub const CUT_NAMES_MAX: usize = 16;

/// Bytes of a cache file that is read.
pub const CACHE_BYTES_MAX: u64 = 512 << 20;

/// How long nothing must change before a change is told.
pub const DEBOUNCE_MS: u64 = 1_000;
/// How long a change waits at most, while others go on.
pub const DEBOUNCE_MS_MAX: u64 = 10_000;
/// Paths that are told one by one. Of more, the whole tree is.
pub const CHANGED_PATHS_MAX: usize = 10_000;
/// Events that wait for the thread that gathers them. With more, the whole tree is looked at again.
pub const EVENTS_MAX: usize = 16_384;
/// Folders that are watched.
pub const WATCHED_MAX: usize = 65_536;
/// Walks for one batch of changes: each watches what came while the one before it was under way.
pub const WATCH_WALKS_MAX: u32 = 4;
/// How long after a look a work tree is looked at again that is not watched whole.
pub const LOOK_AGAIN_MS: u64 = 60_000;
/// How long is waited after a failure. It doubles with each in a row.
pub const RETRY_MS: u64 = 1_000;
/// The longest of these waits.
pub const RETRY_MS_MAX: u64 = 60_000;
/// How long whoever asks waits for what is being put in.
pub const ASK_WAIT_MS: u64 = 100;
/// Looks that wait for their turn.
pub const BATCHES_MAX: usize = 64;
/// How long nothing is to be looked at before the cache is stored.
pub const CACHE_IDLE_MS: u64 = 5_000;
/// How long after there is room again files are looked at for which there was none.
pub const ROOM_MS: u64 = 60_000;
