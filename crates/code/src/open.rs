//! Opening what lies below a folder, and nothing else.
//!
//! Owns that no link is followed on the way. The kernel sees to it where it can (`openat2`); elsewhere each part of a path is
//! opened alone. It must not know what is read.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::read::Unread;

/// A pipe does not make whoever opens it wait, and a terminal does not become that of the process.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW);

/// A folder below which files are opened, wherever it is moved to.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    /// The folder at a path, which may lead there over links.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens what lies at a path from the folder, to be read.
    pub(crate) fn open(&self, path: &Path) -> Result<File, Unread> {
        open(self.0.as_fd(), path, FLAGS)
            .map(File::from)
            .map_err(unread)
    }

    /// What lies at a path, without opening it; none where nothing does.
    pub(crate) fn kind(&self, path: &Path) -> Result<Option<FileType>, Unread> {
        let Some(name) = path.file_name() else {
            return Ok(Some(FileType::Directory));
        };
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder = if parent.as_os_str().is_empty() {
            None
        } else {
            match open(self.0.as_fd(), parent, FLAGS | OFlags::DIRECTORY) {
                Ok(folder) => Some(folder),
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(error) => return Err(unread(error)),
            }
        };
        let here = folder.as_ref().map_or(self.0.as_fd(), AsFd::as_fd);
        match statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(unread(error)),
        }
    }
}

fn open(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match by_the_kernel(root, path, flags) {
        // An old kernel, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return opened,
    }
    by_parts(root, path, flags)
}

/// Times that it is tried to open one path while something on the way is renamed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const OPENS_MAX: u32 = 16;

#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_the_kernel(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let mut tries = 0;
    loop {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // The kernel cannot tell whether the way leads out while something on it is renamed.
            Err(Errno::AGAIN | Errno::INTR) if tries < OPENS_MAX => tries += 1,
            opened => return opened,
        }
    }
}

/// The same, part by part.
fn by_parts(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut folder: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let name = match part {
            Component::Normal(name) => name,
            Component::CurDir => ".".as_ref(),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                return Err(Errno::XDEV);
            }
        };
        let here = folder.as_ref().map_or(root, AsFd::as_fd);
        if parts.peek().is_none() {
            return openat(here, name, flags, Mode::empty());
        }
        let inner = openat(here, name, FLAGS | OFlags::DIRECTORY, Mode::empty())?;
        folder = Some(inner);
    }
    Err(Errno::ISDIR)
}

fn unread(error: Errno) -> Unread {
    match error {
        // A link on the way, and what sockets and devices without a driver say.
        Errno::LOOP
        | Errno::MLINK
        | Errno::XDEV
        | Errno::ISDIR
        | Errno::NXIO
        | Errno::NODEV
        | Errno::OPNOTSUPP => Unread::NoFile,
        _ => Unread::Gone,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_opened_over_a_link_nor_outside() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("a.py"), "secret").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("in/deep")).unwrap();
        fs::write(at("in/deep/a.py"), "a").unwrap();
        symlink(outside.path(), at("out")).unwrap();
        symlink(at("in"), at("same")).unwrap();
        symlink("deep/a.py", at("in/link.py")).unwrap();
        let root = Root::at(folder.path()).unwrap();
        let outside = outside.path().join("a.py");
        let refused = [
            "out/a.py",
            "same/deep/a.py",
            "in/link.py",
            "in/../in/../../a.py",
            "in/deep/a.py/b",
            "none",
            outside.to_str().unwrap(),
        ];
        for path in refused {
            assert!(root.open(Path::new(path)).is_err(), "{path}");
            let by_parts = by_parts(root.0.as_fd(), Path::new(path), FLAGS);
            assert!(by_parts.is_err(), "{path}");
        }
        let read = |mut file: File| {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            text
        };
        for path in ["in/deep/a.py", "./in/./deep/a.py"] {
            let path = Path::new(path);
            assert_eq!(read(root.open(path).unwrap()), "a");
            let by_parts = by_parts(root.0.as_fd(), path, FLAGS).unwrap();
            assert_eq!(read(by_parts.into()), "a");
        }
    }

    #[test]
    fn what_lies_there_is_told_without_a_link_being_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("in/file"), "").unwrap();
        symlink("in", folder.path().join("link")).unwrap();
        let root = Root::at(folder.path()).unwrap();
        let kind = |path: &str| root.kind(Path::new(path));
        assert_eq!(kind(""), Ok(Some(FileType::Directory)));
        assert_eq!(kind("in/file"), Ok(Some(FileType::RegularFile)));
        assert_eq!(kind("link"), Ok(Some(FileType::Symlink)));
        assert_eq!((kind("none"), kind("none/file")), (Ok(None), Ok(None)));
        assert_eq!(kind("in/file/file"), Ok(None));
        assert!(!matches!(kind("link/file"), Ok(Some(_))));
    }

    #[test]
    fn a_root_that_is_moved_away_is_still_the_one_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("root")).unwrap();
        fs::write(at("root/file"), "it").unwrap();
        let root = Root::at(&at("root")).unwrap();
        fs::rename(at("root"), at("moved")).unwrap();
        symlink("/", at("root")).unwrap();
        assert!(root.open(Path::new("file")).is_ok());
        assert!(root.open(Path::new("etc/passwd")).is_err());
    }
}
