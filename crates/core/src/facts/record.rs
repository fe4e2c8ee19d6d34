//! What text stands at a position of the audit log, and which citations may name it.
//!
//! Owns that what was erased bears nothing. It must not know how a position is read.

use crate::citation::Citation;
use crate::event::Body;
use crate::staging::RecordKind;
use crate::task::opening_text;

/// What text stands at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFact {
    /// None.
    Missing,
    /// That of a log record or a memory event.
    Log {
        /// Its bytes.
        bytes: u64,
    },
    /// That of a terminal snapshot.
    Snapshot {
        /// Its bytes.
        bytes: u64,
    },
    /// What a task was opened with.
    Opening {
        /// Its bytes.
        bytes: u64,
    },
}

impl RecordFact {
    /// What an event's body tells. Where content was erased there is none any more, and nothing rests on it.
    #[must_use]
    pub fn of(body: Option<&Body>) -> Self {
        match body {
            Some(Body::RecordAppended(record)) => {
                let bytes = record.content.bytes();
                match record.kind {
                    RecordKind::Snapshot { .. } => Self::Snapshot { bytes },
                    RecordKind::Log { .. } | RecordKind::MemoryEvent { .. } => Self::Log { bytes },
                }
            }
            Some(Body::TaskOpened { title, description }) => Self::Opening {
                bytes: opening_text(title, description).len() as u64,
            },
            _ => Self::Missing,
        }
    }

    /// Whether `citation` may name it.
    #[must_use]
    pub const fn bears(self, citation: &Citation) -> bool {
        match (citation, self) {
            (Citation::TerminalSnapshot { .. }, Self::Snapshot { .. })
            | (Citation::Log { .. }, Self::Log { .. }) => true,
            (
                Citation::Excerpt(excerpt),
                Self::Snapshot { bytes } | Self::Log { bytes } | Self::Opening { bytes },
            ) => excerpt.to as u64 <= bytes,
            _ => false,
        }
    }
}
