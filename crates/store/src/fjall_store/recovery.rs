//! Whether the journals of a store hold all that was acknowledged, asked before fjall opens them.
//!
//! Owns the difference between a torn end, which a crash leaves and which is cut off, and damage,
//! which is refused and left as it is. The commit thread writes a batch only once the one before it
//! is synced: so only the very last batch can be torn, and nobody was told of that one. See
//! docs/adr/0010-what-a-journal-can-prove.md.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use super::journal::{self, Batch, Next};
use crate::Error;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Sequence numbers that fjall's own threads may take between two looks of the commit thread.
const SEQNOS_BETWEEN_MAX: u64 = 1 << 20;

/// What the batches so far came to.
#[derive(Debug, Default)]
struct Seen {
    /// Sequence number of the last batch.
    seqno: Option<u64>,
    /// Counter of the last commit.
    counter: Option<u64>,
}

/// Reads all journals in the database's folder. Cuts off a torn end, and syncs that. Answers the
/// counter of the last commit in them, if there is one.
///
/// # Errors
/// `Corrupt` when something is damaged that was, or may have been, acknowledged: whole batches
/// follow it, or not all commits up to `acknowledged` are before it. Then nothing was changed.
pub(super) fn check(folder: &Path, acknowledged: Option<u64>) -> Result<Option<u64>, Error> {
    let journals = list(folder).map_err(failed)?;
    let mut seen = Seen::default();
    let last = journals.last().map(|(id, _)| *id);
    let mut before = None;
    for (id, path) in &journals {
        if before.is_some_and(|before| before + 1 != *id) {
            return Err(damaged(path, 0, "the journal before it is missing"));
        }
        before = Some(*id);
        let journal = read(path).map_err(failed)?;
        let mut at = 0;
        if journal.is_empty() && Some(*id) != last {
            return Err(damaged(
                path,
                0,
                "it is empty, and a later journal was begun",
            ));
        }
        loop {
            match journal::next(&journal, at) {
                Next::End => break,
                Next::Batch(batch) => {
                    seen.follow(&batch).map_err(|why| damaged(path, at, why))?;
                    at = batch.end;
                }
                Next::Broken(reason) => {
                    let torn = seen.judge(&journal, at, Some(*id) == last, acknowledged);
                    torn.map_err(|why| damaged(path, at, &format!("{reason}, and {why}")))?;
                    cut(path, at).map_err(failed)?;
                    break;
                }
            }
        }
    }
    Ok(seen.counter)
}

/// Removes a database whose making was cut short before it could hold anything: fjall can neither
/// open nor finish it. Its journals have been found empty.
pub(super) fn discard_unfinished(folder: &Path) -> Result<(), Error> {
    let is_empty = |entries: std::io::Result<fs::ReadDir>| match entries {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    };
    let discard = || -> std::io::Result<()> {
        // The folders of its trees are the last that fjall makes, and they hold all that is in no journal.
        let is_unfinished = folder.is_dir() && is_empty(fs::read_dir(folder.join("keyspaces")))?;
        if is_unfinished {
            fs::remove_dir_all(folder)?;
        }
        Ok(())
    };
    discard().map_err(|error| Error::unavailable("discarding an unfinished database", error))
}

impl Seen {
    /// Goes on to the next batch.
    fn follow(&mut self, batch: &Batch) -> Result<(), &'static str> {
        if self.seqno.is_some_and(|before| batch.seqno <= before) {
            return Err("its sequence number is not over the one before it");
        }
        if batch.seqno >= 1 << 63 {
            return Err("its sequence number is damaged");
        }
        if let Some(link) = batch.link {
            let range = link.seqno_min..link.seqno_min.saturating_add(SEQNOS_BETWEEN_MAX);
            if !range.contains(&batch.seqno) {
                return Err("its sequence number is damaged");
            }
            if self.seqno.is_some_and(|before| link.seqno_min <= before) {
                return Err("the sequence number of the batch before it is damaged");
            }
            if self.counter.is_some_and(|before| link.previous != before) {
                return Err("commits are missing before it");
            }
        }
        self.seqno = Some(batch.seqno);
        self.counter = batch.counter.or(self.counter);
        Ok(())
    }

    /// Whether what is broken at `at` can be a batch that nobody was told of; else why not.
    fn judge(
        &self,
        journal: &[u8],
        at: usize,
        is_last: bool,
        acknowledged: Option<u64>,
    ) -> Result<(), String> {
        if !is_last {
            return Err("a later journal was begun".to_owned());
        }
        // Bytes of a record may look like a batch; they do not go on where this journal ends.
        let goes_on = |batch: &Batch| {
            self.seqno.is_none_or(|seqno| batch.seqno > seqno)
                && batch.counter.is_some()
                && batch.counter > self.counter
        };
        if let Some(next) = journal::find(journal, at + 1, goes_on) {
            return Err(format!("a whole batch follows at byte {next}"));
        }
        match (self.counter, acknowledged) {
            // With no batch before it, what the tables hold is compared once they are open.
            (Some(counter), Some(acknowledged)) if counter < acknowledged => Err(format!(
                "commits up to {acknowledged} were acknowledged, of which it leaves {counter}"
            )),
            _ => Ok(()),
        }
    }
}

/// The journals by their numbers.
fn list(folder: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut journals = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let is_journal = path.extension().is_some_and(|extension| extension == "jnl");
        // fjall itself refuses a journal whose name is no number.
        let id = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        journals.extend(id.filter(|_| is_journal).map(|id| (id, path)));
    }
    journals.sort_unstable();
    Ok(journals)
}

/// What a journal holds, without the zeros at its end: a new journal is 64 MB of them.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut journal = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut zeros = 0;
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok(journal);
        }
        match chunk[..count].iter().rposition(|byte| *byte != 0) {
            None => zeros += count,
            Some(last) => {
                journal.resize(journal.len() + zeros, 0);
                journal.extend_from_slice(&chunk[..=last]);
                zeros = count - last - 1;
            }
        }
    }
}

fn cut(path: &Path, at: usize) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(at as u64)?;
    file.sync_all()
}

fn failed(error: std::io::Error) -> Error {
    Error::unavailable("reading the journals", error)
}

fn damaged(path: &Path, at: usize, why: &str) -> Error {
    let name = path.file_name().unwrap_or_default();
    Error::Corrupt {
        family: "journal",
        key: name.to_string_lossy().into_owned(),
        reason: format!("at byte {at}: {why}"),
    }
}
