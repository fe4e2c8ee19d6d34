//! Staged records: log records, terminal snapshots and memory events.
//!
//! Owns their forms and limits. Staging is append only: nothing here can be changed, and nothing
//! here is ever searched by recall.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bound::Bound;
use crate::entry::Metadata;
use crate::error::{Error, ErrorCode};
use crate::id::CommandId;
use crate::limits::{
    APPEND_BYTES_MAX, CHUNK_BYTES, RECORD_BYTES_MAX, RECORDS_PER_COMMAND_MAX, SHORT_TEXT_BYTES_MAX,
};
use crate::time::Timestamp;

/// How loud a log record is, and what it stems from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Something happened.
    Info,
    /// Something may go wrong.
    Warn,
    /// Something went wrong.
    Error,
    /// What the agent thought.
    Thought,
    /// A tool was used.
    Tool,
}

impl LogLevel {
    /// All levels.
    pub const ALL: [Self; 5] = [
        Self::Info,
        Self::Warn,
        Self::Error,
        Self::Thought,
        Self::Tool,
    ];

    /// The level's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Thought => "thought",
            Self::Tool => "tool",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for LogLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| {
                Error::new(
                    ErrorCode::InvalidArgument,
                    "the levels are info, warn, error, thought and tool",
                )
            })
    }
}

/// Why a terminal snapshot was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Something went wrong.
    Error,
    /// Somebody asked for it.
    Manual,
}

/// What sort of record it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A line of a task's log.
    Log {
        /// How loud it is.
        level: LogLevel,
    },
    /// What a terminal showed.
    Snapshot {
        /// Why it was taken.
        trigger: Trigger,
    },
    /// Something that a caller notes about a scope, in a type of its own. The content is the payload.
    MemoryEvent {
        /// The caller's name for the type of event.
        event_type: String,
    },
}

/// A record as its writer hands it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRecord {
    /// What sort of record.
    pub kind: RecordKind,
    /// Its text.
    pub content: String,
    /// Tool name, arguments, duration and the like.
    pub metadata: Metadata,
    /// When it happened, by the writer's clock; the time of writing when the writer does not say.
    pub time: Option<Timestamp>,
}

/// A record as its writer hands it over, with where it was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewBoundRecord {
    /// The record.
    pub record: NewRecord,
    /// Where it was said; none where its writer does not say.
    pub bound: Option<Bound>,
}

/// The text of a stored record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// The text itself.
    Inline(String),
    /// The text lies in chunks that were written before the event, under a name of the command's own.
    Chunked {
        /// The name (see [`CommandId::of_chunks`]).
        command: CommandId,
        /// The first chunk's number within that command.
        first: u32,
        /// How many chunks.
        count: u32,
        /// Bytes of the whole text.
        bytes: u64,
        /// BLAKE3 of the whole text.
        hash: [u8; 32],
    },
}

impl Content {
    /// Bytes of the whole text.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Chunked { bytes, .. } => *bytes,
        }
    }
}

/// A record as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What sort of record.
    pub kind: RecordKind,
    /// Its text, with secrets masked.
    pub content: Content,
    /// Tool name, arguments, duration and the like, with secrets masked.
    pub metadata: Metadata,
    /// When it happened, by the writer's clock.
    pub time: Timestamp,
    /// How many secrets were masked in it.
    pub masked: u32,
}

/// A record as it is stored, with where it was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundRecord {
    /// The record.
    pub record: Record,
    /// Where it was said, with secrets masked. A caller's word.
    pub bound: Bound,
}

/// Checks the sizes of an append of records that say where they were said, and what they say of that.
///
/// # Errors
/// Those of [`check_append`], and of [`Bound::check`].
pub fn check_bound_append(records: &[NewBoundRecord]) -> Result<(), Error> {
    let mut bounds = records.iter().filter_map(|record| record.bound.as_ref());
    let bytes = bounds.clone().map(Bound::bytes).sum();
    check_sizes(records.iter().map(|record| &record.record), bytes)?;
    bounds.try_for_each(Bound::check)
}

/// Checks the sizes of an append.
///
/// # Errors
/// `too_large` naming the limit, or `invalid_argument` for an empty list.
pub fn check_append(records: &[NewRecord]) -> Result<(), Error> {
    check_sizes(records.iter(), 0)
}

