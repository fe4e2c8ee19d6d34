//! Fetching the entry that a command brings back, as it would be written anew.
//!
//! Owns reading its text and vector, which stand in the event that wrote its active version. What is close to it, the
//! index is asked.

use sillok_core::Error;
use sillok_core::command::{Command, Submission};
use sillok_core::entry::{Head, Metadata};
use sillok_core::promotion::NewEntry;
use sillok_store::Store;
use sillok_store::keys::ScopeKey;

use super::head;
use crate::documents;
use crate::errors::refusal;

/// The entry that `submission` brings back; none where it brings back nothing, or nothing is left of the entry.
///
/// # Errors
/// What the store answered.
pub(super) async fn returning<S: Store>(
    store: &S,
    submission: &Submission,
) -> Result<Option<NewEntry>, Error> {
    let Command::RestoreEntry { entry, .. } = &submission.command else {
        return Ok(None);
    };
    let here = ScopeKey::of(&submission.scope);
    let mut txn = store.begin().await.map_err(|error| refusal(&error))?;
    let found = head(&mut txn, &here, *entry).await;
    let found = found.map_err(|error| refusal(&error))?;
    let Some(head) = found.filter(|head: &Head| !head.is_erased()) else {
        return Ok(None);
    };
    let text = documents::text(&mut txn, &head).await?;
    Ok(Some(NewEntry {
        table: head.table,
        content: text.content,
        detail: text.detail,
        metadata: Metadata::default(),
        claim: text.claim,
        citations: Vec::new(),
        failure: head.failure,
        binding: head.binding,
        embedding: text.embedding,
    }))
}
