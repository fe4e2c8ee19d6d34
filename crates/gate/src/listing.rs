//! The files of a work tree, without what git ignores.
//!
//! Owns the walk: below the root, without following a link, and reading rules of what is ignored as carefully as anything
//! else, since they are files of the work tree too. It must not know what is looked for.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use crate::budget::Spending;
use crate::limits::{DEPTH_MAX, IGNORE_BYTES_MAX, LISTED_MAX};
use crate::read::{Found, read};
use crate::tree::WorkTree;

/// Files that were listed.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Regular files, by their paths from the root.
    pub(crate) files: Vec<PathBuf>,
    /// Whether all of them are there.
    pub(crate) is_whole: bool,
}

/// A directory that is to be listed.
struct Ahead {
    path: PathBuf,
    depth: usize,
    rules: Option<Arc<Rules>>,
}

/// What a directory says is ignored, and what those above it say.
struct Rules {
    own: Gitignore,
    above: Option<Arc<Self>>,
}

/// The files of one directory that git does not ignore, as far as there are not too many.
pub(crate) fn of_directory(tree: &WorkTree, directory: &Path) -> Vec<PathBuf> {
    let mut ahead = Ahead {
        path: PathBuf::new(),
        depth: 0,
        rules: rules(tree, Path::new(""), None),
    };
    for step in directory {
        ahead.path.push(step);
        if is_ignored(ahead.rules.as_ref(), &ahead.path, true) {
            return Vec::new();
        }
        ahead.rules = rules(tree, &ahead.path, ahead.rules);
    }
    let mut listing = Listing::default();
    list(tree, &ahead, &mut listing, &mut Vec::new());
    listing.files
}

/// The files of the work tree that git does not ignore, as far as time goes.
pub(crate) fn of_tree(tree: &WorkTree, spending: &Spending) -> Listing {
    let mut listing = Listing {
        files: Vec::new(),
        is_whole: true,
    };
    let mut ahead = vec![Ahead {
        path: PathBuf::new(),
        depth: 0,
        rules: None,
    }];
    while let Some(mut next) = ahead.pop() {
        if !spending.takes_listed(listing.files.len()) || listing.files.len() >= LISTED_MAX {
            listing.is_whole = false;
            break;
        }
        next.rules = rules(tree, &next.path, next.rules);
        list(tree, &next, &mut listing, &mut ahead);
    }
    listing
}

/// Lists one directory. What lies too deep or cannot be read is missing, and that is said.
fn list(tree: &WorkTree, of: &Ahead, listing: &mut Listing, ahead: &mut Vec<Ahead>) {
    let Some(directory) = open(tree, &of.path) else {
        listing.is_whole = false;
        return;
    };
    let Ok(mut entries) = Dir::read_from(&directory) else {
        listing.is_whole = false;
        return;
    };
    while let Some(entry) = entries.read() {
        let Ok(entry) = entry else {
            listing.is_whole = false;
            return;
        };
        let name = entry.file_name();
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") || bytes.eq_ignore_ascii_case(b".git") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
                stat.map_or(FileType::Unknown, |stat| {
                    FileType::from_raw_mode(stat.st_mode)
                })
            }
            known => known,
        };
        let is_directory = kind == FileType::Directory;
        if !(is_directory || kind == FileType::RegularFile) {
            continue;
        }
        let path = of.path.join(OsStr::from_bytes(bytes));
        if is_ignored(of.rules.as_ref(), &path, is_directory) {
            continue;
        }
        if !is_directory {
            listing.files.push(path);
        } else if of.depth < DEPTH_MAX {
            ahead.push(Ahead {
                path,
                depth: of.depth + 1,
                rules: of.rules.clone(),
            });
        } else {
            listing.is_whole = false;
        }
        if listing.files.len() + ahead.len() > LISTED_MAX {
            listing.is_whole = false;
            return;
        }
    }
}

/// Opens a directory that was found on the walk, or that a citation names, without following a link.
fn open(tree: &WorkTree, path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let mut directory: Option<OwnedFd> = None;
    if path.as_os_str().is_empty() {
        return openat(tree.root(), ".", flags, Mode::empty()).ok();
    }
    for step in path {
        let here = directory.as_ref().map_or(tree.root(), AsFd::as_fd);
        directory = Some(openat(here, step, flags, Mode::empty()).ok()?);
    }
    directory
}

/// The rules for what lies in a directory. A file of rules that may not be read says nothing.
fn rules(tree: &WorkTree, directory: &Path, above: Option<Arc<Rules>>) -> Option<Arc<Rules>> {
    match own_rules(tree, directory) {
        Some(own) => Some(Arc::new(Rules { own, above })),
        None => above,
    }
}

fn own_rules(tree: &WorkTree, directory: &Path) -> Option<Gitignore> {
    let path = directory.join(".gitignore");
    let found = Found::open(tree.root(), &path).ok()?;
    let (bytes, _) = read(tree.root(), &path, found).ok()?;
    if u64::try_from(bytes.len()).ok()? > IGNORE_BYTES_MAX {
        return None;
    }
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&bytes).lines() {
        // A line that is no pattern ignores nothing; the others count.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Whether the nearest rule that says anything of a path ignores it.
fn is_ignored(rules: Option<&Arc<Rules>>, path: &Path, is_directory: bool) -> bool {
    let mut rules = rules;
    while let Some(here) = rules {
        match here.own.matched(path, is_directory) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => rules = here.above.as_ref(),
        }
    }
    false
}
