//! Which files of a work tree are read.
//!
//! Owns what is passed over: what git ignores (see `ignored`), what is configured, links, special files, names that are no
//! text. It must not know what is in a file, and opens none.

use std::collections::BTreeSet;
use std::io;
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use parking_lot::Mutex;
use sillok_core::decision::Node;

use crate::ignored::Ignored;
use crate::language::Language;
use crate::limits::{
    ENTRIES_MAX, FILES_MAX, FOLDERS_MAX, FOUND_BYTES_MAX, GLOBS_MAX, PATH_BYTES_MAX,
};

/// Why a work tree is not walked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its root is no folder that can be read.
    #[error("{root} is no folder that can be read: {source}")]
    Root {
        /// The root.
        root: PathBuf,
        /// What stands in the way.
        source: io::Error,
    },
    /// A glob that cannot be read.
    #[error("what is to be passed over is no glob: {0}")]
    Glob(#[source] ignore::Error),
    /// More globs than are looked at.
    #[error("{0} globs are more than {GLOBS_MAX}")]
    Globs(usize),
    /// A folder that is to be read and does not lie in the work tree.
    #[error("{0} is no folder from the root of a work tree")]
    Folder(String),
    /// More folders than are looked at.
    #[error("{0} folders are more than {FOLDERS_MAX}")]
    Folders(usize),
}

/// What is read of a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// Folders that are read with what is below them, from the root, such as `src`. They need not be there. With none, all is
    /// read.
    pub folders: Vec<String>,
    /// What is passed over beside what git ignores, each as a line of a `.gitignore`.
    pub ignored: Vec<String>,
    /// Entries of folders that are looked at, at most.
    pub entries_max: u64,
    /// Files that are listed, at most.
    pub files_max: usize,
    /// Bytes of the paths that a walk finds, at most.
    pub found_bytes_max: usize,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            folders: Vec::new(),
            ignored: vec!["**/*.test.ts".to_owned(), "dist/".to_owned()],
            entries_max: ENTRIES_MAX,
            files_max: FILES_MAX,
            found_bytes_max: FOUND_BYTES_MAX,
        }
    }
}

impl WalkOptions {
    /// Says whether they can be kept to, without looking at any work tree.
    ///
    /// # Errors
    /// What is said of globs and folders in [`Error`].
    pub fn check(&self) -> Result<(), Error> {
        self.within()?;
        self.overrides(Path::new(".")).map(|_| ())
    }

    /// The folders that are read, as paths from the root. With none, all of it is.
    fn within(&self) -> Result<BTreeSet<PathBuf>, Error> {
        if self.folders.len() > FOLDERS_MAX {
            return Err(Error::Folders(self.folders.len()));
        }
        let path = |folder: &String| {
            let mut path = PathBuf::new();
            for part in Path::new(folder).components() {
                match part {
                    Component::CurDir => {}
                    Component::Normal(part) => path.push(part),
                    Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                        return Err(Error::Folder(folder.clone()));
                    }
                }
            }
            Ok(path)
        };
        self.folders.iter().map(path).collect()
    }

    fn overrides(&self, root: &Path) -> Result<Override, Error> {
        if self.ignored.len() > GLOBS_MAX {
            return Err(Error::Globs(self.ignored.len()));
        }
        let mut builder = OverrideBuilder::new(root);
        for glob in &self.ignored {
            // In an override the sign says that it is passed over.
            builder.add(&format!("!{glob}")).map_err(Error::Glob)?;
        }
        builder.build().map_err(Error::Glob)
    }
}

/// How many entries were passed over, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Symbolic links. None is followed.
    pub links: u64,
    /// Devices, pipes, sockets.
    pub special: u64,
    /// Names that are no UTF-8, too long, or that decisions cannot say, such as one with a backslash. What lies in such a folder
    /// is not looked at. Source files with a key in their path too.
    pub names: u64,
    /// What could not be looked at, such as a folder without leave.
    pub unreadable: u64,
    /// Files over the number that is listed.
    pub files: u64,
    /// Files of rules that are no files, or over a bound: what they would ignore is not passed over.
    pub rules: u64,
}

/// What a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Paths from the root, with `/` between their parts.
    pub files: Vec<(Box<str>, Language)>,
    /// The folders, the root as an empty path.
    pub folders: Vec<PathBuf>,
    /// What was passed over.
    pub passed: Passed,
    /// Whether the walk ended at a bound: which entries it did not come to is up to the file system.
    pub is_cut: bool,
    /// Bytes that what was found takes, about.
    bytes: usize,
}

/// Bytes of a path that is found, beside its letters.
const FOUND_BYTES: usize = size_of::<PathBuf>() + 16;

impl Walked {
    /// Whether there is room for what lies at a path. Where there is none, the walk is over.
    fn has_room(&mut self, path: &Path, bytes_max: usize) -> bool {
        self.bytes += path.as_os_str().len() + FOUND_BYTES;
        self.is_cut |= self.bytes > bytes_max;
        !self.is_cut
    }
}

/// Where a root lies, whatever links lead there.
///
/// # Errors
/// [`Error::Root`]
pub(crate) fn canonical(root: &Path) -> Result<PathBuf, Error> {
    root.canonicalize().map_err(|source| Error::Root {
        root: root.to_owned(),
        source,
    })
}

