//! What goes over the socket: frames of a length and a value.
//!
//! Owns the forms. A connection has one transaction at a time; its writes travel with the next read or
//! with the commit.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sillok_store::{Error, KeyRange, RangeOptions, Read, Stamp, Txn};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// Bytes of a frame at most: a transaction with all that belongs to it.
const FRAME_BYTES_MAX: usize = 64 << 20;

/// What a client asks.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// The generation of the store's stamps.
    Generation,
    /// Another transaction, whatever became of the one before.
    Begin,
    /// A value.
    Get(Vec<Write>, Bytes, Mode),
    /// A range of pairs: from, to, at most so many, and whether from its end backwards.
    Range(Vec<Write>, Bytes, Bytes, u64, bool, Mode),
    /// The end of the transaction.
    Commit(Vec<Write>),
}

/// Whether a read takes part in conflict detection.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// It does.
    Conflict,
    /// It does not.
    Snapshot,
}

/// A write.
#[derive(Debug, Serialize, Deserialize)]
pub enum Write {
    /// A pair.
    Set(Bytes, Bytes),
    /// A key that is removed.
    Clear(Bytes),
    /// A range that is removed.
    ClearRange(Bytes, Bytes),
    /// A number that is added to.
    Add(Bytes, i64),
    /// A pair whose key ends with the stamp.
    SetStamped(Bytes, Bytes),
    /// A range that counts as read.
    ConflictOn(Bytes, Bytes),
}

/// What the server answers.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The generation.
    Generation(u32),
    /// The transaction has begun.
    Begun,
    /// The value, if there is one.
    Value(Option<Bytes>),
    /// The pairs.
    Pairs(Vec<(Bytes, Bytes)>),
    /// It is committed.
    Committed(Stamp),
    /// It failed.
    Failed(Failure),
}

/// A failure, as far as a transaction can meet it.
#[derive(Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the store's error of that name")]
pub enum Failure {
    Conflict,
    TooOld,
    TooLarge { what: String, limit: u64, got: u64 },
    InvalidKey,
    OutcomeUnknown,
    Closed,
    Unavailable(String),
}

impl From<Read> for Mode {
    fn from(read: Read) -> Self {
        match read {
            Read::Conflict => Self::Conflict,
            Read::Snapshot => Self::Snapshot,
        }
    }
}

impl From<Mode> for Read {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Conflict => Self::Conflict,
            Mode::Snapshot => Self::Snapshot,
        }
    }
}

impl Write {
    /// Makes a transaction write it.
    pub fn apply(self, txn: &mut impl Txn) {
        match self {
            Self::Set(key, value) => txn.set(key, value),
            Self::Clear(key) => txn.clear(key),
            Self::ClearRange(begin, end) => txn.clear_range(&KeyRange { begin, end }),
            Self::Add(key, delta) => txn.add(key, delta),
            Self::SetStamped(prefix, value) => txn.set_stamped(prefix, value),
            Self::ConflictOn(begin, end) => txn.conflict_on(&KeyRange { begin, end }),
        }
    }
}

/// The options of a range that was asked for.
#[must_use]
pub fn options(limit: u64, reverse: bool, mode: Mode) -> RangeOptions {
    RangeOptions {
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        reverse,
        read: mode.into(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict => Self::Conflict,
            Error::TooOld => Self::TooOld,
            Error::TooLarge { what, limit, got } => Self::TooLarge {
                what: what.to_owned(),
                limit: limit as u64,
                got: got as u64,
            },
            Error::InvalidKey { .. } => Self::InvalidKey,
            Error::OutcomeUnknown => Self::OutcomeUnknown,
            Error::Closed => Self::Closed,
            other => Self::Unavailable(other.to_string()),
        }
    }
}

/// What a server said of a failure that has no form of its own.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Said(String);

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        match failure {
            Failure::Conflict => Self::Conflict,
            Failure::TooOld => Self::TooOld,
            Failure::TooLarge { what, limit, got } => Self::TooLarge {
                what: ["key", "value", "transaction", "stamped keys"]
                    .into_iter()
                    .find(|known| *known == what)
                    .unwrap_or("something"),
                limit: size(limit),
                got: size(got),
            },
            Failure::InvalidKey => Self::InvalidKey {
                reason: "the server of the store refused it",
            },
            Failure::OutcomeUnknown => Self::OutcomeUnknown,
            Failure::Closed => Self::Closed,
            Failure::Unavailable(why) => Self::Unavailable {
                doing: "asking the server of the store",
                source: Arc::new(Said(why)),
            },
        }
    }
}

/// Sends a value.
///
/// # Errors
/// What the socket answered.
pub async fn send(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_allocvec(value).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(bytes.len() + 4);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&bytes);
    stream.write_all(&frame).await
}

/// Receives a value.
///
/// # Errors
/// What the socket answered, or that no such value came.
pub async fn receive<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::other("a frame of that length is none"));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}
