//! A power loss for a real, unchanged process.
//!
//! Owns both halves. The *shim* is loaded into the process (`LD_PRELOAD`) and writes a record of
//! everything that the process does to the files of one folder, and of what it has synced. The
//! *loss* is applied once the process was killed: it takes away what was not synced, or keeps a part
//! of it by chance. It must not know what the files mean, or what the process is.
//!
//! What a disk may do, in the manner of ext4 and XFS with a disk that loses its cache:
//!
//! - Bytes written to a file are safe once an `fsync` or `fdatasync` of that file that began after
//!   them has returned. Until then every piece of 512 or 4,096 bytes keeps its old content, or any
//!   that it had in between, each by itself; so does the length. What lies below a longer length and
//!   was never written holds zeros.
//! - Names that are made, moved or removed are safe once an `fsync` of their folder has returned.
//!   Until then the changes of one folder are lost from some point on: they are journaled in order.
//!   Different folders know nothing of each other, which is less than those file systems promise.
//! - An `fsync` of a file or folder also keeps the name that it has, and those of the folders above
//!   it. POSIX does not say so, but these file systems do, and much software rests on it.
//! - A rename within a folder happens whole or not at all.
//! - What a sector holds is never a mixture: 512 bytes are written at once.
//!
//! The shim syncs nothing itself. What the process wrote outlives its death by a signal, and a
//! pause stands for the disk, so that a kill meets syncs that are under way.

pub mod loss;
pub mod record;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[expect(
    unsafe_code,
    reason = "a filter in the kernel, a signal handler, and the memory that calls point to"
)]
mod shim;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names the folder whose files can be lost: an absolute path without symbolic links.
pub const DATA: &str = "POWER_LOSS_DATA";
/// Names the folder of the record, on the same file system and outside of the other.
pub const RECORD: &str = "POWER_LOSS_RECORD";
/// Microseconds that a sync takes.
pub const SYNC_US: &str = "POWER_LOSS_SYNC_US";
/// When it is `1`, syncs succeed and keep nothing.
pub const LIES: &str = "POWER_LOSS_LIES";

/// The file of the record's folder that holds the entries, in the form of [`record`].
pub(crate) const LOG: &str = "log";
/// The folder of the record's folder that holds files which lost a name, by their inode.
pub(crate) const KEPT: &str = "kept";

/// Whether the disk does what it is told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// What was synced is safe.
    Honest,
    /// Syncs succeed and keep nothing, as if nobody had asked for them.
    Lying,
}

/// A disk that can lose its power.
#[derive(Clone, Debug)]
pub struct Power {
    data: PathBuf,
    record: PathBuf,
    disk: Disk,
    sync: Duration,
}

impl Power {
    /// For the files below `data`, with the record in `record`. Both are made where they are
    /// missing. `sync` is how long a sync takes.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn new(data: &Path, record: &Path, disk: Disk, sync: Duration) -> std::io::Result<Self> {
        std::fs::create_dir_all(data)?;
        std::fs::create_dir_all(record)?;
        let power = Self {
            data: data.canonicalize()?,
            record: record.canonicalize()?,
            disk,
            sync,
        };
        power.begin_anew()?;
        Ok(power)
    }

    /// What the process's environment must hold, besides the shim as `LD_PRELOAD`.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, OsString); 4] {
        [
            (DATA, self.data.clone().into()),
            (RECORD, self.record.clone().into()),
            (SYNC_US, self.sync.as_micros().to_string().into()),
            (LIES, u8::from(self.disk == Disk::Lying).to_string().into()),
        ]
    }

    /// Takes away what the process, which has ended, did not sync. `chance` gives numbers that say
    /// what becomes of each part. What is left is on the disk for good, and the record is empty.
    ///
    /// # Errors
    /// What the file system answered, or a record that does not decode.
    pub fn lose(&self, chance: &mut dyn FnMut() -> u64) -> std::io::Result<loss::Lost> {
        let lost = loss::apply(&self.data, &self.record, chance)?;
        self.begin_anew()?;
        Ok(lost)
    }

    fn begin_anew(&self) -> std::io::Result<()> {
        let kept = self.record.join(KEPT);
        if kept.exists() {
            std::fs::remove_dir_all(&kept)?;
        }
        std::fs::create_dir(&kept)?;
        std::fs::write(self.record.join(LOG), [])
    }
}

/// The shim as a library file; none on a machine for which there is none. It lies beside the program
/// that this crate is linked into, in `target/debug/deps`.
#[must_use]
pub fn library() -> Option<PathBuf> {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    let library = program.parent()?.join("libsillok_power_loss.so");
    library.is_file().then_some(library)
}
