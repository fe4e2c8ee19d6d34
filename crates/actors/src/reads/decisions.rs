//! Reading decisions: their heads, what each version says, and which of them contradict a claim.
//!
//! Owns listings and single looks. What an agent loads before it works is [`brief`](super::brief)'s, what a change reaches
//! is [`impact`](super::impact)'s.

use sillok_core::decision::{
    Contradiction, Contradictions, DecisionHead, DecisionVersion, Domain, Rank,
};
use sillok_core::entry::Claim;
use sillok_core::id::{DecisionId, Seq};
use sillok_core::limits::{
    CONTRADICTIONS_MAX, CONTRADICTIONS_READ_MAX, PAGE_BYTES_MAX, PAGE_SCAN_ROWS_MAX,
};
use sillok_core::scope::Scope;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::decision_claim::{self, ClaimKey, ValueHash};
use sillok_store::keys::decision_listed::{self, DomainKey};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, Read, Store, Txn};

use super::paging::Paging;
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

    /// The rank whose list of active decisions has all that is asked for; none where heads are to be looked at.
    fn lists(&self) -> Option<Rank> {
        self.rank.filter(|_| !self.withdrawn)
    }
}

/// What a listing is asked for, short enough for each of its places to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecisionListing {
    /// The rank, where only one is listed.
    pub rank: Option<Rank>,
    /// The domain, where only one is listed.
    pub domain: Option<DomainKey>,
    /// Whether those that were withdrawn are listed too.
    pub withdrawn: bool,
}

impl DecisionListing {
    /// The listing that a filter asks for.
    fn of(filter: &DecisionFilter) -> Self {
        Self {
            rank: filter.rank,
            domain: filter.domain.as_ref().map(DomainKey::of),
            withdrawn: filter.withdrawn,
        }
    }
}

/// The place of a decision in one listing. In another it is none: what lies before it there was never told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecisionPlace {
    /// The listing.
    pub listing: DecisionListing,
    /// Where in it.
    pub at: DecisionAt,
}

/// Where a decision stands in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionAt {
    /// Among all decisions of a scope: by its root.
    Root(DecisionId),
    /// Among the active ones of one rank: by its domain and by when it was begun.
    Listed {
        /// The domain.
        domain: DomainKey,
        /// The event that began it.
        begun: Seq,
        /// The decision.
        root: DecisionId,
    },
}

impl<S: Store> Reader<S> {
    /// Decisions of a scope behind `after`: by their roots, or, where those of one rank that were not withdrawn are asked for,
    /// by their domains and by when they were begun. Then none of another rank, and none that was withdrawn, is read. A page
    /// may hold fewer than asked for, even none, and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, `invalid_argument` for a place of another listing, and what the
    /// store answers.
    pub async fn decisions(
        &self,
        scope: &Scope,
        filter: &DecisionFilter,
        after: Option<DecisionPlace>,
        limit: usize,
    ) -> Result<Page<DecisionHead, DecisionPlace>, Error> {
        let page = Paging::of(limit)?;
        let scope = ScopeKey::of(scope);
        let listing = DecisionListing::of(filter);
        let after = match after {
            Some(place) if place.listing != listing => return Err(foreign()),
            after => after.map(|place| place.at),
        };
        let rows = match filter.lists() {
            Some(rank) => Rows::Active(active_range(&scope, rank, listing.domain, after)?),
            None => Rows::All(head_range(&scope, after)?),
        };
        let mut txn = self.snapshot().await?;
        let found = match rows {
            Rows::Active(range) => active(&mut txn, range, listing, page).await,
            Rows::All(range) => all(&mut txn, range, filter, page).await,
        };
        found.map_err(|error| refusal(&error))
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
    /// widest scope first, but for `besides`, which is one of the scope itself. Of each scope at most [`CONTRADICTIONS_MAX`] are
    /// told of, whatever the others hold; that there may be more is said.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn contradictions(
        &self,
        scope: &Scope,
        claim: &Claim,
        besides: Option<DecisionId>,
    ) -> Result<Contradictions, Error> {
        let mut txn = self.snapshot().await?;
        let found = contradictions_in(&mut txn, scope, claim, besides).await;
        found.map_err(|error| refusal(&error))
    }
}

/// The rows that a listing looks at.
enum Rows {
    /// Places of active decisions.
    Active(KeyRange),
    /// Heads.
    All(KeyRange),
}

/// Active decisions of a rank, and of one domain where only that is listed.
fn active_range(
    scope: &ScopeKey,
    rank: Rank,
    domain: Option<DomainKey>,
    after: Option<DecisionAt>,
) -> Result<KeyRange, Error> {
    let after = match after {
        None => None,
        Some(DecisionAt::Listed {
            domain,
            begun,
            root,
        }) => Some((domain, begun, root)),
        Some(DecisionAt::Root(_)) => return Err(foreign()),
    };
    let Some(domain) = domain else {
        return Ok(decision_listed::range_of_rank(scope, rank, after));
    };
    if after.is_some_and(|(of, ..)| of != domain) {
        return Err(foreign());
    }
    let after = after.map(|(_, begun, root)| (begun, root));
    Ok(decision_listed::range_after(scope, rank, domain, after))
}

