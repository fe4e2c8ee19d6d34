//! The directory of spools: one for each conversation, and word of when the server was away.
//!
//! Owns their names and the directory's mode. It must not know what a spool says.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sillok_core::time::Timestamp;

use super::file::SpoolFile;
use crate::client::Client;
use crate::limits::{AWAY_MS, SPOOLS_MAX};

/// Others than the owner do not look into it.
const MODE: u32 = 0o700;
/// What the name of a spool ends with.
const EXTENSION: &str = "spool";

/// A directory of spools.
#[derive(Clone, Debug)]
pub struct Spools {
    path: PathBuf,
}

impl Spools {
    /// The spools of a data directory. Nothing is made yet.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self {
            path: data.join("hooks"),
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The spool of a conversation.
    #[must_use]
    pub fn of_session(&self, client: Client, session: &str) -> SpoolFile {
        let name = format!("{client}-{}.{EXTENSION}", short_hash(session));
        SpoolFile::at(self.path.join(name))
    }

    /// Where text waits that a conversation is told at its next event.
    #[must_use]
    pub fn later(&self, client: Client, session: &str) -> PathBuf {
        let name = format!("{client}-{}.later", short_hash(session));
        self.path.join(name)
    }

    /// Where it is counted what was lost in spools that are gone.
    #[must_use]
    pub fn lost(&self) -> SpoolFile {
        SpoolFile::lost_below(&self.path)
    }

    /// Makes the directory, its owner's alone.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn make(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(MODE)
            .create(&self.path)
    }

    /// All spools, in the order of their names.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn all(&self) -> io::Result<Vec<SpoolFile>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut paths = Vec::new();
        for entry in entries.take(SPOOLS_MAX * 4) {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == EXTENSION)
            {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths.into_iter().map(SpoolFile::at).collect())
    }

    /// Whether a further conversation has room.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn has_room(&self) -> io::Result<bool> {
        Ok(self.all()?.len() < SPOOLS_MAX)
    }

    fn away_path(&self) -> PathBuf {
        self.path.join("away")
    }

    /// Remembers that the server was away. That it is not remembered costs time alone.
    pub fn note_away(&self, now: Timestamp) {
        let _ = fs::write(self.away_path(), now.ms().to_string());
    }

    /// Forgets that.
    pub fn note_back(&self) {
        let _ = fs::remove_file(self.away_path());
    }

    /// Whether the server was away a moment ago.
    #[must_use]
    pub fn is_away(&self, now: Timestamp) -> bool {
        let text = fs::read_to_string(self.away_path()).unwrap_or_default();
        let at = text.trim().parse().map(Timestamp::from_ms);
        // A clock that was put back makes no server be away for long.
        at.is_ok_and(|at| at <= now && now.since_ms(at) < AWAY_MS)
    }
}

/// Sixteen digits that stand for a text.
#[must_use]
pub fn short_hash(text: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 hook session");
    hasher.update(text.as_bytes());
    hex::encode(&hasher.finalize().as_bytes()[..8])
}
