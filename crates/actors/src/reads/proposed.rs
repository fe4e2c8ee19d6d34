//! Reading what a decision means to others: what it reaches, what speaks against it, and whether others are of its domain.
//!
//! Owns from which nodes, relations and lists that is looked for. Whether a decision could be saved is not asked here.

use sillok_core::Error;
use sillok_core::decision::{
    Contradictions, Domain, Edge, Former, NewDecision, Node, Proposed, Rank, Relation,
};
use sillok_core::id::DecisionId;
use sillok_core::impact::{Impact, ImpactLimits};
use sillok_core::limits::{MEANING_NODES_MAX, MEANING_RELATIONS_MAX};
use sillok_core::scope::Scope;
use sillok_store::keys::ScopeKey;
use sillok_store::keys::decision_listed::{self, DomainKey};
use sillok_store::{Error as StoreError, RangeOptions, Read, Store, Txn};

use super::Reader;
use super::decisions::{contradictions_in, head_of, version_of};
use super::impact::{Beside, Look, Viewer};
use crate::errors::refusal;
use crate::protocol::Protocol;

/// The root of a decision that has none yet.
const UNMADE: DecisionId = DecisionId::from_bytes([0; 16]);
/// The ranks of which decisions may be of a named domain: a policy applies everywhere.
const RANKS_OF_DOMAINS: [Rank; 3] = [Rank::Axis, Rank::Lock, Rank::Normal];
/// Rows of a list that tell whether another decision than one stands there.
const LISTED_MAX: usize = 2;

impl<S: Store> Reader<S> {
    /// What it means to others that version `number` of a decision of the scope of `viewer` was saved; none when it was not.
    /// That is something to those that the decision is related to by now, by that version or by the one before it, which
    /// may let go of them, and to those that still depend on it. Where it was an axis or a lock before that version, it is
    /// touched itself.
    pub(crate) async fn meaning_under<P: Protocol>(
        &self,
        protocol: P,
        viewer: &Viewer,
        root: DecisionId,
        number: u64,
    ) -> Result<Option<Proposed>, Error> {
        let mut txn = self.snapshot().await?;
        let found = meaning(protocol, &mut txn, viewer, root, number).await;
        found.map_err(|error| refusal(&error))
    }
}

async fn meaning<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    viewer: &Viewer,
    root: DecisionId,
    number: u64,
) -> Result<Option<Proposed>, StoreError> {
    let here = ScopeKey::of(&viewer.scope);
    let head = head_of(txn, &here, root).await?;
    let Some(head) = head.filter(|head| number <= head.version) else {
        return Ok(None);
    };
    let node = head.node(&viewer.scope);
    let mut edges = Vec::new();
    let saved = text_of(txn, &here, root, number).await?;
    let mut before = text_of(txn, &here, root, number.saturating_sub(1)).await?;
    for text in before.iter().chain(&saved) {
        edges.extend(edges_from(&node, &text.relations));
    }
    if before.is_none() {
        // What is restored was withdrawn before, by a version that says nothing, of what the one before that says.
        before = text_of(txn, &here, root, number.saturating_sub(2)).await?;
    }
    let former = before.map(|text| Former {
        node: node.clone(),
        rank: text.rank,
        title: text.title,
    });
    let beside = Beside { node, edges };
    let impact = reached(protocol, txn, viewer, &beside).await?;
    let claim = saved.as_ref().and_then(|text| text.claim.clone());
    let contradictions = match claim.filter(|_| head.active) {
        Some(claim) => contradictions_in(txn, &viewer.scope, &claim, Some(root)).await?,
        None => Contradictions::default(),
    };
    let new_domain = match saved {
        Some(text) => new_domain(txn, &viewer.scope, text.domain, Some(root)).await?,
        None => None,
    };
    let proposed = Proposed::of(former, impact, contradictions, new_domain);
    Ok(Some(proposed))
}

/// What a version of a decision says; none of one that withdraws it, and of one that is not there.
async fn text_of(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    root: DecisionId,
    number: u64,
) -> Result<Option<NewDecision>, StoreError> {
    let version = version_of(txn, scope, root, number).await?;
    Ok(version.and_then(|version| version.text))
}

/// What a decision would mean that says `text`, made in the scope of `viewer`, or a change to that of the decision
/// `changes`: then what that is related to by now is affected too, and it is touched itself where it is an axis or a lock.
pub(crate) async fn proposed<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    viewer: &Viewer,
    changes: Option<DecisionId>,
    text: &NewDecision,
) -> Result<Proposed, StoreError> {
    let node = Node::Decision {
        scope: viewer.scope.clone(),
        root: changes.unwrap_or(UNMADE),
    };
    let head = match changes {
        Some(root) => head_of(txn, &ScopeKey::of(&viewer.scope), root).await?,
        None => None,
    };
    let former = head.map(|head| Former {
        node: node.clone(),
        rank: head.rank,
        title: head.title,
    });
    let edges = edges_from(&node, &text.relations).collect();
    let beside = Beside { node, edges };
    let impact = reached(protocol, txn, viewer, &beside).await?;
    let contradictions = match &text.claim {
        Some(claim) => contradictions_in(txn, &viewer.scope, claim, changes).await?,
        None => Contradictions::default(),
    };
    let new_domain = new_domain(txn, &viewer.scope, text.domain.clone(), changes).await?;
    Ok(Proposed::of(former, impact, contradictions, new_domain))
}

/// The domain, where no decision that holds in a scope or in those around it is of that, but for `besides`, which is one of the
/// scope itself. Of each list so many rows are read that one more than that shows. Heads are not: a domain that a damaged list
/// alone says is taken for known, which stops nothing.
async fn new_domain(
    txn: &mut impl Txn,
    scope: &Scope,
    domain: Domain,
    besides: Option<DecisionId>,
) -> Result<Option<Domain>, StoreError> {
    if domain.is_global() {
        return Ok(None);
    }
    let of = DomainKey::of(&domain);
    for holder in scope.with_ancestors() {
        let here = ScopeKey::of(&holder);
        for rank in RANKS_OF_DOMAINS {
            let range = decision_listed::range_after(&here, rank, of, None);
            let first = RangeOptions::first(LISTED_MAX, Read::Snapshot);
            for (key, _) in txn.range(&range, first).await? {
                if besides != Some(decision_listed::parse(&key)?.root) {
                    return Ok(None);
                }
            }
        }
    }
    Ok(Some(domain))
}

/// The relations that a decision declares.
fn edges_from(node: &Node, relations: &[Relation]) -> impl Iterator<Item = Edge> {
    let edge = move |relation: &Relation| relation.edge_from(node.clone());
    relations.iter().map(edge)
}

/// What a decision reaches. Counts end it, and never time: it is part of an answer that is the same when asked again. They
/// are lower than where an impact is asked for by itself, which says how long it may take.
async fn reached<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    viewer: &Viewer,
    beside: &Beside,
) -> Result<Impact, StoreError> {
    let look = Look {
        txn,
        viewer,
        beside: Some(beside),
        deadline: None,
    };
    let start = vec![beside.node.clone()];
    let limits = ImpactLimits {
        nodes_max: MEANING_NODES_MAX,
        relations_max: MEANING_RELATIONS_MAX,
        ..ImpactLimits::default()
    };
    look.impact(protocol, start, limits).await
}
