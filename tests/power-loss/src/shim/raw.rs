//! System calls that the filter lets pass, because they carry a cookie in the argument that they do
//! not use.
//!
//! Owns every call that the shim itself makes to files: those of the standard library would be
//! caught again. Answers are the kernel's: a number, or the number of an error.

use std::arch::asm;
use std::ffi::CString;
use std::mem::MaybeUninit;

/// The sixth argument of a call of the shim's own.
pub(super) const COOKIE: u64 = 0x0070_6F77_6572_6F66;

/// The number of an error, as in `errno`.
pub(super) type Errno = i32;

/// A caught call, or one of the shim's own: at most five arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) number: i64,
    pub(super) args: [u64; 5],
}

/// Makes a call. The answer is the kernel's own: below zero, the negative number of an error.
///
/// # Safety
/// The arguments must be what the call takes: a pointer among them must be valid for it.
pub(super) unsafe fn call(call: Call) -> i64 {
    let [a, b, c, d, e] = call.args;
    let answer;
    // SAFETY: this is how the kernel is called on this architecture; the caller vouches for the
    // arguments, and the clobbered registers are named.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") call.number => answer,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") COOKIE,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

/// # Safety
/// As [`call`].
unsafe fn checked(number: i64, args: [u64; 5]) -> Result<u64, Errno> {
    // SAFETY: the caller vouches for the arguments.
    let answer = unsafe { call(Call { number, args }) };
    u64::try_from(answer).map_err(|_| Errno::try_from(-answer).unwrap_or(libc::EIO))
}

fn path(text: &str) -> Result<CString, Errno> {
    CString::new(text).map_err(|_| libc::EINVAL)
}

fn number(value: i32) -> u64 {
    // As the kernel reads it: the lower half of a register.
    i64::from(value).cast_unsigned()
}

pub(super) fn write(file: i32, bytes: &[u8]) -> Result<usize, Errno> {
    let args = [
        number(file),
        bytes.as_ptr() as u64,
        bytes.len() as u64,
        0,
        0,
    ];
    // SAFETY: pointer and length are those of a slice.
    unsafe { checked(libc::SYS_write, args) }.map(size)
}

fn size(count: u64) -> usize {
    usize::try_from(count).expect("a pointer has 64 bits on this architecture")
}

/// Fills `bytes` from this place of the file; fewer where it ends.
pub(super) fn read_at(file: i32, bytes: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        let place = at + filled as u64;
        let args = [
            number(file),
            rest.as_mut_ptr() as u64,
            rest.len() as u64,
            place,
            0,
        ];
        // SAFETY: pointer and length are those of a mutable slice.
        match unsafe { checked(libc::SYS_pread64, args) }? {
            0 => break,
            count => filled += size(count),
        }
    }
    Ok(filled)
}

pub(super) fn open_log(name: &str) -> Result<i32, Errno> {
    open(name, libc::O_WRONLY | libc::O_APPEND)
}

pub(super) fn open(name: &str, flags: i32) -> Result<i32, Errno> {
    let name = path(name)?;
    let args = [
        number(libc::AT_FDCWD),
        name.as_ptr() as u64,
        number(flags | libc::O_CLOEXEC),
        0,
        0,
    ];
    // SAFETY: the name is a C string that lives until after the call.
    let file = unsafe { checked(libc::SYS_openat, args) }?;
    i32::try_from(file).map_err(|_| libc::EMFILE)
}

pub(super) fn close(file: i32) {
    // SAFETY: no pointer is passed, and the shim closes only what it opened.
    let _ = unsafe { checked(libc::SYS_close, [number(file), 0, 0, 0, 0]) };
}

pub(super) fn stat(file: i32) -> Result<libc::stat, Errno> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    let args = [number(file), found.as_mut_ptr() as u64, 0, 0, 0];
    // SAFETY: there is room for what the call writes, and once it succeeded that is written.
    unsafe {
        checked(libc::SYS_fstat, args)?;
        Ok(found.assume_init())
    }
}

/// What stands under a name, not following a symbolic link.
pub(super) fn stat_name(name: &str) -> Result<libc::stat, Errno> {
    let file = open(name, libc::O_PATH | libc::O_NOFOLLOW)?;
    let found = stat(file);
    close(file);
    found
}

pub(super) fn device(name: &str) -> Result<u64, Errno> {
    stat_name(name).map(|found| found.st_dev)
}

pub(super) fn link(from: &str, to: &str) -> Result<(), Errno> {
    let (from, to) = (path(from)?, path(to)?);
    let here = number(libc::AT_FDCWD);
    let args = [here, from.as_ptr() as u64, here, to.as_ptr() as u64, 0];
    // SAFETY: both names are C strings that live until after the call.
    unsafe { checked(libc::SYS_linkat, args) }.map(|_| ())
}

/// The path of an open file.
pub(super) fn path_of(file: i32) -> Result<String, Errno> {
    let name = path(&format!("/proc/self/fd/{file}"))?;
    let mut text = vec![0u8; 4_096];
    let args = [
        number(libc::AT_FDCWD),
        name.as_ptr() as u64,
        text.as_mut_ptr() as u64,
        text.len() as u64,
        0,
    ];
    // SAFETY: the name is a C string, and the buffer is as long as is said.
    let len = unsafe { checked(libc::SYS_readlinkat, args) }?;
    text.truncate(size(len));
    String::from_utf8(text).map_err(|_| libc::EILSEQ)
}

/// Where the next `write` to the file goes.
pub(super) fn position(file: i32) -> Result<u64, Errno> {
    let seek = [number(file), 0, number(libc::SEEK_CUR), 0, 0];
    // SAFETY: no pointer is passed.
    unsafe { checked(libc::SYS_lseek, seek) }
}

/// The next place from `at` on that holds data; none when only a hole follows.
pub(super) fn next_data(file: i32, at: u64) -> Option<u64> {
    let seek = [number(file), at, number(libc::SEEK_DATA), 0, 0];
    // SAFETY: no pointer is passed.
    unsafe { checked(libc::SYS_lseek, seek) }.ok()
}

/// The flags that the file was opened with.
pub(super) fn flags(file: i32) -> Result<i32, Errno> {
    let args = [number(file), number(libc::F_GETFL), 0, 0, 0];
    // SAFETY: no pointer is passed.
    let flags = unsafe { checked(libc::SYS_fcntl, args) }?;
    i32::try_from(flags).map_err(|_| libc::EINVAL)
}

pub(super) fn abort() -> ! {
    // SAFETY: it takes nothing, and does not come back.
    unsafe { libc::abort() }
}
