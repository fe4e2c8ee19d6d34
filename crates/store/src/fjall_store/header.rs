//! The header of a store: format, generation, commit counter and layout.
//!
//! The format version is kept twice. The file beside the database is read before the engine opens
//! it, because opening alone rewrites journals, and a newer store must not be touched. The record
//! inside is part of the very first batch, so it goes wherever the pairs go.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use ::fjall::{Database, Keyspace, PersistMode};
use bytes::Bytes;

use super::config::Layout;
use crate::Error;

/// The format that this build writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

const FORMAT_FILE: &str = "FORMAT";
const FORMAT_FILE_PREFIX: &str = "sillok store format ";

// Behind every key of callers, who may not use the first byte 0xFF.
const FORMAT_KEY: &[u8] = b"\xffformat";
const GENERATION_KEY: &[u8] = b"\xffgeneration";
pub(super) const COUNTER_KEY: &[u8] = b"\xffcounter";
pub(super) const LINK_KEY: &[u8] = b"\xfflink";
const SLOT_COUNT_KEY: &[u8] = b"\xffslot_count";
const SLOT_HASH_KEY: &[u8] = b"\xffslot_hash";

/// What a store says about itself when it is opened.
pub(super) struct Header {
    pub(super) generation: u32,
    pub(super) counter: u64,
}

/// The pair that makes the commit counter durable with its batch.
pub(super) fn counter_pair(counter: u64) -> (Bytes, Bytes) {
    (
        Bytes::from_static(COUNTER_KEY),
        Bytes::copy_from_slice(&counter.to_be_bytes()),
    )
}

/// What each batch says about the one before it, so that a batch that is missing, or one whose
/// sequence number is damaged, is found before the engine replays them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// Counter of the last commit before the batch.
    pub(super) previous: u64,
    /// The lowest sequence number that the engine could give the batch.
    pub(super) seqno_min: u64,
}

impl Link {
    /// The pair that goes into the batch.
    pub(super) fn pair(self) -> (Bytes, Bytes) {
        let fields = [self.previous.to_be_bytes(), self.seqno_min.to_be_bytes()];
        (
            Bytes::from_static(LINK_KEY),
            Bytes::copy_from_slice(fields.as_flattened()),
        )
    }

    /// What a pair's value says.
    pub(super) fn decode(value: &[u8]) -> Option<Self> {
        let (previous, seqno_min) = value.split_first_chunk()?;
        Some(Self {
            previous: u64::from_be_bytes(*previous),
            seqno_min: u64::from_be_bytes(seqno_min.try_into().ok()?),
        })
    }
}

