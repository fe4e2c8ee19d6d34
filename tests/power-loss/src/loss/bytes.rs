//! What a file holds after the loss: of every piece, one of the states that it had since the last
//! sync.
//!
//! The file as it stands is its newest version. Undoing its changes one by one, from the last to the
//! first, gives the older ones.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Lost, Placed, below};
use crate::record::{Change, Piece};

/// A sector, and a page.
const UNITS: [u64; 2] = [512, 4_096];

/// A piece of the file that is written at once.
struct Unit {
    bytes: Vec<u8>,
    /// The version that the disk has of it: the number of changes that it has seen.
    version: usize,
}

/// Gives the file what the disk may have of it.
pub(super) fn lose(
    path: &Path,
    changes: &[Placed<Change>],
    chance: &mut dyn FnMut() -> u64,
    lost: &mut Lost,
) -> Result<()> {
    lost.files_at_risk += 1;
    let changes: Vec<&Change> = changes.iter().map(|(_, change)| change).collect();
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let len = file.metadata()?.len();
    let last = changes.len();
    // Nothing of it, or all up to some point, or every piece by itself.
    let (unit_bytes, together) = match below(chance, 4) {
        0 => (UNITS[0], Some(0)),
        1 => (UNITS[0], Some(below(chance, last + 1))),
        torn => (UNITS[torn - 2], None),
    };
    let mut version = || together.unwrap_or_else(|| below(chance, last + 1));
    let len_version = version();
    let len_after = changes.get(len_version).map_or(len, |next| next.len_before);
    let mut units = affected(&changes, unit_bytes);
    let mut torn = false;
    for (index, unit) in &mut units {
        unit.version = version();
        torn |= unit.version != len_version;
        read(&file, &mut unit.bytes, index * unit_bytes, len)?;
    }
    let mut changed = len_after != len;
    lost.bytes_lost += len.abs_diff(len_after);
    let newest: Vec<Vec<u8>> = units.values().map(|unit| unit.bytes.clone()).collect();
    for (number, change) in changes.iter().enumerate().rev() {
        for (index, unit) in &mut units {
            if unit.version <= number {
                undo(change, &mut unit.bytes, index * unit_bytes);
            }
        }
    }
    file.set_len(len_after)?;
    for ((index, unit), newest) in units.iter().zip(&newest) {
        let at = index * unit_bytes;
        let count = len_after.saturating_sub(at).min(unit_bytes);
        let count = usize::try_from(count).expect("a unit is small");
        file.write_all_at(&unit.bytes[..count], at)?;
        let differ = unit.bytes[..count].iter().zip(newest);
        let differ = differ.filter(|(one, other)| one != other).count();
        changed |= differ > 0;
        lost.bytes_lost += differ as u64;
    }
    lost.files_changed += usize::from(changed);
    lost.files_torn += usize::from(changed && torn);
    Ok(())
}

/// The units that hold anything but zeros in one version and something else in another.
fn affected(changes: &[&Change], unit_bytes: u64) -> BTreeMap<u64, Unit> {
    let mut units = BTreeMap::new();
    let size = usize::try_from(unit_bytes).expect("a unit is small");
    for change in changes {
        let written = (change.at, change.count);
        let overwritten = change.before.iter().filter(|piece| !piece.bytes.is_empty());
        for (at, count) in overwritten
            .map(|piece| (piece.at, piece.len))
            .chain([written])
        {
            if count == 0 {
                continue;
            }
            for index in at / unit_bytes..=(at + count - 1) / unit_bytes {
                units.entry(index).or_insert_with(|| Unit {
                    bytes: vec![0; size],
                    version: 0,
                });
            }
        }
    }
    units
}

/// Fills a unit; what lies behind the end of the file stays zero.
fn read(file: &File, bytes: &mut [u8], at: u64, len: u64) -> Result<()> {
    let count = len.saturating_sub(at).min(bytes.len() as u64);
    let count = usize::try_from(count).expect("a unit is small");
    file.read_exact_at(&mut bytes[..count], at)
}

/// Takes a change back, as far as this unit holds it.
fn undo(change: &Change, unit: &mut [u8], start: u64) {
    let end = start + unit.len() as u64;
    let clip = |at: u64, to: u64| {
        let (at, to) = (at.clamp(start, end), to.clamp(start, end));
        let place = |at: u64| usize::try_from(at - start).expect("a unit is small");
        place(at)..place(to).max(place(at))
    };
    unit[clip(change.len_before, u64::MAX)].fill(0);
    for Piece { at, len, bytes } in &change.before {
        let range = clip(*at, at + len);
        if bytes.is_empty() {
            unit[range].fill(0);
        } else if !range.is_empty() {
            let from = usize::try_from(start + range.start as u64 - at).expect("a piece is small");
            let count = range.len();
            unit[range].copy_from_slice(&bytes[from..from + count]);
        }
    }
}
