//! Deciding what a task's report changes: counts, the status by rule 3, and whether a person is asked.

use super::{Context, Decision, Draft, review};
use crate::command::AnswerBody;
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, ReuseReported};
use crate::id::EntryId;
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
    let head = draft.state.head(entry).expect("it was there just now");
    let answer = AnswerBody::Reported {
        entry,
        usage: head.usage,
        status: head.status,
        review: raised,
    };
    Ok(Decision::of(draft.bodies, answer))
}
