//! Tests of what stays as it is of entries that left recall.

use super::*;
use crate::commit::CommitName;
use crate::event::{CitationsRefreshed, ReuseReported, TrustRevised};
use crate::retention::Retirement;
use crate::reuse::ReuseOutcome;

#[test]
fn nothing_changes_of_what_left_recall() {
    let made = Body::EntryCreated(Box::new(created(1)));
    let left = Body::EntriesRetired {
        entries: vec![entry_id(1)],
        why: Retirement::Aged,
    };
    let revised = Body::TrustRevised(Box::new(TrustRevised {
        entry: entry_id(1),
        citations: Vec::new(),
        status: Status::Archived,
        trust: created(1).trust,
    }));
    let amended = Body::EntryAmended(Box::new(amended(1, 2)));
    let merged = Body::Merged(Box::new(merged_into(1)));
    let held = state_after(&project(), core::slice::from_ref(&made));
    let usage = held.head(entry_id(1)).unwrap().usage;
    let helped = Body::ReuseReported(Box::new(ReuseReported {
        entry: entry_id(1),
        task: task(),
        outcome: ReuseOutcome::Helped,
        usage: usage.reported(None, ReuseOutcome::Helped),
        status: created(1).status,
    }));
    let refreshed = Body::CitationsRefreshed(Box::new(CitationsRefreshed {
        entry: entry_id(1),
        citations: created(1).citations,
        at: CommitName::new("abcdef1", "r"),
    }));
    let gone = state_after(&project(), &[made, left]);
    for body in [revised, amended, merged, helped, refreshed] {
        event_applies(&held, &body).unwrap();
        broken_is(event_applies(&gone, &body), Invariant::Chained);
    }
}
