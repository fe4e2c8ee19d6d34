//! Planted bugs: briefs that load too much, too little, or in another order.
//!
//! Without them nothing here is called.

use std::cmp::Reverse;

use sillok_core::Error;
use sillok_core::brief::{Brief, BriefBudget, BriefItem, Cutter, Layer, Step};
use sillok_core::decision::DecisionHead;
use sillok_core::id::{DecisionId, Seq};
use sillok_store::Txn;
use sillok_store::keys::{self, ScopeKey};

use super::List;
use crate::errors::refusal;
use crate::reads::decisions::said_last;
use crate::row_stream::RowStream;

/// What is listed for a step, and what was withdrawn of it.
pub(super) async fn with_withdrawn(txn: &mut impl Txn, step: &Step) -> Result<List, Error> {
    let range = keys::decision::range_of_scope(&ScopeKey::of(&step.scope));
    let rows = RowStream::new(range).collect(txn).await;
    let rows = rows.map_err(|error| refusal(&error))?;
    let mut found: Vec<(Seq, DecisionId, u64)> = Vec::new();
    for (key, value) in rows {
        let head: DecisionHead =
            keys::decision::decode(&key, &value).map_err(|error| refusal(&error))?;
        if (head.rank, &head.domain) == (step.rank, &step.domain) {
            found.push((head.begun_seq, head.root, said_last(&head)));
        }
    }
    found.sort_unstable();
    let listed = found.into_iter().map(|(_, root, number)| (root, number));
    Ok(List::Found(listed.collect::<Vec<_>>().into_iter()))
}

/// Leaves the locks out that apply everywhere.
pub(super) fn forget_global_locks(order: &mut Vec<Step>) {
    order.retain(|step| step.layer != Layer::Lock || !step.domain.is_global());
}

/// What was loaded, by when it was said last: the newest first.
pub(super) fn by_time(loaded: Brief, budget: BriefBudget) -> Result<Brief, Error> {
    let mut items = loaded.items;
    items.sort_by_key(|item| match item {
        BriefItem::Decision { version, .. } => Some(Reverse((version.at, version.seq))),
        BriefItem::Structural { .. } => None,
    });
    let mut cutter = Cutter::new(budget);
    for item in items {
        cutter.take(item)?;
    }
    Ok(cutter.finish())
}
