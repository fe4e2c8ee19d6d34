//! A work tree: a directory that files are read below.
//!
//! Owns where it begins. It must not know git's objects: what a work tree is, is told by the `.git` in it.

use std::path::{Path, PathBuf};

use sillok_code::ignored::is_repository;
use sillok_code::open::Root;

/// Why there is no work tree.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no directory, or cannot be opened.
    #[error("{path} is no work tree that can be read")]
    Open {
        /// Where it was looked for.
        path: PathBuf,
        /// What stands in the way.
        #[source]
        source: std::io::Error,
    },
}

/// A work tree, held open: it stays the same directory when it is renamed.
#[derive(Debug)]
pub struct WorkTree {
    root: Root,
    path: PathBuf,
}

impl WorkTree {
    /// The work tree whose root is this directory, with git or without.
    ///
    /// # Errors
    /// [`Error::Open`]
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        match Root::at(&path) {
            Ok(root) => Ok(Self { root, path }),
            Err(source) => Err(Error::Open { path, source }),
        }
    }

    /// The git work tree that this directory lies in, of a worktree or a submodule as well; none where there is none.
    ///
    /// # Errors
    /// [`Error::Open`]
    pub fn around(directory: &Path) -> Result<Option<Self>, Error> {
        let real = directory.canonicalize().map_err(|source| Error::Open {
            path: directory.to_owned(),
            source,
        })?;
        // A worktree and a submodule have a file there, which says where the repository is.
        let mut around = real.ancestors();
        let found = around.find(|folder| is_repository(folder));
        found.map(Self::at).transpose()
    }

    /// Where it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn root(&self) -> &Root {
        &self.root
    }
}
