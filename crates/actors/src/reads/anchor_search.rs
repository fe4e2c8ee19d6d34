//! Searching behind anchors: in the originals that they lead to, in one snapshot.
//!
//! Owns in which order anchors are looked at, and what is read of each. What is a hit and where a search ends is
//! `core::anchor::search`'s. It is a read of its own: no brief asks for it, and none waits for it. It must not know the index: no
//! vector is compared with another.

use sillok_core::anchor::search::{
    AnchorQuery, AnchorSearch, AnchorsFound, Counting, Original, Text,
};
use sillok_core::anchor::{Anchor, Lead, Standing};
use sillok_core::brief::{Lists, Step, loading_order};
use sillok_core::decision::{Domain, Node};
use sillok_core::id::{AnchorId, DecisionId, EvidenceId};
use sillok_core::limits::ANCHOR_SEARCH_COUNTED_MAX;
use sillok_core::scope::Scope;
use sillok_core::words::bm25::Query;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::decision_listed::DomainKey;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store, Txn};

use super::Reader;
use super::anchors::{anchor_of, leads_of};
use super::decisions::view;
use super::evidence::{evidence_of, original};
use super::impact::Viewer;
use super::texts::part;
use crate::errors::refusal;
use crate::row_stream::RowStream;

impl<S: Store> Reader<S> {
    /// What the anchors lead to that a brief for the scope of `viewer` and a domain tells of, as far as it answers a query. They
    /// are looked at from the end of the brief on: what lies nearest and was added last comes first. What was withdrawn is
    /// found, and says so, as in a brief; what is gone is not.
    ///
    /// # Errors
    /// `internal` where an original is not what was written, and what the store answers.
    pub async fn search_anchors(
        &self,
        viewer: &Viewer,
        domain: &Domain,
        query: AnchorQuery,
    ) -> Result<AnchorsFound, Error> {
        let mut txn = self.snapshot().await?;
        let mut search = AnchorSearch::new(query);
        let steps = loading_order(&viewer.scope, domain).into_iter().rev();
        let mut left_out = 0;
        for step in steps.filter(|step| step.lists == Lists::Anchors) {
            let mut listed = listed(&step);
            while left_out <= ANCHOR_SEARCH_COUNTED_MAX {
                let Some(id) = next(&mut txn, &mut listed).await? else {
                    break;
                };
                if search.is_full() {
                    left_out += 1;
                    continue;
                }
                let anchor = anchor(&mut txn, &step, id).await?;
                look(&mut txn, viewer, (&step.scope, &anchor), &mut search).await?;
            }
        }
        let counted = left_out.min(ANCHOR_SEARCH_COUNTED_MAX);
        search.leave_out(counted, left_out > counted);
        Ok(search.finish())
    }
}

/// The anchors that are listed for a step, those that were added last first.
fn listed(step: &Step) -> RowStream {
    let (here, domain) = (ScopeKey::of(&step.scope), DomainKey::of(&step.domain));
    RowStream::backwards(keys::anchor_listed::range_after(&here, domain, None))
}

async fn next(txn: &mut impl Txn, listed: &mut RowStream) -> Result<Option<AnchorId>, Error> {
    let row = listed.next(txn).await.map_err(|error| refusal(&error))?;
    let place = row.map(|(key, _)| keys::anchor_listed::parse(&key));
    let place = place.transpose().map_err(|error| refusal(&error))?;
    Ok(place.map(|place| place.anchor))
}

async fn anchor(txn: &mut impl Txn, step: &Step, id: AnchorId) -> Result<Anchor, Error> {
    let found = anchor_of(txn, &ScopeKey::of(&step.scope), id).await;
    found.map_err(|error| refusal(&error))?.ok_or_else(|| {
        let what = format!("anchor {id} is listed in {} and not there", step.scope);
        Error::new(ErrorCode::Internal, what)
    })
}

/// Looks at an anchor of a scope, and at all that it leads to and was not looked at before.
async fn look(
    txn: &mut impl Txn,
    viewer: &Viewer,
    (scope, anchor): (&Scope, &Anchor),
    search: &mut AnchorSearch,
) -> Result<(), Error> {
    search.look_at(scope, anchor);
    let leads = leads_of(txn, anchor).await;
    for lead in leads.map_err(|error| refusal(&error))? {
        // What an anchor leads to is seen by all who see the anchor.
        let is_there = lead.standing != Standing::Gone && viewer.sees_node(&lead.to);
        if !is_there || search.knows(&lead.to) {
            continue;
        }
        let found = match lead.to.clone() {
            Node::Decision { scope, root } => decision(txn, (&scope, root), lead, search).await?,
            Node::Evidence { scope, id } => evidence(txn, (&scope, id), lead, search).await?,
            Node::File { .. } | Node::Symbol { .. } => None,
        };
        if let Some(original) = found {
            search.take(original);
        }
    }
    Ok(())
}

/// A decision with its text: that of its active version, or the last one that it had.
async fn decision(
    txn: &mut impl Txn,
    (scope, root): (&Scope, DecisionId),
    lead: Lead,
    search: &AnchorSearch,
) -> Result<Option<Original>, Error> {
    let found = view(txn, &ScopeKey::of(scope), root).await;
    let found = found.map_err(|error| refusal(&error))?;
    let Some((number, said)) =
        found.and_then(|view| Some((view.version.number, view.version.text?)))
    else {
        return Ok(None);
    };
    let text = match search.room() {
        0 => None,
        _ => Some(counted(search.words(), &said.content).await),
    };
    Ok(Some(Original {
        lead,
        version: Some(number),
        bytes: said.content.len() as u64,
        text,
    }))
}

/// Evidence with as much of its text as there is room for. One that is read whole is checked against its hash.
async fn evidence(
    txn: &mut impl Txn,
    (scope, id): (&Scope, EvidenceId),
    lead: Lead,
    search: &AnchorSearch,
) -> Result<Option<Original>, Error> {
    let found = evidence_of(txn, &ScopeKey::of(scope), id).await;
    let Some(evidence) = found.map_err(|error| refusal(&error))? else {
        return Ok(None);
    };
    let (bytes, room) = (evidence.content.bytes(), search.room());
    let text = if room == 0 {
        None
    } else if bytes <= room {
        Some(original(txn, scope, evidence).await?)
    } else {
        Some(part(txn, scope, &evidence.content, 0..room).await?.1)
    };
    let text = match text {
        Some(text) => Some(counted(search.words(), &text).await),
        None => None,
    };
    Ok(Some(Original {
        lead,
        version: None,
        bytes,
        text,
    }))
}

/// Counts the words of a text, and lets others have their turn meanwhile: a search is in nobody's way.
async fn counted(words: &Query, text: &str) -> Text {
    let mut counting = Counting::of(words, text);
    while counting.step() {
        tokio::task::yield_now().await;
    }
    tokio::task::yield_now().await;
    counting.finish()
}
