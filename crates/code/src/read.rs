//! Reading one file of a work tree.
//!
//! Owns what is refused, and the hash of what was read. It must not know what the bytes mean.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use crate::limits::FILE_BYTES_MAX;
use crate::open::Root;

/// BLAKE3 of the bytes of a file, as they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileHash([u8; 32]);

impl FileHash {
    /// Hashes bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why nothing is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It went, or something stands in the way.
    Gone,
    /// It is a link, a folder or a special file by now.
    NoFile,
    /// It has more bytes than are read.
    TooLarge,
    /// The parser did not come to an end within its bound.
    TooSlow,
    /// What is known of all files takes as much memory as it may.
    NoRoom,
    /// The reader broke down on it.
    Panicked,
}

/// What the file system says of a file: as long as that stays, its bytes are taken to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    bytes: u64,
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What changed less than this before it was read may change again without another stamp: clocks of file systems are coarse.
const SETTLED_AFTER_S: i64 = 2;

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.size(),
            device: metadata.dev(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The stamp of what lies at a path, without following it.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let metadata = std::fs::symlink_metadata(path).ok()?;
        metadata.is_file().then(|| Self::of(&metadata))
    }

    /// Whether it tells what was read at `now`, in seconds since 1970, from whatever is written later.
    fn is_settled(&self, now_s: i64) -> bool {
        let newest = self.modified.0.max(self.changed.0);
        newest.saturating_add(SETTLED_AFTER_S) < now_s
    }
}

/// What was read of a file.
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    /// None where it may have changed while it was read, or may yet without a trace.
    pub(crate) stamp: Option<Stamp>,
}

/// Reads a file below a root, if it is one. No link is followed on the way.
pub(crate) fn read(root: &Root, path: &Path, now_s: i64) -> Result<Content, Unread> {
    let (file, before) = open(root, path, FILE_BYTES_MAX)?;
    content(file, &before, now_s)
}

/// The bytes of a file that is open, and whether it stayed meanwhile what it was before.
fn content(mut file: File, before: &Metadata, now_s: i64) -> Result<Content, Unread> {
    let bytes = read_all(&mut file, before, FILE_BYTES_MAX)?;
    let (before, after) = (
        Stamp::of(before),
        file.metadata().map(|after| Stamp::of(&after)),
    );
    let is_same = after.is_ok_and(|after| after == before) && before.bytes == bytes.len() as u64;
    Ok(Content {
        bytes,
        stamp: (is_same && before.is_settled(now_s)).then_some(before),
    })
}

/// The same for what no walk has seen, none where nothing lies there. It may be a device, which must not even be opened.
pub(crate) fn read_short(
    root: &Root,
    path: &Path,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, Unread> {
    match root.kind(path)? {
        Some(FileType::RegularFile) => {}
        Some(_) => return Err(Unread::NoFile),
        None => return Ok(None),
    }
    let (mut file, before) = open(root, path, bytes_max)?;
    read_all(&mut file, &before, bytes_max).map(Some)
}

fn read_all(file: &mut File, before: &Metadata, bytes_max: u64) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::with_capacity(usize::try_from(before.size()).unwrap_or(0));
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| Unread::Gone)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Unread::TooLarge);
    }
    Ok(bytes)
}

fn open(root: &Root, path: &Path, bytes_max: u64) -> Result<(File, Metadata), Unread> {
    let file = root.open(path)?;
    let metadata = file.metadata().map_err(|_| Unread::Gone)?;
    if !metadata.is_file() {
        return Err(Unread::NoFile);
    }
    if metadata.size() > bytes_max {
        return Err(Unread::TooLarge);
    }
    Ok((file, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_read_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        std::fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let root = Root::at(folder.path()).unwrap();
        let read = |name: &str| read(&root, Path::new(name), i64::MAX);
        let read_short = |name: &str, most| read_short(&root, Path::new(name), most);
        for name in ["pipe", "link", "."] {
            assert_eq!(read(name).err(), Some(Unread::NoFile), "{name}");
            assert_eq!(read_short(name, 9), Err(Unread::NoFile), "{name}");
        }
        assert_eq!(read_short("none", 9), Ok(None));
        assert_eq!(read_short("file", 4), Ok(Some(b"text".to_vec())));
        assert_eq!(read_short("file", 3), Err(Unread::TooLarge));
        assert_eq!(read("none").err(), Some(Unread::Gone));
        assert_eq!(read("file").unwrap().bytes, b"text");
    }

    #[test]
    fn what_changes_while_it_is_read_has_no_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let root = Root::at(folder.path()).unwrap();
        let changes: [(&str, &dyn Fn()); 4] = [
            ("nothing", &|| {}),
            ("it grows", &|| std::fs::write(&path, "texts").unwrap()),
            ("it shrinks", &|| std::fs::write(&path, "").unwrap()),
            ("its time", &|| {
                let file = File::options().write(true).open(&path).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }),
        ];
        for (what, change) in changes {
            std::fs::write(&path, "text").unwrap();
            let (file, before) = open(&root, Path::new("file"), FILE_BYTES_MAX).unwrap();
            change();
            let content = content(file, &before, i64::MAX).unwrap();
            assert_eq!(content.stamp.is_some(), what == "nothing", "{what}");
        }
    }

    #[test]
    fn what_may_change_without_a_trace_has_no_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let changed = std::fs::metadata(&path).unwrap().ctime();
        let root = Root::at(folder.path()).unwrap();
        let read = |now_s| read(&root, Path::new("file"), now_s).unwrap();
        assert_eq!(read(changed + SETTLED_AFTER_S).stamp, None);
        let later = read(changed + SETTLED_AFTER_S + 1);
        assert!(later.stamp.is_some());
        assert_eq!(later.stamp, Stamp::at(&path));
    }
}
