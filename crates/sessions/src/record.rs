//! Records: what a file's lines or steps become.
//!
//! Owns their form, where in a file they say that they stand, and how a text is cut that is longer than a record may be.
//! It must not know formats.

use serde::Serialize;
use sillok_core::limits::RECORD_BYTES_MAX;
use sillok_core::staging::LogLevel;
use sillok_core::time::Timestamp;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it stems from.
    pub level: LogLevel,
    /// Its text, at most as long as a record may be.
    pub content: String,
    /// Where it stands: its metadata.
    pub place: Place,
    /// When it happened, by the file.
    pub time: Option<Timestamp>,
}

/// What one line of a session, or one step of a run, became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it stands: the byte that the line begins with, or the step's number from 1. It rises.
    pub at: u64,
    /// Its records, in order; at least one.
    pub records: Vec<Record>,
}

/// Where a record stands. Its fields are in the order of the alphabet, and stay so: an import that is repeated sends the
/// same bytes, whatever a JSON library makes of the order of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The agent that another one had at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The byte that the line of the session file begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The branch that was checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What the client calls the call by which a command and its output belong together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The code that the command ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// What the client calls the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What sort of thing was said or done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Which part of a text it is that was too long for one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Whether it happened beside the main conversation.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub sidechain: bool,
    /// The step, from 1: a command and its output have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The program or tool that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// Adds a record as one, or as several where its text is longer than a record may be.
pub(crate) fn push(records: &mut Vec<Record>, record: &Record) {
    let mut rest = record.content.as_str();
    let mut part = 1;
    while !rest.is_empty() {
        let piece = clip_bytes(rest, RECORD_BYTES_MAX);
        rest = &rest[piece.len()..];
        let mut place = record.place.clone();
        place.part = (part > 1 || !rest.is_empty()).then_some(part);
        records.push(Record {
            level: record.level,
            content: piece.to_owned(),
            place,
            time: record.time,
        });
        part += 1;
    }
}

/// The longest beginning of `text` of at most `bytes_max` bytes that ends at a character.
#[must_use]
pub fn clip_bytes(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use sillok_core::limits::METADATA_BYTES_MAX;

    use super::*;
    use crate::limits::{BRANCH_BYTES_MAX, DIRECTORY_BYTES_MAX, ID_BYTES_MAX, TITLE_CHARS_MAX};

    #[test]
    fn whatever_a_file_says_the_place_fits_the_metadata_of_a_record() {
        // Control characters take the most room in JSON.
        let worst = |bytes: usize| Some("\u{1}".repeat(bytes));
        let place = Place {
            agent: worst(ID_BYTES_MAX),
            at: Some(u64::MAX),
            branch: worst(BRANCH_BYTES_MAX),
            call: worst(ID_BYTES_MAX),
            cwd: worst(DIRECTORY_BYTES_MAX),
            exit_code: Some(i64::MIN),
            id: worst(ID_BYTES_MAX),
            kind: Some("compaction"),
            part: Some(usize::MAX),
            session: worst(ID_BYTES_MAX),
            sidechain: true,
            step: Some(u64::MAX),
            tool: worst(TITLE_CHARS_MAX),
        };
        let text = serde_json::to_string(&place).unwrap();
        assert!(text.len() <= METADATA_BYTES_MAX, "{}", text.len());
        let keys: Vec<&str> = text
            .split("\":")
            .filter_map(|head| head.rsplit('"').next())
            .filter(|key| !key.is_empty() && !key.ends_with('}'))
            .collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert_eq!(keys.len(), 13);
    }
}
