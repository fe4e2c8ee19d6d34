//! Records: what a file's lines or steps become.
//!
//! Owns their form, where in a file they say that they stand, and how a text is cut that is longer than a record may be.
//! It must not know formats.

use serde::Serialize;
use sillok_core::limits::RECORD_BYTES_MAX;
use sillok_core::secret::{mask, whole_before};
use sillok_core::staging::LogLevel;
use sillok_core::time::Timestamp;

use crate::limits::TITLE_CHARS_MAX;

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
    /// Secrets that were masked in it here, since its text was cut. All others are masked by who stores it.
    pub masked: u32,
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

/// Adds a record as one, or as several where its text is longer than a record may be. Secrets are masked before a text is
/// cut: half of one nobody finds.
pub(crate) fn push(records: &mut Vec<Record>, record: Record) {
    if record.content.len() <= RECORD_BYTES_MAX {
        if !record.content.is_empty() {
            records.push(record);
        }
        return;
    }
    let masked = mask(&record.content);
    let mut rest = &*masked.text;
    let mut part = 1;
    while !rest.is_empty() {
        let whole = whole_before(rest, rest.len().min(RECORD_BYTES_MAX));
        let piece = if whole == 0 {
            // It begins like what stands for a secret, and is none.
            clip_bytes(rest, RECORD_BYTES_MAX)
        } else {
            &rest[..whole]
        };
        rest = &rest[piece.len()..];
        let mut place = record.place.clone();
        place.part = (part > 1 || !rest.is_empty()).then_some(part);
        records.push(Record {
            level: record.level,
            content: piece.to_owned(),
            place,
            time: record.time,
            masked: if part == 1 { masked.count } else { 0 },
        });
        part += 1;
    }
}

/// The longest beginning of `text` of at most `bytes_max` bytes that ends at a character.
#[must_use]
pub(crate) fn clip_bytes(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A text without its secrets, as far as there is room for it.
pub(crate) fn shortened(text: &str, bytes_max: usize) -> String {
    let mut text = mask(text).text.into_owned();
    text.truncate(whole_before(&text, text.len().min(bytes_max)));
    text
}

/// The first line of a masked text that says something, as far as a title has room; none where none does.
pub(crate) fn title_of(masked: &str) -> Option<String> {
    let line = masked
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    let behind = line.char_indices().nth(TITLE_CHARS_MAX);
    let end = whole_before(line, behind.map_or(line.len(), |(at, _)| at));
    (end > 0).then(|| line[..end].trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use sillok_core::limits::METADATA_BYTES_MAX;

    use super::*;
    use crate::limits::{BRANCH_BYTES_MAX, DIRECTORY_BYTES_MAX, ID_BYTES_MAX};

    const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn pushed(content: String) -> Vec<Record> {
        let mut records = Vec::new();
        let record = Record {
            level: LogLevel::Info,
            content,
            place: Place::default(),
            time: None,
            masked: 0,
        };
        push(&mut records, record);
        records
    }

    #[test]
    fn a_secret_that_a_cut_would_halve_is_masked_and_counted_before() {
        // Wherever the cut falls in it.
        for into in [1, 12, SECRET.len() - 1] {
            let before = "x".repeat(RECORD_BYTES_MAX - into - 1);
            let text = format!("{before} {SECRET} {}", "y".repeat(64));
            let records = pushed(text.clone());
            let joined: String = records.iter().map(|one| one.content.as_str()).collect();
            assert_eq!(joined, mask(&text).text);
            assert!(!joined.contains(&SECRET[..8]) && joined.ends_with("y"));
            assert!(records.iter().all(|one| mask(&one.content).count == 0));
            assert!(
                records
                    .iter()
                    .all(|one| one.content.len() <= RECORD_BYTES_MAX)
            );
            let counts: Vec<u32> = records.iter().map(|one| one.masked).collect();
            assert_eq!(counts, [1, 0], "cut {into} bytes into it");
        }
        let short = pushed(SECRET.to_owned());
        assert_eq!((short[0].content.as_str(), short[0].masked), (SECRET, 0));
    }

    #[test]
    fn a_text_that_begins_like_a_mask_without_an_end_is_cut_all_the_same() {
        let text = format!("a[masked:{}", "x".repeat(RECORD_BYTES_MAX * 2));
        let records = pushed(text.clone());
        let joined: String = records.iter().map(|one| one.content.as_str()).collect();
        assert_eq!(joined, text);
        assert!(records.len() <= 4, "{}", records.len());
        assert_eq!(title_of(&text[1..]), None);
    }

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
