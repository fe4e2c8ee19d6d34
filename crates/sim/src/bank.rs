//! The seed bank: plans that failed once, each with the reason, to be run for ever.
//!
//! Owns reading a folder of replay files. What a file says of the past is for people: under the
//! protocol as it is meant, none may fail again.

use std::path::Path;

use crate::replay::Replay;
use crate::suite::Suite;

/// A bank that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder that cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is no replay file.
    #[error("{path}: {source}")]
    Refused {
        /// Which.
        path: String,
        /// The field that is wrong.
        source: crate::plan::Refused,
    },
    /// A folder without any.
    #[error("{path}: there is no .json file in it")]
    Empty {
        /// Which.
        path: String,
    },
}

/// Reads one file.
///
/// # Errors
/// That it cannot be read, or which field is wrong.
pub fn read_file(path: &Path, suite: &Suite) -> Result<Replay, Error> {
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable {
        path: shown(),
        source,
    })?;
    Replay::read(&text, suite).map_err(|source| Error::Refused {
        path: shown(),
        source,
    })
}

/// Reads every `.json` file of a folder, by name.
///
/// # Errors
/// The first file that is wrong, or that there is none.
pub fn read(folder: &Path, suite: &Suite) -> Result<Vec<(String, Replay)>, Error> {
    let unreadable = |source| Error::Unreadable {
        path: folder.display().to_string(),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            paths.push(path);
        }
    }
    // The order of a folder is the file system's.
    paths.sort();
    if paths.is_empty() {
        return Err(Error::Empty {
            path: folder.display().to_string(),
        });
    }
    let named = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap_or_default();
        Ok((name.to_string_lossy().into_owned(), read_file(path, suite)?))
    };
    paths.iter().map(named).collect()
}
