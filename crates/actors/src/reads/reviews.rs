//! Reading reviews: what waits for a person in a scope, and what was said to it.

use sillok_core::Error;
use sillok_core::id::ReviewId;
use sillok_core::limits::PAGE_SCAN_ROWS_MAX;
use sillok_core::review::Review;
use sillok_core::scope::Scope;
use sillok_store::Store;
use sillok_store::keys::{self, ScopeKey};

use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

impl<S: Store> Reader<S> {
    /// Questions of a scope behind `after`, by their ids: those that wait, or the answered ones too. A page
    /// may hold fewer than asked for, even none, and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn reviews(
        &self,
        scope: &Scope,
        with_answered: bool,
        after: Option<ReviewId>,
        limit: usize,
    ) -> Result<Page<Review, ReviewId>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let range = keys::review::range_after(&ScopeKey::of(scope), after);
        let mut stream = RowStream::new(range);
        let mut items: Vec<Review> = Vec::new();
        let mut last = None;
        for _ in 0..PAGE_SCAN_ROWS_MAX {
            if items.len() == rows_max {
                break;
            }
            let row = stream
                .next(&mut txn)
                .await
                .map_err(|error| refusal(&error))?;
            let Some((key, value)) = row else {
                return Ok(Page { items, next: None });
            };
            let review = keys::review::decode(&key, &value).map_err(|error| refusal(&error))?;
            last = Some(review.id);
            if with_answered || review.answer.is_none() {
                items.push(review);
            }
        }
        Ok(Page { items, next: last })
    }

    /// One question of a scope; none when it was never raised.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn review(&self, scope: &Scope, id: ReviewId) -> Result<Option<Review>, Error> {
        let mut txn = self.snapshot().await?;
        let key = keys::review::key(&ScopeKey::of(scope), id);
        let found = rows::read(&mut txn, &key, keys::review::decode).await;
        found.map_err(|error| refusal(&error))
    }
}
