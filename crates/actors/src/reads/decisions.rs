//! Reading decisions: their heads, what each version says, and which of them contradict a claim.
//!
//! Owns listings and single looks. What an agent loads before it works is [`brief`](super::brief)'s, what a change reaches
//! is [`impact`](super::impact)'s.

use sillok_core::Error;
use sillok_core::decision::{Contradiction, DecisionHead, DecisionVersion, Domain, Rank};
use sillok_core::entry::Claim;
use sillok_core::id::DecisionId;
use sillok_core::limits::{CONTRADICTIONS_MAX, PAGE_BYTES_MAX, PAGE_SCAN_ROWS_MAX};
use sillok_core::scope::Scope;
use sillok_store::keys::decision_claim::ClaimKey;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

/// A decision with what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionView {
    /// How it stands.
    pub head: DecisionHead,
    /// Its active version; the last one that said something, where the decision was withdrawn.
    pub version: DecisionVersion,
}

/// Which decisions of a scope are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Those of one rank alone.
    pub rank: Option<Rank>,
    /// Those of one domain alone: who asks for one that is named does not see what applies everywhere.
    pub domain: Option<Domain>,
    /// Those that were withdrawn too.
    pub withdrawn: bool,
}

impl DecisionFilter {
    fn admits(&self, head: &DecisionHead) -> bool {
        let is_of_domain = |domain: &Domain| head.domain == *domain;
        (head.active || self.withdrawn)
            && self.rank.is_none_or(|rank| rank == head.rank)
            && self.domain.as_ref().is_none_or(is_of_domain)
    }
}

impl<S: Store> Reader<S> {
    /// Decisions of a scope behind `after`, by their roots. A page may hold fewer than asked for, even none, and still not
    /// be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn decisions(
        &self,
        scope: &Scope,
        filter: &DecisionFilter,
        after: Option<DecisionId>,
        limit: usize,
    ) -> Result<Page<DecisionHead, DecisionId>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let range = keys::decision::range_after(&ScopeKey::of(scope), after);
        let mut stream = RowStream::new(range);
        let mut items: Vec<DecisionHead> = Vec::new();
        let (mut last, mut bytes) = (None, 0);
        for _ in 0..PAGE_SCAN_ROWS_MAX {
            if items.len() == rows_max || bytes >= PAGE_BYTES_MAX {
                break;
            }
            let row = stream.next(&mut txn).await;
            let Some((key, value)) = row.map_err(|error| refusal(&error))? else {
                return Ok(Page { items, next: None });
            };
            let head = keys::decision::decode(&key, &value).map_err(|error| refusal(&error))?;
            last = Some(head.root);
            if filter.admits(&head) {
                bytes += value.len();
                items.push(head);
            }
        }
        Ok(Page { items, next: last })
    }

    /// A decision of a scope with what it says; none when it was never saved.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn decision(
        &self,
        scope: &Scope,
        root: DecisionId,
    ) -> Result<Option<DecisionView>, Error> {
        let mut txn = self.snapshot().await?;
        let found = view(&mut txn, &ScopeKey::of(scope), root).await;
        found.map_err(|error| refusal(&error))
    }

    /// The versions of a decision of a scope behind a number, the oldest first. None when it was never saved.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn decision_history(
        &self,
        scope: &Scope,
        root: DecisionId,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Option<Page<DecisionVersion, u64>>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let scope = ScopeKey::of(scope);
        let head = head_of(&mut txn, &scope, root).await;
        if head.map_err(|error| refusal(&error))?.is_none() {
            return Ok(None);
        }
        let range = keys::decision_version::range_after(&scope, root, after);
        let mut stream = RowStream::new(range);
        let mut page = Page {
            items: Vec::new(),
            next: None,
        };
        let mut bytes = 0;
        while page.items.len() < rows_max && bytes < PAGE_BYTES_MAX {
            let row = stream.next(&mut txn).await;
            let Some((key, value)) = row.map_err(|error| refusal(&error))? else {
                return Ok(Some(Page { next: None, ..page }));
            };
            let version = keys::decision_version::decode(&key, &value);
            let version = version.map_err(|error| refusal(&error))?;
            bytes += value.len();
            page.next = Some(version.number);
            page.items.push(version);
        }
        Ok(Some(page))
    }

    /// Active decisions of a scope and of those around it that declare the key of `claim` with another value, those of the
    /// widest scope first, but for `besides`, which is one of the scope itself. At most [`CONTRADICTIONS_MAX`].
    ///
    /// # Errors
    /// What the store answers.
    pub async fn contradictions(
        &self,
        scope: &Scope,
        claim: &Claim,
        besides: Option<DecisionId>,
    ) -> Result<Vec<Contradiction>, Error> {
        let mut txn = self.snapshot().await?;
        let found = contradictions_in(&mut txn, scope, claim, besides).await;
        found.map_err(|error| refusal(&error))
    }
}

/// A decision of a scope with what it says.
pub(super) async fn view(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    root: DecisionId,
) -> Result<Option<DecisionView>, StoreError> {
    let Some(head) = head_of(txn, scope, root).await? else {
        return Ok(None);
    };
    let version = version_of(txn, scope, root, said_last(&head)).await?;
    Ok(version.map(|version| DecisionView { head, version }))
}

/// The number of the version whose text a head says: one that withdraws follows one with a text.
pub(super) const fn said_last(head: &DecisionHead) -> u64 {
    if head.active {
        head.version
    } else {
        head.version.saturating_sub(1)
    }
}

/// A decision of a scope.
pub(super) async fn head_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    root: DecisionId,
) -> Result<Option<DecisionHead>, StoreError> {
    let key = keys::decision::key(scope, root);
    rows::read(txn, &key, keys::decision::decode).await
}

/// A version of a decision of a scope.
pub(super) async fn version_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    root: DecisionId,
    number: u64,
) -> Result<Option<DecisionVersion>, StoreError> {
    let key = keys::decision_version::key(scope, root, number);
    rows::read(txn, &key, keys::decision_version::decode).await
}

/// As [`Reader::contradictions`], of one moment with what else is read in the transaction.
pub(super) async fn contradictions_in(
    txn: &mut impl Txn,
    scope: &Scope,
    claim: &Claim,
    besides: Option<DecisionId>,
) -> Result<Vec<Contradiction>, StoreError> {
    // As it is stored.
    let claim = claim.masked();
    let (mut found, mut looked_at) = (Vec::new(), 0);
    for holder in scope.with_ancestors().into_iter().rev() {
        let here = ScopeKey::of(&holder);
        let range = keys::decision_claim::range_of_claim(&here, ClaimKey::of(&claim.key));
        let mut stream = RowStream::new(range);
        while let Some((key, _)) = stream.next(txn).await? {
            looked_at += 1;
            if found.len() == CONTRADICTIONS_MAX || looked_at > PAGE_SCAN_ROWS_MAX {
                return Ok(found);
            }
            let root = keys::decision_claim::parse(&key)?.root;
            if besides == Some(root) && holder == *scope {
                continue;
            }
            let Some(head) = head_of(txn, &here, root).await? else {
                continue;
            };
            let (scope, rank, title) = (holder.clone(), head.rank, head.title);
            // The place of a key is a hash, which another key may share.
            let is_against = |other: &Claim| other.key == claim.key && other.value != claim.value;
            if let Some(claim) = head.claim.filter(is_against) {
                found.push(Contradiction {
                    scope,
                    root,
                    rank,
                    title,
                    claim,
                });
            }
        }
    }
    Ok(found)
}