/// All decisions.
fn head_range(scope: &ScopeKey, after: Option<DecisionAt>) -> Result<KeyRange, Error> {
    let after = match after {
        None => None,
        Some(DecisionAt::Root(root)) => Some(root),
        Some(DecisionAt::Listed { .. }) => return Err(foreign()),
    };
    Ok(keys::decision::range_after(scope, after))
}

fn foreign() -> Error {
    let why = "not a place in the listing that is asked for";
    Error::new(ErrorCode::InvalidArgument, why)
}

/// A page of the decisions whose places are in a range.
async fn active(
    txn: &mut impl Txn,
    range: KeyRange,
    listing: DecisionListing,
    mut page: Paging<DecisionHead, DecisionPlace>,
) -> Result<Page<DecisionHead, DecisionPlace>, StoreError> {
    let mut stream = RowStream::new(range);
    while page.has_room() {
        let Some((key, value)) = stream.next(txn).await? else {
            return Ok(page.whole());
        };
        let at = decision_listed::parse(&key)?;
        decision_listed::decode(&key, &value)?;
        let place = DecisionPlace {
            listing,
            at: DecisionAt::Listed {
                domain: at.domain,
                begun: at.begun,
                root: at.root,
            },
        };
        // What is listed has a head that says the same; where it is lost or says otherwise, an audit tells so.
        let key = keys::decision::key(&at.scope, at.root);
        let Some(value) = txn.get(&key, Read::Snapshot).await? else {
            page.take(place, 0, None);
            continue;
        };
        let head = keys::decision::decode(&key, &value)?;
        let is_listed = at.is_of(&head);
        page.take(place, value.len(), is_listed.then_some(head));
    }
    Ok(page.so_far())
}

/// A page of the decisions whose heads are in a range and admitted.
async fn all(
    txn: &mut impl Txn,
    range: KeyRange,
    filter: &DecisionFilter,
    mut page: Paging<DecisionHead, DecisionPlace>,
) -> Result<Page<DecisionHead, DecisionPlace>, StoreError> {
    let listing = DecisionListing::of(filter);
    let mut stream = RowStream::new(range);
    while page.has_room() {
        let Some((key, value)) = stream.next(txn).await? else {
            return Ok(page.whole());
        };
        let head = keys::decision::decode(&key, &value)?;
        let at = DecisionAt::Root(head.root);
        let place = DecisionPlace { listing, at };
        let is_listed = filter.admits(&head);
        page.take(place, value.len(), is_listed.then_some(head));
    }
    Ok(page.so_far())
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

/// What a decision of a scope is called, and how strong it is.
pub(super) async fn summary_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    root: DecisionId,
) -> Result<Option<keys::decision::Summary>, StoreError> {
    let key = keys::decision::key(scope, root);
    rows::read(txn, &key, keys::decision::decode_summary).await
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
///
/// Each scope is looked into within bounds of its own, of rows, of heads that are read and of what is told, so that none
/// hides another: neither what lies further out what is near, nor the other way about.
pub(super) async fn contradictions_in(
    txn: &mut impl Txn,
    scope: &Scope,
    claim: &Claim,
    besides: Option<DecisionId>,
) -> Result<Contradictions, StoreError> {
    // As it is stored.
    let claim = claim.masked();
    let mut nearest_first = Vec::new();
    for holder in scope.with_ancestors() {
        let besides = besides.filter(|_| holder == *scope);
        nearest_first.push(contradictions_of(txn, &holder, &claim, besides).await?);
    }
    let mut found = Contradictions::default();
    for of_scope in nearest_first.into_iter().rev() {
        found.told.extend(of_scope.told);
        found.cut |= of_scope.cut;
    }
    Ok(found)
}

/// Those of one scope, by their roots. That a claim has another value is told by its row: heads are read of what is told, and
/// of what was saved before rows told that.
async fn contradictions_of(
    txn: &mut impl Txn,
    scope: &Scope,
    claim: &Claim,
    besides: Option<DecisionId>,
) -> Result<Contradictions, StoreError> {
    let (here, same) = (ScopeKey::of(scope), ValueHash::of(&claim.value));
    let range = decision_claim::range_of_claim(&here, ClaimKey::of(&claim.key));
    let mut stream = RowStream::new(range);
    let (mut looked_at, mut read) = (0, 0);
    let mut found = Contradictions::default();
    while let Some((key, value)) = stream.next(txn).await? {
        let root = decision_claim::parse(&key)?.root;
        let is_same = decision_claim::decode(&key, &value)?.value == Some(same);
        let is_passed_over = is_same || besides == Some(root);
        let is_full = found.told.len() == CONTRADICTIONS_MAX || read == CONTRADICTIONS_READ_MAX;
        if looked_at == PAGE_SCAN_ROWS_MAX || (is_full && !is_passed_over) {
            found.cut = true;
            break;
        }
        looked_at += 1;
        if is_passed_over {
            continue;
        }
        read += 1;
        let Some(head) = head_of(txn, &here, root).await? else {
            continue;
        };
        // The place of a key is a hash, which another key may share.
        let is_against = |other: &Claim| other.key == claim.key && other.value != claim.value;
        if let Some(claim) = head.claim.filter(is_against) {
            found.told.push(Contradiction {
                scope: scope.clone(),
                root,
                rank: head.rank,
                title: head.title,
                claim,
            });
        }
    }
    Ok(found)
}
