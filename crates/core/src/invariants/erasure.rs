//! Invariant 1 for erasures: what is gone was ordered gone, and what was ordered gone is gone.

use std::collections::BTreeMap;

use super::{Invariant, Violation, broken, ensure, known};
use crate::chain::Header;
use crate::erasure::{ContentErased, Erased, rest_of};
use crate::event::Body;
use crate::id::{EntryId, Seq};
use crate::state::State;

mod memory;
mod verification;

/// What is left of an event whose content is missing: what the order says that erased it.
pub(super) fn rest(header: &Header, ordered: Option<&Erased>) -> Result<Body, Violation> {
    let Some(erased) = ordered else {
        return broken(
            Invariant::Chained,
            "the content is missing, and nothing says that it was erased",
        );
    };
    let at = &erased.at;
    let names_it = at.seq == header.seq && at.time == header.time && at.actor == header.actor;
    ensure(names_it, Invariant::Chained, || {
        "the content is missing, and what says that it was erased speaks of another event".into()
    })?;
    Ok(erased.rest.clone())
}

/// Whether an erasure names events before it, in order, and leaves nothing of their content.
pub(super) fn event_applies(state: &State, erased: &ContentErased) -> Result<(), Violation> {
    let chained = |holds: bool, what: String| ensure(holds, Invariant::Chained, || what);
    let mut last = Seq::ZERO;
    for event in &erased.events {
        let seq = event.at.seq;
        let follows = seq > last && seq <= state.row().tip.seq;
        chained(follows, format!("event {seq} is erased out of its place"))?;
        let rest = rest_of(&event.rest, |named, _, _| named);
        let is_bare = rest.as_ref() == Some(&event.rest);
        chained(is_bare, format!("something of event {seq} is left"))?;
        match &event.rest {
            Body::EntryCreated(created) => drop(known(state, created.id)?),
            Body::EntryAmended(amended) => drop(known(state, amended.id)?),
            Body::ReviewRaised { id, .. } => {
                let what = format!("question {id} was never raised");
                chained(state.review(*id).is_some(), what)?;
            }
            Body::TrajectoryStored(_) => {
                let what = format!("event {seq} stored no trajectory of a task");
                chained(state.task().is_some(), what)?;
            }
            rest => {
                memory::rest_applies(state, rest, seq)?;
                verification::rest_applies(state, rest, seq)?;
            }
        }
        last = seq;
    }
    for entry in &erased.entries {
        known(state, *entry)?;
    }
    Ok(())
}

/// Invariant 1, what one command erases: entries and decisions whole, each with all of its versions, anchors with why they
/// were dropped, and what failed of a fix with its verification. `bodies` are those of the command, and applied to `state`
/// by now.
///
/// # Errors
/// What does not hold.
pub fn erasure_is_whole(state: &State, bodies: &[Body]) -> Result<(), Violation> {
    let mut versions: BTreeMap<EntryId, u64> = BTreeMap::new();
    let mut entries: Vec<EntryId> = Vec::new();
    for body in bodies {
        let Body::ContentErased(erased) = body else {
            continue;
        };
        entries.extend(&erased.entries);
        for event in &erased.events {
            match &event.rest {
                Body::EntryCreated(created) => *versions.entry(created.id).or_default() += 1,
                Body::EntryAmended(amended) => *versions.entry(amended.id).or_default() += 1,
                _ => {}
            }
        }
    }
    for entry in entries {
        let head = known(state, entry)?;
        let erased = versions.remove(&entry).unwrap_or_default();
        ensure(erased == head.version, Invariant::Chained, || {
            format!(
                "{erased} of {} versions of {entry} are erased",
                head.version
            )
        })?;
    }
    memory::is_whole(state, bodies)?;
    verification::is_whole(bodies)?;
    let left = versions.into_keys().next();
    ensure(left.is_none(), Invariant::Chained, || {
        let id = left.map(|id| id.to_string()).unwrap_or_default();
        format!("a version of entry {id} is erased, and the entry is not")
    })
}
