//! How far commits were acknowledged, in a file of its own: evidence against a journal that was
//! damaged or cut.
//!
//! A journal cannot tell its own last batch from one that a crash tore. This file can: it holds the
//! counter of the last commit that was on the disk before anybody was told of it. It is written
//! after each sync of the journal and is not synced itself, so it costs no time; after a loss of
//! power it may lag behind, and never runs ahead. See docs/adr/0010-what-a-journal-can-prove.md.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::Error;

const FILE: &str = "ACKNOWLEDGED";
/// The counter and its checksum: less than a sector, which a disk writes as a whole.
const BYTES: usize = 16;

/// The file of an open store.
#[derive(Debug)]
pub(super) struct Acknowledged {
    file: File,
}

/// What the file in `path` says; none when there is none, as in a store of an older build.
pub(super) fn read(path: &Path) -> Result<Option<u64>, Error> {
    match fs::read(path.join(FILE)) {
        Ok(bytes) => decode(&bytes).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unavailable("reading what was acknowledged", error)),
    }
}

fn encode(counter: u64) -> [u8; BYTES] {
    let counter = counter.to_be_bytes();
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&counter);
    bytes[8..].copy_from_slice(&xxh3_64(&counter).to_be_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Result<u64, Error> {
    let counter = bytes
        .first_chunk()
        .map(|counter| u64::from_be_bytes(*counter));
    counter
        .filter(|counter| bytes == encode(*counter))
        .ok_or_else(|| Error::Corrupt {
            family: "store",
            key: FILE.to_owned(),
            reason: "it does not hold a counter and its checksum".to_owned(),
        })
}

impl Acknowledged {
    /// Opens the file in `path`, and makes it where there is none. All commits up to `counter` are
    /// on the disk.
    pub(super) fn open(path: &Path, counter: u64) -> Result<Self, Error> {
        let write = || {
            let name = path.join(FILE);
            if !name.exists() {
                // Named last, so that a crash leaves no half-written file under the name.
                let draft = path.join(format!("{FILE}.new"));
                let mut file = File::create(&draft)?;
                file.write_all(&encode(counter))?;
                file.sync_all()?;
                fs::rename(&draft, &name)?;
                File::open(path)?.sync_all()?;
            }
            let file = OpenOptions::new().write(true).open(&name)?;
            file.write_all_at(&encode(counter), 0)?;
            file.sync_data()?;
            Ok(file)
        };
        let failed = |error: std::io::Error| Error::unavailable("noting what is stored", error);
        write().map(|file| Self { file }).map_err(failed)
    }

    /// All commits up to `counter` are on the disk, and are about to be acknowledged.
    pub(super) fn set(&self, counter: u64) -> Result<(), Error> {
        self.file
            .write_all_at(&encode(counter), 0)
            .map_err(|error| Error::unavailable("noting what is acknowledged", error))
    }
}

impl Drop for Acknowledged {
    fn drop(&mut self) {
        // Without it the file lags behind until the system writes it: less evidence, nothing wrong.
        let _ = self.file.sync_data();
    }
}
