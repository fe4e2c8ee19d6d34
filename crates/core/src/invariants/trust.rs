//! What moves the confidence of an entry: validations that are added or taken back, and nothing else.
//!
//! Confidence fades when it is read. A faded one that were stored would fade a second time. It must not know
//! how much a validation is worth: that is the configuration's, which may change.

use super::{Invariant, Violation, ensure};
use crate::entry::Head;
use crate::event::{Body, TrustRevised};
use crate::trust::Trust;

/// Invariant 5, of a command: it revises what entries are trusted with only by what a person answers, or by taking
/// back what a promotion gave to them. What came back may cite more than before, and is trusted no otherwise.
///
/// # Errors
/// The first that it revises without that.
pub fn trust_is_validated(bodies: &[Body]) -> Result<(), Violation> {
    let is_ground = |body: &Body| {
        matches!(
            body,
            Body::ReviewAnswered { .. } | Body::PromotionUndone { .. }
        )
    };
    // An entry that came back cites what it came back against, and is trusted as it was just before.
    let comes_so = |revised: &TrustRevised| {
        let mut returned = bodies.iter().filter_map(|body| match body {
            Body::EntryRestored(restored) => Some(restored),
            _ => None,
        });
        returned.any(|one| one.entry == revised.entry && one.trust == revised.trust)
    };
    let revised = bodies.iter().find_map(|body| match body {
        Body::TrustRevised(revised) if !comes_so(revised) => Some(revised.entry),
        _ => None,
    });
    let Some(entry) = revised else { return Ok(()) };
    let what =
        || format!("the confidence of entry {entry} was changed, and nothing validates that");
    ensure(bodies.iter().any(is_ground), Invariant::Trusted, what)
}

/// Invariant 5, of an entry that was said again: that takes no validation back, and where it adds none, the entry is
/// trusted no less than before.
pub(super) fn repeated(head: &Head, after: &Trust) -> Result<(), Violation> {
    let before = &head.trust;
    let is_validated = after.validation_count > before.validation_count;
    let is_same = after.validation_count == before.validation_count;
    let holds = is_validated || (is_same && after.confidence >= before.confidence);
    ensure(holds, Invariant::Trusted, || {
        format!(
            "entry {} was said again, and its confidence went from {} to {}",
            head.id, before.confidence, after.confidence
        )
    })
}
