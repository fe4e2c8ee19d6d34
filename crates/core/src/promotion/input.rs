//! What a cognifier reads: a task's records within a verification's pin.
//!
//! Owns the form, and the way from a record to its citation. It must not know what is drawn from it.

use std::borrow::Cow;

use crate::bound::Bound;
use crate::citation::{Citation, Excerpt};
use crate::entry::Metadata;
use crate::id::RecordId;
use crate::scope::Scope;
use crate::staging::RecordKind;
use crate::task::opening_text;
use crate::time::Timestamp;
use crate::verification::Outcome;

/// One record as a cognifier reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct CognifyRecord {
    /// Where it stands.
    pub id: RecordId,
    /// When it happened.
    pub time: Timestamp,
    /// What sort of record.
    pub kind: RecordKind,
    /// Its text, or the beginning of one that is longer than a cognifier reads.
    pub content: String,
    /// The end of such a one.
    pub end: Option<RecordEnd>,
    /// Its metadata.
    pub metadata: Metadata,
    /// Where it was said, where it says so.
    pub bound: Option<Bound>,
}

/// The end of a record's text, of which what lies between its beginning and this is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordEnd {
    /// Its first byte, counted in the whole text.
    pub from: u32,
    /// What it says.
    pub content: String,
}

impl CognifyRecord {
    /// The parts of its text that are read, in order, each with its first byte, counted in the whole text.
    pub fn parts(&self) -> impl Iterator<Item = (u32, &str)> {
        let end = self.end.as_ref();
        let end = end.map(|end| (end.from, end.content.as_str()));
        core::iter::once((0, self.content.as_str())).chain(end)
    }

    /// Bytes of its text that are not read.
    #[must_use]
    pub fn unread_bytes(&self) -> u64 {
        let between = |end: &RecordEnd| u64::from(end.from) - self.content.len() as u64;
        self.end.as_ref().map_or(0, between)
    }
}

/// What a promotion leaves unread, since there is too much of it. Nothing is read in order to count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Events of the pin behind the last record that is read: of at most so many records nothing is read.
    pub events: u64,
    /// Bytes of texts that lie between the ends of long records, of which the ends alone are read.
    pub bytes: u64,
}

/// What a cognifier reads: one task's records within a verification's pin.
#[derive(Clone, Debug, PartialEq)]
pub struct CognifyInput {
    /// The task.
    pub task: Scope,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// How the work was judged.
    pub outcome: Outcome,
    /// What went wrong, on failure.
    pub error: Option<String>,
    /// The approach that was tried, on failure.
    pub approach: Option<String>,
    /// Where the task was opened, which is where its title and description stand; none when that is not
    /// where its log begins.
    pub opening: Option<RecordId>,
    /// The records, in order.
    pub records: Vec<CognifyRecord>,
    /// What else the task recorded within the pin.
    pub unread: Unread,
}

impl CognifyInput {
    /// The parts of a record's text that are read, or what the task was opened with, each with its first byte, counted
    /// in the whole text; nothing of what is no part of the input.
    #[must_use]
    pub fn parts_of(&self, id: &RecordId) -> Vec<(u32, Cow<'_, str>)> {
        if self.opening.as_ref() == Some(id) {
            return vec![(0, opening_text(&self.title, &self.description).into())];
        }
        let parts = self.record(id).into_iter().flat_map(CognifyRecord::parts);
        parts.map(|(from, text)| (from, text.into())).collect()
    }

    /// What an excerpt says; none where that is no stretch of what is read.
    #[must_use]
    pub fn said(&self, excerpt: &Excerpt) -> Option<String> {
        let parts = self.parts_of(&excerpt.record);
        let mut said = parts.iter().map(|(from, text)| excerpt.within(*from, text));
        said.find_map(|said| said.map(str::to_owned))
    }

    pub(super) fn record(&self, id: &RecordId) -> Option<&CognifyRecord> {
        let place = self.records.binary_search_by(|record| record.id.cmp(id));
        place.ok().map(|place| &self.records[place])
    }

    /// A citation for nodes that read no [excerpts](Citation::Excerpt): of the whole record. What a task was
    /// opened with cannot be cited there.
    #[must_use]
    pub fn whole(&self, citation: Citation) -> Option<Citation> {
        let Citation::Excerpt(excerpt) = citation else {
            return Some(citation);
        };
        self.record(&excerpt.record).map(of_record)
    }
}

/// The citation of a whole record.
pub(super) fn of_record(record: &CognifyRecord) -> Citation {
    let id = record.id.clone();
    match record.kind {
        RecordKind::Snapshot { .. } => Citation::TerminalSnapshot { id },
        RecordKind::Log { .. } | RecordKind::MemoryEvent { .. } => Citation::Log {
            id,
            time: record.time,
        },
    }
}
