//! Reading a file that may be anything, and may change meanwhile.
//!
//! Owns what is a file that is read, how much of it, and how it is told that it is the same as before. It must not know
//! what for.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sillok_core::gate::{Refusal, Unread};

use crate::limits::{FILE_BYTES_MAX, READS_MAX, SETTLED_AFTER};
use crate::open::{Miss, open};

/// By what a file is told from what it was: what changes it changes that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether whatever changes the file from now on changes this, too.
    pub(crate) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let latest = now.unwrap_or_default().saturating_sub(SETTLED_AFTER);
        let latest = i64::try_from(latest.as_secs()).unwrap_or(i64::MAX);
        self.changed.0.max(self.modified.0) < latest
    }
}

/// A file that was opened and may be read.
#[derive(Debug)]
pub(crate) struct Found {
    file: File,
    stamp: Stamp,
}

impl Found {
    /// Opens a regular file of at most [`FILE_BYTES_MAX`] bytes.
    pub(crate) fn open(root: BorrowedFd<'_>, path: &Path) -> Result<Self, Miss> {
        let file = File::from(open(root, path)?);
        let denied = |_| Miss::Unread(Unread::Denied);
        let metadata = file.metadata().map_err(denied)?;
        if !metadata.is_file() {
            return Err(Miss::Refused(Refusal::NoFile));
        }
        if metadata.size() > FILE_BYTES_MAX {
            return Err(Miss::Unread(Unread::TooLarge));
        }
        let stamp = Stamp::of(&metadata);
        Ok(Self { file, stamp })
    }

    pub(crate) const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Its bytes, with what tells them; none where it changed while it was read.
    fn bytes(mut self) -> Result<Option<(Vec<u8>, Stamp)>, Miss> {
        let denied = |_| Miss::Unread(Unread::Denied);
        let room = usize::try_from(self.stamp.bytes).unwrap_or(0);
        let mut bytes = Vec::with_capacity(room + 1);
        let mut limited = (&mut self.file).take(FILE_BYTES_MAX + 1);
        limited.read_to_end(&mut bytes).map_err(denied)?;
        let after = Stamp::of(&self.file.metadata().map_err(denied)?);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let is_same = after == self.stamp && length == after.bytes;
        Ok(is_same.then_some((bytes, after)))
    }
}

/// The bytes of a file that was opened at a path; it is opened again there while it changes.
pub(crate) fn read(
    root: BorrowedFd<'_>,
    path: &Path,
    mut found: Found,
) -> Result<(Vec<u8>, Stamp), Miss> {
    for _ in 1..READS_MAX {
        if let Some(read) = found.bytes()? {
            return Ok(read);
        }
        found = Found::open(root, path)?;
    }
    found.bytes()?.ok_or(Miss::Unread(Unread::Changing))
}
