//! Deciding supersessions: one entry replaces another, in one line without forks or cycles.

use super::{Context, Decision, Draft, check_short, check_stated, entry};
use crate::command::{AnswerBody, Replacement, Supersede};
use crate::entry::Head;
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::id::EntryId;
use crate::scope::Scope;
use crate::secret::mask;
use crate::state::State;

pub(super) fn supersede(context: &Context<'_>, supersede: &Supersede) -> Result<Decision, Error> {
    check_stated("reason", &supersede.reason)?;
    if let Some(commit) = &supersede.commit {
        check_short("commit", commit)?;
        if !crate::citation::is_commit_hash(commit) {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "a commit is named by 7 to 64 hexadecimal digits",
            ));
        }
    }
    let old = entry::live_head(context, supersede.old, supersede.expected_version)?;
    let commit = supersede
        .commit
        .clone()
        .or_else(|| begins(&supersede.new).map(str::to_owned));
    let mut draft = Draft::new(context);
    let new = match &supersede.new {
        Replacement::Existing(id) => {
            entry::backing(context, supersede.verification.as_ref())?;
            existing(context.state, context.scope(), old, *id)?
        }
        Replacement::New(new) => {
            let backing = entry::admit(context, new, supersede.verification.as_ref())?;
            if new.table != old.table {
                let why = format!(
                    "an entry of {} is replaced by one of the same table",
                    old.table
                );
                return Err(Error::new(ErrorCode::InvalidSupersession, why));
            }
            let id = entry::derived_id(context, 0);
            entry::create(&mut draft, id, new, &backing, None);
            id
        }
    };
    draft.push(Body::Superseded {
        new,
        old: old.id,
        line: old.line,
        reason: mask(&supersede.reason).text.into_owned(),
        commit,
    });
    // What it replaced holds no more by now.
    if let Replacement::New(written) = &supersede.new {
        entry::relate_claim(&mut draft, new, written);
    }
    let version = draft
        .state
        .head(new)
        .expect("it replaces an entry of this state")
        .version;
    Ok(Decision::of(
        draft.bodies,
        AnswerBody::Superseded {
            new,
            version,
            old: old.id,
        },
    ))
}

/// The commit from which a new entry holds: unless another is named, what it replaces ends there, so that there is
/// none in between at which neither holds. One that exists may have begun long before it replaced anything.
fn begins(new: &Replacement) -> Option<&str> {
    match new {
        Replacement::New(new) => new.binding.commit(),
        Replacement::Existing(_) => None,
    }
}

/// An entry that exists may replace another when it is live, of the same table, and stands alone:
/// then no line can fork, join another or close to a cycle.
pub(super) fn existing(
    state: &State,
    scope: &Scope,
    old: &Head,
    id: EntryId,
) -> Result<EntryId, Error> {
    let new = state
        .head(id)
        .ok_or_else(|| Error::new(ErrorCode::NotFound, format!("{scope} has no entry {id}")))?;
    let refusal = if new.id == old.id {
        Some("an entry does not replace itself")
    } else if !new.status.is_live() {
        Some("an entry that is deprecated or archived replaces nothing")
    } else if new.lifecycle.supersedes.is_some() || new.line != new.id {
        Some("an entry replaces one other at most")
    } else if new.table != old.table {
        Some("an entry is replaced by one of the same table")
    } else {
        None
    };
    match refusal {
        Some(why) => Err(Error::new(ErrorCode::InvalidSupersession, why)),
        None => Ok(new.id),
    }
}
