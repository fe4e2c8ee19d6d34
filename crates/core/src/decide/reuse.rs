//! Deciding what a task's report changes: counts, the status by rule 3, and whether a person is asked.

use super::{Context, Decision, Draft, review};
use crate::command::AnswerBody;
use crate::entry::Head;
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, ReuseReported};
use crate::id::{EntryId, ReviewId};
use crate::provenance::status_of;
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

/// What is decided of that, and the question that a person is asked, if one is.
pub(super) fn counted<'a>(
    context: &'a Context<'a>,
    task: &Scope,
    entry: EntryId,
    outcome: ReuseOutcome,
) -> Result<(Draft<'a>, Option<ReviewId>), Error> {
    let head = held(context, task, entry)?;
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

/// The entry that a task which was opened inside its scope says something of.
pub(super) fn held<'a>(
    context: &Context<'a>,
    task: &Scope,
    entry: EntryId,
) -> Result<&'a Head, Error> {
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
    Ok(head)
}

pub(super) fn answered(draft: Draft<'_>, entry: EntryId, review: Option<ReviewId>) -> Decision {
    let head = draft.state.head(entry).expect("it was there just now");
    let answer = AnswerBody::Reported {
        entry,
        usage: head.usage,
        status: head.status,
        review,
    };
    Decision::of(draft.bodies, answer)
}
