//! Why a file cannot be read as recorded work.
//!
//! Owns the words. It must not know what somebody does about it.

use std::path::{Path, PathBuf};

use crate::format::Format;
use crate::limits::{WALK_DEPTH_MAX, WALK_ENTRIES_MAX, WALK_FILES_MAX};

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no plain file: a pipe, a socket, a device.
    #[error("{path} is no plain file")]
    NoFile {
        /// What was named.
        path: PathBuf,
    },
    /// It is too large to be one.
    #[error("{path} has more than {bytes_max} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many are read of one.
        bytes_max: u64,
    },
    /// It has another form.
    #[error("{path} is no SWE-agent trajectory: {why}")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing in it says what it is.
    #[error("{path} is in none of the formats that are read: {}", Format::names())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// A folder holds more than is walked.
    #[error(
        "{path} holds more than {WALK_FILES_MAX} session files or {WALK_ENTRIES_MAX} entries, or {WALK_DEPTH_MAX} folders within one another"
    )]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
}

impl Error {
    /// A failed read of `path`.
    pub(crate) fn read(path: &Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read {
            path: path.clone(),
            source,
        }
    }
}
