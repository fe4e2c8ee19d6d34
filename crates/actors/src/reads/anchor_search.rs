//! Searching behind anchors: in the originals that they lead to.
//!
//! Owns in which order anchors are looked at, and what is read of each. What is a hit and where a search ends is
//! `core::anchor::search`'s. It is a read of its own: no brief asks for it, and none waits for it. It may take longer than a
//! store keeps one moment, and goes on from the next: an original never changes, and of a decision the version is told that its
//! head named. It must not know the index: no vector is compared with another.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::anchor::search::{
    AnchorQuery, AnchorSearch, AnchorsFound, Counting, Original, Text, Unread,
};
use sillok_core::anchor::{Anchor, Lead, by_rank};
use sillok_core::brief::{Lists, Step, loading_order};
use sillok_core::decision::{Domain, Node};
use sillok_core::evidence::Evidence;
use sillok_core::id::{AnchorId, DecisionId};
use sillok_core::limits::ANCHOR_SEARCH_COUNTED_MAX;
use sillok_core::scope::Scope;
use sillok_core::words::bm25::Query;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::decision_listed::DomainKey;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::Reader;
use super::anchors::{Behind, anchor_of, behind};
use super::decisions::{said_last, version_of};
use super::evidence::original;
use super::impact::Viewer;
use super::texts::part;
use crate::errors::refusal;
use crate::long_reads::LongReads;
use crate::row_stream::RowStream;

/// A search that is under way.
struct Looking<'a> {
    viewer: &'a Viewer,
    search: AnchorSearch,
    /// What is led to and is not there, or was erased: nothing brings it back.
    gone: BTreeSet<Node>,
}

impl<S: Store> Reader<S> {
    /// What the anchors lead to that a brief for the scope of `viewer` and a domain tells of, as far as it answers a query. They
    /// are looked at from the end of the brief on: what lies nearest and was added last comes first. What was withdrawn is
    /// found, and says so, as in a brief; what is gone is not, and of what cannot be read only the title is looked at, if that
    /// can be. Neither a row of what is led to nor one of an anchor ends a search by being damaged.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn search_anchors(
        &self,
        viewer: &Viewer,
        domain: &Domain,
        query: AnchorQuery,
    ) -> Result<AnchorsFound, Error> {
        let txn = LongReads::of(&self.store).begin().await;
        let mut txn = txn.map_err(|error| refusal(&error))?;
        let mut looking = Looking {
            viewer,
            search: AnchorSearch::new(query),
            gone: BTreeSet::new(),
        };
        let steps = loading_order(&viewer.scope, domain).into_iter().rev();
        let mut left_out = 0;
        for step in steps.filter(|step| step.lists == Lists::Anchors) {
            let mut listed = listed(&step);
            while left_out <= ANCHOR_SEARCH_COUNTED_MAX {
                let Some(id) = next(&mut txn, &mut listed).await? else {
                    break;
                };
                if looking.search.is_full() {
                    left_out += 1;
                    continue;
                }
                let anchor = anchor(&mut txn, &step, id).await?;
                tokio::task::yield_now().await;
                match anchor {
                    None => looking.search.note_unreadable_anchor(),
                    // It may have been dropped since it was listed.
                    Some(anchor) if anchor.is_dropped() => {}
                    Some(anchor) => looking.look(&mut txn, &step.scope, &anchor).await?,
                }
            }
        }
        let counted = left_out.min(ANCHOR_SEARCH_COUNTED_MAX);
        looking.search.leave_out(counted, left_out > counted);
        Ok(AnchorsFound {
            spans_moments: !txn.is_of_one_moment(),
            ..looking.search.finish()
        })
    }
}

