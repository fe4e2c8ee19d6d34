//! What text stands at a position of the audit log, and which citations may name it.
//!
//! Owns that what was erased bears nothing, and that a stretch of a text takes no character apart. It must not know
//! how a position, or a chunk of a large text, is read.

use crate::citation::{Citation, Excerpt};
use crate::event::Body;
use crate::id::CommandId;
use crate::limits::CHUNK_BYTES;
use crate::staging::{Content, RecordKind};
use crate::task::opening_text;

/// What text stands at a position, for those who cite it as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFact {
    /// None that is cited so.
    Missing,
    /// That of a log record or a memory event.
    Log,
    /// That of a terminal snapshot.
    Snapshot,
}

impl RecordFact {
    /// What an event's body tells. Where content was erased there is none any more, and nothing rests on it.
    #[must_use]
    pub fn of(body: Option<&Body>) -> Self {
        match body.and_then(Body::record).map(|record| &record.kind) {
            Some(RecordKind::Snapshot { .. }) => Self::Snapshot,
            Some(RecordKind::Log { .. } | RecordKind::MemoryEvent { .. }) => Self::Log,
            None => Self::Missing,
        }
    }

    /// Whether `citation` may name it.
    #[must_use]
    pub const fn bears(self, citation: &Citation) -> bool {
        matches!(
            (citation, self),
            (Citation::TerminalSnapshot { .. }, Self::Snapshot) | (Citation::Log { .. }, Self::Log)
        )
    }
}

/// Whether a stretch of a text stands where an excerpt says, as far as an event tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// It does, or does not.
    Known(bool),
    /// It does if a character begins at each of these bytes of the text's chunks.
    IfBegun(Vec<ChunkByte>),
}

/// A byte of a text that lies in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkByte {
    /// The name that the chunks lie under.
    pub command: CommandId,
    /// The chunk's number.
    pub number: u32,
    /// The byte's place in the chunk, from 0.
    pub place: usize,
}

impl ChunkByte {
    /// Whether a character begins there, `chunk` being the chunk that it names.
    #[must_use]
    pub fn begins_character(&self, chunk: &[u8]) -> bool {
        // UTF-8: a byte that goes on with a character begins with the bits 10.
        const BITS: u8 = 0b1100_0000;
        const GOES_ON: u8 = 0b1000_0000;
        let byte = chunk.get(self.place);
        byte.is_some_and(|byte| byte & BITS != GOES_ON)
    }
}

impl Stretch {
    /// What an event's body tells of `excerpt`.
    #[must_use]
    pub fn of(excerpt: &Excerpt, body: Option<&Body>) -> Self {
        if let Some(record) = body.and_then(Body::record) {
            return match &record.content {
                Content::Inline(text) => Self::Known(excerpt.of(text).is_some()),
                Content::Chunked {
                    command,
                    first,
                    bytes,
                    ..
                } => Self::in_chunks(excerpt, *command, *first, *bytes),
            };
        }
        match body {
            Some(Body::TaskOpened { title, description }) => {
                Self::Known(excerpt.of(&opening_text(title, description)).is_some())
            }
            _ => Self::Known(false),
        }
    }

    /// Of a text of `bytes` bytes, whose chunks but the last are all full.
    fn in_chunks(excerpt: &Excerpt, command: CommandId, first: u32, bytes: u64) -> Self {
        let (from, to) = (u64::from(excerpt.from), u64::from(excerpt.to));
        if from >= to || to > bytes {
            return Self::Known(false);
        }
        let chunk_bytes = CHUNK_BYTES as u64;
        let byte = |at: u64| ChunkByte {
            command,
            number: first + u32::try_from(at / chunk_bytes).expect("a text has few chunks"),
            place: usize::try_from(at % chunk_bytes).expect("a chunk is small"),
        };
        // Nothing begins behind the last byte, and nothing is taken apart there.
        let edges = [from, to].into_iter().filter(|at| *at < bytes);
        Self::IfBegun(edges.map(byte).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::Metadata;
    use crate::id::RecordId;
    use crate::staging::{LogLevel, Record, chunks};
    use crate::time::Timestamp;

    fn excerpt(from: usize, to: usize) -> Excerpt {
        let record: RecordId = "org/a/project/p/worktree/w/task/t#3".parse().unwrap();
        let position = |at| u32::try_from(at).unwrap();
        Excerpt {
            record,
            from: position(from),
            to: position(to),
        }
    }

    fn recorded(content: Content) -> Body {
        Body::RecordAppended(Box::new(Record {
            kind: RecordKind::Log {
                level: LogLevel::Info,
            },
            content,
            metadata: Metadata::default(),
            time: Timestamp::EPOCH,
            masked: 0,
        }))
    }

    fn stands(excerpt: &Excerpt, content: Content, text: &str) -> bool {
        const FIRST: u32 = 7;
        match Stretch::of(excerpt, Some(&recorded(content))) {
            Stretch::Known(stands) => stands,
            Stretch::IfBegun(bytes) => bytes.iter().all(|byte| {
                let number = usize::try_from(byte.number - FIRST).unwrap();
                let chunk = chunks(text).nth(number).expect("there is such a chunk");
                byte.begins_character(chunk)
            }),
        }
    }

    fn chunked(text: &str) -> Content {
        Content::Chunked {
            command: CommandId::from_bytes([1; 16]),
            first: 7,
            count: u32::try_from(chunks(text).count()).unwrap(),
            bytes: text.len() as u64,
            hash: [0; 32],
        }
    }

    #[test]
    fn what_is_no_text_any_more_bears_nothing() {
        assert_eq!(Stretch::of(&excerpt(0, 1), None), Stretch::Known(false));
        assert_eq!(RecordFact::of(None), RecordFact::Missing);
    }

    #[test]
    fn what_a_task_was_opened_with_can_be_cited_in_stretches() {
        let opened = Body::TaskOpened {
            title: "실록".to_owned(),
            description: "x".to_owned(),
        };
        let stands = |from, to| Stretch::of(&excerpt(from, to), Some(&opened));
        assert_eq!(stands(0, 3), Stretch::Known(true));
        assert_eq!(stands(0, 8), Stretch::Known(true));
        for (from, to) in [(0, 4), (1, 3), (0, 9)] {
            assert_eq!(stands(from, to), Stretch::Known(false), "{from}-{to}");
        }
    }

    proptest! {
        /// Texts in chunks are cited as texts in events are, at the seams of chunks above all.
        #[test]
        fn a_stretch_stands_in_chunks_as_it_does_in_the_text(
            lead in 0_usize..4,
            spread in 0_usize..=4,
            seam in 1_usize..=2,
            from in 0_usize..12,
            length in 0_usize..12,
        ) {
            let text = format!("{}{}", &"abc"[..lead.min(3)], "록".repeat(CHUNK_BYTES));
            let text = &text[..text.floor_char_boundary(2 * CHUNK_BYTES + 6)];
            let near = (seam * CHUNK_BYTES + spread).saturating_sub(6);
            let stretch = excerpt(near + from, near + from + length);
            let whole = stretch.of(text).is_some();
            prop_assert_eq!(stands(&stretch, chunked(text), text), whole);
            prop_assert_eq!(stands(&stretch, Content::Inline(text.to_owned()), text), whole);
        }
    }
}
