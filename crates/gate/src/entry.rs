//! An entry that is asked about, with where it comes from.
//!
//! Owns which entries a work tree may be asked about: those of its own repository. It must not know what is cited.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;

use sillok_core::citation::Citation;

use crate::repository::{around, resolve};

/// An entry that is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// What it cites.
    pub citations: &'a [Citation],
    /// Where that was so.
    pub origin: Origin<'a>,
}

/// Where what an entry cites was so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// In the project of the work tree; of which commit nobody has said.
    Here,
    /// At a commit, by its hash. A work tree is asked about it only where its repository has that commit: what it is called
    /// says nothing, since each clone calls it otherwise.
    Commit(&'a str),
    /// Nobody knows of which repository: no work tree can be asked.
    Unknown,
}

/// Tells which entries are of the repository of a work tree. Each commit is looked up once.
pub(crate) struct Origins<'a> {
    root: &'a Path,
    /// Opened where it is needed.
    repository: OnceCell<Option<gix::Repository>>,
    known: HashMap<&'a str, bool>,
}

impl<'a> Origins<'a> {
    pub(crate) fn of(root: &'a Path) -> Self {
        Self {
            root,
            repository: OnceCell::new(),
            known: HashMap::new(),
        }
    }

    pub(crate) fn is_here(&mut self, origin: Origin<'a>) -> bool {
        match origin {
            Origin::Here => true,
            Origin::Unknown => false,
            Origin::Commit(hash) => {
                if let Some(known) = self.known.get(hash) {
                    return *known;
                }
                let repository = self.repository.get_or_init(|| around(self.root));
                let commit = repository.as_ref().and_then(|one| resolve(one, hash));
                self.known.insert(hash, commit.is_some());
                commit.is_some()
            }
        }
    }
}
