//! Vectors of commands that are of another space than is searched.
//!
//! A command may come from a node whose embedder was changed earlier or later, and an offer may be older than the change, or
//! have no vector: compared with nothing, what they write would stand beside what says the same. Owns making such vectors
//! anew; it must not know which space is searched why.

use std::sync::Arc;

use sillok_core::command::{Command, Submission};
use sillok_core::entry::Embedding;
use sillok_core::facts::Refitted;
use sillok_core::ports::{Clock, Embedder, SpaceThresholds};
use sillok_core::promotion::NewEntry;
use sillok_core::secret::mask;
use sillok_core::{Error, ErrorCode};

use crate::ports::Ports;
use crate::spaces::{embed_each, soon};

/// Has the vectors of commands made anew where they are of another space, all with one call. Where nobody answers soon, or
/// the embedder takes no text at all, they stay, and nothing is decided from them.
pub(crate) async fn embed_anew<'a>(
    embedder: &dyn Embedder,
    clock: &dyn Clock,
    submissions: impl Iterator<Item = &'a mut Arc<Submission>>,
) {
    let space = embedder.space();
    let is_foreign = |submission: &Submission| {
        let mut vectors = submission.command.embeddings();
        vectors.any(|vector| vector.space != space)
    };
    let mut foreign: Vec<(&mut Arc<Submission>, Submission)> = submissions
        .filter(|submission| is_foreign(submission))
        .map(|submission| {
            let anew = Submission::clone(submission);
            (submission, anew)
        })
        .collect();
    if foreign.is_empty() {
        return;
    }
    let commands = foreign.iter_mut().map(|(_, anew)| &mut anew.command);
    let mut places: Vec<_> = commands.flat_map(|command| command.vectors_mut()).collect();
    places.retain(|(_, vector)| vector.as_ref().is_some_and(|vector| vector.space != space));
    let masked: Vec<_> = places.iter().map(|(text, _)| mask(text)).collect();
    let texts: Vec<&str> = masked.iter().map(|masked| masked.text.as_ref()).collect();
    match soon(clock, embed_each(embedder, &space, &texts)).await {
        Ok(vectors) => {
            for ((_, place), vector) in places.into_iter().zip(vectors) {
                *place = vector;
            }
            for (submission, anew) in foreign {
                *submission = Arc::new(anew);
            }
        }
        Err(error) => tracing::warn!(%error, "the vectors of commands were not made anew"),
    }
}

/// What is offered is searched by, where that is not its own vector. What is turned down is written nowhere and compared with
/// nothing, so that it can be turned down while the embedder is away.
pub(super) async fn of_offer(
    ports: &Ports,
    submission: &Submission,
    product: Option<&NewEntry>,
) -> Result<Option<Refitted>, Error> {
    let takes_over = match &submission.command {
        Command::AnswerReview(answer) => answer.approve,
        _ => false,
    };
    match product {
        Some(product) if takes_over => of_space(&*ports.embedder, &*ports.clock, product).await,
        Some(_) => Ok(Some(Refitted { embedding: None })),
        None => Ok(None),
    }
}

/// What an entry that is offered, or comes back, is searched by in the space of `embedder`; none where its own vector is of
/// it. One without a vector gets one, unless the embedder refuses its text.
///
/// # Errors
/// `unavailable` where the embedder is away, takes no text at all or does not answer soon.
pub(super) async fn of_space(
    embedder: &dyn Embedder,
    clock: &dyn Clock,
    entry: &NewEntry,
) -> Result<Option<Refitted>, Error> {
    let (space, vector) = (embedder.space(), entry.embedding.as_ref());
    if vector.is_some_and(|vector| vector.space == space) {
        return Ok(None);
    }
    let masked = mask(&entry.content);
    let texts = [masked.text.as_ref()];
    let vectors = soon(clock, embed_each(embedder, &space, &texts)).await;
    // Of one that takes no text, with a wrong key say, an answer may come later too.
    let mut vectors =
        vectors.map_err(|error| Error::new(ErrorCode::Unavailable, error.to_string()))?;
    let embedding = vectors.pop().flatten();
    Ok(Some(Refitted { embedding }))
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
