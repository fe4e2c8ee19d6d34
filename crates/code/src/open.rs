//! Opening what lies below a folder, and nothing else.
//!
//! Owns that nothing outside is opened, whatever links say. The kernel sees to it where it can (`openat2`); elsewhere each step
//! is taken alone, without following, and links are followed here. It must not know what is read.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::limits::{LINKS_MAX, STEPS_MAX};

/// Why nothing was opened, or nothing was read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing.
    #[error("nothing lies there")]
    Gone,
    /// The system does not let it be read.
    #[error("the system does not allow it to be read")]
    Denied,
    /// Others rename what is on the way all the time.
    #[error("what is on the way there changes all the time")]
    Changing,
    /// The way leads out of the folder.
    #[error("the way there leads out")]
    Outside,
    /// Links on the way lead in a circle, or there are more than are followed, which may be none.
    #[error("the way there is a link that is not followed")]
    Link,
    /// It is a folder, a device, a pipe or a socket.
    #[error("it is no regular file")]
    NoFile,
    /// It has more bytes than are read.
    #[error("it is too large")]
    TooLarge,
}

/// Which links are followed on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// None.
    Refused,
    /// Those that lead to what lies below the folder.
    Within,
}

/// A pipe does not make whoever opens it wait, and a terminal does not become that of the process.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// A folder below which files are opened, wherever it is moved to.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// The folder at a path, which may lead there over links.
    ///
    /// # Errors
    /// What the system says where there is none that can be read.
    pub fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens what lies at a path from the folder, to be read.
    ///
    /// # Errors
    /// [`Error`], but for what is only known of what was opened.
    pub fn open(&self, path: &Path, links: Links) -> Result<File, Error> {
        let opened = open(self.0.as_fd(), path, FLAGS, links);
        opened.map(File::from)
    }

    /// Opens the folder at a path from the folder, to be listed; an empty path is the folder itself. No link is followed.
    ///
    /// # Errors
    /// [`Error`]
    pub fn folder(&self, path: &Path) -> Result<OwnedFd, Error> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        open(
            self.0.as_fd(),
            path,
            FLAGS | OFlags::DIRECTORY,
            Links::Refused,
        )
    }

    /// What lies at a path, without opening it; none where nothing does.
    pub(crate) fn kind(&self, path: &Path) -> Result<Option<FileType>, Error> {
        let Some(name) = path.file_name() else {
            return Ok(Some(FileType::Directory));
        };
        let folder = match self.folder(path.parent().unwrap_or(Path::new(""))) {
            Ok(folder) => folder,
            Err(Error::Gone) => return Ok(None),
            Err(error) => return Err(error),
        };
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(refused(error)),
        }
    }
}

fn open(root: BorrowedFd<'_>, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, Error> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match by_the_kernel(root, path, flags, links) {
        // An old kernel, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return opened.map_err(refused),
    }
    by_steps(root, path, flags, links)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_the_kernel(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};

    use crate::limits::OPENS_MAX;

    let resolve = ResolveFlags::BENEATH
        | match links {
            Links::Refused => ResolveFlags::NO_SYMLINKS,
            Links::Within => ResolveFlags::NO_MAGICLINKS,
        };
    let mut tries = 0;
    loop {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // The kernel cannot tell whether the way leads out while something on it is renamed.
            Err(Errno::AGAIN | Errno::INTR) if tries < OPENS_MAX => tries += 1,
            opened => return opened,
        }
    }
}

/// The same, step by step.
fn by_steps(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Error> {
    let mut ahead = steps(path.as_os_str())?;
    let mut above: Vec<OwnedFd> = Vec::new();
    let mut links_left = match links {
        Links::Refused => 0,
        Links::Within => LINKS_MAX,
    };
    while let Some(step) = ahead.pop_front() {
        if step == ".." {
            above.pop().ok_or(Error::Outside)?;
            continue;
        }
        let is_last = ahead.is_empty();
        let here = above.last().map_or(root, AsFd::as_fd);
        let of_step = if is_last {
            flags
        } else {
            FLAGS | OFlags::DIRECTORY
        };
        let error = match openat(here, &*step, of_step | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(opened) if is_last => return Ok(opened),
            Ok(_) if above.len() >= STEPS_MAX => return Err(Error::Denied),
            Ok(folder) => {
                above.push(folder);
                continue;
            }
            Err(error) => error,
        };
        if !matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::MLINK) {
            return Err(refused(error));
        }
        // A link; what is none is a file where a folder was expected.
        let target = readlinkat(here, &*step, Vec::new()).map_err(|_| refused(error))?;
        if links_left == 0 {
            return Err(Error::Link);
        }
        links_left -= 1;
        let target = OsString::from_vec(target.into_bytes());
        for step in steps(&target)?.into_iter().rev() {
            ahead.push_front(step);
        }
    }
    // The way ends in a folder that is open already.
    let here = above.last().map_or(root, AsFd::as_fd);
    openat(here, ".", flags, Mode::empty()).map_err(refused)
}

fn steps(path: &OsStr) -> Result<VecDeque<OsString>, Error> {
    if path.as_bytes().starts_with(b"/") {
        return Err(Error::Outside);
    }
    let steps = path.as_bytes().split(|byte| *byte == b'/');
    let steps = steps.filter(|step| !matches!(*step, b"" | b"."));
    Ok(steps
        .map(|step| OsStr::from_bytes(step).to_owned())
        .collect())
}

fn refused(error: Errno) -> Error {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => Error::Gone,
        Errno::XDEV => Error::Outside,
        Errno::LOOP | Errno::MLINK => Error::Link,
        // What sockets and devices without a driver say.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP | Errno::ISDIR => Error::NoFile,
        Errno::AGAIN | Errno::INTR => Error::Changing,
        _ => Error::Denied,
    }
}

#[cfg(test)]
mod tests;
