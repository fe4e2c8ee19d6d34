//! Which file or name a call means, and whether it lies below the data folder.

use super::raw::{self, Errno};
use super::{Shim, Written, die};
use crate::record::Inode;

/// A name below the data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The folder, relative to the data folder.
    pub(super) folder: String,
    pub(super) name: String,
    /// Folder and name, absolute.
    pub(super) path: String,
}

/// What stands under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Nothing,
    File(Inode),
    Folder,
}

/// A file below the data folder that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) number: i32,
    pub(super) inode: Inode,
    pub(super) len: u64,
}

impl Shim {
    /// The path relative to the data folder; none when it lies elsewhere.
    pub(super) fn relative<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(self.data.as_str())?;
        if rest.is_empty() {
            return Some(rest);
        }
        rest.strip_prefix('/')
    }

    /// The file behind this number; none when it is something else, or lies elsewhere.
    pub(super) fn file(&self, number: u64, written: &mut Written) -> Option<Open> {
        let number = lower(number);
        let found = raw::stat(number).ok()?;
        let inode = found.st_ino;
        let inside = *written.inside.entry(inode).or_insert_with(|| {
            raw::path_of(number).is_ok_and(|path| self.relative(&path).is_some())
        });
        inside.then(|| Open {
            number,
            inode,
            len: length(&found),
        })
    }

    /// Whether the number stands for a regular file on the file system of the data at all.
    pub(super) fn may_be_file(&self, number: u64) -> bool {
        raw::stat(lower(number)).is_ok_and(|found| {
            found.st_mode & libc::S_IFMT == libc::S_IFREG && found.st_dev == self.device
        })
    }

    /// The folder behind this number, relative to the data folder; none when it is no folder, or
    /// lies elsewhere.
    pub(super) fn folder(&self, number: u64) -> Option<String> {
        let number = lower(number);
        let found = raw::stat(number).ok()?;
        if found.st_mode & libc::S_IFMT != libc::S_IFDIR {
            return None;
        }
        let path = raw::path_of(number).ok()?;
        self.relative(&path).map(str::to_owned)
    }

    /// What a call means by a folder's number and a path; none when it lies elsewhere, or its folder
    /// does not exist.
    pub(super) fn place(&self, folder: u64, path: u64) -> Option<Place> {
        // SAFETY: it is what the process passed to the kernel as a path; were it no C string, the
        // process would be at fault itself.
        let path = unsafe { std::ffi::CStr::from_ptr(path as *const libc::c_char) };
        let path = path.to_str().ok()?.trim_end_matches('/');
        let (parent, name) = match path.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some((parent, name)) => (parent, name),
            None => (".", path),
        };
        if name.is_empty() {
            return None;
        }
        let parent = canonical(folder, parent).ok()?;
        let relative = self.relative(&parent)?;
        if matches!(name, "." | "..") {
            die("a name is changed by way of a dot");
        }
        Some(Place {
            folder: relative.to_owned(),
            name: name.to_owned(),
            path: format!("{parent}/{name}"),
        })
    }

    /// Keeps a file that is about to lose a name, so that the loss can give it back.
    pub(super) fn keep(&self, path: &str, inode: Inode) {
        match raw::link(path, &format!("{}/{inode}", self.kept)) {
            Ok(()) | Err(libc::EEXIST) => {}
            Err(error) => die(&format!("{path} cannot be kept: error {error}")),
        }
    }
}

/// A 32-bit argument, as the kernel reads it: the lower half of a register.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the upper half has no meaning"
)]
pub(super) fn lower(argument: u64) -> i32 {
    argument as i32
}

/// What stands under this name.
pub(super) fn standing(place: &Place) -> Standing {
    match raw::stat_name(&place.path) {
        Err(_) => Standing::Nothing,
        Ok(found) => match found.st_mode & libc::S_IFMT {
            libc::S_IFREG => Standing::File(found.st_ino),
            libc::S_IFDIR => Standing::Folder,
            _ => die("something stands in the data folder that is neither file nor folder"),
        },
    }
}

fn length(found: &libc::stat) -> u64 {
    u64::try_from(found.st_size).expect("a length is not negative")
}

/// The absolute path of a folder that exists, without symbolic links.
fn canonical(folder: u64, path: &str) -> Result<String, Errno> {
    let base = match lower(folder) {
        _ if path.starts_with('/') => String::new(),
        libc::AT_FDCWD => "./".to_owned(),
        number => format!("{}/", raw::path_of(number)?),
    };
    let opened = raw::open(&format!("{base}{path}"), libc::O_PATH | libc::O_DIRECTORY)?;
    let found = raw::path_of(opened);
    raw::close(opened);
    found
}
