//! One entry for one text: what the tables that merge must never hold twice.
//!
//! Owns when two entries count as one of the same text. It must not know how neighbours are found: that
//! equal texts meet at all is what is checked.

use super::{Invariant, Violation, ensure};
use crate::event::{Body, EntryCreated};
use crate::facts::HashKey;
use crate::id::EntryId;
use crate::state::State;

/// The live entry that has the text of a new one already, if there is one. Two entries of one text are
/// one, unless the new one claims something, which may contradict the known one, or replaces it.
#[must_use]
pub fn known_text(state: &State, created: &EntryCreated) -> Option<EntryId> {
    if !created.table.merges() || created.text.claim.is_some() {
        return None;
    }
    let known = state.by_hash(&HashKey {
        table: created.table,
        failure: created.failure,
        hash: created.text.content_hash,
    })?;
    state
        .head(known)
        .is_some_and(|head| head.status.is_live())
        .then_some(known)
}

/// Invariant 5, what is published once: the entries of a command whose text was known already (see
/// [`known_text`]) each replace another one.
///
/// # Errors
/// The first that does not.
pub fn texts_are_one(repeats: &[(EntryId, EntryId)], bodies: &[Body]) -> Result<(), Violation> {
    for (created, known) in repeats {
        let replaces = bodies
            .iter()
            .any(|body| matches!(body, Body::Superseded { new, .. } if new == created));
        ensure(replaces, Invariant::Merged, || {
            format!("entry {created} has the text of {known}")
        })?;
    }
    Ok(())
}
