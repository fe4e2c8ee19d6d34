//! Where the tables of the index lie.
//!
//! Owns the names of their directories, and how the cursor's file calls them.

use std::path::{Path, PathBuf};

use sillok_core::entry::Kind;

use crate::error::Error;

/// Makes the directory of the index, when there is none.
pub(crate) fn make(root: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(root).map_err(|source| Error::Io {
        path: root.into(),
        source,
    })
}

/// Removes a table's directory, when there is one, for good: its texts do not come back after the machine has stopped.
pub(crate) fn remove(directory: &Path) -> Result<(), Error> {
    let unless_absent = |done: std::io::Result<()>| match done {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::Io {
            path: directory.into(),
            source,
        }),
        _ => Ok(()),
    };
    unless_absent(std::fs::remove_dir_all(directory))?;
    // Where it is not there, too: whoever removed it may have been cut off before this.
    let parent = directory.parent().map(std::fs::File::open).transpose();
    unless_absent(parent.and_then(|parent| parent.map_or(Ok(()), |parent| parent.sync_all())))
}

/// How the cursor's file calls a table.
pub(crate) fn name_of(org: &str, kind: Kind) -> String {
    format!("{org}/{kind}")
}

/// Where a table lies.
pub(crate) fn directory_of(root: &Path, org: &str, kind: Kind) -> PathBuf {
    root.join(org).join(format!("{kind}.lance"))
}

/// The tables that lie in `root`, also those of which only a part does.
pub(crate) fn tables_in(root: &Path) -> Result<Vec<(String, Kind)>, Error> {
    let failed = |source| Error::Io {
        path: root.into(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed)? {
        let Ok(org) = entry.map_err(failed)?.file_name().into_string() else {
            continue;
        };
        for kind in Kind::ALL {
            if directory_of(root, &org, kind).is_dir() {
                found.push((org.clone(), kind));
            }
        }
    }
    Ok(found)
}
