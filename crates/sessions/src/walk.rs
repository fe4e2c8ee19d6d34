//! Finding files that may hold recorded work.
//!
//! Owns the bounds of a walk. Links are not followed, and nothing but folders and plain files is opened. It must not know
//! what is in a file.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::limits::{WALK_DEPTH_MAX, WALK_ENTRIES_MAX, WALK_FILES_MAX};

/// What files that may hold recorded work are called.
const EXTENSIONS: [&str; 2] = ["jsonl", "traj"];

/// The files below a folder that may hold recorded work, by name. A path that is no folder is itself the only one.
///
/// # Errors
/// [`Error::Read`] where a folder cannot be listed, [`Error::TooMany`].
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let too_many = || Error::TooMany {
        path: path.to_owned(),
    };
    let mut files = Vec::new();
    let mut folders = vec![(path.to_owned(), 0)];
    let mut seen = 0_usize;
    while let Some((folder, depth)) = folders.pop() {
        let io = Error::read(&folder);
        for entry in std::fs::read_dir(&folder).map_err(&io)? {
            let entry = entry.map_err(&io)?;
            seen += 1;
            if seen > WALK_ENTRIES_MAX {
                return Err(too_many());
            }
            // Of the entry itself: a link is neither a folder nor a file.
            let kind = entry.file_type().map_err(&io)?;
            if kind.is_dir() && depth == WALK_DEPTH_MAX {
                return Err(too_many());
            }
            if kind.is_dir() {
                folders.push((entry.path(), depth + 1));
            } else if kind.is_file() && may_hold(&entry.path()) {
                files.push(entry.path());
            }
            if files.len() > WALK_FILES_MAX {
                return Err(too_many());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn may_hold(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_walk_finds_files_by_name_and_follows_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let inner = root.join("b/subagents");
        std::fs::create_dir_all(&inner).unwrap();
        let outside = folder.path().join("outside.jsonl");
        for path in [
            &root.join("c.jsonl"),
            &root.join("notes.txt"),
            &inner.join("agent-1.jsonl"),
            &root.join("a.traj"),
            &outside,
        ] {
            std::fs::write(path, "").unwrap();
        }
        symlink(&outside, root.join("link.jsonl")).unwrap();
        symlink(&root, root.join("b/loop")).unwrap();
        let found = files(&root).unwrap();
        let expected = ["a.traj", "b/subagents/agent-1.jsonl", "c.jsonl"];
        assert_eq!(found, expected.map(|name| root.join(name)));
        assert_eq!(files(&outside).unwrap(), [outside]);
        let none = root.join("none");
        assert_eq!(files(&none).unwrap(), [none], "whoever opens it finds out");
    }

    #[test]
    fn a_walk_that_is_too_deep_is_refused_and_not_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        let mut deep = folder.path().to_owned();
        for _ in 0..=WALK_DEPTH_MAX {
            deep.push("d");
        }
        std::fs::create_dir_all(deep).unwrap();
        assert!(matches!(files(folder.path()), Err(Error::TooMany { .. })));
    }
}
