//! Reading anchors: how they stand, what they lead to, and following them to the originals.
//!
//! Owns listings and single looks. Where a brief lists them is [`brief`](super::brief)'s; in which order they tell what
//! they lead to is `core::anchor`'s.

use sillok_core::Error;
use sillok_core::anchor::{Anchor, Lead, Standing, by_rank};
use sillok_core::decision::{DecisionHead, Domain, Node};
use sillok_core::evidence::{Evidence, EvidenceHead};
use sillok_core::id::AnchorId;
use sillok_core::scope::Scope;
use sillok_core::staging::Content;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::decisions::{DecisionView, head_of, view};
use super::evidence::{check_hash, evidence_of};
use super::impact::Viewer;
use super::paging::Paging;
use super::{Page, Reader};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

/// An anchor with what it leads to by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorView {
    /// The anchor.
    pub anchor: Anchor,
    /// What it leads to, without its text.
    pub leads: Vec<Lead>,
}

/// Which anchors of a scope are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnchorFilter {
    /// Those of one domain alone: who asks for one that is named does not see those of all domains.
    pub domain: Option<Domain>,
    /// Those that were dropped too.
    pub dropped: bool,
}

impl AnchorFilter {
    fn admits(&self, anchor: &Anchor) -> bool {
        let is_of_domain = |domain: &Domain| anchor.domain == *domain;
        (!anchor.is_dropped() || self.dropped) && self.domain.as_ref().is_none_or(is_of_domain)
    }
}

/// An anchor with the originals that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The anchor.
    pub anchor: Anchor,
    /// What it leads to: decisions by their rank, then evidence, then what is gone.
    pub items: Vec<FollowedItem>,
}

/// An original that an anchor leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowedItem {
    /// A decision, which says whether it holds.
    Decision {
        /// The scope that holds it.
        scope: Scope,
        /// The decision.
        view: Box<DecisionView>,
    },
    /// Evidence.
    Evidence {
        /// The scope that holds it.
        scope: Scope,
        /// What it is.
        head: EvidenceHead,
        /// What it says, where that is small. What is larger is read by itself.
        text: Option<String>,
    },
    /// What was erased, is not there, or is not seen.
    Gone {
        /// What it was.
        to: Node,
    },
}

impl<S: Store> Reader<S> {
    /// An anchor of a scope with what it leads to; none when it was never added.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn anchor(&self, scope: &Scope, id: AnchorId) -> Result<Option<AnchorView>, Error> {
        let mut txn = self.snapshot().await?;
        let found = async {
            let Some(anchor) = anchor_of(&mut txn, &ScopeKey::of(scope), id).await? else {
                return Ok::<_, StoreError>(None);
            };
            let leads = leads_of(&mut txn, &anchor).await?;
            Ok(Some(AnchorView { anchor, leads }))
        };
        found.await.map_err(|error| refusal(&error))
    }

    /// Anchors of a scope behind `after`, by their ids. A page may hold fewer than asked for, even none, and still not be
    /// the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn anchors(
        &self,
        scope: &Scope,
        filter: &AnchorFilter,
        after: Option<AnchorId>,
        limit: usize,
    ) -> Result<Page<Anchor, AnchorId>, Error> {
        let mut page = Paging::of(limit)?;
        let mut txn = self.snapshot().await?;
        let range = keys::anchor::range_after(&ScopeKey::of(scope), after);
        let mut stream = RowStream::new(range);
        while page.has_room() {
            let row = stream.next(&mut txn).await;
            let Some((key, value)) = row.map_err(|error| refusal(&error))? else {
                return Ok(page.whole());
            };
            let anchor = keys::anchor::decode(&key, &value).map_err(|error| refusal(&error))?;
            let is_listed = filter.admits(&anchor);
            page.take(anchor.id, value.len(), is_listed.then_some(anchor));
        }
        Ok(page.so_far())
    }

    /// What an anchor of a scope leads to, from the originals, as `viewer` sees them: also one that was dropped is
    /// followed. None when it was never added, or its scope is not seen.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn follow(
        &self,
        viewer: &Viewer,
        scope: &Scope,
        id: AnchorId,
    ) -> Result<Option<Followed>, Error> {
        if !viewer.sees(scope) {
            return Ok(None);
        }
        let mut txn = self.snapshot().await?;
        followed(&mut txn, viewer, scope, id).await
    }
}

async fn followed(
    txn: &mut impl Txn,
    viewer: &Viewer,
    scope: &Scope,
    id: AnchorId,
) -> Result<Option<Followed>, Error> {
    let Some((anchor, leads)) = seen(txn, viewer, scope, id).await.map_err(told)? else {
        return Ok(None);
    };
    let mut items = Vec::with_capacity(leads.len());
    for lead in by_rank(leads) {
        items.push(match lead.standing {
            Standing::Gone => FollowedItem::Gone { to: lead.to },
            Standing::Holds | Standing::Withdrawn => original(txn, lead.to).await?,
        });
    }
    Ok(Some(Followed { anchor, items }))
}

