//! The shim: what is loaded into the process under test.
//!
//! Owns its start, and the state that all threads share. Calls are caught in the kernel by a seccomp
//! filter, not by symbols: much Rust code makes its system calls itself, past the C library, and
//! would not be seen. A caught call arrives as a signal in the thread that made it; it is noted in
//! the record, carried out, and answered. What may change a file in a way that is not noted ends the
//! process with a message.

mod calls;
mod files;
mod raw;
mod trap;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::record::{Entry, Inode};

/// What the threads of the process share.
struct Shim {
    /// The data folder, without a slash at its end.
    data: String,
    /// The folder that holds files which lost a name.
    kept: String,
    /// The device of both.
    device: u64,
    sync: Duration,
    lies: bool,
    written: Mutex<Written>,
}

/// The record so far. Whoever holds it is the only one to change files below the data folder, so the
/// order of the entries is the order of the changes.
struct Written {
    log: i32,
    entries: u64,
    buffer: Vec<u8>,
    /// Whether a file lies below the data folder.
    inside: BTreeMap<Inode, bool>,
}

/// Set once, before the filter is, and never freed: calls are caught until the process is gone.
static SHIM: AtomicPtr<Shim> = AtomicPtr::new(std::ptr::null_mut());

fn shim() -> &'static Shim {
    let shim = SHIM.load(Ordering::Acquire);
    // SAFETY: `start` stored a leaked box before it set the filter that leads here.
    unsafe { shim.as_ref() }.expect("calls are caught once the shim has started")
}

impl Shim {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written
            .lock()
            .unwrap_or_else(|_| die("a thread died while it noted a call"))
    }
}

impl Written {
    /// Appends an entry, before anything else is done.
    fn note(&mut self, entry: &Entry) {
        self.buffer.clear();
        entry.encode(&mut self.buffer);
        self.entries += 1;
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            match raw::write(self.log, rest) {
                Ok(count) if count > 0 => rest = &rest[count..],
                _ => die("the record cannot be written"),
            }
        }
    }
}

/// Ends the process: what it did next would not be in the record.
fn die(why: &str) -> ! {
    let message = format!("power-loss: {why}\n");
    let _ = raw::write(2, message.as_bytes());
    raw::abort()
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Runs when the library is loaded, before the program's own code and before it has threads.
extern "C" fn start() {
    let (Some(data), Some(record)) = (variable(crate::DATA), variable(crate::RECORD)) else {
        // Linked into a test, or loaded by accident.
        return;
    };
    let sync = variable(crate::SYNC_US).and_then(|text| text.parse().ok());
    let log = format!("{record}/{}", crate::LOG);
    let (Ok(log), Ok(device)) = (raw::open_log(&log), raw::device(&data)) else {
        die("the data folder and the record's folder with its log must exist");
    };
    if raw::device(&record) != Ok(device) {
        die("the record must lie on the file system of the data");
    }
    let shim = Shim {
        kept: format!("{record}/{}", crate::KEPT),
        data,
        device,
        sync: Duration::from_micros(sync.unwrap_or(0)),
        lies: variable(crate::LIES).as_deref() == Some("1"),
        written: Mutex::new(Written {
            log,
            entries: 0,
            buffer: Vec::new(),
            inside: BTreeMap::new(),
        }),
    };
    SHIM.store(Box::into_raw(Box::new(shim)), Ordering::Release);
    trap::install();
}

/// A variable of the environment. The standard library's reading of it may not be set up yet.
fn variable(name: &str) -> Option<String> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: the name ends in a zero byte, and nobody changes the environment before `main`.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: what `getenv` answers is null or a C string.
    let value = unsafe { CStr::from_ptr(value) };
    value.to_str().ok().map(str::to_owned)
}
