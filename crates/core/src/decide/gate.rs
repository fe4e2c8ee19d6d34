//! Deciding what follows from what the cognitive gate found at the project's main branch.
//!
//! Owns whose word is enough for an entry to leave recall, or for its citations to name where its code lies by now. It must not
//! know work trees: what was found is told.

use super::entry::live_head;
use super::{Context, Decision, Draft, reuse};
use crate::citation::{Citation, CitationsHash, check_all};
use crate::command::{GateFound, GateReport};
use crate::commit::CommitName;
use crate::entry::Head;
use crate::error::{Current, Error, ErrorCode};
use crate::event::{Body, CitationsRefreshed};
use crate::gate;
use crate::permission::{Access, allows};
use crate::provenance::check_citations;
use crate::retention::{Retirement, stale_access};
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
        GateFound::Moved { seen, citations } => moved(context, said, (*seen, citations.as_slice())),
    }
}

/// Counts that an entry rests on what is gone, unless the task said something else of it itself: that stays. By the word of
/// whoever may decide that, the entry leaves recall, unless a person brought it back against that very commit. Of agents no
/// word is enough, however many they are.
fn stale(context: &Context<'_>, said: &GateReport) -> Result<Decision, Error> {
    let head = reuse::held(context, &said.task, said.entry)?;
    let is_settled = rests_on(head, &said.at);
    let (mut draft, review) = match context.state.report(said.entry, &said.task) {
        Some(ReuseOutcome::Helped | ReuseOutcome::Wrong) => (Draft::new(context), None),
        None | Some(ReuseOutcome::Stale) => {
            reuse::counted(context, &said.task, said.entry, ReuseOutcome::Stale)?
        }
    };
    if has(context, stale_access(context.scope().level())) && !is_settled {
        draft.push(Body::EntriesRetired {
            entries: vec![said.entry],
            why: Retirement::Stale {
                at: said.at.clone(),
            },
        });
    }
    Ok(reuse::answered(draft, said.entry, review))
}

/// Whether an entry cites a commit, by that name or by a longer or shorter one. What is brought back cites the commit at which it
/// was found gone.
fn rests_on(head: &Head, at: &CommitName) -> bool {
    let mut cited = head.citations.iter().filter_map(Citation::commit);
    cited.any(|commit| commit.hash.starts_with(&at.hash) || at.hash.starts_with(&commit.hash))
}

/// Has citations name where the same lies, if they are still those that were looked at. Only whoever may write entries in the
/// entry's scope does; the word of others changes nothing, since nobody else would see which place they mean.
fn moved(
    context: &Context<'_>,
    said: &GateReport,
    (seen, citations): (CitationsHash, &[Citation]),
) -> Result<Decision, Error> {
    let head = reuse::held(context, &said.task, said.entry)?;
    check_all(citations)?;
    let is_new = head.citations != citations;
    if is_new && CitationsHash::of(&head.citations) != seen {
        let current = Current {
            version: Some(head.version),
            entry: Some(said.entry),
            seq: None,
        };
        let why = format!("entry {} rests on other places by now", said.entry);
        return Err(Error::conflict(why, current));
    }
    if !gate::is_refreshed(&head.citations, citations) {
        let why = format!(
            "what is told of entry {} is not what it rests on, elsewhere",
            said.entry
        );
        return Err(Error::new(ErrorCode::InvalidArgument, why));
    }
    let mut draft = Draft::new(context);
    if is_new && has(context, Access::Entries) {
        draft.push(Body::CitationsRefreshed(Box::new(CitationsRefreshed {
            entry: said.entry,
            citations: citations.to_vec(),
            at: said.at.clone(),
        })));
    }
    Ok(reuse::answered(draft, said.entry, None))
}

fn has(context: &Context<'_>, access: Access) -> bool {
    let kind = context.submission.principal.kind();
    allows(kind, access, context.scope().level())
}