/// An anchor with what `viewer` sees of what it leads to. What is not seen is not told apart from what is not there.
async fn seen(
    txn: &mut impl Txn,
    viewer: &Viewer,
    scope: &Scope,
    id: AnchorId,
) -> Result<Option<(Anchor, Vec<Lead>)>, StoreError> {
    let Some(anchor) = anchor_of(txn, &ScopeKey::of(scope), id).await? else {
        return Ok(None);
    };
    let mut leads = Vec::with_capacity(anchor.to.len());
    for node in &anchor.to {
        leads.push(match viewer.sees_node(node) {
            true => lead_to(txn, node).await?,
            false => Lead::gone(node.clone()),
        });
    }
    Ok(Some((anchor, leads)))
}

fn told(error: StoreError) -> Error {
    refusal(&error)
}

/// What a node is that an anchor leads to. A text that is told with it is what was saved.
async fn original(txn: &mut impl Txn, node: Node) -> Result<FollowedItem, Error> {
    match &node {
        Node::Decision { scope, root } => {
            if let Some(view) = view(txn, &ScopeKey::of(scope), *root).await.map_err(told)? {
                let (scope, view) = (scope.clone(), Box::new(view));
                return Ok(FollowedItem::Decision { scope, view });
            }
        }
        Node::Evidence { scope, id } => {
            let found = evidence_of(txn, &ScopeKey::of(scope), *id).await;
            if let Some(evidence) = found.map_err(told)? {
                let head = EvidenceHead::of(&evidence);
                if !head.is_erased() {
                    check_hash(scope, &evidence)?;
                }
                let text = match evidence.content {
                    Content::Inline(text) => Some(text),
                    Content::Chunked { .. } => None,
                };
                let scope = scope.clone();
                return Ok(FollowedItem::Evidence { scope, head, text });
            }
        }
        Node::File { .. } | Node::Symbol { .. } => {}
    }
    Ok(FollowedItem::Gone { to: node })
}

/// What an anchor leads to by now, in the order in which that is told.
pub(super) async fn leads_of(txn: &mut impl Txn, anchor: &Anchor) -> Result<Vec<Lead>, StoreError> {
    let mut leads = Vec::with_capacity(anchor.to.len());
    for node in &anchor.to {
        leads.push(lead_to(txn, node).await?);
    }
    Ok(by_rank(leads))
}

async fn lead_to(txn: &mut impl Txn, node: &Node) -> Result<Lead, StoreError> {
    let found = behind(txn, node).await?;
    Ok(match found {
        Some(found) => found.lead(),
        None => Lead::gone(node.clone()),
    })
}

/// What there is of something that an anchor leads to, as its row has it.
pub(super) enum Behind {
    /// A decision of a scope.
    Decision(Scope, Box<DecisionHead>),
    /// Evidence of a scope.
    Evidence(Scope, Box<Evidence>),
}

impl Behind {
    /// How that is told.
    pub(super) fn lead(&self) -> Lead {
        match self {
            Self::Decision(scope, head) => Lead {
                to: head.node(scope),
                title: head.title.clone(),
                rank: Some(head.rank),
                standing: match head.active {
                    true => Standing::Holds,
                    false => Standing::Withdrawn,
                },
            },
            Self::Evidence(scope, evidence) => Lead {
                to: Node::Evidence {
                    scope: scope.clone(),
                    id: evidence.id,
                },
                title: evidence.title.clone(),
                rank: None,
                standing: Standing::Holds,
            },
        }
    }
}

/// What there is of something that an anchor leads to; none where it was erased, or is not there.
pub(super) async fn behind(txn: &mut impl Txn, node: &Node) -> Result<Option<Behind>, StoreError> {
    match node {
        Node::Decision { scope, root } => {
            let head = head_of(txn, &ScopeKey::of(scope), *root).await?;
            let head = head.filter(|head| !head.is_erased());
            Ok(head.map(|head| Behind::Decision(scope.clone(), Box::new(head))))
        }
        Node::Evidence { scope, id } => {
            let evidence = evidence_of(txn, &ScopeKey::of(scope), *id).await?;
            let evidence = evidence.filter(|evidence| !evidence.is_erased());
            Ok(evidence.map(|evidence| Behind::Evidence(scope.clone(), Box::new(evidence))))
        }
        Node::File { .. } | Node::Symbol { .. } => Ok(None),
    }
}

/// An anchor of a scope.
pub(super) async fn anchor_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    id: AnchorId,
) -> Result<Option<Anchor>, StoreError> {
    let key = keys::anchor::key(scope, id);
    rows::read(txn, &key, keys::anchor::decode).await
}