impl Looking<'_> {
    /// Looks at an anchor of a scope, and at all that it leads to and was not looked at before.
    async fn look(
        &mut self,
        txn: &mut impl Txn,
        scope: &Scope,
        anchor: &Anchor,
    ) -> Result<(), Error> {
        self.search.look_at(scope, anchor);
        for (lead, found) in self.leads(txn, anchor).await? {
            if let Some(original) = original_of(txn, lead, found, &self.search).await? {
                self.search.take(original);
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// What an anchor leads to that is there and was not come upon before, in the order in which that is told. Nothing is
    /// read of what is known. What cannot be read is counted, and left out.
    async fn leads(
        &mut self,
        txn: &mut impl Txn,
        anchor: &Anchor,
    ) -> Result<Vec<(Lead, Behind)>, Error> {
        let mut leads = Vec::new();
        let mut all_found = BTreeMap::new();
        for node in &anchor.to {
            // What an anchor leads to is seen by all who see the anchor.
            let is_there = self.viewer.sees_node(node) && !self.gone.contains(node);
            if !is_there || self.search.knows(node) {
                continue;
            }
            match behind(txn, node).await {
                Ok(Some(found)) => {
                    leads.push(found.lead());
                    all_found.insert(node.clone(), found);
                }
                Ok(None) => {
                    self.gone.insert(node.clone());
                }
                Err(StoreError::Corrupt { .. }) => self.search.note_unreadable(node.clone()),
                Err(error) => return Err(refusal(&error)),
            }
        }
        let mut ordered = Vec::with_capacity(leads.len());
        for lead in by_rank(leads) {
            if let Some(found) = all_found.remove(&lead.to) {
                ordered.push((lead, found));
            }
        }
        Ok(ordered)
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

/// An anchor that is listed; none where its row is damaged, or lost.
async fn anchor(txn: &mut impl Txn, step: &Step, id: AnchorId) -> Result<Option<Anchor>, Error> {
    match anchor_of(txn, &ScopeKey::of(&step.scope), id).await {
        Err(StoreError::Corrupt { .. }) => Ok(None),
        found => found.map_err(|error| refusal(&error)),
    }
}

/// An original with as much of its text as there is room for; none where it was erased since it was found. What cannot be
/// read ends no search, unless it is the store that cannot be.
async fn original_of(
    txn: &mut impl Txn,
    lead: Lead,
    found: Behind,
    search: &AnchorSearch,
) -> Result<Option<Original>, Error> {
    let room = search.room();
    let (version, bytes, said) = match found {
        Behind::Decision(scope, head) => {
            let number = said_last(&head);
            let said = version_text(txn, (&scope, head.root), number).await;
            (Some(number), 0, said)
        }
        Behind::Evidence(scope, evidence) => {
            let bytes = evidence.content.bytes();
            let said = beginning(txn, &scope, *evidence, room).await;
            (None, bytes, said.map(Some))
        }
    };
    let (bytes, text) = match said {
        Ok(None) => return Ok(None),
        // Of evidence that was read in part, the whole is larger.
        Ok(Some(said)) if room > 0 => {
            let text = counted(search.words(), &said).await;
            (bytes.max(said.len() as u64), Ok(text))
        }
        Ok(Some(said)) => (bytes.max(said.len() as u64), Err(Unread::NoRoom)),
        Err(error) if error.code == ErrorCode::Internal => {
            match behind(txn, &lead.to).await {
                // What was erased meanwhile is not damaged.
                Ok(None) => return Ok(None),
                Ok(Some(_)) | Err(StoreError::Corrupt { .. }) => (bytes, Err(Unread::Damaged)),
                Err(error) => return Err(refusal(&error)),
            }
        }
        Err(error) => return Err(error),
    };
    Ok(Some(Original {
        lead,
        version,
        bytes,
        text,
    }))
}

/// What a version of a decision says; none where that was erased.
async fn version_text(
    txn: &mut impl Txn,
    (scope, root): (&Scope, DecisionId),
    number: u64,
) -> Result<Option<String>, Error> {
    let found = version_of(txn, &ScopeKey::of(scope), root, number).await;
    let found = found.map_err(|error| refusal(&error))?;
    let version = found.ok_or_else(|| {
        let what = format!("version {number} of decision {root} is not there");
        Error::new(ErrorCode::Internal, what)
    })?;
    Ok(version.text.map(|text| text.content))
}

/// As much of the text of evidence as there is room for. One that is read whole is checked against its hash.
async fn beginning(
    txn: &mut impl Txn,
    scope: &Scope,
    evidence: Evidence,
    room: u64,
) -> Result<String, Error> {
    if room == 0 {
        Ok(String::new())
    } else if evidence.content.bytes() <= room {
        original(txn, scope, evidence).await
    } else {
        Ok(part(txn, scope, &evidence.content, 0..room).await?.1)
    }
}

/// Counts the words of a text, and lets others have their turn meanwhile: a search is in nobody's way.
async fn counted(words: &Query, text: &str) -> Text {
    let mut counting = Counting::of(words, text);
    while counting.step() {
        tokio::task::yield_now().await;
    }
    counting.finish()
}
