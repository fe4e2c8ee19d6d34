//! Deciding what a task's report changes: counts, the status by rule 3, and whether a person is asked.

use super::entry::live_head;
use super::{Context, Decision, Draft, review};
use crate::citation::Citation;
use crate::command::{AnswerBody, ReportStale};
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, ReuseReported};
use crate::gate;
use crate::id::{EntryId, ReviewId};
use crate::limits::STALE_TASKS_MIN;
use crate::permission::{Access, allows};
use crate::provenance::{check_citations, status_of};
use crate::retention::Retirement;
use crate::reuse::ReuseOutcome;
use crate::review::Question;
use crate::scope::{Level, Scope};

/// Counts what `task` says of an entry. The same word again changes nothing.
pub(super) fn report(
    context: &Context<'_>,
    task: &Scope,
    entry: EntryId,
    outcome: ReuseOutcome,
) -> Result<Decision, Error> {
    let (draft, review) = counted(context, task, entry, outcome)?;
    Ok(answered(draft, entry, review))
}

/// Counts what a task found at the main branch: that an entry rests on what is gone there. Whoever may write entries in
/// the entry's scope takes it out of recall by that; of the others several tasks have to agree.
pub(super) fn stale(context: &Context<'_>, said: &ReportStale) -> Result<Decision, Error> {
    let principal = &context.submission.principal;
    let at = Citation::Commit {
        hash: said.at.hash.clone(),
        repository: said.at.repository.clone(),
    };
    check_citations(principal, &[at], context.facts)?;
    let head = live_head(context, said.entry, said.expected_version)?;
    if !head.citations.iter().any(gate::is_checked) {
        let why = format!("entry {} cites neither files nor symbols", said.entry);
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    let (mut draft, review) = counted(context, &said.task, said.entry, ReuseOutcome::Stale)?;
    let usage = draft.state.head(said.entry).map(|head| head.usage);
    let writes = allows(principal.kind(), Access::Entries, context.scope().level());
    if writes || usage.is_some_and(|usage| usage.stale >= STALE_TASKS_MIN) {
        draft.push(Body::EntriesRetired {
            entries: vec![said.entry],
            why: Retirement::Stale {
                at: said.at.clone(),
            },
        });
    }
    Ok(answered(draft, said.entry, review))
}

fn counted<'a>(
    context: &'a Context<'a>,
    task: &Scope,
    entry: EntryId,
    outcome: ReuseOutcome,
) -> Result<(Draft<'a>, Option<ReviewId>), Error> {
    if task.level() != Level::Task || !context.scope().contains(task) {
        let why = format!("{task} is no task inside {}", context.scope());
        return Err(Error::new(ErrorCode::InvalidScope, why));
    }
    if context.facts.tasks.get(task) != Some(&true) {
        let why = format!("{task} was never opened");
        return Err(Error::new(ErrorCode::NotFound, why));
    }
    let head = context.state.head(entry).ok_or_else(|| {
        let why = format!("{} has no entry {entry}", context.scope());
        Error::new(ErrorCode::NotFound, why)
    })?;
    if !head.status.is_live() {
        let current = Current {
            version: Some(head.version),
            entry: Some(entry),
            seq: None,
        };
        let why = format!("entry {entry} is {}", head.status);
        return Err(Error::conflict(why, current));
    }
    let before = context.state.report(entry, task);
    let mut draft = Draft::new(context);
    let mut raised = None;
    if before != Some(outcome) {
        let usage = head.usage.reported(before, outcome);
        let config = &context.config.trust;
        let status = status_of(head.status, &head.citations, false, usage.helped, config);
        draft.push(Body::ReuseReported(Box::new(ReuseReported {
            entry,
            task: task.clone(),
            outcome,
            usage,
            status,
        })));
        if usage.asks(config) {
            let question = Question::Wrong {
                entry,
                tasks: usage.wrong,
            };
            raised = review::raise(&mut draft, 0, question);
        }
    }
    Ok((draft, raised))
}

fn answered(draft: Draft<'_>, entry: EntryId, review: Option<ReviewId>) -> Decision {
    let head = draft.state.head(entry).expect("it was there just now");
    let answer = AnswerBody::Reported {
        entry,
        usage: head.usage,
        status: head.status,
        review,
    };
    Decision::of(draft.bodies, answer)
}
