//! What a cognifier reads: a task's records within a verification's pin.
//!
//! Owns the form, and the way from a record to its citation. It must not know what is drawn from it.

use std::borrow::Cow;

use crate::citation::Citation;
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
    /// Its text, cut to what a cognifier may read.
    pub content: String,
    /// Its metadata.
    pub metadata: Metadata,
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
}

impl CognifyInput {
    /// The text of a record, or what the task was opened with; none of what is no part of the input.
    #[must_use]
    pub fn text_of(&self, id: &RecordId) -> Option<Cow<'_, str>> {
        if self.opening.as_ref() == Some(id) {
            return Some(opening_text(&self.title, &self.description).into());
        }
        self.record(id).map(|record| record.content.as_str().into())
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
