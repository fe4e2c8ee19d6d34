//! Evidence: originals that decisions rest on and anchors point to, kept as they were.
//!
//! Owns what evidence is and which form it has. It is written once and never changed: it has no versions, no rank and no
//! trust, so nothing about it decays. It must not know where a large text lies.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};
use crate::id::{EvidenceId, Seq};
use crate::limits::{EVIDENCE_BYTES_MAX, MEDIA_TYPE_BYTES_MAX};
use crate::principal::Actor;
use crate::secret::mask;
use crate::staging::Content;
use crate::time::Timestamp;

/// The media type of a text of which nothing is said.
pub const MEDIA_TYPE_USUAL: &str = "text/plain";

/// An original as a caller hands it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEvidence {
    /// What it is, in a line.
    pub title: String,
    /// Where it was taken from; empty where that is not told.
    pub source: String,
    /// What sort of text it is, as `type/subtype`.
    pub media_type: String,
    /// The text itself.
    pub content: String,
}

impl NewEvidence {
    /// Bytes of all its texts.
    #[must_use]
    pub const fn text_bytes(&self) -> usize {
        self.title.len() + self.source.len() + self.media_type.len() + self.content.len()
    }
}

/// Evidence as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its id.
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
    /// Who saved it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// The event that it was saved by.
    pub seq: Seq,
}

impl Evidence {
    /// Whether it was erased: no evidence is without a title.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.title.is_empty()
    }
}

/// What there is to know of evidence without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceHead {
    /// Its id.
    pub id: EvidenceId,
    /// What it is, in a line.
    pub title: String,
    /// Where it was taken from; empty where that is not told.
    pub source: String,
    /// What sort of text it is.
    pub media_type: String,
    /// Bytes of its text.
    pub bytes: u64,
    /// BLAKE3 of the whole of that text.
    pub hash: [u8; 32],
    /// How many secrets were masked.
    pub masked: u32,
    /// Who saved it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// The event that it was saved by.
    pub seq: Seq,
}

impl EvidenceHead {
    /// Whether it was erased.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.title.is_empty()
    }

    /// What there is to know of `evidence` without its text.
    #[must_use]
    pub fn of(evidence: &Evidence) -> Self {
        Self {
            id: evidence.id,
            title: evidence.title.clone(),
            source: evidence.source.clone(),
            media_type: evidence.media_type.clone(),
            bytes: evidence.content.bytes(),
            hash: evidence.hash,
            masked: evidence.masked,
            by: evidence.by.clone(),
            at: evidence.at,
            seq: evidence.seq,
        }
    }
}

/// Checks the form of a text that is to be evidence.
pub(crate) fn check_content(content: &str) -> Result<(), Error> {
    if content.trim().is_empty() {
        return Err(invalid("evidence has content"));
    }
    if content.len() > EVIDENCE_BYTES_MAX {
        let (limit, got) = (EVIDENCE_BYTES_MAX as u64, content.len() as u64);
        return Err(Error::too_large("evidence bytes", limit, got));
    }
    Ok(())
}

/// Checks the form of a media type. It is looked at as it stands, so that one with a secret in it is refused, not masked.
pub(crate) fn check_media_type(text: &str) -> Result<(), Error> {
    if text.len() > MEDIA_TYPE_BYTES_MAX {
        let (limit, got) = (MEDIA_TYPE_BYTES_MAX as u64, text.len() as u64);
        return Err(Error::too_large("media type bytes", limit, got));
    }
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-');
    let is_name = |part: &str| !part.is_empty() && part.bytes().all(is_plain);
    let parts = text.split_once('/');
    if !parts.is_some_and(|(main, sub)| is_name(main) && is_name(sub)) {
        let why = format!(
            "a media type is type/subtype, each of A-Z a-z 0-9 . + -, such as {MEDIA_TYPE_USUAL}"
        );
        return Err(invalid(why));
    }
    if mask(text).count > 0 {
        return Err(invalid("the media type holds a secret"));
    }
    Ok(())
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_media_type_is_two_plain_names_or_refused(text in "[a-zA-Z0-9.+/ _;-]{0,20}") {
            let parts: Vec<&str> = text.split('/').collect();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
            let is_name = |part: &&str| !part.is_empty() && part.chars().all(is_plain);
            let fits = parts.len() == 2 && parts.iter().all(is_name);
            prop_assert_eq!(check_media_type(&text).is_ok(), fits);
        }
    }

    #[test]
    fn the_usual_media_type_is_one() {
        assert_eq!(check_media_type(MEDIA_TYPE_USUAL), Ok(()));
    }

    #[test]
    fn a_head_tells_how_long_a_text_is_that_lies_in_chunks() {
        let evidence = Evidence {
            id: EvidenceId::from_bytes([1; 16]),
            title: "t".into(),
            source: "s".into(),
            media_type: MEDIA_TYPE_USUAL.into(),
            content: Content::Chunked {
                command: crate::id::CommandId::from_bytes([2; 16]),
                first: 0,
                count: 2,
                bytes: 70_000,
                hash: [7; 32],
            },
            hash: [7; 32],
            masked: 1,
            by: Actor::system(),
            at: Timestamp::from_ms(3),
            seq: Seq::new(4),
        };
        let head = EvidenceHead::of(&evidence);
        assert_eq!((head.bytes, head.hash), (70_000, [7; 32]));
        assert_eq!(
            (&head.title, &head.source),
            (&evidence.title, &evidence.source)
        );
        assert_eq!((head.masked, head.seq), (1, Seq::new(4)));
    }
}
