//! The bounds of a transaction, which are FoundationDB's, so that what commits on one engine
//! commits on all.
//!
//! Must not know engines: a tunable belongs into an engine's configuration.

/// Bytes of one key, the stamp of a stamped key included.
pub const KEY_BYTES_MAX: usize = 10_000;
/// Bytes of one value.
pub const VALUE_BYTES_MAX: usize = 100_000;
/// Bytes of one transaction: keys and values written, and keys of its read conflicts.
pub const TXN_BYTES_MAX: usize = 10_000_000;
/// Stamped keys of one transaction: the index in a stamp has 16 bits.
pub const STAMPED_KEYS_MAX: usize = 1 << 16;
/// Transactions merged into one batch and made durable by one fsync.
pub const GROUP_TXNS_MAX: usize = 128;
/// First byte that no key of a caller starts with; what follows belongs to the engines.
pub const RESERVED_FIRST_BYTE: u8 = 0xFF;

const _: () = assert!(KEY_BYTES_MAX < VALUE_BYTES_MAX && VALUE_BYTES_MAX < TXN_BYTES_MAX);
const _: () = assert!(STAMPED_KEYS_MAX - 1 == u16::MAX as usize);
