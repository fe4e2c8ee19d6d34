//! Reading entries: their head, their texts, and the line that they stand in.

use sillok_core::Error;
use sillok_core::entry::{Head, Version};
use sillok_core::id::EntryId;
use sillok_core::limits::{PAGE_BYTES_MAX, PAGE_ROWS_MAX};
use sillok_core::scope::Scope;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store, Txn};

use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

/// An entry with its active text.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryView {
    /// What changes while its versions stay.
    pub head: Head,
    /// The active version.
    pub version: Version,
}

/// How an entry came to be what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The line of supersessions that the entry stands in, from its first entry on.
    pub line: Page<Head, EntryId>,
    /// The entry's own versions, the oldest first.
    pub versions: Page<Version, u64>,
}

impl<S: Store> Reader<S> {
    /// The scope that an entry lives in.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn entry_scope(&self, id: EntryId) -> Result<Option<Scope>, Error> {
        let mut txn = self.snapshot().await?;
        scope_of(&mut txn, id).await
    }

    /// An entry with its active text.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn entry(&self, id: EntryId) -> Result<Option<EntryView>, Error> {
        let mut txn = self.snapshot().await?;
        let Some(scope) = scope_of(&mut txn, id).await? else {
            return Ok(None);
        };
        view(&mut txn, &scope, id).await
    }

    /// The first pages of an entry's line and versions.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn history(&self, id: EntryId) -> Result<Option<History>, Error> {
        let Some(line) = self.line(id, None, PAGE_ROWS_MAX).await? else {
            return Ok(None);
        };
        let versions = self.versions(id, 0, PAGE_ROWS_MAX).await?;
        Ok(versions.map(|versions| History { line, versions }))
    }

    /// The line of supersessions that an entry stands in: from its first entry on, or behind
    /// `after`. None when there is no such entry.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn line(
        &self,
        id: EntryId,
        after: Option<EntryId>,
        limit: usize,
    ) -> Result<Option<Page<Head, EntryId>>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let Some(scope) = scope_of(&mut txn, id).await? else {
            return Ok(None);
        };
        let scope = ScopeKey::of(&scope);
        let Some(head) = head_of(&mut txn, &scope, id).await? else {
            return Ok(None);
        };
        let mut next = match after {
            None => Some(head.line),
            Some(after) => head_of(&mut txn, &scope, after)
                .await?
                .and_then(|head| head.lifecycle.superseded_by),
        };
        let mut items: Vec<Head> = Vec::new();
        while let Some(id) = next.take_if(|_| items.len() < rows_max) {
            let Some(head) = head_of(&mut txn, &scope, id).await? else {
                break;
            };
            next = head.lifecycle.superseded_by;
            items.push(head);
        }
        let next = next.and_then(|_| items.last()).map(|head| head.id);
        Ok(Some(Page { items, next }))
    }

    /// The versions of an entry behind a number, in order. None when there is no such entry.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn versions(
        &self,
        id: EntryId,
        after: u64,
        limit: usize,
    ) -> Result<Option<Page<Version, u64>>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let Some(scope) = scope_of(&mut txn, id).await? else {
            return Ok(None);
        };
        let scope = ScopeKey::of(&scope);
        let mut range = keys::version::range_of_entry(&scope, id);
        range.begin = keys::version::key(&scope, id, after.saturating_add(1)).into();
        let mut stream = RowStream::new(range);
        let mut page = Page {
            items: Vec::new(),
            next: None,
        };
        let mut bytes = 0;
        while page.items.len() < rows_max && bytes < PAGE_BYTES_MAX {
            let Some((key, value)) = stream
                .next(&mut txn)
                .await
                .map_err(|error| refusal(&error))?
            else {
                return Ok(Some(Page { next: None, ..page }));
            };
            let version = keys::version::decode(&key, &value).map_err(|error| refusal(&error))?;
            bytes += value.len();
            page.next = Some(version.number);
            page.items.push(version);
        }
        Ok(Some(page))
    }
}

async fn scope_of(txn: &mut impl Txn, id: EntryId) -> Result<Option<Scope>, Error> {
    let found = rows::read(txn, &keys::location::key(id), keys::location::decode).await;
    found.map_err(|error| refusal(&error))
}

pub(super) async fn head_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: EntryId,
) -> Result<Option<Head>, Error> {
    let found = rows::read(txn, &keys::head::key(scope, id), keys::head::decode).await;
    found.map_err(|error| refusal(&error))
}

/// An entry of a scope with its active text.
pub(super) async fn view(
    txn: &mut impl Txn,
    scope: &Scope,
    id: EntryId,
) -> Result<Option<EntryView>, Error> {
    let scope = ScopeKey::of(scope);
    let Some(head) = head_of(txn, &scope, id).await? else {
        return Ok(None);
    };
    let key = keys::version::key(&scope, id, head.version);
    let version = rows::read(txn, &key, keys::version::decode)
        .await
        .map_err(|error| refusal(&error))?;
    Ok(version.map(|version| EntryView { head, version }))
}
