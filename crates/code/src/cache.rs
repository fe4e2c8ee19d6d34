//! What is known of contents, on disk: a restart parses nothing that it knows.
//!
//! Owns the form of the file. It must not know work trees: what is stored is what bytes say, by their hash. A file that
//! is damaged, or of another release, is no error: all of it can be made anew.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use crate::code_index::CodeIndex;
use crate::file_index::FileIndex;
use crate::language::Language;
use crate::limits::CACHE_BYTES_MAX;
use crate::read::FileHash;
use crate::scan::Contents;

/// What the file is called in its folder.
pub const FILE_NAME: &str = "code-index.bin";

/// What it is called until it is whole. There is one such name, so that one left by a process that ended is the last one.
const NEW_NAME: &str = "code-index.bin.new";

/// Held by who stores: a server that ended in this process may still be at it when the next one is.
static STORING: Mutex<()> = Mutex::new(());

const MAGIC: [u8; 8] = *b"SILLCODE";
/// Of the form, and of what rules make of bytes: what another release read is read again. To be raised with either.
const VERSION: u32 = 3;
const HEADER_BYTES: usize = MAGIC.len() + 4 + 32;

/// Why nothing is stored or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system stands in the way.
    #[error("{path}: {source}")]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// What is known cannot be written down.
    #[error("the index of code cannot be written down: {0}")]
    Form(#[from] postcard::Error),
}

/// What came of a file.
#[derive(Debug)]
pub enum Loaded {
    /// It was whole. What it knows serves as soon as a work tree is looked at.
    Whole(CodeIndex),
    /// There is none.
    Absent,
    /// It is of another release.
    Other,
    /// It is damaged, or too long.
    Damaged,
}

impl Loaded {
    /// The index to begin with: an empty one where nothing could be read.
    #[must_use]
    pub fn into_index(self) -> CodeIndex {
        match self {
            Self::Whole(index) => index,
            Self::Absent | Self::Other | Self::Damaged => CodeIndex::new(),
        }
    }
}

impl CodeIndex {
    /// Stores what is known of contents in a folder, in the place of what was stored: whoever reads meanwhile finds the former
    /// file or this one. A folder that is not there is made, for nobody else to read. One process at a time may do so. It
    /// blocks.
    ///
    /// # Errors
    /// [`Error`]; the former file stays then.
    pub fn save(&self, folder: &Path) -> Result<(), Error> {
        let _alone = STORING.lock();
        let (path, new) = (folder.join(FILE_NAME), folder.join(NEW_NAME));
        let failed = |source| Error::Io {
            path: path.clone(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)
            .map_err(failed)?;
        let written = self.write(&mut file, failed);
        let stored = written.and_then(|()| fs::rename(&new, &path).map_err(failed));
        if stored.is_err() {
            // The next one that is stored takes its place, if it cannot be removed.
            let _stays = fs::remove_file(&new);
        }
        stored?;
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)
    }

    fn write(&self, file: &mut File, failed: impl Fn(io::Error) -> Error) -> Result<(), Error> {
        file.write_all(&[0; HEADER_BYTES]).map_err(&failed)?;
        let mut all: Vec<(&FileHash, Language, &FileIndex)> = self
            .contents()
            .iter()
            .map(|((hash, language), file)| (hash, *language, &**file))
            .collect();
        all.sort_unstable_by_key(|(hash, language, _)| (**hash, *language));
        let hash = write_hashed(file, &all)?;
        file.seek(SeekFrom::Start(0)).map_err(&failed)?;
        file.write_all(&header(&hash)).map_err(&failed)?;
        file.sync_all().map_err(&failed)
    }

    /// What was stored in a folder. It blocks.
    ///
    /// # Errors
    /// [`Error::Io`] where there is a file that cannot be read.
    pub fn load(folder: &Path) -> Result<Loaded, Error> {
        let path = folder.join(FILE_NAME);
        let failed = |source| Error::Io {
            path: path.clone(),
            source,
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Loaded::Absent),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.take(CACHE_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        Ok(read(&bytes))
    }
}

fn read(bytes: &[u8]) -> Loaded {
    let Some((head, payload)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Loaded::Damaged;
    };
    if bytes.len() as u64 > CACHE_BYTES_MAX || head[..MAGIC.len()] != MAGIC {
        return Loaded::Damaged;
    }
    if head[MAGIC.len()..][..4] != VERSION.to_le_bytes() {
        return Loaded::Other;
    }
    if head != header(&blake3::hash(payload)) {
        return Loaded::Damaged;
    }
    let Ok(all) = postcard::from_bytes::<Vec<(FileHash, Language, FileIndex)>>(payload) else {
        return Loaded::Damaged;
    };
    if !all.iter().all(|(_, _, file)| is_sound(file)) {
        return Loaded::Damaged;
    }
    let contents: Contents = all
        .into_iter()
        .map(|(hash, language, file)| ((hash, language), Arc::new(file.ordered())))
        .collect();
    Loaded::Whole(CodeIndex::with_contents(contents))
}

/// Whether the places in an index are places of it, and what is looked up by its order has it.
fn is_sound(file: &FileIndex) -> bool {
    let is_place = |place: Option<u32>| place.is_none_or(|at| (at as usize) < file.symbols.len());
    file.symbols.iter().all(|symbol| is_place(symbol.parent))
        && file.calls.iter().all(|call| is_place(call.caller))
        && file.calls.is_sorted()
}

fn header(hash: &blake3::Hash) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..MAGIC.len()].copy_from_slice(&MAGIC);
    header[MAGIC.len()..][..4].copy_from_slice(&VERSION.to_le_bytes());
    header[MAGIC.len() + 4..].copy_from_slice(hash.as_bytes());
    header
}

/// Writes what hashes it on the way.
struct Hashed<W> {
    to: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn write_hashed(to: &mut impl Write, value: &impl Serialize) -> Result<blake3::Hash, Error> {
    let hashed = Hashed {
        to: BufWriter::new(to),
        hasher: blake3::Hasher::new(),
    };
    let mut hashed = postcard::to_io(value, hashed)?;
    hashed
        .flush()
        .map_err(|_| postcard::Error::SerializeBufferFull)?;
    Ok(hashed.hasher.finalize())
}
