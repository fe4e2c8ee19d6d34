//! Why an item could not be measured.

use std::path::PathBuf;

/// Why an item could not be measured. A missed floor is no error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Sillok refused a command that it should take.
    #[error("sillok refused: {0}")]
    Sillok(#[from] sillok_core::Error),
    /// The store failed.
    #[error("the store: {0}")]
    Store(#[from] sillok_store::Error),
    /// The index failed.
    #[error("the index: {0}")]
    Index(#[from] sillok_core::ports::PortError),
    /// SQLite failed.
    #[error("SQLite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The operating system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A document was not JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A process ended, or never came up.
    #[error("the process {program}: {why}")]
    Process {
        /// The program.
        program: PathBuf,
        /// What happened.
        why: String,
    },
    /// An answer was not what it must be; the figures would mean nothing.
    #[error("wrong answer: {0}")]
    Wrong(String),
}
