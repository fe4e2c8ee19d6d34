//! The file of one spool.
//!
//! Owns how it is appended to, read, and made short again by several processes at once. It must not know what a note means
//! beyond the journal's word for it.
//!
//! Appending is one write at the end, under a shared lock; whoever makes a file short holds it alone, and puts another file in
//! its place. Nothing is synced: a loss of power may take the last notes, and what is left of one is passed over.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sillok_core::time::Timestamp;

use super::journal::Journal;
use super::lost::Lost;
use super::note::{Begun, Note, frame, scan};
use crate::limits::{SPOOL_BYTES_MAX, WAIT_MS_MAX};

/// Others than the owner do not read what an agent did.
const MODE: u32 = 0o600;
/// Bytes of what is counted of spools that are gone.
const LOST_BYTES_MAX: u64 = 1 << 20;
/// How often an append finds that the file was replaced in the meantime.
const REPLACED_MAX: u32 = 16;
/// Room beyond the bound, for notes that there is none.
const SPARE_BYTES: u64 = 64 << 10;
/// Bytes in which a conversation's beginning is looked for: what is held, and the opening with the first words.
const HEAD_BYTES: u64 = 256 << 10;

/// What became of notes that were to be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// They are there.
    Whole,
    /// There was no room, which was noted.
    Full,
}

/// One spool's file, which need not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolFile {
    path: PathBuf,
    bytes_max: u64,
}

/// Whoever holds it is the only one that hands commands of this spool over.
#[derive(Debug)]
pub struct Turn {
    _file: File,
}

impl SpoolFile {
    /// The spool at a path.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            bytes_max: SPOOL_BYTES_MAX,
        }
    }

    /// The same with another bound.
    #[must_use]
    pub fn bounded(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends notes, all in one write.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn append(&self, notes: &[Note]) -> io::Result<Appended> {
        let mut bytes = Vec::new();
        let mut kept = 0;
        for note in notes {
            if let Some(framed) = frame(note) {
                bytes.extend(framed);
                kept += 1;
            }
        }
        let left = u64::try_from(notes.len() - kept).unwrap_or(u64::MAX);
        if left > 0 {
            bytes.extend(frame(&Note::Left(left)).unwrap_or_default());
        }
        let (mut file, _lock) = self.open_to_append()?;
        let room = self.bytes_max.saturating_sub(file.metadata()?.len());
        let full = u64::try_from(bytes.len()).unwrap_or(u64::MAX) > room;
        if full {
            let commands = notes.iter().filter(|note| matches!(note, Note::Command(_)));
            let commands = u64::try_from(commands.count()).unwrap_or(u64::MAX);
            bytes = frame(&Note::Left(commands)).unwrap_or_default();
            if file.metadata()?.len() > self.bytes_max + SPARE_BYTES {
                return Ok(Appended::Full);
            }
        }
        file.write_all(&bytes)?;
        let whole = !full && left == 0;
        Ok(if whole {
            Appended::Whole
        } else {
            Appended::Full
        })
    }

    /// Appends notes of what was handed over: they are needed however full it is.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn note(&self, note: &Note) -> io::Result<()> {
        let (mut file, _lock) = self.open_to_append()?;
        file.write_all(&frame(note).unwrap_or_default())
    }

    /// The file and another handle that keeps it from being replaced.
    fn open_to_append(&self) -> io::Result<(File, File)> {
        for _ in 0..REPLACED_MAX {
            let file = OpenOptions::new()
                .append(true)
                .create(true)
                .mode(MODE)
                .open(&self.path)?;
            let lock = file.try_clone()?;
            lock.lock_shared()?;
            if lock.metadata()?.nlink() > 0 {
                return Ok((file, lock));
            }
        }
        let why = "it was replaced again and again";
        Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
    }

    /// What it says; an empty journal when there is no such file.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn read(&self) -> io::Result<Journal> {
        Ok(Journal::of(scan(
            &self.bytes(self.bytes_max + 2 * SPARE_BYTES)?,
        )))
    }

    /// What its beginning says: whose it is, whether the conversation's task is opened, and what is held until then.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn head(&self) -> io::Result<Journal> {
        Ok(Journal::of(scan(&self.bytes(HEAD_BYTES)?)))
    }

    fn bytes(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(file) => file.take(bytes_max).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(bytes)
    }

    /// Takes the turn to hand its commands over; nothing where somebody else has it.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn take_turn(&self) -> io::Result<Option<Turn>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(MODE)
            .open(self.turn_path())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Turn { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn turn_path(&self) -> PathBuf {
        self.path.with_extension("turn")
    }

    /// Makes it short where all in it is settled, and takes it away where the conversation is over or long past.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn tidy(&self, _turn: &Turn, now: Timestamp) -> io::Result<()> {
        let file = match OpenOptions::new().append(true).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => {}
            // Somebody appends: the next one who hands over finds it.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let journal = self.read()?;
        if !journal.is_settled() {
            return Ok(());
        }
        let lost = journal.lost_in_all();
        if journal.ended || is_past(&file, now)? {
            if let Some(memorial) = self.memorial().filter(|_| !lost.is_nothing()) {
                memorial.append(&[Note::Lost(lost)])?;
            }
            fs::remove_file(&self.path)?;
            let _ = fs::remove_file(self.turn_path());
            return Ok(());
        }
        let Some(begun) = journal.begun else {
            return Ok(());
        };
        self.replace(&begun, lost)
    }

    /// What is known of spools of this directory that are gone: what was lost with them.
    fn memorial(&self) -> Option<Self> {
        Some(Self::lost_below(self.path.parent()?))
    }

    /// Where it is counted what was lost in spools of a directory that are gone.
    #[must_use]
    pub fn lost_below(directory: &Path) -> Self {
        Self::at(directory.join("lost")).bounded(LOST_BYTES_MAX)
    }

    /// Puts a file in its place that says whose it is and what was lost, and nothing more.
    fn replace(&self, begun: &Begun, lost: Lost) -> io::Result<()> {
        let mut bytes = frame(&Note::Begun(begun.clone())).unwrap_or_default();
        if !lost.is_nothing() {
            bytes.extend(frame(&Note::Lost(lost)).unwrap_or_default());
        }
        let beside = self.path.with_extension("new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(MODE)
            .open(&beside)?;
        file.write_all(&bytes)?;
        fs::rename(&beside, &self.path)
    }
}

/// Whether nobody wrote in it for as long as a command waits.
fn is_past(file: &File, now: Timestamp) -> io::Result<bool> {
    let written = file.metadata()?.modified()?;
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now.ms());
    let age = now.duration_since(written).unwrap_or_default();
    Ok(age > Duration::from_millis(WAIT_MS_MAX))
}
