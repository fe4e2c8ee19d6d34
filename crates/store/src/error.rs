//! What a store operation can answer but success, named by what the caller must do.
//!
//! Must not know the rules above the store: a conflict here is one of keys, not of versions of an
//! entry.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;

/// A failed store operation. Cloneable, since one failed batch answers many transactions.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Something that the transaction read was written since. Nothing was written; run it anew.
    #[error("a key that the transaction read was written by another transaction")]
    Conflict,
    /// The transaction began before the window of remembered writes. Nothing was written; run it
    /// anew.
    #[error("the transaction is older than the window of remembered writes")]
    TooOld,
    /// A bound of `limits` is exceeded. Nothing was written, and a retry fails in the same way.
    #[error("{what} has {got} bytes or items, over the limit of {limit}")]
    TooLarge {
        /// What is too large: `key`, `value`, `transaction` or `stamped keys`.
        what: &'static str,
        /// The bound, in bytes or, for stamped keys, in keys.
        limit: usize,
        /// What was asked for, in the same unit.
        got: usize,
    },
    /// The key is empty, or in the range that belongs to the engines. Nothing was written.
    #[error("the key is not one that a caller may use: {reason}")]
    InvalidKey {
        /// Why the key is refused.
        reason: &'static str,
    },
    /// The commit may or may not have happened. Only a read of what it would have written tells.
    #[error("it is unknown whether the transaction committed")]
    OutcomeUnknown,
    /// The engine could not read or open its data. Nothing was written by this operation.
    #[error("the store is unavailable while {doing}")]
    Unavailable {
        /// The operation that failed.
        doing: &'static str,
        /// The engine's or the operating system's error.
        #[source]
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The store was closed, or stopped after an I/O error. Nothing was written by this operation.
    #[error("the store is closed")]
    Closed,
    /// A newer build wrote this store. It was not touched.
    #[error("the store has format {found}; this build reads up to format {supported}")]
    NewerFormat {
        /// Format version found in the store.
        found: u32,
        /// Newest format version that this build reads.
        supported: u32,
    },
    /// The store was created with another layout than the one that is configured.
    #[error("the store was created with {what} {stored}, but {configured} is configured")]
    LayoutMismatch {
        /// Which property differs: `slot count` or `slot hash`.
        what: &'static str,
        /// The value written at creation.
        stored: String,
        /// The value of this process.
        configured: String,
    },
    /// Another process owns the data directory.
    #[error("the data directory {} is locked by another process", path.display())]
    Locked {
        /// The data directory.
        path: PathBuf,
    },
    /// Stored bytes do not decode.
    #[error("corrupt {family} record at key {key}: {reason}")]
    Corrupt {
        /// The key family, or the file, that the bytes belong to.
        family: &'static str,
        /// The key in hexadecimal, or a file name.
        key: String,
        /// What does not fit.
        reason: String,
    },
}

impl Error {
    /// Whether running the same transaction anew can succeed, and is safe because nothing of the
    /// first run was written.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Conflict | Self::TooOld)
    }

    /// An engine error met while `doing` something.
    pub fn unavailable(doing: &'static str, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Unavailable {
            doing,
            source: Arc::new(source),
        }
    }
}
