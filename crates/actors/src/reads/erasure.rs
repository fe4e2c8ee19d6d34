//! What an erasure left elsewhere: entries and decisions that rest on what was erased, offers of it, and verifications that tell
//! the same errors.
//!
//! Owns finding them, by what promotions published, by the names that offers have and by relations. It must not know what is
//! erased.

use std::collections::BTreeSet;

use sillok_core::Error;
use sillok_core::decision::{NamedEdge, Node};
use sillok_core::entry::Head;
use sillok_core::erasure::{Erase, EraseMemory, EraseVerifications};
use sillok_core::id::{CommandId, EntryId, RecordId, ReviewId, Seq, VerificationId};
use sillok_core::permission::authorize_read;
use sillok_core::principal::Principal;
use sillok_core::review::Question;
use sillok_core::scope::{Level, Scope};
use sillok_store::keys::{self, ScopeKey, related};
use sillok_store::{Error as StoreError, Store, Txn};

use super::Reader;
use super::impact::Viewer;
use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::row_stream::RowStream;
use crate::rows;

mod errors;

use errors::same_error;

/// What may still say what was erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// Entries that promotions made of the records, and that cite one of them, or none at all; and those that the
    /// promotions of the verifications made.
    pub resting: Vec<EntryId>,
    /// Offers of the entries to their organisation.
    pub offers: Vec<ReviewId>,
    /// Decisions that hold and rest on the evidence.
    pub decisions: Vec<Node>,
    /// Verifications that failed with the errors of those that were named, and tell them still: as many as an order names.
    pub same_error: Vec<VerificationId>,
}

impl<S: Store> Reader<S> {
    /// What is left elsewhere of what was erased in a scope, as far as `principal` may look.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn remains(
        &self,
        principal: &Principal,
        scope: &Scope,
        order: &Erase,
    ) -> Result<Remains, Error> {
        let found = async {
            // An entry may have more versions than a store has time for at one moment; each may have been offered.
            let mut txn = LongReads::of(&self.store).begin().await?;
            Ok::<_, StoreError>(Remains {
                resting: resting(&mut txn, principal, scope, order).await?,
                offers: offers(&mut txn, principal, scope, order).await?,
                ..Remains::default()
            })
        };
        found.await.map_err(|error| refusal(&error))
    }

    /// What is left elsewhere of decisions, evidence and anchors that were erased in a scope, as far as `principal` sees it.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn remains_of_memory(
        &self,
        principal: &Principal,
        scope: &Scope,
        order: &EraseMemory,
    ) -> Result<Remains, Error> {
        let viewer = Viewer {
            scope: scope.clone(),
            prefix: principal.prefix.clone(),
        };
        let found = async {
            let mut txn = LongReads::of(&self.store).begin().await?;
            Ok::<_, StoreError>(Remains {
                decisions: decisions(&mut txn, &viewer, order).await?,
                ..Remains::default()
            })
        };
        found.await.map_err(|error| refusal(&error))
    }
}

impl<S: Store> Reader<S> {
    /// What is left elsewhere of what verifications of a task said, as far as `principal` may look. The order was given by the
    /// command, and ended with the event, that `ended` names.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn remains_of_verifications(
        &self,
        principal: &Principal,
        task: &Scope,
        order: &EraseVerifications,
        ended: (Seq, CommandId),
    ) -> Result<Remains, Error> {
        let found = async {
            let mut txn = LongReads::of(&self.store).begin().await?;
            let mut resting = BTreeSet::new();
            for id in &order.verifications {
                resting.extend(of_verification(&mut txn, principal, task, *id).await?);
            }
            Ok::<_, StoreError>(Remains {
                resting: resting.into_iter().collect(),
                same_error: same_error(&mut txn, task, ended).await?,
                ..Remains::default()
            })
        };
        found.await.map_err(|error| refusal(&error))
    }
}

/// The entries that the promotion of a verification made and that say something still.
async fn of_verification(
    txn: &mut impl Txn,
    principal: &Principal,
    task: &Scope,
    id: VerificationId,
) -> Result<Vec<EntryId>, StoreError> {
    let here = ScopeKey::of(task);
    let mut found = Vec::new();
    let key = keys::verification::key(&here, id);
    let Some(one) = rows::read(txn, &key, keys::verification::decode).await? else {
        return Ok(found);
    };
    if authorize_read(principal, &one.target).is_err() {
        return Ok(found);
    }
    for entry in published(txn, &here, id).await? {
        let key = keys::head::key(&ScopeKey::of(&one.target), entry);
        let head: Option<Head> = rows::read(txn, &key, keys::head::decode).await?;
        found.extend(head.filter(|head| !head.is_erased()).map(|_| entry));
    }
    Ok(found)
}

