//! The bounds of a transaction, which are FoundationDB's, so that what commits on one engine
//! commits on all. What it counts differs from what a caller hands over, so costs are counted here as it
//! counts at most.
//!
//! Must not know engines: a tunable belongs into an engine's configuration.

/// Bytes of one key, the stamp of a stamped key included. FoundationDB's 10,000 hold an installation's
/// prefix too, and behind a key that is to be stamped four bytes that say where.
pub const KEY_BYTES_MAX: usize = 10_000 - INSTALLATION_BYTES_MAX - 4;
/// Bytes that an engine may put before every key, so that several stores share a cluster.
pub const INSTALLATION_BYTES_MAX: usize = 32;
/// Bytes of one value.
pub const VALUE_BYTES_MAX: usize = 100_000;
/// Cost of one transaction, in bytes: [`write_cost`] of each write and [`read_cost`] of each read that
/// takes part in conflict detection.
pub const TXN_BYTES_MAX: usize = 10_000_000;
/// Stamped keys of one transaction: the index in a stamp has 16 bits.
pub const STAMPED_KEYS_MAX: usize = 1 << 16;
/// Transactions merged into one batch and made durable by one fsync.
pub const GROUP_TXNS_MAX: usize = 128;
/// First byte that no key of a caller starts with; what follows belongs to the engines.
pub const RESERVED_FIRST_BYTE: u8 = 0xFF;

/// What FoundationDB counts at most besides keys and values, for a write and for a read: the records of
/// its mutations and conflict ranges, and the prefix of the installation in each of their keys.
const WRITE_OVERHEAD: usize = 128 + 6 * INSTALLATION_BYTES_MAX;
const READ_OVERHEAD: usize = 64 + 2 * INSTALLATION_BYTES_MAX;

/// What a write counts in [`TXN_BYTES_MAX`]. FoundationDB counts a key in the mutation, twice where it
/// is removed, twice in the conflict range of the write, and twice more where that cuts the range of a
/// read in two. For a range, the longer one of its ends.
#[must_use]
pub const fn write_cost(key_bytes: usize, value_bytes: usize) -> usize {
    6 * key_bytes + value_bytes + WRITE_OVERHEAD
}

/// As [`write_cost`], for a key that gets a stamp, the stamp included: until it has one, FoundationDB
/// counts the range of all that it may become besides.
#[must_use]
pub const fn stamped_cost(key_bytes: usize, value_bytes: usize) -> usize {
    2 * write_cost(key_bytes, value_bytes)
}

/// What a read counts in [`TXN_BYTES_MAX`]: the two ends of a conflict range. For a range, the longer
/// one of its ends.
#[must_use]
pub const fn read_cost(key_bytes: usize) -> usize {
    2 * key_bytes + READ_OVERHEAD
}

const _: () = assert!(KEY_BYTES_MAX < VALUE_BYTES_MAX && VALUE_BYTES_MAX < TXN_BYTES_MAX);
const _: () = assert!(STAMPED_KEYS_MAX - 1 == u16::MAX as usize);
