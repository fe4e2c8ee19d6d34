//! The loss: what a disk may have kept of what was not synced.
//!
//! Owns the choice, and making it true. The record tells what happened; the files themselves hold
//! the newest state. Names come first, then what the files hold.

mod bytes;
mod names;

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use crate::record::{self, Change, Entry, Inode, Naming};

/// What a loss did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Namings that were not safe.
    pub namings_at_risk: usize,
    /// Of those, how many were undone.
    pub namings_undone: usize,
    /// Files with changes that were not safe.
    pub files_at_risk: usize,
    /// Of those, how many hold something else now.
    pub files_changed: usize,
    /// Of those, how many hold a state that they never had: some pieces new, some old.
    pub files_torn: usize,
    /// Bytes that are no longer what the process wrote last.
    pub bytes_lost: u64,
}

impl std::ops::AddAssign for Lost {
    fn add_assign(&mut self, other: Self) {
        self.namings_at_risk += other.namings_at_risk;
        self.namings_undone += other.namings_undone;
        self.files_at_risk += other.files_at_risk;
        self.files_changed += other.files_changed;
        self.files_torn += other.files_torn;
        self.bytes_lost += other.bytes_lost;
    }
}

/// A number below `bound`.
fn below(chance: &mut dyn FnMut() -> u64, bound: usize) -> usize {
    assert!(bound > 0, "there is a choice");
    usize::try_from(chance() % bound as u64).expect("it is below a usize")
}

/// A change or naming with its place in the record.
type Placed<T> = (u64, T);

/// What was not safe when the power went.
#[derive(Debug, Default)]
struct AtRisk {
    changes: BTreeMap<Inode, Vec<Placed<Change>>>,
    /// Of each folder, all namings, and how many of them are safe.
    namings: BTreeMap<String, (Vec<Placed<Naming>>, usize)>,
}

/// Takes away what was not synced.
pub(crate) fn apply(data: &Path, folder: &Path, chance: &mut dyn FnMut() -> u64) -> Result<Lost> {
    let log = std::fs::read(folder.join(crate::LOG))?;
    let invalid = |reason| Error::new(ErrorKind::InvalidData, reason);
    let entries = record::decode(&log).map_err(invalid)?;
    let at_risk = AtRisk::of(data, &entries)?;
    let kept = folder.join(crate::KEPT);
    let mut lost = Lost::default();
    // Before names go: whatever lost its last one is among those that were kept.
    let found = inodes(&[data, &kept])?;
    for (inode, changes) in &at_risk.changes {
        if let Some(path) = found.get(inode) {
            bytes::lose(path, changes, chance, &mut lost)?;
        }
    }
    names::lose(data, &kept, &at_risk.namings, chance, &mut lost)?;
    Ok(lost)
}

impl AtRisk {
    fn of(data: &Path, entries: &[Entry]) -> Result<Self> {
        let mut at_risk = Self::default();
        let mut syncs = Vec::new();
        for (place, entry) in (0u64..).zip(entries) {
            match entry {
                Entry::Change(change) => {
                    let changes = at_risk.changes.entry(change.file).or_default();
                    changes.push((place, change.clone()));
                }
                Entry::Naming(naming) => {
                    let next = usize::try_from(place).expect("it is an index") + 1;
                    let done = match entries.get(next) {
                        Some(Entry::Done { worked, .. }) => *worked,
                        // The kill came between the two.
                        _ => names::stands(data, naming)?,
                    };
                    let folder = naming.folder.clone();
                    if done {
                        at_risk
                            .namings
                            .entry(folder)
                            .or_default()
                            .0
                            .push((place, naming.clone()));
                    }
                }
                Entry::Done { .. } => {}
                Entry::Synced { .. } | Entry::FolderSynced { .. } => syncs.push(entry),
            }
        }
        let made = names::made_by(entries);
        for sync in syncs {
            match sync {
                Entry::Synced { file, upto } => {
                    if let Some(changes) = at_risk.changes.get_mut(file) {
                        changes.retain(|(place, _)| place >= upto);
                    }
                    let mut names = made.get(file).into_iter().flatten();
                    if let Some((place, folder)) = names.rfind(|(place, _)| place < upto) {
                        at_risk.keep_names(folder, place + 1);
                    }
                }
                Entry::FolderSynced { folder, upto } => at_risk.keep_names(folder, *upto),
                _ => unreachable!("only syncs were gathered"),
            }
        }
        at_risk.changes.retain(|_, changes| !changes.is_empty());
        Ok(at_risk)
    }

    /// The namings of a folder before `upto` are safe, and so is the folder's own name.
    fn keep_names(&mut self, folder: &str, upto: u64) {
        if let Some((namings, safe)) = self.namings.get_mut(folder) {
            *safe = namings
                .partition_point(|(place, _)| *place < upto)
                .max(*safe);
        }
        let (mut above, mut name) = match folder.rsplit_once('/') {
            Some((above, name)) => (above, name),
            None => ("", folder),
        };
        while !name.is_empty() {
            let made = |(_, naming): &Placed<Naming>| {
                naming.name == name && naming.what == record::What::Folder
            };
            if let Some((namings, safe)) = self.namings.get_mut(above) {
                let made = namings.iter().position(made);
                *safe = made.map_or(0, |made| made + 1).max(*safe);
            }
            (above, name) = match above.rsplit_once('/') {
                Some(parts) => parts,
                None => ("", above),
            };
        }
    }
}

/// A path to every file below these folders, by inode.
fn inodes(folders: &[&Path]) -> Result<BTreeMap<Inode, PathBuf>> {
    use std::os::unix::fs::MetadataExt;
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(metadata.ino(), entry.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