/// Refuses a directory of a newer format before anything in it changes, and marks a new one.
pub(super) fn check_format_file(path: &Path) -> Result<(), Error> {
    let io = |error| Error::unavailable("reading the format file", error);
    let text = match fs::read_to_string(path.join(FORMAT_FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return create_format_file(path),
        Err(error) if error.kind() == ErrorKind::InvalidData => String::new(),
        Err(error) => return Err(io(error)),
    };
    let found = text
        .strip_prefix(FORMAT_FILE_PREFIX)
        .and_then(|rest| rest.trim_end().parse().ok());
    check_format(found.ok_or_else(|| Error::Corrupt {
        family: "store format",
        key: FORMAT_FILE.to_owned(),
        reason: "the file does not name a format version".to_owned(),
    })?)
}

fn check_format(found: u32) -> Result<(), Error> {
    if found > FORMAT_VERSION {
        return Err(Error::NewerFormat {
            found,
            supported: FORMAT_VERSION,
        });
    }
    Ok(())
}

fn create_format_file(path: &Path) -> Result<(), Error> {
    if path.join(super::DATABASE_FOLDER).exists() {
        return Err(Error::Corrupt {
            family: "store format",
            key: FORMAT_FILE.to_owned(),
            reason: "there is a database, but the file that names its format is missing".to_owned(),
        });
    }
    let write = || {
        // Named last, so that a crash leaves no half-written file under the name that is read.
        let draft = path.join("FORMAT.new");
        let mut file = File::create(&draft)?;
        writeln!(file, "{FORMAT_FILE_PREFIX}{FORMAT_VERSION}")?;
        file.sync_all()?;
        fs::rename(&draft, path.join(FORMAT_FILE))?;
        File::open(path)?.sync_all()
    };
    write().map_err(|error| Error::unavailable("writing the format file", error))
}

impl Header {
    /// Reads and checks the header, or writes it as the first batch of an empty database.
    pub(super) fn load_or_create(
        database: &Database,
        keyspace: &Keyspace,
        layout: &Layout,
    ) -> Result<Self, Error> {
        let Some(format) = read(keyspace, FORMAT_KEY)? else {
            if keyspace.first_key_value().is_some() {
                return Err(corrupt(
                    FORMAT_KEY,
                    "the record is missing, but there are others",
                ));
            }
            return Self::create(database, keyspace, layout);
        };
        check_format(number(FORMAT_KEY, &format)?)?;
        let slot_count: u32 = number(SLOT_COUNT_KEY, &required(keyspace, SLOT_COUNT_KEY)?)?;
        check_layout("slot count", &slot_count, &layout.slot_count)?;
        let slot_hash = required(keyspace, SLOT_HASH_KEY)?;
        let slot_hash = String::from_utf8_lossy(&slot_hash).into_owned();
        check_layout("slot hash", &slot_hash, &layout.slot_hash)?;
        let counter = required(keyspace, COUNTER_KEY)?;
        let counter = counter.as_ref().try_into().map(u64::from_be_bytes);
        Ok(Self {
            generation: number(GENERATION_KEY, &required(keyspace, GENERATION_KEY)?)?,
            counter: counter.map_err(|_| corrupt(COUNTER_KEY, "not 8 bytes"))?,
        })
    }

    /// Refuses a store that has fewer commits than there is evidence of.
    pub(super) fn check_holds(&self, counter: Option<u64>) -> Result<(), Error> {
        match counter {
            Some(counter) if self.counter < counter => {
                let found = self.counter;
                Err(corrupt(
                    COUNTER_KEY,
                    &format!(
                        "commits up to {counter} were acknowledged, but only {found} are left"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    fn create(database: &Database, keyspace: &Keyspace, layout: &Layout) -> Result<Self, Error> {
        let header = Self {
            generation: layout.generation_at_creation,
            counter: 0,
        };
        let mut batch = database.batch().durability(Some(PersistMode::SyncAll));
        for (key, value) in [
            (FORMAT_KEY, FORMAT_VERSION.to_be_bytes().to_vec()),
            (GENERATION_KEY, header.generation.to_be_bytes().to_vec()),
            (COUNTER_KEY, header.counter.to_be_bytes().to_vec()),
            (SLOT_COUNT_KEY, layout.slot_count.to_be_bytes().to_vec()),
            (SLOT_HASH_KEY, layout.slot_hash.clone().into_bytes()),
        ] {
            batch.insert(keyspace, key, value);
        }
        batch
            .commit()
            .map_err(|error| Error::unavailable("writing the first record", error))?;
        Ok(header)
    }
}

fn read(keyspace: &Keyspace, key: &[u8]) -> Result<Option<Bytes>, Error> {
    let value = keyspace
        .get(key)
        .map_err(|error| Error::unavailable("reading the header", error))?;
    Ok(value.map(Bytes::from))
}

fn required(keyspace: &Keyspace, key: &'static [u8]) -> Result<Bytes, Error> {
    read(keyspace, key)?.ok_or_else(|| corrupt(key, "the record is missing"))
}

fn number(key: &'static [u8], value: &[u8]) -> Result<u32, Error> {
    value
        .try_into()
        .map(u32::from_be_bytes)
        .map_err(|_| corrupt(key, "not 4 bytes"))
}

fn check_layout<T: PartialEq + ToString>(
    what: &'static str,
    stored: &T,
    configured: &T,
) -> Result<(), Error> {
    if stored == configured {
        return Ok(());
    }
    let (stored, configured) = (stored.to_string(), configured.to_string());
    Err(Error::LayoutMismatch {
        what,
        stored,
        configured,
    })
}

fn corrupt(key: &[u8], reason: &str) -> Error {
    let name = String::from_utf8_lossy(&key[1..]).into_owned();
    Error::Corrupt {
        family: "store header",
        key: name,
        reason: reason.to_owned(),
    }
}
