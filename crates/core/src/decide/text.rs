//! The texts of entries: their limits, and their form with secrets masked.
//!
//! Owns what is checked and masked before an entry's text becomes part of an event.

use super::check_short;
use crate::entry::{Claim, Detail, Embedding, Metadata};
use crate::error::{Error, ErrorCode};
use crate::event::Text;
use crate::fingerprint::ContentHash;
use crate::limits::{EMBEDDING_DIMENSIONS_MAX, ENTRY_BYTES_MAX};
use crate::secret::mask;

/// Checks the sizes and coordinates of a text that is about to be written.
pub(super) fn check_text(
    content: &str,
    detail: &Detail,
    claim: Option<&Claim>,
    embedding: Option<&Embedding>,
) -> Result<(), Error> {
    if content.trim().is_empty() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "an entry has content",
        ));
    }
    let bytes = content.len() + detail_bytes(detail);
    if bytes > ENTRY_BYTES_MAX {
        return Err(Error::too_large(
            "entry bytes",
            ENTRY_BYTES_MAX as u64,
            bytes as u64,
        ));
    }
    if let Some(claim) = claim {
        check_short("claim key", &claim.key)?;
        check_short("claim value", &claim.value)?;
    }
    if let Some(embedding) = embedding {
        let dimensions = embedding.values.len();
        if dimensions > EMBEDDING_DIMENSIONS_MAX {
            return Err(Error::too_large(
                "embedding dimensions",
                EMBEDDING_DIMENSIONS_MAX as u64,
                dimensions as u64,
            ));
        }
        if !embedding.values.iter().all(|value| value.is_finite()) {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "an embedding's coordinates are finite",
            ));
        }
    }
    Ok(())
}

fn detail_bytes(detail: &Detail) -> usize {
    match detail {
        Detail::Plain => 0,
        Detail::Episode(episode) => {
            let decisions: usize = episode.key_decisions.iter().map(String::len).sum();
            episode.task.len()
                + episode.critique.len()
                + episode.input.len()
                + episode.output.len()
                + decisions
        }
        Detail::Skill(skill) => skill.name.len() + skill.description.len() + skill.code.len(),
    }
}

/// The text as it is stored: with its secrets masked.
pub(super) fn text(
    content: &str,
    detail: &Detail,
    metadata: &Metadata,
    claim: Option<&Claim>,
    embedding: Option<&Embedding>,
) -> Result<Text, Error> {
    let content = mask(content).text.into_owned();
    Ok(Text {
        content_hash: ContentHash::of(&content),
        content,
        detail: masked_detail(detail),
        metadata: Metadata::parse(&mask(metadata.as_str()).text)?,
        claim: claim.map(Claim::masked),
        embedding: embedding.cloned(),
    })
}

fn masked_detail(detail: &Detail) -> Detail {
    let clean = |text: &mut String| {
        if let std::borrow::Cow::Owned(masked) = mask(text).text {
            *text = masked;
        }
    };
    let mut detail = detail.clone();
    match &mut detail {
        Detail::Plain => {}
        Detail::Episode(episode) => {
            let texts = [
                &mut episode.task,
                &mut episode.critique,
                &mut episode.input,
                &mut episode.output,
            ];
            texts
                .into_iter()
                .chain(&mut episode.key_decisions)
                .for_each(clean);
        }
        Detail::Skill(skill) => {
            [&mut skill.name, &mut skill.description, &mut skill.code]
                .into_iter()
                .for_each(clean);
        }
    }
    detail
}
