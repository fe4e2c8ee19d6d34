//! The files of a work tree, without what git ignores.
//!
//! Owns the walk below the root, which follows no link. What is ignored is [`sillok_code::ignored`]'s. It must not know what is
//! looked for.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, statat};
use sillok_code::ignored::{Ignored, Rules};

use crate::budget::Spending;
use crate::limits::{DEPTH_MAX, LISTED_MAX};
use crate::tree::WorkTree;

/// Files that were listed.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Regular files, by their paths from the root.
    pub(crate) files: Vec<PathBuf>,
    /// Whether all of them are there.
    pub(crate) is_whole: bool,
}

/// A folder that is to be listed.
struct Ahead {
    path: PathBuf,
    depth: usize,
    rules: Rules,
}

/// The files of some folders that git does not ignore, as far as time goes.
pub(crate) fn of_folders(
    tree: &WorkTree,
    folders: &BTreeSet<&Path>,
    spending: &Spending,
) -> Vec<PathBuf> {
    let mut ignored = Ignored::new(tree.path());
    let mut listing = Listing::default();
    for folder in folders {
        if !has_room(&listing, 0, spending) {
            break;
        }
        if let Some(ahead) = reached(&mut ignored, folder) {
            list(
                tree,
                &ignored,
                &ahead,
                &mut listing,
                &mut Vec::new(),
                spending,
            );
        }
    }
    listing.files
}

/// A folder with what holds in it; none where it is ignored, or one on the way there.
fn reached(ignored: &mut Ignored, folder: &Path) -> Option<Ahead> {
    let mut ahead = Ahead {
        path: PathBuf::new(),
        depth: 0,
        rules: ignored.at_root(),
    };
    for step in folder {
        ahead.path.push(step);
        if ignored.is_ignored(&ahead.path, true, &ahead.rules) {
            return None;
        }
        ahead.rules = ignored.inside(&ahead.path, &ahead.rules);
    }
    Some(ahead)
}

/// The files of the work tree that git does not ignore, as far as time goes.
pub(crate) fn of_tree(tree: &WorkTree, spending: &Spending) -> Listing {
    let mut ignored = Ignored::new(tree.path());
    let mut listing = Listing {
        files: Vec::new(),
        is_whole: true,
    };
    let mut ahead = vec![Ahead {
        path: PathBuf::new(),
        depth: 0,
        rules: ignored.at_root(),
    }];
    while let Some(mut next) = ahead.pop() {
        if !has_room(&listing, ahead.len(), spending) {
            listing.is_whole = false;
            break;
        }
        if next.depth > 0 {
            next.rules = ignored.inside(&next.path, &next.rules);
        }
        list(tree, &ignored, &next, &mut listing, &mut ahead, spending);
    }
    listing
}

/// Lists one folder. What lies too deep or cannot be read is missing, and that is said.
fn list(
    tree: &WorkTree,
    ignored: &Ignored,
    of: &Ahead,
    listing: &mut Listing,
    ahead: &mut Vec<Ahead>,
    spending: &Spending,
) {
    let folder = tree.root().folder(&of.path).ok();
    let Some((folder, mut entries)) =
        folder.and_then(|folder| Dir::read_from(&folder).ok().map(|read| (folder, read)))
    else {
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
                let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
                stat.map_or(FileType::Unknown, |stat| {
                    FileType::from_raw_mode(stat.st_mode)
                })
            }
            known => known,
        };
        let is_folder = kind == FileType::Directory;
        if !(is_folder || kind == FileType::RegularFile) {
            continue;
        }
        let path = of.path.join(OsStr::from_bytes(bytes));
        if ignored.is_ignored(&path, is_folder, &of.rules) {
            continue;
        }
        if !is_folder {
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
        if !has_room(listing, ahead.len(), spending) {
            listing.is_whole = false;
            return;
        }
    }
}

fn has_room(listing: &Listing, ahead: usize, spending: &Spending) -> bool {
    let listed = listing.files.len() + ahead;
    listed <= LISTED_MAX && spending.takes_listed(listed)
}
