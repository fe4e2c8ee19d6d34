//! The index of source files: a first look at a large work tree, one changed file, and what depends on a symbol.
//!
//! Each run is a process of its own, so that nothing else is in its memory: [`child`] writes the work tree, measures, and
//! prints an [`Indexed`]; [`measure`] starts it and reads that. The work tree has eight files in a row of seven
//! languages, of which each calls the one before it in its language, and imports some ten others, most of which lie
//! elsewhere. A change is a function more in one file, and what is measured is the look at it until all that is asked
//! knows of it; that a change is gathered for a second before is not in it. A file that goes and one that comes are
//! measured in the same way: what imports them may mean other files then. One of them is what no file has yet, and all
//! files of a language ask for.

mod sources;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use serde::{Deserialize, Serialize};
use sillok_code::{Changes, CodeIndex, CodeNode, DependentsLimits, WalkOptions};

use self::sources::{source, write_tree};
use crate::engines::folder;
use crate::error::Error;
use crate::memory::{fresh_process, status_bytes};
use crate::report::{Floor, Report, Row};
use crate::runs::RUNS;
use crate::scale::Scale;

/// The name of the work tree.
const TREE: &str = "bench";
/// Files that are changed, one after the other.
const CHANGES: usize = 25;
/// Floors.
const FIRST_S_MAX: f64 = 60.0;
const CHANGED_MS_MAX: f64 = 200.0;
const PEAK_MB_MAX: f64 = 500.0;

/// What the fresh process found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Indexed {
    files: u64,
    lines: u64,
    /// The first look.
    first_s: f64,
    /// One more where nothing is new.
    again_ms: f64,
    /// The slowest look at one changed file.
    changed_ms: f64,
    /// The slowest look at one file that went.
    gone_ms: f64,
    /// The slowest look at one file that came.
    came_ms: f64,
    /// What depends on a symbol, asked once.
    dependents_ms: f64,
    stored_ms: f64,
    loaded_ms: f64,
    /// The most memory that the process had.
    peak_bytes: u64,
}

/// Measures fresh processes.
///
/// # Errors
/// What a process answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let lines = scale.code_lines;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let folder = folder()?;
        let found: Indexed = fresh_process(&["child-code", &lines.to_string()], folder.path())?;
        if found.lines < lines {
            let why = format!("{} of {lines} lines are in the index", found.lines);
            return Err(Error::Wrong(why));
        }
        runs.push(found);
    }
    let worst = |of: fn(&Indexed) -> f64| runs.iter().map(of).fold(0.0, f64::max);
    let among = format!("code: a work tree of {lines} lines");
    let mut row = |what: &str, figure: f64, unit, floor: Option<f64>| {
        let row = Row::new(
            format!("{among}, {what}, worst of {RUNS} runs"),
            figure,
            unit,
        );
        report.add(match floor {
            Some(most) => row.with_floor(Floor::AtMost(most)),
            None => row,
        });
    };
    row(
        "first index",
        worst(|one| one.first_s),
        "s",
        Some(FIRST_S_MAX),
    );
    for (what, slowest) in [
        ("changed file", worst(|one| one.changed_ms)),
        ("file that went", worst(|one| one.gone_ms)),
        ("file that came", worst(|one| one.came_ms)),
    ] {
        let what = format!("one {what}, slowest of {CHANGES}");
        row(&what, slowest, "ms", Some(CHANGED_MS_MAX));
    }
    let peak = worst(|one| one.peak_bytes as f64 / 1e6);
    row("memory at its peak", peak, "MB", Some(PEAK_MB_MAX));
    row(
        "a look where nothing is new",
        worst(|one| one.again_ms),
        "ms",
        None,
    );
    row(
        "dependents of a symbol",
        worst(|one| one.dependents_ms),
        "ms",
        None,
    );
    row(
        "the cache is stored",
        worst(|one| one.stored_ms),
        "ms",
        None,
    );
    row("the cache is read", worst(|one| one.loaded_ms), "ms", None);
    Ok(())
}

