//! Calls that make, move and remove names.
//!
//! Each is noted before it is carried out, and its answer after it, under one lock: a process that
//! is killed in between leaves a last entry whose outcome the names themselves tell.

use super::super::files::{Open, Place, Standing, standing};
use super::super::raw::{self, Call};
use super::super::{Shim, Written, die};
use super::{note_length, pass};
use crate::record::{Entry, Inode, Naming, What};

/// Flags of a file that cannot be followed: no name at first, or writes that are durable at once.
const OPEN_UNKNOWN: i32 = libc::O_DSYNC | (libc::O_TMPFILE & !libc::O_DIRECTORY);

/// Notes a naming, carries it out, and notes what became of it.
fn name(written: &mut Written, place: &Place, what: What, call: Call) -> i64 {
    let naming = Naming {
        folder: place.folder.clone(),
        name: place.name.clone(),
        what,
    };
    written.note(&Entry::Naming(naming));
    let answer = pass(call);
    let file = match standing(place) {
        Standing::File(inode) => Some(inode),
        Standing::Nothing | Standing::Folder => None,
    };
    if let Some(inode) = file {
        written.inside.insert(inode, true);
    }
    let worked = answer >= 0;
    written.note(&Entry::Done { worked, file });
    answer
}

/// An `open` that may make a file, or cut it.
pub(super) fn open(shim: &Shim, call: Call, folder: u64, path: u64, flags: i32) -> i64 {
    let mut written = shim.written();
    let Some(place) = shim.place(folder, path) else {
        // It may wait for another process, as a pipe does.
        drop(written);
        return pass(call);
    };
    if flags & OPEN_UNKNOWN != 0 {
        die(&format!("{} is opened with flags {flags:#o}", place.path));
    }
    match standing(&place) {
        Standing::Nothing if flags & libc::O_CREAT != 0 => {
            name(&mut written, &place, What::File, call)
        }
        Standing::File(inode) if flags & libc::O_EXCL == 0 => {
            written.inside.insert(inode, true);
            if flags & libc::O_TRUNC != 0 {
                note_cut(&mut written, &place, inode);
            }
            pass(call)
        }
        Standing::File(_) | Standing::Folder | Standing::Nothing => pass(call),
    }
}

/// Notes that a file is about to lose all that it holds.
fn note_cut(written: &mut Written, place: &Place, inode: Inode) {
    let Ok(number) = raw::open(&place.path, libc::O_RDONLY) else {
        die(&format!("{} is cut and cannot be read", place.path));
    };
    let len = raw::stat(number).map_or(0, |found| u64::try_from(found.st_size).unwrap_or(0));
    let open = Open { number, inode, len };
    note_length(written, &open, 0);
    raw::close(number);
}

pub(super) fn make_folder(shim: &Shim, call: Call, folder: u64, path: u64) -> i64 {
    let mut written = shim.written();
    match shim.place(folder, path) {
        Some(place) if standing(&place) == Standing::Nothing => {
            name(&mut written, &place, What::Folder, call)
        }
        _ => pass(call),
    }
}

/// Of a file or of an empty folder.
pub(super) fn remove(shim: &Shim, call: Call, folder: u64, path: u64) -> i64 {
    let mut written = shim.written();
    let Some(place) = shim.place(folder, path) else {
        return pass(call);
    };
    match standing(&place) {
        Standing::Nothing => pass(call),
        Standing::Folder => name(&mut written, &place, What::FolderRemoved, call),
        Standing::File(inode) => {
            shim.keep(&place.path, inode);
            name(&mut written, &place, What::Removed(inode), call)
        }
    }
}

pub(super) fn rename(shim: &Shim, call: Call, from: (u64, u64), to: (u64, u64)) -> i64 {
    let mut written = shim.written();
    let (from, to) = match (shim.place(from.0, from.1), shim.place(to.0, to.1)) {
        (None, None) => return pass(call),
        (Some(from), Some(to)) if from.folder == to.folder => (from, to),
        _ => die("a file goes from one folder to another"),
    };
    let (file, replaced) = match (standing(&from), standing(&to)) {
        (Standing::Nothing, _) => return pass(call),
        (Standing::File(file), Standing::Nothing) => (file, None),
        (Standing::File(file), Standing::File(replaced)) => (file, Some(replaced)),
        (Standing::Folder, _) | (_, Standing::Folder) => die("a folder is renamed"),
    };
    if let Some(replaced) = replaced {
        shim.keep(&to.path, replaced);
    }
    let what = What::Renamed {
        file,
        from: from.name,
        replaced,
    };
    name(&mut written, &to, what, call)
}

pub(super) fn link(shim: &Shim, call: Call, from: (u64, u64), to: (u64, u64)) -> i64 {
    let mut written = shim.written();
    let Some(to) = shim.place(to.0, to.1) else {
        return pass(call);
    };
    let from = shim.place(from.0, from.1).map(|from| standing(&from));
    match (from, standing(&to)) {
        (Some(Standing::File(inode)), Standing::Nothing) => {
            name(&mut written, &to, What::Link(inode), call)
        }
        (Some(_), _) => pass(call),
        (None, _) => die("a file from elsewhere gets a name in the data folder"),
    }
}

/// A call that must not mean anything below the data folder.
pub(super) fn unknown(shim: &Shim, call: Call, folder: u64, path: u64) -> i64 {
    if let Some(place) = shim.place(folder, path) {
        let number = call.number;
        die(&format!(
            "system call {number} on {} cannot be undone",
            place.path
        ));
    }
    pass(call)
}
