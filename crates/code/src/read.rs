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
use crate::open::{self, Links, Root};

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

impl From<open::Error> for Unread {
    fn from(error: open::Error) -> Self {
        match error {
            open::Error::Gone | open::Error::Denied | open::Error::Changing => Self::Gone,
            open::Error::Outside | open::Error::Link | open::Error::NoFile => Self::NoFile,
            open::Error::TooLarge => Self::TooLarge,
        }
    }
}

/// What the file system says of a file: as long as that stays, its bytes are taken to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
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
    #[must_use]
    pub const fn is_settled(&self, now_s: i64) -> bool {
        let newest = if self.modified.0 > self.changed.0 {
            self.modified.0
        } else {
            self.changed.0
        };
        newest.saturating_add(SETTLED_AFTER_S) < now_s
    }
}

/// A regular file that is open, with as many bytes as are read at most.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    stamp: Stamp,
    bytes_max: u64,
}

impl OpenFile {
    /// Opens what lies at a path below a root, if it is a file of at most so many bytes.
    ///
    /// # Errors
    /// [`open::Error`]
    pub fn at(root: &Root, path: &Path, links: Links, bytes_max: u64) -> Result<Self, open::Error> {
        let file = root.open(path, links)?;
        let metadata = file.metadata().map_err(|_| open::Error::Denied)?;
        if !metadata.is_file() {
            return Err(open::Error::NoFile);
        }
        if metadata.size() > bytes_max {
            return Err(open::Error::TooLarge);
        }
        let stamp = Stamp::of(&metadata);
        Ok(Self {
            file,
            stamp,
            bytes_max,
        })
    }

    /// What the file system said of it when it was opened.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Its bytes, and whether they are those that its stamp is of: it may have changed while it was read.
    ///
    /// # Errors
    /// [`open::Error::Denied`], and [`open::Error::TooLarge`] for what has grown.
    pub fn read(mut self) -> Result<(Vec<u8>, bool), open::Error> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.stamp.bytes).unwrap_or(0));
        let mut limited = (&mut self.file).take(self.bytes_max.saturating_add(1));
        let read = limited.read_to_end(&mut bytes);
        read.map_err(|_| open::Error::Denied)?;
        let length = bytes.len() as u64;
        if length > self.bytes_max {
            return Err(open::Error::TooLarge);
        }
        let after = self.file.metadata().map(|after| Stamp::of(&after));
        let is_same = after.is_ok_and(|after| after == self.stamp) && self.stamp.bytes == length;
        Ok((bytes, is_same))
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
    content(
        OpenFile::at(root, path, Links::Refused, FILE_BYTES_MAX)?,
        now_s,
    )
}

/// The bytes of a file that is open, and whether it stayed meanwhile what it was before.
fn content(file: OpenFile, now_s: i64) -> Result<Content, Unread> {
    let stamp = file.stamp();
    let (bytes, is_same) = file.read()?;
    Ok(Content {
        bytes,
        stamp: (is_same && stamp.is_settled(now_s)).then_some(stamp),
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
    let file = OpenFile::at(root, path, Links::Refused, bytes_max)?;
    let (bytes, _) = file.read()?;
    Ok(Some(bytes))
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
            let file = OpenFile::at(&root, Path::new("file"), Links::Refused, FILE_BYTES_MAX);
            let file = file.unwrap();
            change();
            let content = content(file, i64::MAX).unwrap();
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