/// The looks, in the fresh process.
///
/// # Errors
/// What the index answered; a look that finds something else than what was written.
pub(crate) fn child(lines: u64, folder: &Path) -> Result<Indexed, Error> {
    let root = folder.join("tree");
    std::fs::create_dir(&root)?;
    let root = root.canonicalize()?;
    let files = write_tree(&root, lines)?;
    let mut index = CodeIndex::new();
    index.add_tree(TREE, &root, WalkOptions::default());
    let (first_ms, changes) = look(&mut index, None)?;
    // The manifest is one more.
    expect(changes.parsed, files + 1, "files were read at first")?;
    let (again_ms, changes) = look(&mut index, None)?;
    expect(changes.parsed, 0, "files were read again")?;
    let [changed_ms, gone_ms, came_ms] = change(&mut index, &root, files)?;
    let tree = index.tree(TREE).ok_or_else(gone)?;
    let of = tree.symbols_named(&sources::called(0));
    let of = of.first().cloned().map(CodeNode::Symbol).ok_or_else(gone)?;
    let began = Instant::now();
    let found = tree.dependents(&of, DependentsLimits::default(), &|| false);
    let dependents_ms = ms(began);
    if found.is_none_or(|found| found.all.is_empty()) {
        return Err(Error::Wrong("nothing depends on what is called".to_owned()));
    }
    let known = tree.paths().filter_map(|path| tree.file(path));
    let lines = known.map(|file| u64::from(file.lines)).sum();
    let cache = folder.join("cache");
    let began = Instant::now();
    index
        .save(&cache)
        .map_err(|error| Error::Wrong(error.to_string()))?;
    let stored_ms = ms(began);
    // What is known and what is read are not in memory at once, as in a server that starts.
    let contents = index.contents_count();
    let peak_bytes = status_bytes("self", "VmHWM:")?;
    drop(index);
    let began = Instant::now();
    let loaded = CodeIndex::load(&cache).map_err(|error| Error::Wrong(error.to_string()))?;
    let loaded = loaded.into_index();
    let loaded_ms = ms(began);
    expect(
        loaded.contents_count(),
        contents,
        "contents are in the cache",
    )?;
    Ok(Indexed {
        files: files as u64,
        lines,
        first_s: first_ms / 1e3,
        again_ms,
        changed_ms,
        gone_ms,
        came_ms,
        dependents_ms,
        stored_ms,
        loaded_ms,
        peak_bytes: peak_bytes.max(status_bytes("self", "VmHWM:")?),
    })
}

/// Files that are changed, that go, and that come, one after the other: the slowest look at each, in ms.
fn change(index: &mut CodeIndex, root: &Path, files: usize) -> Result<[f64; 3], Error> {
    let [mut changed_ms, mut gone_ms, mut came_ms] = [0.0_f64; 3];
    for number in 0..CHANGES.min(files) {
        let path = sources::path(number);
        let full = root.join(&path);
        std::fs::write(&full, source(number, 1))?;
        let (took, changes) = look(index, Some(&path))?;
        expect(changes.changed.len(), 1, "files were changed")?;
        changed_ms = changed_ms.max(took);
        // The one that others import, and one that every other file of its language asks for.
        gone_ms = gone_ms.max(go(index, root, &path)?);
        came_ms = came_ms.max(come(index, root, &path, &source(number, 2))?);
        let (path, text) = sources::config(number);
        came_ms = came_ms.max(come(index, root, &path, &text)?);
        gone_ms = gone_ms.max(go(index, root, &path)?);
    }
    Ok([changed_ms, gone_ms, came_ms])
}

/// How long the look at a file takes that comes, in ms.
fn come(index: &mut CodeIndex, root: &Path, path: &str, text: &str) -> Result<f64, Error> {
    let full = root.join(path);
    if let Some(folder) = full.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(full, text)?;
    let (took, changes) = look(index, Some(path))?;
    expect(changes.added.len(), 1, "files came")?;
    Ok(took)
}

/// The same of one that goes.
fn go(index: &mut CodeIndex, root: &Path, path: &str) -> Result<f64, Error> {
    std::fs::remove_file(root.join(path))?;
    let (took, changes) = look(index, Some(path))?;
    expect(changes.removed.len(), 1, "files went")?;
    Ok(took)
}

/// A look at all, or at one path: how long it took in ms, and what was new.
fn look(index: &mut CodeIndex, only: Option<&str>) -> Result<(f64, Changes), Error> {
    let only = only.map(|path| BTreeSet::from([PathBuf::from(path)]));
    let began = Instant::now();
    let plan = index.plan(TREE).ok_or_else(gone)?;
    let wrong = |error: &dyn std::fmt::Display| Error::Wrong(error.to_string());
    let scanned = plan
        .look(only, SystemTime::now())
        .map_err(|error| wrong(&error))?;
    let changes = index.apply(scanned).map_err(|error| wrong(&error))?;
    Ok((ms(began), changes))
}

fn ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

fn gone() -> Error {
    Error::Wrong("what was written is not in the index".to_owned())
}

fn expect(found: usize, expected: usize, what: &str) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Wrong(format!("{found} {what}, and not {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_work_tree_is_indexed_changed_asked_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let found = child(8_000, folder.path()).unwrap();
        assert!(found.lines >= 8_000 && found.files >= 40, "{found:?}");
    }
}
