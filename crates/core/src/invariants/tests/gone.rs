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

#[test]
fn what_is_found_gone_leaves_recall_by_the_word_of_no_agent_and_in_an_organisation_of_a_person_alone()
 {
    let gone = [Body::EntriesRetired {
        entries: vec![entry_id(1)],
        why: Retirement::Stale {
            at: CommitName::new("abcdef1", "r"),
        },
    }];
    let worktree = scope("org/a/project/b/worktree/c");
    for (scope, allowed) in [
        (task(), [false, true, true, false]),
        (worktree, [false, true, true, false]),
        (project(), [false, true, true, false]),
        (scope("org/a"), [false, false, true, false]),
    ] {
        for (kind, is_allowed) in PrincipalKind::ALL.into_iter().zip(allowed) {
            let permitted = command_permitted(&scope, &actor(kind), &gone);
            if is_allowed {
                assert_eq!(permitted, Ok(()), "{kind} in {scope}");
            } else {
                broken_is(permitted, Invariant::Permitted);
            }
        }
    }
}
