//! What each caught call does to files and names, noted before it is carried out.
//!
//! A call that means nothing below the data folder is passed on as it is. One that this file does
//! not know how to undo ends the process.

mod naming;

use std::mem::size_of;

use super::files::{Open, lower};
use super::raw::{self, Call};
use super::{Shim, Written, die, shim};
use crate::record::{Change, Entry, Piece};

/// Bytes that are read at once where a file is cut.
const CHUNK_BYTES: usize = 1 << 20;

/// Carries a call out: the kernel's answer to it, or what stands for it.
pub(super) fn answer(call: Call) -> i64 {
    let shim = shim();
    match call.number {
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev => {
            write(shim, call)
        }
        libc::SYS_ftruncate => truncate(shim, call),
        libc::SYS_fallocate => allocate(shim, call),
        libc::SYS_fsync | libc::SYS_fdatasync => sync(shim, call),
        // It promises nothing that outlives a loss of power.
        libc::SYS_sync_file_range => pass(call),
        libc::SYS_open => naming::open(shim, call, AT_HERE, call.args[0], lower(call.args[1])),
        libc::SYS_openat => {
            naming::open(shim, call, call.args[0], call.args[1], lower(call.args[2]))
        }
        libc::SYS_mkdir => naming::make_folder(shim, call, AT_HERE, call.args[0]),
        libc::SYS_mkdirat => naming::make_folder(shim, call, call.args[0], call.args[1]),
        libc::SYS_rmdir | libc::SYS_unlink => naming::remove(shim, call, AT_HERE, call.args[0]),
        libc::SYS_unlinkat => naming::remove(shim, call, call.args[0], call.args[1]),
        libc::SYS_rename => {
            let [from, to, ..] = call.args;
            naming::rename(shim, call, (AT_HERE, from), (AT_HERE, to))
        }
        libc::SYS_renameat | libc::SYS_renameat2 => {
            let [from_folder, from, to_folder, to, flags] = call.args;
            if call.number == libc::SYS_renameat2 && flags & !u64::from(libc::RENAME_NOREPLACE) != 0
            {
                die("two names are exchanged");
            }
            naming::rename(shim, call, (from_folder, from), (to_folder, to))
        }
        libc::SYS_link => {
            naming::link(shim, call, (AT_HERE, call.args[0]), (AT_HERE, call.args[1]))
        }
        libc::SYS_linkat => {
            let [from_folder, from, to_folder, to, _] = call.args;
            naming::link(shim, call, (from_folder, from), (to_folder, to))
        }
        libc::SYS_symlink => naming::unknown(shim, call, AT_HERE, call.args[1]),
        libc::SYS_symlinkat => naming::unknown(shim, call, call.args[1], call.args[2]),
        libc::SYS_truncate | libc::SYS_creat | libc::SYS_mknod => {
            naming::unknown(shim, call, AT_HERE, call.args[0])
        }
        libc::SYS_mknodat | libc::SYS_openat2 => {
            naming::unknown(shim, call, call.args[0], call.args[1])
        }
        libc::SYS_mmap => die("memory that is shared with a file is writable"),
        number => die(&format!(
            "system call {number} is not one that can be taken back"
        )),
    }
}

const AT_HERE: u64 = libc::AT_FDCWD as u64;

fn pass(call: Call) -> i64 {
    // SAFETY: the process made this very call.
    unsafe { raw::call(call) }
}

fn write(shim: &Shim, call: Call) -> i64 {
    // Pipes and sockets, without the lock: a handler of another signal may write to one.
    if !shim.may_be_file(call.args[0]) {
        return pass(call);
    }
    let mut written = shim.written();
    let Some(open) = shim.file(call.args[0], &mut written) else {
        drop(written);
        return pass(call);
    };
    let at = match call.number {
        libc::SYS_pwrite64 | libc::SYS_pwritev => call.args[3],
        _ if appends(&open) => open.len,
        _ => known(raw::position(open.number)),
    };
    let count = match call.number {
        libc::SYS_write | libc::SYS_pwrite64 => call.args[2],
        _ => total(call.args[1], call.args[2]),
    };
    if count > 0 {
        let overwritten = at.min(open.len)..(at + count).min(open.len);
        let change = Change {
            file: open.inode,
            len_before: open.len,
            len_after: open.len.max(at + count),
            before: pieces(&open, overwritten.start, overwritten.end),
            at,
            count,
        };
        written.note(&Entry::Change(change));
    }
    pass(call)
}

