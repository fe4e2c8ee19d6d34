//! Staged records among events, and the texts that events bring.
//!
//! Owns that two kinds of event stage a record, and both are read as one. What a record is, is [`crate::staging`]'s.

use super::{Body, EventKind};
use crate::bound::Bound;
use crate::staging::{BoundRecord, Content, Record};

impl EventKind {
    /// Whether an event of this kind stages a record.
    #[must_use]
    pub const fn is_record(self) -> bool {
        matches!(self, Self::RecordAppended | Self::BoundRecordAppended)
    }
}

impl Body {
    /// The text that it brings, if it is of a kind whose text may lie in chunks.
    #[must_use]
    pub const fn content(&self) -> Option<&Content> {
        match self {
            Self::RecordAppended(record) => Some(&record.content),
            Self::BoundRecordAppended(bound) => Some(&bound.record.content),
            Self::EvidenceSaved(saved) => Some(&saved.content),
            _ => None,
        }
    }

    /// The record that it stages, if it does.
    #[must_use]
    pub const fn record(&self) -> Option<&Record> {
        match self {
            Self::RecordAppended(record) => Some(record),
            Self::BoundRecordAppended(bound) => Some(&bound.record),
            _ => None,
        }
    }

    /// The record that it stages, if it does, and where that was said, where it says so.
    #[must_use]
    pub fn into_record(self) -> Option<(Record, Option<Bound>)> {
        match self {
            Self::RecordAppended(record) => Some((*record, None)),
            Self::BoundRecordAppended(bound) => {
                let BoundRecord { record, bound } = *bound;
                Some((record, Some(bound)))
            }
            _ => None,
        }
    }
}
