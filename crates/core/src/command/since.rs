//! Which commands older nodes read.
//!
//! Owns the version of each command and of the citations that it brings.

use super::Command;
use crate::citation::Citation;
use crate::membership::WireVersion;

impl Command {
    /// The version that all nodes have to read before the command may be given: an older one reads neither
    /// the command nor the events that it leads to.
    #[must_use]
    pub fn since(&self) -> WireVersion {
        let has_excerpt = |citations: &[Citation]| {
            let is_excerpt = |citation: &Citation| matches!(citation, Citation::Excerpt(_));
            citations.iter().any(is_excerpt)
        };
        match self {
            Self::RecordVerification(said) if has_excerpt(&said.citations) => {
                WireVersion::WITH_EXCERPTS
            }
            Self::AmendEntry(amend) if has_excerpt(&amend.citations) => WireVersion::WITH_EXCERPTS,
            Self::PutEntry { .. } | Self::Publish(_) | Self::Supersede(_)
                if self
                    .entries()
                    .iter()
                    .any(|entry| has_excerpt(&entry.citations)) =>
            {
                WireVersion::WITH_EXCERPTS
            }
            Self::ReportReuse { .. }
            | Self::ResolveState { .. }
            | Self::AnswerReview(_)
            | Self::UndoPromotion { .. }
            | Self::Retire { .. }
            | Self::Offer(_) => WireVersion::WITH_REVIEWS,
            Self::DropPromotion { .. } => WireVersion::WITH_ATTEMPTS,
            Self::Erase(_) => WireVersion::WITH_ERASURE,
            Self::RestoreEntry { .. } => WireVersion::WITH_RESTORING,
            Self::SaveDecision(_)
            | Self::DeactivateDecision { .. }
            | Self::RestoreDecision { .. } => WireVersion::WITH_DECISIONS,
            _ => WireVersion::FIRST,
        }
    }
}
