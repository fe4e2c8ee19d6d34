//! Opening what lies below a directory, whatever links say.
//!
//! Owns that nothing else is opened. The kernel sees to it where it can (`openat2` with `RESOLVE_BENEATH`); elsewhere
//! each step is taken alone, without following, and links are followed here. It must not know what is read.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use sillok_core::gate::{Refusal, Unread};

use crate::limits::{DEPTH_MAX, LINKS_MAX};

/// Why nothing was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// It may not be read.
    Refused(Refusal),
    /// It may be read, and cannot be.
    Unread(Unread),
    /// There is nothing.
    Gone,
}

/// A pipe does not make whoever opens it wait, and a terminal does not become that of the process.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Opens what a path names, which has no `..` of its own.
pub(crate) fn open(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Miss> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match by_the_kernel(root, path) {
        // An old kernel, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        Err(error) => return Err(miss(error)),
        Ok(file) => return Ok(file),
    }
    by_steps(root, path)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_the_kernel(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        // While something on the way is renamed the kernel cannot tell whether the way leads out.
        match openat2(root, path, FLAGS, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if tries < crate::limits::OPENS_MAX => tries += 1,
            opened => return opened,
        }
    }
}

/// The same, step by step.
fn by_steps(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Miss> {
    let mut above: Vec<OwnedFd> = Vec::new();
    let mut ahead: VecDeque<OsString> = steps(path);
    let mut links = 0;
    while let Some(step) = ahead.pop_front() {
        if step == ".." {
            above.pop().ok_or(Miss::Refused(Refusal::LinkOut))?;
            continue;
        }
        let is_last = ahead.is_empty();
        let mut flags = FLAGS | OFlags::NOFOLLOW;
        flags.set(OFlags::DIRECTORY, !is_last);
        let here = above.last().map_or(root, AsFd::as_fd);
        let error = match openat(here, &*step, flags, Mode::empty()) {
            Ok(file) if is_last => return Ok(file),
            Ok(_) if above.len() >= DEPTH_MAX => return Err(Miss::Refused(Refusal::NoPath)),
            Ok(directory) => {
                above.push(directory);
                continue;
            }
            Err(error) => error,
        };
        if !matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::MLINK) {
            return Err(miss(error));
        }
        // A link; what is none is a file where a directory was expected.
        let target = readlinkat(here, &*step, Vec::new()).map_err(|_| miss(error))?;
        links += 1;
        if links > LINKS_MAX {
            return Err(Miss::Refused(Refusal::LinkLoop));
        }
        let target = OsString::from_vec(target.into_bytes());
        if target.as_bytes().starts_with(b"/") {
            return Err(Miss::Refused(Refusal::LinkOut));
        }
        for step in steps(Path::new(&target)).into_iter().rev() {
            ahead.push_front(step);
        }
    }
    // The way ends in a directory.
    Err(Miss::Refused(Refusal::NoFile))
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let steps = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    let steps = steps.filter(|step| !matches!(*step, b"" | b"."));
    steps
        .map(|step| OsStr::from_bytes(step).to_owned())
        .collect()
}

fn miss(error: Errno) -> Miss {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL => Miss::Gone,
        Errno::XDEV => Miss::Refused(Refusal::LinkOut),
        Errno::LOOP | Errno::MLINK => Miss::Refused(Refusal::LinkLoop),
        // What a socket and a device without a driver say.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP | Errno::ISDIR => {
            Miss::Refused(Refusal::NoFile)
        }
        Errno::AGAIN | Errno::INTR => Miss::Unread(Unread::Changing),
        _ => Miss::Unread(Unread::Denied),
    }
}

#[cfg(test)]
mod tests;