/// Walks the work tree at `root`. With `only`, paths from the root, it goes to those alone: to what they name, what lies below
/// them, and the folders on the way there, under the same rules as if it went everywhere.
///
/// # Errors
/// [`Error`]. What cannot be looked at within the tree is no error, but counted.
pub fn walk(
    root: &Path,
    options: &WalkOptions,
    only: Option<&BTreeSet<PathBuf>>,
) -> Result<Walked, Error> {
    std::fs::read_dir(root).map_err(|source| Error::Root {
        root: root.to_owned(),
        source,
    })?;
    let mut walked = Walked::default();
    let counts = Arc::new(Counts::default());
    let ignored = Arc::new(Mutex::new(Ignored::new(root)));
    for entry in builder(root, options, only, &counts, &ignored)?.build() {
        // The others are counted by the filter.
        if entry.as_ref().map_or(true, |entry| entry.depth() == 0) {
            counts.entries.fetch_add(1, Ordering::Relaxed);
        }
        if counts.entries.load(Ordering::Relaxed) > options.entries_max {
            walked.is_cut = true;
            break;
        }
        match entry {
            Ok(entry) => take(root, options, &entry, only, &mut walked),
            Err(_) => walked.passed.unreadable += 1,
        }
        if walked.is_cut {
            break;
        }
    }
    walked.passed.names += counts.names.load(Ordering::Relaxed);
    walked.passed.rules += ignored.lock().unread();
    Ok(walked)
}

/// What the filter of a walk counts.
#[derive(Default)]
struct Counts {
    /// Entries, those that it refuses as well.
    entries: AtomicU64,
    names: AtomicU64,
}

fn builder(
    root: &Path,
    options: &WalkOptions,
    only: Option<&BTreeSet<PathBuf>>,
    counts: &Arc<Counts>,
    ignored: &Arc<Mutex<Ignored>>,
) -> Result<WalkBuilder, Error> {
    let mut builder = WalkBuilder::new(root);
    // Of itself it would open whatever is called like a file of rules, and wait for ever where that is a pipe.
    builder.standard_filters(false).follow_links(false);
    // What is refused elsewhere than in the filter would be counted nowhere.
    let overrides = options.overrides(root)?;
    let entries_max = options.entries_max;
    let (root, counts, ignored) = (root.to_owned(), Arc::clone(counts), Arc::clone(ignored));
    let (within, only) = (options.within()?, only.cloned());
    let is_wanted = move |path: &Path| {
        (within.is_empty() || leads_to(path, &within))
            && only.as_ref().is_none_or(|only| leads_to(path, only))
    };
    builder.filter_entry(move |entry| {
        if counts.entries.fetch_add(1, Ordering::Relaxed) >= entries_max {
            // It is let through, so that the walk gets to know that it is over.
            return true;
        }
        let Ok(path) = entry.path().strip_prefix(&root) else {
            return false;
        };
        if entry.file_name() == ".git" || !is_wanted(path) {
            return false;
        }
        let is_text = path
            .to_str()
            .is_some_and(|path| path.len() <= PATH_BYTES_MAX && is_sayable(path));
        if !is_text {
            counts.names.fetch_add(1, Ordering::Relaxed);
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        is_text
            && !overrides.matched(path, is_folder).is_ignore()
            && !ignored.lock().holds(path, is_folder)
    });
    Ok(builder)
}

/// Whether decisions can name what lies at a path.
fn is_sayable(path: &str) -> bool {
    path.is_empty() || Node::file(path).is_ok()
}

/// Whether a path lies on the way to one of these, or below one.
fn leads_to(path: &Path, only: &BTreeSet<PathBuf>) -> bool {
    let is_below = path.ancestors().any(|above| only.contains(above));
    let from = (Bound::Included(path), Bound::Unbounded);
    let next = only.range::<Path, _>(from).next();
    is_below || next.is_some_and(|next| next.starts_with(path))
}

fn take(
    root: &Path,
    options: &WalkOptions,
    entry: &DirEntry,
    only: Option<&BTreeSet<PathBuf>>,
    walked: &mut Walked,
) {
    let Ok(path) = entry.path().strip_prefix(root) else {
        return;
    };
    let Some(kind) = entry.file_type() else {
        return;
    };
    if kind.is_dir() {
        let is_asked_for = only.is_none_or(|only| path.ancestors().any(|it| only.contains(it)));
        if is_asked_for && walked.has_room(path, options.found_bytes_max) {
            walked.folders.push(path.to_owned());
        }
    } else if kind.is_symlink() {
        walked.passed.links += 1;
    } else if !kind.is_file() {
        walked.passed.special += 1;
    } else if let (Some(language), Some(name)) = (Language::of_path(path), path.to_str()) {
        if Node::file(name).map_or(true, |node| node.holds_secret()) {
            walked.passed.names += 1;
        } else if walked.files.len() >= options.files_max {
            walked.passed.files += 1;
        } else if walked.has_room(path, options.found_bytes_max) {
            walked.files.push((name.into(), language));
        }
    }
}
