//! What the entries of a scope came to: each has one active version, and each line one head.
//!
//! Owns which heads and versions make up a line. Each event was checked when it was folded; this
//! asks once more of the outcome, so that a defect of the fold itself is no silent one. It must not
//! know how events are read.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::entry::Head;
use sillok_core::invariants::{Violation, one_active_version, one_head_of_line};
use sillok_core::state::State;
use sillok_store::keys::{self, Family};

use super::Stop;
use super::fold::Expected;
use crate::rows::Place;

/// Checks every entry that the events of a scope made, and the line that it begins.
pub(crate) fn check_lines(
    place: &Place,
    state: &State,
    rows: &BTreeMap<Vec<u8>, Expected>,
) -> Result<(), Stop> {
    for head in state.heads() {
        let stop = |violation: Violation| {
            let key = keys::head::key(&place.key, head.id);
            let seq = rows
                .get(&key)
                .map_or(state.row().tip.seq, |expected| expected.seq);
            Stop::at(place, seq, Family::Head, &key, violation.to_string()).of(violation.invariant)
        };
        one_active_version(head, versions(place, head, rows)).map_err(stop)?;
        if head.line == head.id {
            one_head_of_line(&line(state, head)).map_err(stop)?;
        }
    }
    Ok(())
}

/// The numbers of an entry's versions, in order.
fn versions<'a>(
    place: &Place,
    head: &Head,
    rows: &'a BTreeMap<Vec<u8>, Expected>,
) -> impl Iterator<Item = u64> + 'a {
    let first = keys::version::key(&place.key, head.id, 0);
    let last = keys::version::key(&place.key, head.id, u64::MAX);
    rows.range(first..=last)
        .filter_map(|(key, _)| keys::version::parse(key).ok())
        .map(|key| key.number)
}

/// A line from its first entry on. It ends with an entry that comes a second time, which
/// [`one_head_of_line`] then finds.
fn line<'a>(state: &'a State, first: &'a Head) -> Vec<&'a Head> {
    let mut line = vec![first];
    let mut ids = BTreeSet::from([first.id]);
    let mut next = first.lifecycle.superseded_by;
    while let Some(head) = next.and_then(|id| state.head(id)) {
        line.push(head);
        next = head.lifecycle.superseded_by.filter(|_| ids.insert(head.id));
    }
    line
}