fn known<T>(answer: Result<T, raw::Errno>) -> T {
    answer.unwrap_or_else(|error| die(&format!("a file cannot be looked at: error {error}")))
}

fn appends(open: &Open) -> bool {
    known(raw::flags(open.number)) & libc::O_APPEND != 0
}

/// Bytes of the buffers that a call gathers.
fn total(buffers: u64, count: u64) -> u64 {
    assert_eq!(size_of::<libc::iovec>(), 16, "the layout of Linux");
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the process passed this array to the kernel.
    let buffers = unsafe { std::slice::from_raw_parts(buffers as *const libc::iovec, count) };
    buffers.iter().map(|buffer| buffer.iov_len as u64).sum()
}

/// What a file holds in a range, holes and zeros left out as bytes.
fn pieces(open: &Open, from: u64, to: u64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    if from >= to {
        return pieces;
    }
    // The process may have opened it for writing alone.
    let readable = known(raw::open(
        &format!("/proc/self/fd/{}", open.number),
        libc::O_RDONLY,
    ));
    let mut at = from;
    while at < to {
        let data = raw::next_data(readable, at).unwrap_or(to).clamp(at, to);
        if data > at {
            zeros(&mut pieces, at, data - at);
            at = data;
            continue;
        }
        let len = usize::try_from(to - at).map_or(CHUNK_BYTES, |len| len.min(CHUNK_BYTES));
        let mut bytes = vec![0; len];
        let read = known(raw::read_at(readable, &mut bytes, at));
        if read == 0 {
            break;
        }
        bytes.truncate(read);
        if bytes.iter().all(|byte| *byte == 0) {
            zeros(&mut pieces, at, read as u64);
        } else {
            pieces.push(Piece {
                at,
                len: read as u64,
                bytes,
            });
        }
        at += read as u64;
    }
    raw::close(readable);
    pieces
}

fn zeros(pieces: &mut Vec<Piece>, at: u64, len: u64) {
    match pieces.last_mut() {
        Some(last) if last.bytes.is_empty() && last.at + last.len == at => last.len += len,
        _ => pieces.push(Piece {
            at,
            len,
            bytes: Vec::new(),
        }),
    }
}

fn truncate(shim: &Shim, call: Call) -> i64 {
    let mut written = shim.written();
    if let Some(open) = shim.file(call.args[0], &mut written) {
        note_length(&mut written, &open, call.args[1]);
    }
    pass(call)
}

/// Notes that a file is about to be given another length.
fn note_length(written: &mut Written, open: &Open, len: u64) {
    if len != open.len {
        let change = Change {
            file: open.inode,
            len_before: open.len,
            len_after: len,
            before: pieces(open, len.min(open.len), open.len),
            at: len,
            count: 0,
        };
        written.note(&Entry::Change(change));
    }
}

fn allocate(shim: &Shim, call: Call) -> i64 {
    let mut written = shim.written();
    if let Some(open) = shim.file(call.args[0], &mut written) {
        match lower(call.args[1]) {
            libc::FALLOC_FL_KEEP_SIZE => {}
            0 => {
                let end = call.args[2].saturating_add(call.args[3]);
                note_length(&mut written, &open, end.max(open.len));
            }
            mode => die(&format!("a file is allocated with mode {mode}")),
        }
    }
    pass(call)
}

fn sync(shim: &Shim, call: Call) -> i64 {
    enum Synced {
        File(u64),
        Folder(String),
    }
    let mut written = shim.written();
    let upto = written.entries;
    let what = match shim.folder(call.args[0]) {
        Some(folder) => Synced::Folder(folder),
        None if !shim.may_be_file(call.args[0]) => return pass(call),
        None => match shim.file(call.args[0], &mut written) {
            Some(open) => Synced::File(open.inode),
            // No file that could be lost.
            None => return 0,
        },
    };
    drop(written);
    if shim.lies {
        return 0;
    }
    // The disk is at work; the others go on.
    std::thread::sleep(shim.sync);
    let entry = match what {
        Synced::File(file) => Entry::Synced { file, upto },
        Synced::Folder(folder) => Entry::FolderSynced { folder, upto },
    };
    shim.written().note(&entry);
    0
}
