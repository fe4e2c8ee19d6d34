//! Reading evidence: what there is of it, and what it says, whole or in part.
//!
//! Owns listings and single looks. How a text is put together is [`texts`](super::texts)'s; what leads to evidence is not
//! asked here.

use core::ops::Range;

use sillok_core::evidence::{Evidence, EvidenceHead};
use sillok_core::id::EvidenceId;
use sillok_core::limits::PAGE_BYTES_MAX;
use sillok_core::scope::Scope;
use sillok_core::staging::Content;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::texts::{part, whole};
use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

/// What evidence says, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceText {
    /// The evidence.
    pub head: EvidenceHead,
    /// The place in its whole text, in bytes, where this begins.
    pub from: u64,
    /// What stands there.
    pub text: String,
}

impl<S: Store> Reader<S> {
    /// Evidence of a scope; none when it was never saved. Of what was erased it says so.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn evidence(
        &self,
        scope: &Scope,
        id: EvidenceId,
    ) -> Result<Option<EvidenceHead>, Error> {
        let mut txn = self.snapshot().await?;
        let found = evidence_of(&mut txn, &ScopeKey::of(scope), id).await;
        let found = found.map_err(|error| refusal(&error))?;
        Ok(found.as_ref().map(EvidenceHead::of))
    }

    /// Evidence of a scope behind `after`, by its ids. A page may hold less than asked for and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn evidence_list(
        &self,
        scope: &Scope,
        after: Option<EvidenceId>,
        limit: usize,
    ) -> Result<Page<EvidenceHead, EvidenceId>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let range = keys::evidence::range_after(&ScopeKey::of(scope), after);
        let mut stream = RowStream::new(range);
        let mut page = Page {
            items: Vec::new(),
            next: None,
        };
        let mut bytes = 0;
        while page.items.len() < rows_max && bytes < PAGE_BYTES_MAX {
            let row = stream.next(&mut txn).await;
            let Some((key, value)) = row.map_err(|error| refusal(&error))? else {
                return Ok(Page { next: None, ..page });
            };
            let evidence = keys::evidence::decode(&key, &value);
            let evidence = evidence.map_err(|error| refusal(&error))?;
            // As it is read: a text that lies in its row is.
            bytes += value.len();
            page.next = Some(evidence.id);
            page.items.push(EvidenceHead::of(&evidence));
        }
        Ok(page)
    }

    /// What evidence of a scope says: all of it, checked against its hash, or what lies between two places of it, in bytes,
    /// without the characters that either of them cuts. A place behind the end is the end. None when it was never saved, or
    /// was erased.
    ///
    /// # Errors
    /// `invalid_argument` for a part that begins behind the end, or behind its own end; `internal` where the text is not
    /// what was written; and what the store answers.
    pub async fn evidence_text(
        &self,
        scope: &Scope,
        id: EvidenceId,
        range: Option<Range<u64>>,
    ) -> Result<Option<EvidenceText>, Error> {
        let mut txn = self.snapshot().await?;
        let found = evidence_of(&mut txn, &ScopeKey::of(scope), id).await;
        let found = found.map_err(|error| refusal(&error))?;
        let Some(evidence) = found.filter(|evidence| !evidence.is_erased()) else {
            return Ok(None);
        };
        let head = EvidenceHead::of(&evidence);
        let (from, text) = match range {
            None => (0, original(&mut txn, scope, evidence).await?),
            Some(places) => {
                check_places(&places, head.bytes)?;
                part(&mut txn, scope, &evidence.content, places).await?
            }
        };
        Ok(Some(EvidenceText { head, from, text }))
    }
}

/// Checks that evidence is what was saved. Where its text lies in chunks, the hash that names them is the same one.
pub(super) fn check_hash(scope: &Scope, evidence: &Evidence) -> Result<(), Error> {
    let hash = match &evidence.content {
        Content::Inline(text) => *blake3::hash(text.as_bytes()).as_bytes(),
        Content::Chunked { hash, .. } => *hash,
    };
    if hash != evidence.hash {
        let why = format!("evidence {} of {scope} is not what was saved", evidence.id);
        return Err(Error::new(ErrorCode::Internal, why));
    }
    Ok(())
}

/// The whole text of evidence, which is what was saved.
pub(super) async fn original(
    txn: &mut impl Txn,
    scope: &Scope,
    evidence: Evidence,
) -> Result<String, Error> {
    check_hash(scope, &evidence)?;
    whole(txn, scope, evidence.content).await
}

fn check_places(places: &Range<u64>, bytes: u64) -> Result<(), Error> {
    let why = if places.start > bytes {
        format!(
            "the evidence has {bytes} bytes, and the part begins at {}",
            places.start
        )
    } else if places.start > places.end {
        let Range { start, end } = places;
        format!("a part does not begin at {start} that ends at {end}")
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorCode::InvalidArgument, why))
}

/// Evidence of a scope, as it is stored.
pub(super) async fn evidence_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: EvidenceId,
) -> Result<Option<Evidence>, StoreError> {
    let key = keys::evidence::key(scope, id);
    rows::read(txn, &key, keys::evidence::decode).await
}
