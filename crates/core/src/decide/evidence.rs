//! Deciding what is saved as evidence: form, masking, chunks.
//!
//! Owns what is refused. Evidence that says the same as other evidence is evidence of its own: nothing merges the two.

use super::{Context, Decision, check_short, check_stated, staging};
use crate::command::AnswerBody;
use crate::error::Error;
use crate::event::{Body, EvidenceSaved};
use crate::evidence::{NewEvidence, check_content, check_media_type};
use crate::id::EvidenceId;
use crate::limits::EVIDENCE_INLINE_BYTES_MAX;
use crate::secret::mask;

/// Saves an original.
pub(super) fn save(context: &Context<'_>, new: &NewEvidence) -> Result<Decision, Error> {
    check_media_type(&new.media_type)?;
    check_content(&new.content)?;
    let [title, source, content] = [&new.title, &new.source, &new.content].map(|text| mask(text));
    // Checked as it will be stored as well: masking may make a text longer.
    check_stated("title", &title.text)?;
    check_short("source", &source.text)?;
    check_content(&content.text)?;
    let masked = title.count + source.count + content.count;
    let hash = *blake3::hash(content.text.as_bytes()).as_bytes();
    let principal = context.submission.principal.actor.to_string();
    let id = EvidenceId::derived(context.scope(), &principal, context.submission.id);
    let mut chunks = Vec::new();
    let body = Body::EvidenceSaved(Box::new(EvidenceSaved {
        id,
        title: title.text.into_owned(),
        source: source.text.into_owned(),
        media_type: new.media_type.clone(),
        content: staging::stored(
            context,
            content.text,
            EVIDENCE_INLINE_BYTES_MAX,
            &mut chunks,
        ),
        hash,
        masked,
    }));
    Ok(Decision {
        bodies: vec![body],
        chunks,
        result: AnswerBody::EvidenceSaved { id, hash, masked },
    })
}