/// Checks sizes, beside so many bytes that come with the records.
fn check_sizes<'a>(
    records: impl ExactSizeIterator<Item = &'a NewRecord>,
    bytes_beside: usize,
) -> Result<(), Error> {
    let count = records.len();
    if count == 0 {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "an append holds at least one record",
        ));
    }
    if count > RECORDS_PER_COMMAND_MAX {
        return Err(Error::too_large(
            "records",
            RECORDS_PER_COMMAND_MAX as u64,
            count as u64,
        ));
    }
    let mut bytes_total = 0;
    for record in records {
        if record.content.len() > RECORD_BYTES_MAX {
            return Err(Error::too_large(
                "record bytes",
                RECORD_BYTES_MAX as u64,
                record.content.len() as u64,
            ));
        }
        if let RecordKind::MemoryEvent { event_type } = &record.kind {
            check_event_type(event_type)?;
        }
        bytes_total += record.content.len();
    }
    // One record has room for its text, and beside that for what it is bound to.
    if count > 1 {
        bytes_total += bytes_beside;
    }
    if bytes_total > APPEND_BYTES_MAX {
        return Err(Error::too_large(
            "append bytes",
            APPEND_BYTES_MAX as u64,
            bytes_total as u64,
        ));
    }
    Ok(())
}

fn check_event_type(event_type: &str) -> Result<(), Error> {
    if event_type.is_empty() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "an event type has a name",
        ));
    }
    if event_type.len() > SHORT_TEXT_BYTES_MAX {
        return Err(Error::too_large(
            "event type bytes",
            SHORT_TEXT_BYTES_MAX as u64,
            event_type.len() as u64,
        ));
    }
    Ok(())
}

/// The chunks of a text: at most [`CHUNK_BYTES`] bytes each, in order.
pub fn chunks(content: &str) -> impl Iterator<Item = &[u8]> {
    content.as_bytes().chunks(CHUNK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::BoundFile;
    use crate::gate::Fingerprint;

    fn record(content: &str) -> NewRecord {
        NewRecord {
            kind: RecordKind::Log {
                level: LogLevel::Info,
            },
            content: content.into(),
            metadata: Metadata::default(),
            time: None,
        }
    }

    #[test]
    fn an_append_over_a_limit_names_it() {
        assert!(check_append(&[record("a")]).is_ok());
        assert_eq!(
            check_append(&[]).unwrap_err().code,
            ErrorCode::InvalidArgument
        );
        let error = check_append(&[record(&"x".repeat(RECORD_BYTES_MAX + 1))]).unwrap_err();
        assert_eq!(
            error.details.unwrap().limit.unwrap(),
            ("record bytes".into(), RECORD_BYTES_MAX as u64)
        );
        assert!(check_append(&vec![record("a"); RECORDS_PER_COMMAND_MAX + 1]).is_err());
    }

    #[test]
    fn an_append_is_refused_with_what_its_records_are_bound_to() {
        let bound = |content: &str, path: &str| NewBoundRecord {
            record: record(content),
            bound: Some(Bound {
                files: vec![BoundFile {
                    path: path.into(),
                    fingerprint: Fingerprint::of_file(b"a"),
                    owner: None,
                }],
                ..Bound::default()
            }),
        };
        assert_eq!(check_bound_append(&[bound("a", "src/a.rs")]), Ok(()));
        assert!(check_bound_append(&[]).is_err());
        let out = check_bound_append(&[bound("a", "src/a.rs"), bound("a", "../a.rs")]);
        assert_eq!(out.unwrap_err().code, ErrorCode::InvalidArgument);
        let full = "x".repeat(RECORD_BYTES_MAX);
        assert_eq!(
            check_bound_append(&[bound(&full, "a")]),
            Ok(()),
            "one alone"
        );
        let more = check_bound_append(&[bound(&full[4..], "a"), bound("four", "a")]);
        assert_eq!(more.unwrap_err().code, ErrorCode::TooLarge);
    }

    #[test]
    fn chunks_join_to_the_text() {
        let text = "한".repeat(100_000);
        assert!(text.len() > CHUNK_BYTES);
        let joined: Vec<u8> = chunks(&text).flatten().copied().collect();
        assert_eq!(joined, text.as_bytes());
    }
}
