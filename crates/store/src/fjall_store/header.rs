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

use super::FjallConfig;
use crate::Error;
use crate::header::{self, FORMAT_VERSION, check_format, corrupt};

const FORMAT_FILE: &str = "FORMAT";
const FORMAT_FILE_PREFIX: &str = "sillok store format ";

pub(super) const COUNTER_KEY: &[u8] = b"\xffcounter";
pub(super) const LINK_KEY: &[u8] = b"\xfflink";

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
        config: &FjallConfig,
    ) -> Result<Self, Error> {
        let found = header::check(&config.layout, |key| read(keyspace, key))?;
        let Some(generation) = found else {
            if keyspace.first_key_value().is_some() {
                return Err(header::missing());
            }
            return Self::create(database, keyspace, config);
        };
        let counter = required(keyspace, COUNTER_KEY)?;
        let counter = counter.as_ref().try_into().map(u64::from_be_bytes);
        Ok(Self {
            generation,
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

    fn create(
        database: &Database,
        keyspace: &Keyspace,
        config: &FjallConfig,
    ) -> Result<Self, Error> {
        let layout = &config.layout;
        let created = Self {
            generation: layout.generation_at_creation,
            counter: config.counter_at_creation,
        };
        let mut batch = database.batch().durability(Some(PersistMode::SyncAll));
        for (key, value) in header::rows(layout) {
            batch.insert(keyspace, key, value);
        }
        batch.insert(keyspace, COUNTER_KEY, created.counter.to_be_bytes());
        batch
            .commit()
            .map_err(|error| Error::unavailable("writing the first record", error))?;
        Ok(created)
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
