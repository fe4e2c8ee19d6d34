//! The cursor of the whole index, in a file beside the tables, and that what it speaks for is on
//! the disk.
//!
//! Owns the file's form and its order of writing: first the tables' files reach the disk, then the
//! cursor takes the old one's place. It must not know what the tables hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sillok_core::stamp::Stamp;

use crate::error::Error;

/// `@` stands in no organisation's name, so no table is ever called so.
const FILE: &str = "@watermark";

/// Everything up to `through` is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watermark {
    pub(crate) through: Stamp,
    /// The latest stamp in each table. A table that is behind it has lost files.
    pub(crate) tables: BTreeMap<String, Stamp>,
}

/// Reads the file in `root`; none when it is missing or unreadable as a watermark, which makes
/// the caller store everything again.
pub(crate) fn read(root: &Path) -> Result<Option<Watermark>, Error> {
    let path = root.join(FILE);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
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
        .and_then(|()| std::fs::rename(&fresh, &path))
        .and_then(|()| File::open(root)?.sync_all());
    replaced.map_err(|source| Error::Io { path, source })
}

/// Removes the file from `root`.
pub(crate) fn remove(root: &Path) -> Result<(), Error> {
    let path = root.join(FILE);
    match std::fs::remove_file(&path).and_then(|()| File::open(root)?.sync_all()) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::Io { path, source })
        }
        _ => Ok(()),
    }
}

/// The files under a table's directory that are known to be on the disk. Lance leaves its files to
/// the system's cache, and never changes one.
#[derive(Debug, Default)]
pub(crate) struct OnDisk {
    files: BTreeSet<PathBuf>,
}

impl OnDisk {
    /// Brings every file under `directory`, and the directories, to the disk.
    pub(crate) fn sync(&mut self, directory: &Path) -> Result<(), Error> {
        let mut present = BTreeSet::new();
        self.sync_into(directory, &mut present)
            .map_err(|source| Error::Io {
                path: directory.into(),
                source,
            })?;
        self.files = present;
        Ok(())
    }

    fn sync_into(&self, directory: &Path, present: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
        let mut is_changed = false;
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let path = entry.path();
            let is_directory = match entry.file_type() {
                Ok(file_type) => file_type.is_dir(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if is_directory {
                self.sync_into(&path, present)?;
            }
            if self.files.contains(&path) {
                present.insert(path);
                continue;
            }
            is_changed = true;
            if !is_directory {
                match File::open(&path).and_then(|file| file.sync_all()) {
                    // An old version's file may be removed, or a temporary one renamed, meanwhile.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    result => result?,
                }
            }
            present.insert(path);
        }
        if is_changed {
            File::open(directory)?.sync_all()
        } else {
            Ok(())
        }
    }
}
