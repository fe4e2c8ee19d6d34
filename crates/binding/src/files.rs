//! Files that are named, as they are.
//!
//! Owns what is read and what never is: a regular file that lies in the work tree, whatever way leads to it. Who owns it is the
//! innermost repository around it. That nothing outside is opened is [`sillok_code::open`]'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sillok_code::OpenFile;
use sillok_code::open::{Links, Root};
use sillok_core::bound::{BoundFile, Owner};
use sillok_core::gate::Fingerprint;
use sillok_core::limits::BOUND_NAME_BYTES_MAX;

use crate::Error;
use crate::limits::{FILE_BYTES_MAX, FILES_BYTES_MAX, REMEMBERED_MAX};
use crate::repository::{MARK, Repository, relative};

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file of the work tree.
    File(BoundFile),
    /// One that was not read: it is too large, belongs to a repository that is not read, is closed to whoever asks, or changes
    /// all the time.
    Unread,
    /// No file of the work tree.
    Nothing,
}

/// The repository around a directory that is not the outermost.
#[derive(Clone, Debug)]
enum Inside {
    /// None but the outermost.
    Outermost,
    /// This one, which lies there.
    Nested(PathBuf, Owner),
    /// One that is not read.
    Closed,
}

/// The files of a work tree, each of which is read once.
#[derive(Debug)]
pub(crate) struct Files {
    /// The root of the work tree, without links.
    root: PathBuf,
    /// The same, open: what is read lies below it.
    open: Root,
    /// Where names that are not said from the root lead from.
    dir: PathBuf,
    read: BTreeMap<PathBuf, Found>,
    inside: BTreeMap<PathBuf, Inside>,
    bytes_left: u64,
}

impl Files {
    /// Those below a root, seen from a directory; both are without links.
    ///
    /// # Errors
    /// [`Error::Directory`]
    pub(crate) fn below(root: PathBuf, dir: PathBuf) -> Result<Self, Error> {
        let open = match Root::at(&root) {
            Ok(open) => open,
            Err(source) => return Err(Error::Directory { path: root, source }),
        };
        Ok(Self {
            root,
            open,
            dir,
            read: BTreeMap::new(),
            inside: BTreeMap::new(),
            bytes_left: FILES_BYTES_MAX,
        })
    }

    /// What a name leads to, from the directory or else from the root.
    pub(crate) fn find(&mut self, name: &str) -> Found {
        let ways = [self.dir.join(name), self.root.join(name)];
        // Without links, so that none leads out unseen.
        let mut found = ways.iter().filter_map(|way| way.canonicalize().ok());
        let Some(path) = found.find(|path| relative(&self.root, path).is_some()) else {
            return Found::Nothing;
        };
        if let Some(known) = self.read.get(&path) {
            return known.clone();
        }
        let found = self.read(&path);
        if self.read.len() < REMEMBERED_MAX {
            self.read.insert(path, found.clone());
        }
        found
    }

    fn read(&mut self, path: &Path) -> Found {
        match path.symlink_metadata() {
            Ok(known) if known.is_file() => {}
            _ => return Found::Nothing,
        }
        let around = path.parent().unwrap_or(path).to_owned();
        let (root, owner) = match self.inside(&around) {
            Inside::Outermost => (self.root.clone(), None),
            Inside::Nested(root, owner) => (root, Some(owner)),
            Inside::Closed => return Found::Unread,
        };
        let said = relative(&root, path).filter(|said| {
            said.len() <= BOUND_NAME_BYTES_MAX && !said.chars().any(char::is_control)
        });
        let Some(path_said) = said else {
            return Found::Unread;
        };
        let bytes_max = FILE_BYTES_MAX.min(self.bytes_left);
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        match fingerprint(&self.open, below, bytes_max) {
            None => Found::Unread,
            Some((fingerprint, bytes)) => {
                self.bytes_left -= bytes;
                Found::File(BoundFile {
                    path: path_said,
                    fingerprint,
                    owner,
                })
            }
        }
    }

    /// The innermost repository around a directory that lies in the root.
    fn inside(&mut self, dir: &Path) -> Inside {
        let mut passed = Vec::new();
        let mut found = Inside::Outermost;
        for dir in dir.ancestors().take_while(|dir| **dir != *self.root) {
            if let Some(known) = self.inside.get(dir) {
                found = known.clone();
                break;
            }
            passed.push(dir.to_owned());
            let mark = dir.join(MARK);
            if mark.symlink_metadata().is_ok() {
                let owner = Repository::open(&mark).and_then(|nested| nested.owner());
                found = owner.map_or(Inside::Closed, |owner| {
                    Inside::Nested(dir.to_owned(), owner)
                });
                break;
            }
        }
        for dir in passed {
            if self.inside.len() < REMEMBERED_MAX {
                self.inside.insert(dir, found.clone());
            }
        }
        found
    }
}

/// The fingerprint of a file with as many bytes at most, and how many it has; none where it cannot be read, has more, or changes
/// meanwhile: what is told of it would be true of no moment.
fn fingerprint(root: &Root, path: &Path, bytes_max: u64) -> Option<(Fingerprint, u64)> {
    let file = OpenFile::at(root, path, Links::Refused, bytes_max).ok()?;
    let (bytes, is_same) = file.read().ok()?;
    is_same.then(|| (Fingerprint::of_file(&bytes), bytes.len() as u64))
}
