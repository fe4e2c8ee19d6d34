//! Reading a file of a work tree that may be anything, and may change meanwhile.
//!
//! Owns how much of it is read, over which links, and how often it is tried. It must not know what for.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sillok_code::open::{Links, Root};
use sillok_code::{OpenFile, Stamp};
use sillok_core::gate::Unread;

use crate::limits::{FILE_BYTES_MAX, READS_MAX};
use crate::miss::Miss;

/// Opens a regular file of at most [`FILE_BYTES_MAX`] bytes.
pub(crate) fn open(root: &Root, path: &Path) -> Result<OpenFile, Miss> {
    Ok(OpenFile::at(root, path, Links::Within, FILE_BYTES_MAX)?)
}

/// The bytes of a file that was opened at a path, with what tells them; it is opened again there while it changes.
pub(crate) fn read(root: &Root, path: &Path, mut file: OpenFile) -> Result<(Vec<u8>, Stamp), Miss> {
    for _ in 1..READS_MAX {
        if let Some(read) = whole(file)? {
            return Ok(read);
        }
        file = open(root, path)?;
    }
    whole(file)?.ok_or(Miss::Unread(Unread::Changing))
}

fn whole(file: OpenFile) -> Result<Option<(Vec<u8>, Stamp)>, Miss> {
    let stamp = file.stamp();
    let (bytes, is_same) = file.read()?;
    Ok(is_same.then_some((bytes, stamp)))
}

/// Whether whatever changes a file from now on changes its stamp, too.
pub(crate) fn is_settled(stamp: Stamp) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now.unwrap_or_default().as_secs();
    stamp.is_settled(i64::try_from(now_s).unwrap_or(i64::MAX))
}
