//! Where files are looked for: a work tree, or a commit of a repository.
//!
//! Owns what both have in common. It must not know what is looked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sillok_code::{OpenFile, Stamp};

use crate::budget::Spending;
use crate::commit_tree::{Blob, CommitTree};
use crate::listing::{self, Listing};
use crate::miss::Miss;
use crate::read::{open, read};
use crate::repository::head;
use crate::tree::WorkTree;

/// Files below a root.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Those of a work tree, as they are now.
    WorkTree(&'a WorkTree),
    /// Those of a commit.
    Commit(&'a CommitTree),
}

/// A file that may be read.
pub(crate) enum Opened {
    File(OpenFile),
    Blob(Blob),
}

impl Source<'_> {
    /// Opens the file at a path below the root.
    pub(crate) fn open(self, path: &Path) -> Result<Opened, Miss> {
        match self {
            Self::WorkTree(tree) => open(tree.root(), path).map(Opened::File),
            Self::Commit(tree) => tree.open(path).map(Opened::Blob),
        }
    }

    /// Its bytes, with what tells whether they are the same once more; none of a file that never changes.
    pub(crate) fn read(
        self,
        path: &Path,
        opened: Opened,
    ) -> Result<(Vec<u8>, Option<Stamp>), Miss> {
        match (self, opened) {
            (Self::WorkTree(tree), Opened::File(file)) => {
                let (bytes, stamp) = read(tree.root(), path, file)?;
                Ok((bytes, Some(stamp)))
            }
            (Self::Commit(tree), Opened::Blob(blob)) => Ok((tree.read(blob)?, None)),
            _ => unreachable!("what is read was opened here"),
        }
    }

    /// The files of some folders.
    pub(crate) fn beside(self, folders: &BTreeSet<&Path>, spending: &Spending) -> Vec<PathBuf> {
        match self {
            Self::WorkTree(tree) => listing::of_folders(tree, folders, spending),
            Self::Commit(tree) => {
                let files = folders.iter().map(|folder| tree.beside(folder));
                files.flatten().collect()
            }
        }
    }

    /// The commit that a work tree stands at; none of what never changes.
    pub(crate) fn head(self) -> Option<String> {
        match self {
            Self::WorkTree(tree) => head(tree.path()),
            Self::Commit(_) => None,
        }
    }

    /// All files, without what git ignores.
    pub(crate) fn files(self, spending: &Spending) -> Listing {
        match self {
            Self::WorkTree(tree) => listing::of_tree(tree, spending),
            Self::Commit(tree) => tree.files(spending),
        }
    }
}

impl Opened {
    /// By what it is told from what it was.
    pub(crate) const fn stamp(&self) -> Option<Stamp> {
        match self {
            Self::File(file) => Some(file.stamp()),
            Self::Blob(_) => None,
        }
    }
}
