//! What a work tree is at in which something is said: repository, commit, branch, whether it differs, and what the files are that
//! are named.
//!
//! This crate runs where the work tree is: in the command, in a hook, in a shim. It only reads, within bounds on bytes, counts
//! and time; it starts no program, so no hook, filter or credential helper of a repository ever runs, and it reads no
//! configuration but the repository's own. It must not know servers, stores or records: a text goes in, what is bound comes out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use sillok_core::bound::{Bound, Place};
use sillok_core::limits::{BOUND_BYTES_MAX, BOUND_FILES_MAX};

mod files;
pub mod limits;
mod named;
mod repository;
mod state;

use files::{Files, Found};
use limits::{LOOK_MAX, NAMES_MAX};
use repository::Repository;

/// Why nothing is known of what lies around a directory.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be entered.
    #[error("{path} is no directory that can be read")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What stands in the way.
        #[source]
        source: std::io::Error,
    },
    /// Its repository belongs to somebody else, who could have it say anything.
    #[error("the repository {path} belongs to another user, and is not read")]
    Untrusted {
        /// The repository.
        path: PathBuf,
    },
    /// There is a repository, which cannot be read.
    #[error("the repository {path} cannot be read: {why}")]
    Unreadable {
        /// The repository.
        path: PathBuf,
        /// What stands in the way.
        why: String,
    },
}

/// What lies around a directory, as it was when it was looked at. A file that was read is not read again: whoever wants to know
/// what became of it looks anew.
#[derive(Debug)]
pub struct WorkTree {
    place: Option<Place>,
    files: Option<Files>,
}

impl WorkTree {
    /// Looks around a directory. Without a repository around it, the directory itself is where files lie.
    ///
    /// # Errors
    /// [`Error`]. That there is no repository is none.
    pub fn around(dir: &Path) -> Result<Self, Error> {
        let begun = Instant::now();
        let dir = dir.canonicalize().map_err(|source| Error::Directory {
            path: dir.to_owned(),
            source,
        })?;
        let Some(repository) = Repository::around(&dir)? else {
            return Ok(Self {
                place: None,
                files: Some(Files::below(dir.clone(), dir)?),
            });
        };
        let place = repository.place(&dir, begun + LOOK_MAX)?;
        let root = repository.work_tree().map(Path::to_owned);
        let files = root.map(|root| Files::below(root, dir)).transpose()?;
        Ok(Self {
            place: Some(place),
            files,
        })
    }

    /// What the repository is at; none where there is none.
    #[must_use]
    pub const fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// What something is bound to that is said here: with the files that it names, as they are, in the order in which it names
    /// them. What looks like a path and names no file is no file.
    #[must_use]
    pub fn bound(&mut self, said: &str) -> Bound {
        self.bound_to(&named::names(said))
    }

    /// The same where the names of files are told apart already.
    #[must_use]
    pub fn bound_to(&mut self, names: &[&str]) -> Bound {
        let mut bound = Bound {
            place: self.place.clone(),
            ..Bound::default()
        };
        let Some(files) = &mut self.files else {
            return bound;
        };
        for name in names.iter().take(NAMES_MAX) {
            match files.find(name) {
                // Two names may lead to one file.
                Found::File(file) if bound.files.contains(&file) => {}
                Found::File(file) if bound.files.len() < BOUND_FILES_MAX => bound.files.push(file),
                Found::File(_) | Found::Unread => {
                    bound.left_out = bound.left_out.saturating_add(1);
                }
                Found::Nothing => {}
            }
        }
        bound.within(BOUND_BYTES_MAX)
    }
}
