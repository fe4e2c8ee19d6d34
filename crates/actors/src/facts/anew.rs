//! Vectors of commands that are of another space than is searched.
//!
//! A command may come from a node whose embedder was changed earlier or later, and an offer may be older than the change:
//! compared with nothing, what they write would stand beside what says the same. Owns making such vectors anew; it must
//! not know which space is searched why.

use std::sync::Arc;

use sillok_core::command::Submission;
use sillok_core::entry::Embedding;
use sillok_core::ports::{Embedder, SpaceThresholds};
use sillok_core::promotion::NewEntry;
use sillok_core::secret::mask;
use sillok_core::{Error, ErrorCode};

use crate::errors::engine_refusal;

/// Has the command's vectors made anew where they are of another space. Where nobody answers they stay, and nothing is
/// decided from them.
pub(crate) async fn embed_anew(embedder: &dyn Embedder, submission: &mut Arc<Submission>) {
    let space = embedder.space();
    if submission
        .command
        .embeddings()
        .all(|embedding| embedding.space == space)
    {
        return;
    }
    let mut command = submission.command.clone();
    let is_foreign =
        |vector: &Option<Embedding>| vector.as_ref().is_some_and(|vector| vector.space != space);
    let mut foreign = command.vectors_mut();
    foreign.retain(|(_, vector)| is_foreign(vector));
    let masked: Vec<_> = foreign.iter().map(|(text, _)| mask(text)).collect();
    let texts: Vec<&str> = masked.iter().map(|masked| masked.text.as_ref()).collect();
    match embedder.embed(&texts).await {
        Ok(vectors) if vectors.len() == foreign.len() => {
            for ((_, place), vector) in foreign.into_iter().zip(vectors) {
                *place = Some(vector);
            }
            *submission = Arc::new(Submission {
                command,
                ..Submission::clone(submission)
            });
        }
        Ok(_) => tracing::warn!("the embedder gave another number of vectors than of texts"),
        Err(error) => tracing::warn!(%error, "a command's vectors were not made anew"),
    }
}

/// The vector of an entry that is offered, or comes back, in the space of `embedder`; none where it is in it already, or
/// has no vector.
///
/// # Errors
/// What the embedder answered.
pub(super) async fn of_space(
    embedder: &dyn Embedder,
    entry: &NewEntry,
) -> Result<Option<Embedding>, Error> {
    let (space, vector) = (embedder.space(), entry.embedding.as_ref());
    if vector.is_none_or(|vector| vector.space == space) {
        return Ok(None);
    }
    let masked = mask(&entry.content);
    let vectors = embedder.embed(&[masked.text.as_ref()]).await;
    let mut vectors = vectors.map_err(|error| engine_refusal(&error))?;
    Ok(vectors.pop())
}

/// The thresholds of the space that the command's vectors lie in, and those of entries that it names.
///
/// # Errors
/// `unavailable` where that is not the one that is searched: nothing would be found to be the same.
pub(super) fn thresholds<'a>(
    embedder: &dyn Embedder,
    submission: &'a Submission,
    beside: impl Iterator<Item = &'a Embedding>,
) -> Result<Option<SpaceThresholds>, Error> {
    let space = embedder.space();
    let mut embeddings = submission.command.embeddings().chain(beside).peekable();
    if embeddings.peek().is_none() {
        return Ok(None);
    }
    if embeddings.all(|embedding| embedding.space == space) {
        Ok(Some(embedder.thresholds()))
    } else {
        Err(not_searched())
    }
}

/// Why nothing is decided from a vector that cannot be compared.
fn not_searched() -> Error {
    let why = "the command's vectors are of a space that is not searched here";
    Error::new(ErrorCode::Unavailable, why)
}
