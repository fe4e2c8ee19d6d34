//! Fetching what persons were asked, and what they answered.
//!
//! Owns which questions are looked at. What follows from an answer, `core` knows.

use std::collections::BTreeMap;

use sillok_core::Error;
use sillok_core::command::{Command, Submission};
use sillok_core::id::EntryId;
use sillok_core::review::{Question, Review};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::row;
use crate::errors::refusal;
use crate::row_stream::RowStream;

/// The question of an answer that may publish what was offered.
pub(super) async fn offered<S: Store>(
    store: &S,
    submission: &Submission,
) -> Result<Option<Review>, Error> {
    let Command::AnswerReview(answer) = &submission.command else {
        return Ok(None);
    };
    let key = keys::review::key(&ScopeKey::of(&submission.scope), answer.review);
    let read = async {
        let mut txn = store.begin().await?;
        row(&mut txn, key, keys::review::decode).await
    };
    let review: Result<Option<Review>, StoreError> = read.await;
    Ok(review
        .map_err(|error| refusal(&error))?
        .filter(|review| matches!(review.question, Question::Offer(_))))
}

/// Into which entries of a scope these ones were merged, because a person said so.
pub(super) async fn merges(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    entries: &[EntryId],
) -> Result<BTreeMap<EntryId, EntryId>, StoreError> {
    let mut rows = RowStream::new(keys::review::range_of_scope(scope));
    let mut found = BTreeMap::new();
    while let Some((key, value)) = rows.next(txn).await? {
        let review = keys::review::decode(&key, &value)?;
        let is_approved = review.answer.is_some_and(|answer| answer.approved);
        if let Question::Merge { new, known, .. } = review.question
            && is_approved
            && entries.contains(&new)
        {
            found.insert(new, known);
        }
    }
    Ok(found)
}
