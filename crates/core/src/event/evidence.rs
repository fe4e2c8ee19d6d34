//! What events say of evidence and of anchors.

use serde::{Deserialize, Serialize};

use crate::decision::{Domain, Node};
use crate::id::{AnchorId, EvidenceId};
use crate::staging::Content;

/// An original, as it was saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceSaved {
    /// The evidence.
    pub id: EvidenceId,
    /// What it is, in a line, with secrets masked.
    pub title: String,
    /// Where it was taken from, with secrets masked; empty where that is not told.
    pub source: String,
    /// What sort of text it is.
    pub media_type: String,
    /// Its text, with secrets masked.
    pub content: Content,
    /// BLAKE3 of the whole of that text.
    pub hash: [u8; 32],
    /// How many secrets were masked.
    pub masked: u32,
}

/// An anchor, as it was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorAdded {
    /// The anchor.
    pub id: AnchorId,
    /// What it says, in a line, with secrets masked.
    pub hint: String,
    /// Where it is listed.
    pub domain: Domain,
    /// What it points to, in the order in which that was declared.
    pub to: Vec<Node>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Metadata;
    use crate::event::Body;
    use crate::id::CommandId;
    use crate::staging::{LogLevel, Record, RecordKind};
    use crate::time::Timestamp;

    #[test]
    fn records_and_evidence_bring_a_text_that_may_lie_in_chunks_and_nothing_else_does() {
        let content = Content::Chunked {
            command: CommandId::from_bytes([1; 16]),
            first: 0,
            count: 2,
            bytes: 100_000,
            hash: [7; 32],
        };
        let recorded = Body::RecordAppended(Box::new(Record {
            kind: RecordKind::Log {
                level: LogLevel::Info,
            },
            content: content.clone(),
            metadata: Metadata::default(),
            time: Timestamp::EPOCH,
            masked: 0,
        }));
        let saved = Body::EvidenceSaved(Box::new(EvidenceSaved {
            id: EvidenceId::from_bytes([2; 16]),
            title: "t".into(),
            source: String::new(),
            media_type: "text/plain".into(),
            content: content.clone(),
            hash: [7; 32],
            masked: 0,
        }));
        for body in [recorded, saved] {
            assert_eq!(body.content(), Some(&content));
        }
        let dropped = Body::AnchorDropped {
            anchor: AnchorId::from_bytes([3; 16]),
            reason: "r".into(),
        };
        assert_eq!(dropped.content(), None);
    }
}
