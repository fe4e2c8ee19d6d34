//! The cursor of the whole index, in a file beside the tables, and that what it speaks for is on
//! the disk.
//!
//! Owns the file's form and its order of writing: first the tables' files reach the disk, then the
//! cursor takes the old one's place. It must not know what the tables hold.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sillok_core::stamp::Stamp;

use crate::error::Error;

/// `@` stands in no organisation's name, so no table is ever called so.
const FILE: &str = "@watermark";

/// Everything up to `through` is stored. A file that says more, as those of older builds, counts for nothing: in their
/// tables lie entries that have left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watermark {
    pub(crate) through: Stamp,
    /// The version of each table whose files were brought to the disk. What is newer may be torn
    /// after a loss of power, and looks whole. A table that is not at it has lost files.
    pub(crate) versions: Versions,
    /// Whether every entry was known to have its vector here. It goes with the cursor: an index that begins
    /// anew knows nothing.
    #[serde(default)]
    pub(crate) whole: bool,
}

/// A version of each table, by the table's name.
pub(crate) type Versions = BTreeMap<String, u64>;

/// What ends the name of a version's file: before it stands the version, counted down from the
/// highest number, so that the latest comes first in a listing.
const MANIFEST: &str = ".manifest";
/// Lance's note of the latest version.
const HINT: &str = "latest_version_hint.json";

/// Takes a table back to `version`: the files that say what later versions hold are removed.
pub(crate) fn take_back(directory: &Path, version: u64) -> Result<(), Error> {
    let versions = directory.join("_versions");
    let remove_later = || {
        for entry in fs::read_dir(&versions)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let number = name
                .strip_suffix(MANIFEST)
                .and_then(|name| name.parse().ok());
            let is_later = number.is_some_and(|number: u64| u64::MAX - number > version);
            if is_later || name == HINT {
                tracing::debug!(table = %directory.display(), %name, "not known to be on the disk");
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    remove_later().map_err(|source| Error::Io {
        path: versions.clone(),
        source,
    })
}

/// Reads the file in `root`; none when it is missing or unreadable as a watermark, which makes
/// the caller store everything again.
pub(crate) fn read(root: &Path) -> Result<Option<Watermark>, Error> {
    let path = root.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { path, source }),
    }
}

/// Replaces the file in `root` at once.
pub(crate) fn write(root: &Path, watermark: &Watermark) -> Result<(), Error> {
    let path = root.join(FILE);
    let fresh = root.join(format!("{FILE}.new"));
    let bytes = serde_json::to_vec(watermark).expect("stamps and names are JSON");
    let written = File::create(&fresh).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    let replaced = written
        .and_then(|()| fs::rename(&fresh, &path))
        .and_then(|()| File::open(root)?.sync_all());
    replaced.map_err(|source| Error::Io { path, source })
}

/// Removes the file from `root`.
pub(crate) fn remove(root: &Path) -> Result<(), Error> {
    let path = root.join(FILE);
    match fs::remove_file(&path).and_then(|()| File::open(root)?.sync_all()) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Io { path, source }),
        _ => Ok(()),
    }
}

/// The files under a table's directory that are known to be on the disk, with their lengths. Lance
/// leaves its files to the system's cache, and never changes one.
#[derive(Debug, Default)]
pub(crate) struct OnDisk {
    files: BTreeMap<PathBuf, u64>,
}

impl OnDisk {
    /// Brings every file under `directory`, and the directories, to the disk.
    pub(crate) fn sync(&mut self, directory: &Path) -> Result<(), Error> {
        let mut present = BTreeMap::new();
        self.sync_into(directory, &mut present)
            .map_err(|source| Error::Io {
                path: directory.into(),
                source,
            })?;
        if self.files.is_empty() {
            // The directory itself may be new, and the organisation's as well.
            for parent in directory.ancestors().skip(1).take(2) {
                File::open(parent)
                    .and_then(|parent| parent.sync_all())
                    .map_err(|source| Error::Io {
                        path: parent.into(),
                        source,
                    })?;
            }
        }
        self.files = present;
        Ok(())
    }

    fn sync_into(&self, directory: &Path, present: &mut BTreeMap<PathBuf, u64>) -> io::Result<()> {
        let mut is_changed = false;
        for entry in fs::read_dir(directory)? {
            // What old versions alone need may be removed, and a temporary file renamed, meanwhile.
            if let Some(synced) = unless_gone(self.sync_entry(&entry?, present))? {
                is_changed |= synced;
            }
        }
        if is_changed {
            File::open(directory)?.sync_all()
        } else {
            Ok(())
        }
    }

    /// Whether the entry was not known to be on the disk.
    fn sync_entry(
        &self,
        entry: &fs::DirEntry,
        present: &mut BTreeMap<PathBuf, u64>,
    ) -> io::Result<bool> {
        let path = entry.path();
        let is_directory = entry.file_type()?.is_dir();
        if is_directory {
            self.sync_into(&path, present)?;
        }
        let length = if is_directory {
            0
        } else {
            entry.metadata()?.len()
        };
        let is_known = self.files.get(&path) == Some(&length);
        if !is_known && !is_directory {
            File::open(&path)?.sync_all()?;
        }
        present.insert(path, length);
        Ok(!is_known)
    }
}

/// None instead of an error when the file is gone.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
