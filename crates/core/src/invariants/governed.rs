//! Invariant 1 for what changes the worth of entries: reports, answers, retention, undoing.

use super::{Invariant, Violation, ensure, held, known};
use crate::entry::{Head, Kind, Status};
use crate::event::{Body, CitationsRefreshed};
use crate::gate::is_refreshed;
use crate::id::EntryId;
use crate::reuse::ReuseOutcome;
use crate::state::State;

/// Whether the event changes only what is there, and what it may still change.
pub(super) fn event_applies(state: &State, body: &Body) -> Result<(), Violation> {
    let chained = |holds: bool, what: String| ensure(holds, Invariant::Chained, || what);
    match body {
        Body::ReuseReported(reported) => {
            let head = held(state, reported.entry)?;
            let before = state.report(reported.entry, &reported.task);
            let follows = head.usage.reported(before, reported.outcome) == reported.usage;
            let what = format!(
                "what tasks say of entry {} is counted wrongly",
                reported.entry
            );
            chained(follows && before != Some(reported.outcome), what)?;
            let helped = reported.outcome == ReuseOutcome::Helped;
            let rises = reported.status == head.status
                || (helped
                    && head.status == Status::Verified
                    && reported.status == Status::Published);
            chained(
                rises,
                format!("a report makes entry {} {}", head.id, reported.status),
            )
        }
        Body::ReviewRaised { id, question } => {
            for entry in question.entries() {
                known(state, entry)?;
            }
            chained(
                state.review(*id).is_none(),
                format!("question {id} was raised before"),
            )
        }
        Body::ReviewAnswered { id, .. } => chained(
            state
                .review(*id)
                .is_some_and(|review| review.answer.is_none()),
            format!("question {id} does not wait for an answer"),
        ),
        Body::TrustRevised(revised) => held(state, revised.entry).map(drop),
        Body::CitationsRefreshed(refreshed) => refreshes(state, refreshed),
        Body::EntriesRetired { entries, .. } => retires(state, entries),
        Body::EntryRestored(restored) => {
            let head = known(state, restored.entry)?;
            let what = format!("entry {} was not taken out of recall", head.id);
            chained(returns(head, restored.status), what)
        }
        Body::StateResolved { entry, .. } => {
            let head = known(state, *entry)?;
            let resolves = head.table.kind() == Kind::State && head.status.is_live();
            chained(resolves, format!("entry {entry} is no state that holds"))
        }
        Body::SupersessionUndone { new, old, line, .. } => {
            let (new, old, first) = (
                known(state, *new)?,
                known(state, *old)?,
                known(state, *line)?,
            );
            let heads = first.line_head == new.id && old.line == first.id && new.line == first.id;
            let replaced = old.lifecycle.superseded_by == Some(new.id)
                && new.lifecycle.supersedes == Some(old.id);
            let what = format!("entry {} does not replace {} last", new.id, old.id);
            chained(heads && replaced, what)
        }
        _ => Ok(()),
    }
}

/// Whether an entry that left recall may come back with a status.
fn returns(head: &Head, status: Status) -> bool {
    head.status == Status::Archived && status != Status::Archived && !head.is_erased()
}

/// What an entry rests on stays what it is, wherever it lies.
fn refreshes(state: &State, refreshed: &CitationsRefreshed) -> Result<(), Violation> {
    let head = held(state, refreshed.entry)?;
    let what = || format!("entry {} rests on something else than before", head.id);
    let holds = is_refreshed(&head.citations, &refreshed.citations);
    ensure(holds, Invariant::Chained, what)
}

/// What leaves recall was not archived before.
fn retires(state: &State, entries: &[EntryId]) -> Result<(), Violation> {
    for entry in entries {
        let goes = known(state, *entry)?.status != Status::Archived;
        let what = || format!("entry {entry} is archived already");
        ensure(goes, Invariant::Chained, what)?;
    }
    Ok(())
}
