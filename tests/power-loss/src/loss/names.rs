//! Names that were not safe: the namings of a folder are undone from some point on, in reverse.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Result};
use std::path::Path;

use super::{Lost, Placed, below};
use crate::record::{Entry, Inode, Naming, What};

/// Whether a naming has happened that the record says no more about.
pub(super) fn stands(data: &Path, naming: &Naming) -> Result<bool> {
    let folder = data.join(&naming.folder);
    let exists = |name: &str| match fs::symlink_metadata(folder.join(name)) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    match &naming.what {
        What::File | What::Folder | What::Link(_) => exists(&naming.name),
        What::Removed(_) | What::FolderRemoved => exists(&naming.name).map(|there| !there),
        What::Renamed { from, .. } => exists(from).map(|there| !there),
    }
}

/// Where each file got its names: places in the record, and folders.
pub(super) fn made_by(entries: &[Entry]) -> BTreeMap<Inode, Vec<(u64, String)>> {
    let mut made: BTreeMap<Inode, Vec<(u64, String)>> = BTreeMap::new();
    for (place, pair) in (0u64..).zip(entries.windows(2)) {
        let [Entry::Naming(naming), Entry::Done { worked: true, file }] = pair else {
            continue;
        };
        let gives_a_name = matches!(
            naming.what,
            What::File | What::Link(_) | What::Renamed { .. }
        );
        if let Some(file) = file.filter(|_| gives_a_name) {
            made.entry(file)
                .or_default()
                .push((place, naming.folder.clone()));
        }
    }
    made
}

/// Undoes what the disk did not keep, folder by folder, the outer ones first.
pub(super) fn lose(
    data: &Path,
    kept: &Path,
    at_risk: &BTreeMap<String, (Vec<Placed<Naming>>, usize)>,
    chance: &mut dyn FnMut() -> u64,
    lost: &mut Lost,
) -> Result<()> {
    for (folder, (namings, safe)) in at_risk {
        let open = namings.len() - safe;
        lost.namings_at_risk += open;
        let keep = match below(chance, 4) {
            0 => *safe,
            1 => namings.len(),
            _ => safe + below(chance, open + 1),
        };
        let folder = data.join(folder);
        // It is gone with the folder around it, or its own removal was kept.
        if !folder.is_dir() {
            continue;
        }
        for (_, naming) in namings[keep..].iter().rev() {
            undo(&folder, kept, naming)?;
            lost.namings_undone += 1;
        }
    }
    Ok(())
}

fn undo(folder: &Path, kept: &Path, naming: &Naming) -> Result<()> {
    let name = folder.join(&naming.name);
    let back = |inode: &Inode| fs::hard_link(kept.join(inode.to_string()), &name);
    match &naming.what {
        What::File | What::Link(_) => fs::remove_file(&name),
        What::Folder => fs::remove_dir_all(&name),
        What::Removed(inode) => back(inode),
        What::FolderRemoved => fs::create_dir(&name),
        What::Renamed { from, replaced, .. } => {
            fs::rename(&name, folder.join(from))?;
            replaced.as_ref().map_or(Ok(()), back)
        }
    }
}
