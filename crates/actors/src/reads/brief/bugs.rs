//! Planted bugs: briefs that load too much, too little, or in another order.
//!
//! Without them nothing here is called.

use std::cmp::Reverse;

use sillok_core::brief::{Brief, BriefBudget, BriefItem, Cut, Cutter, Layer, Step, structural_max};
use sillok_core::decision::{DecisionHead, NewDecision, Rank};
use sillok_core::id::{DecisionId, Seq};
use sillok_core::{Error, ErrorCode};
use sillok_store::Txn;
use sillok_store::keys::decision_listed::{DomainKey, Key};
use sillok_store::keys::{self, ScopeKey};

use super::List;
use crate::errors::refusal;
use crate::reads::decisions::{said_last, version_of};
use crate::row_stream::RowStream;

/// What is listed for a step, and what was withdrawn of it.
pub(super) async fn with_withdrawn(
    txn: &mut impl Txn,
    step: &Step,
    rank: Rank,
) -> Result<List, Error> {
    let range = keys::decision::range_of_scope(&ScopeKey::of(&step.scope));
    let rows = RowStream::new(range).collect(txn).await;
    let rows = rows.map_err(|error| refusal(&error))?;
    let mut found: Vec<(Seq, DecisionId, u64)> = Vec::new();
    for (key, value) in rows {
        let head: DecisionHead =
            keys::decision::decode(&key, &value).map_err(|error| refusal(&error))?;
        if (head.rank, &head.domain) == (rank, &step.domain) {
            found.push((head.begun_seq, head.root, said_last(&head)));
        }
    }
    found.sort_unstable();
    let listed = found.into_iter().map(|(_, root, number)| (root, number));
    let listed: Vec<_> = listed.collect();
    Ok(List::Found(rank, listed.into_iter()))
}

/// The version that was the last to be active in a place where a decision is listed and ought not to be any more.
pub(super) async fn former(
    txn: &mut impl Txn,
    place: &Key,
    head: &DecisionHead,
) -> Result<u64, Error> {
    for number in (1..=head.version).rev() {
        let version = version_of(txn, &place.scope, place.root, number).await;
        let text = version.map_err(|error| refusal(&error))?;
        let text = text.and_then(|version| version.text);
        let was_here = |text: &NewDecision| {
            (text.rank, DomainKey::of(&text.domain)) == (place.rank, place.domain)
        };
        if text.as_ref().is_some_and(was_here) {
            return Ok(number);
        }
    }
    let what = format!("decision {} was never what it is listed as", place.root);
    Err(Error::new(ErrorCode::Internal, what))
}

/// Leaves the locks out that apply everywhere.
pub(super) fn forget_global_locks(order: &mut Vec<Step>) {
    order.retain(|step| step.layer != Layer::Lock || !step.domain.is_global());
}

/// Puts anchors before the decisions that are neither policies nor axes nor locks.
pub(super) fn raise_anchors(order: &mut [Step]) {
    order.sort_by_key(|step| match step.layer {
        Layer::Normal => 2,
        Layer::Anchor => 1,
        _ => 0,
    });
}

/// What was loaded, by when it was said last: the newest first. What is affected stays before it, and anchors behind.
pub(super) fn by_time(loaded: Brief, budget: BriefBudget) -> Result<Brief, Error> {
    let mut items = loaded.items;
    items.sort_by_key(|item| match item {
        BriefItem::Structural { .. } => (0, None),
        BriefItem::Decision { version, .. } => (1, Some(Reverse((version.at, version.seq)))),
        BriefItem::Anchor { .. } => (2, None),
    });
    let is_structural = |item: &&BriefItem| item.layer() == Layer::Structural;
    let references = items.iter().filter(is_structural).map(BriefItem::bytes);
    let all = references.clone().count();
    let taken = structural_max(budget, references).min(all);
    items.drain(taken..all);
    let mut cutter = Cutter::new(budget);
    let is_structural = |cut: &&Cut| cut.layer == Layer::Structural;
    let before = loaded.cut.iter().find(is_structural);
    let before = before.map_or(0, |cut| usize::try_from(cut.items).unwrap_or(usize::MAX));
    cutter.leave_references_out(before.saturating_add(all - taken));
    for item in items {
        cutter.take(item)?;
    }
    cutter.take_warnings(loaded.warnings, loaded.warnings_cut);
    Ok(Brief {
        impact_cut: loaded.impact_cut,
        ..cutter.finish()
    })
}
