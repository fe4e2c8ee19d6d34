//! The files of a commit, out of a repository's objects.
//!
//! Owns that only what is certainly in a commit, or certainly not, is said to be: of a link, a submodule, what a filter keeps
//! elsewhere and an object that is missing nothing is said. It must not know work trees.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::tree::EntryMode;
use sillok_core::gate::{Refusal, Unread};

use crate::budget::Spending;
use crate::limits::{DEPTH_MAX, FILE_BYTES_MAX, LISTED_MAX};
use crate::listing::Listing;
use crate::miss::Miss;
use crate::repository::{before, resolve};

/// How a file begins whose bytes a filter keeps elsewhere.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// Where the main branch is looked for: what the remote calls so, else what is usual.
const MAIN: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// Why a commit cannot be looked into.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no repository, or it cannot be opened.
    #[error("{path} is no repository that can be read: {why}")]
    Open {
        /// Where it was looked for.
        path: PathBuf,
        /// What stands in the way.
        why: String,
    },
    /// It has no branch that is known to be the main one.
    #[error("{path} has no main branch")]
    NoMain {
        /// Where it lies.
        path: PathBuf,
    },
}

/// The files of a commit.
#[derive(Debug)]
pub(crate) struct CommitTree {
    repository: gix::Repository,
    commit: ObjectId,
    root: ObjectId,
}

/// A file of a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blob(ObjectId);

impl CommitTree {
    /// The main branch of the repository of a work tree, or of the bare one, at a path.
    pub(crate) fn of_main(path: &Path) -> Result<Self, Error> {
        let opened = gix::open_opts(path, gix::open::Options::isolated());
        let repository = opened.map_err(|error| Error::Open {
            path: path.to_owned(),
            why: error.to_string(),
        })?;
        let of = |name: &&str| {
            let mut found = repository.try_find_reference(*name).ok().flatten()?;
            let commit = found.peel_to_commit().ok()?;
            Some((commit.id, commit.tree_id().ok()?.detach()))
        };
        let Some((commit, root)) = MAIN.iter().find_map(of) else {
            let path = path.to_owned();
            return Err(Error::NoMain { path });
        };
        Ok(Self {
            repository,
            commit,
            root,
        })
    }

    /// Another commit of the same repository; none where it cannot be read.
    pub(crate) fn at(&self, commit: ObjectId) -> Option<Self> {
        let found = self.repository.find_commit(commit).ok()?;
        let root = found.tree_id().ok()?.detach();
        Some(Self {
            repository: self.repository.clone(),
            commit,
            root,
        })
    }

    /// The commits that names mean which are this one or lie before it.
    pub(crate) fn before<'n>(
        &self,
        names: &BTreeSet<&'n str>,
        spending: &Spending,
    ) -> BTreeMap<&'n str, ObjectId> {
        let named = names
            .iter()
            .filter_map(|name| Some((*name, resolve(&self.repository, name)?)));
        let mut named: BTreeMap<&str, ObjectId> = named.collect();
        let commits: BTreeSet<ObjectId> = named.values().copied().collect();
        let before = before(&self.repository, self.commit, &commits, spending);
        named.retain(|_, commit| before.contains(commit));
        named
    }

    /// The commit, in hexadecimal.
    pub(crate) fn commit(&self) -> String {
        self.commit.to_string()
    }

    pub(crate) fn open(&self, path: &Path) -> Result<Blob, Miss> {
        let mut at = self.root;
        let mut steps = path.iter().peekable();
        while let Some(step) = steps.next() {
            let Some((mode, id)) = self.entry(at, step)? else {
                return Err(Miss::Gone);
            };
            match (mode, steps.peek()) {
                (mode, None) if mode.is_blob() => return Ok(Blob(id)),
                (mode, None) if mode.is_tree() => return Err(Miss::Refused(Refusal::NoFile)),
                (mode, Some(_)) if mode.is_tree() => at = id,
                (mode, Some(_)) if mode.is_blob() => return Err(Miss::Gone),
                // A link or a submodule: what lies there is not in this commit.
                _ => return Err(Miss::Unread(Unread::Denied)),
            }
        }
        Err(Miss::Refused(Refusal::NoPath))
    }

    pub(crate) fn read(&self, blob: Blob) -> Result<Vec<u8>, Miss> {
        let denied = || Miss::Unread(Unread::Denied);
        let header = self.repository.find_header(blob.0);
        let header = header.map_err(|_| denied())?;
        if header.size() > FILE_BYTES_MAX {
            return Err(Miss::Unread(Unread::TooLarge));
        }
        let found = self.repository.find_blob(blob.0);
        let bytes = found.map_err(|_| denied())?.take_data();
        if bytes.starts_with(POINTER) {
            // What it stands for is kept elsewhere because it is large.
            return Err(Miss::Unread(Unread::TooLarge));
        }
        Ok(bytes)
    }

    /// The files of one directory; none where there is no such directory.
    pub(crate) fn beside(&self, directory: &Path) -> Vec<PathBuf> {
        let mut at = self.root;
        for step in directory {
            match self.entry(at, step) {
                Ok(Some((mode, id))) if mode.is_tree() => at = id,
                _ => return Vec::new(),
            }
        }
        let entries = self.entries(at).unwrap_or_default();
        let files = entries.into_iter().filter(|(_, mode, _)| mode.is_blob());
        files.map(|(name, ..)| directory.join(name)).collect()
    }

    /// All files. What lies behind a link or in a submodule is not in the commit.
    pub(crate) fn files(&self, spending: &Spending) -> Listing {
        let mut listing = Listing {
            files: Vec::new(),
            is_whole: true,
        };
        let mut ahead = vec![(PathBuf::new(), self.root, 0_usize)];
        while let Some((path, id, depth)) = ahead.pop() {
            let entries = match self.entries(id) {
                Ok(entries) if depth <= DEPTH_MAX => entries,
                _ => {
                    listing.is_whole = false;
                    continue;
                }
            };
            for (name, mode, id) in entries {
                if mode.is_tree() {
                    ahead.push((path.join(name), id, depth + 1));
                } else if mode.is_blob() {
                    listing.files.push(path.join(name));
                }
            }
            let listed = listing.files.len() + ahead.len();
            if listed > LISTED_MAX || !spending.takes_listed(listed) {
                listing.is_whole = false;
                break;
            }
        }
        listing
    }

    fn entry(&self, tree: ObjectId, name: &OsStr) -> Result<Option<(EntryMode, ObjectId)>, Miss> {
        let entries = self.entries(tree)?;
        let mut named = entries.into_iter().filter(|(one, ..)| one == name);
        Ok(named.next().map(|(_, mode, id)| (mode, id)))
    }

    fn entries(&self, tree: ObjectId) -> Result<Vec<(PathBuf, EntryMode, ObjectId)>, Miss> {
        let denied = || Miss::Unread(Unread::Denied);
        let tree = self.repository.find_tree(tree).map_err(|_| denied())?;
        let tree = tree.decode().map_err(|_| denied())?;
        let entries = tree.entries.iter().map(|entry| {
            let name = PathBuf::from(OsStr::from_bytes(entry.filename));
            (name, entry.mode, entry.oid.to_owned())
        });
        Ok(entries.collect())
    }
}