async fn resting(
    txn: &mut impl Txn,
    principal: &Principal,
    scope: &Scope,
    order: &Erase,
) -> Result<Vec<EntryId>, StoreError> {
    let mut found = Vec::new();
    if order.records.is_empty() || scope.level() != Level::Task {
        return Ok(found);
    }
    let here = ScopeKey::of(scope);
    let mut rows = RowStream::new(keys::verification::range_of_scope(&here));
    while let Some((key, value)) = rows.next(txn).await? {
        let one = keys::verification::decode(&key, &value)?;
        let speaks = order
            .records
            .iter()
            .any(|seq| one.from <= *seq && *seq <= one.through);
        if !speaks || authorize_read(principal, &one.target).is_err() {
            continue;
        }
        for entry in published(txn, &here, one.id).await? {
            let key = keys::head::key(&ScopeKey::of(&one.target), entry);
            let head: Option<Head> = rows::read(txn, &key, keys::head::decode).await?;
            let rests = head.is_some_and(|head| !head.is_erased() && rests_on(&head, scope, order));
            if rests && !found.contains(&entry) {
                found.push(entry);
            }
        }
    }
    Ok(found)
}

/// The entries that a promotion made, or merged its own into.
async fn published(
    txn: &mut impl Txn,
    task: &ScopeKey,
    verification: VerificationId,
) -> Result<Vec<EntryId>, StoreError> {
    let key = keys::mark::key(task, verification);
    let report = rows::read(txn, &key, keys::mark::decode).await?;
    let products = report.into_iter().flat_map(|report| report.products);
    Ok(products.filter_map(|product| product.entry).collect())
}

/// Whether an entry cites one of the records that are named, or no record at all: then it may be made of any.
fn rests_on(head: &Head, task: &Scope, order: &Erase) -> bool {
    let cited: Vec<&RecordId> = head
        .citations
        .iter()
        .filter_map(|citation| citation.record())
        .collect();
    let is_named = |id: &&RecordId| id.scope == *task && order.records.contains(&id.seq);
    cited.is_empty() || cited.iter().any(is_named)
}

async fn offers(
    txn: &mut impl Txn,
    principal: &Principal,
    scope: &Scope,
    order: &Erase,
) -> Result<Vec<ReviewId>, StoreError> {
    let mut found = Vec::new();
    let org = scope.with_ancestors().into_iter().last();
    let Some(org) = org.filter(|org| org != scope && authorize_read(principal, org).is_ok()) else {
        return Ok(found);
    };
    for entry in &order.entries {
        let key = keys::head::key(&ScopeKey::of(scope), *entry);
        let head: Option<Head> = rows::read(txn, &key, keys::head::decode).await?;
        let newest = head.map_or(0, |head| head.version);
        for version in (1..=newest).rev() {
            let id = ReviewId::of_offer(&org, scope, *entry, version);
            let key = keys::review::key(&ScopeKey::of(&org), id);
            let review = rows::read(txn, &key, keys::review::decode).await?;
            let holds = review.is_some_and(|review| {
                matches!(&review.question, Question::Offer(offer) if !offer.product.content.is_empty())
            });
            found.extend(holds.then_some(id));
        }
    }
    Ok(found)
}

/// The decisions that declare that they rest on evidence which is named, of the scope of the viewer.
async fn decisions(
    txn: &mut impl Txn,
    viewer: &Viewer,
    order: &EraseMemory,
) -> Result<Vec<Node>, StoreError> {
    let mut found = BTreeSet::new();
    for id in &order.evidence {
        let evidence = Node::Evidence {
            scope: viewer.scope.clone(),
            id: *id,
        };
        for range in viewer.relations_to(&evidence) {
            let mut rows = RowStream::new(range);
            while let Some((key, value)) = rows.next(txn).await? {
                let NamedEdge { edge, .. } = related::decode(&key, &value)?;
                // The place of a node is a hash, which another node may share.
                if edge.to == evidence && viewer.sees_node(&edge.from) {
                    found.insert(edge.from);
                }
            }
        }
    }
    Ok(found.into_iter().collect())
}
