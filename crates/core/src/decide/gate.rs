//! Deciding what follows from what the cognitive gate found at the project's main branch.
//!
//! Owns whose word is enough for an entry to leave recall, or for its citations to name where its code lies by now. It must not
//! know work trees: what was found is told.

use super::entry::live_head;
use super::{Context, Decision, Draft, reuse};
use crate::citation::{Citation, check_all};
use crate::command::{GateFound, GateReport};
use crate::error::{Error, ErrorCode};
use crate::event::{Body, CitationsRefreshed};
use crate::gate;
use crate::limits::STALE_TASKS_MIN;
use crate::permission::{Access, allows};
use crate::provenance::check_citations;
use crate::retention::Retirement;
use crate::reuse::ReuseOutcome;

/// Takes down what a task's asker found.
pub(super) fn report(context: &Context<'_>, said: &GateReport) -> Result<Decision, Error> {
    let at = Citation::Commit {
        hash: said.at.hash.clone(),
        repository: said.at.repository.clone(),
    };
    check_citations(&context.submission.principal, &[at], context.facts)?;
    let head = live_head(context, said.entry, said.expected_version)?;
    if !head.citations.iter().any(gate::is_checked) {
        let why = format!("entry {} cites neither files nor symbols", said.entry);
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    match &said.found {
        GateFound::Stale => stale(context, said),
        GateFound::Moved { citations } => moved(context, said, citations),
    }
}

/// Counts that an entry rests on what is gone. Whoever may write entries in the entry's scope takes it out of recall by that; of
/// the others several tasks have to agree.
fn stale(context: &Context<'_>, said: &GateReport) -> Result<Decision, Error> {
    let counted = reuse::counted(context, &said.task, said.entry, ReuseOutcome::Stale)?;
    let (mut draft, review) = counted;
    let usage = draft.state.head(said.entry).map(|head| head.usage);
    if writes(context) || usage.is_some_and(|usage| usage.stale >= STALE_TASKS_MIN) {
        draft.push(Body::EntriesRetired {
            entries: vec![said.entry],
            why: Retirement::Stale {
                at: said.at.clone(),
            },
        });
    }
    Ok(reuse::answered(draft, said.entry, review))
}

/// Has citations name where the same lies. Only whoever may write entries in the entry's scope does; the word of others changes
/// nothing, since nobody else would see which place they mean.
fn moved(
    context: &Context<'_>,
    said: &GateReport,
    citations: &[Citation],
) -> Result<Decision, Error> {
    let head = reuse::held(context, &said.task, said.entry)?;
    check_all(citations)?;
    if !gate::is_refreshed(&head.citations, citations) {
        let why = format!(
            "what is told of entry {} is not what it rests on, elsewhere",
            said.entry
        );
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    let is_new = head.citations != citations;
    let mut draft = Draft::new(context);
    if is_new && writes(context) {
        draft.push(Body::CitationsRefreshed(Box::new(CitationsRefreshed {
            entry: said.entry,
            citations: citations.to_vec(),
            at: said.at.clone(),
        })));
    }
    Ok(reuse::answered(draft, said.entry, None))
}

fn writes(context: &Context<'_>) -> bool {
    let kind = context.submission.principal.kind();
    allows(kind, Access::Entries, context.scope().level())
}
