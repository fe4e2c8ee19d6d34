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
/// Nodes that are looked through on the way from a declaration to its name.
pub const DECLARATORS_MAX: usize = 32;
/// Parts that are read of one import statement.
pub const IMPORT_PARTS_MAX: usize = 20_000;

/// Calls of the parser's progress callback for a file without bytes, and more of them for each byte. The parser makes one
/// for each hundred of its steps, and takes a step or two for a token; recovery from errors takes more.
pub const PARSE_TURNS_MIN: u64 = 20_000;
/// See [`PARSE_TURNS_MIN`].
pub const PARSE_TURNS_A_BYTE: u64 = 2;
