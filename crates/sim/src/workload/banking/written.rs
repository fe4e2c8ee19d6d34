//! Trajectories as the events of a world tell of them.
//!
//! Owns what is read of the events, and when clients asked for each. It must not know how nodes keep any of that.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use sillok_core::bank::Trajectory;
use sillok_core::chain::Header;
use sillok_core::event::{Body, EventKind};
use sillok_core::id::{CommandId, Seq};
use sillok_core::scope::Scope;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::history::{Call, Ending};
use crate::workload::End;

const READ: &str = "the audit has read it";

/// A trajectory that an event tells of.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) task: Scope,
    pub(super) header: Header,
    /// What it says; none once that was erased.
    pub(super) said: Option<Trajectory>,
    /// When it was first asked for, in µs of the world; none where no client did.
    pub(super) sent_us: Option<u64>,
    /// When it was acknowledged, if it was.
    pub(super) acknowledged_us: Option<u64>,
}

/// All trajectories that were ever stored, erased ones too, by their places.
pub(super) fn all(end: &End<'_>) -> BTreeMap<(Scope, Seq), Written> {
    let calls = end.history.calls.iter();
    let calls: BTreeMap<CommandId, &Call> = calls.map(|call| (call.command, call)).collect();
    let scopes: BTreeMap<ScopeKey, Scope> = end
        .rows(Family::Scope)
        .into_iter()
        .map(|(key, value)| {
            let row = keys::scope::decode(&key, &value).expect(READ);
            (ScopeKey::of(&row.scope), row.scope)
        })
        .collect();
    let mut all = BTreeMap::new();
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect(READ);
        let header = event.decode_header().expect(READ);
        if header.kind != EventKind::TrajectoryStored {
            continue;
        }
        let place = keys::event::parse(&key).expect(READ);
        let task = scopes
            .get(&place.scope)
            .expect("a scope with events has a row");
        let said = match event.decode_body().expect(READ) {
            Some(Body::TrajectoryStored(stored)) => Some(Trajectory {
                task: task.clone(),
                seq: header.seq,
                at: header.time,
                kind: stored.kind,
                title: stored.title,
                approach: stored.approach,
                ended: stored.ended,
                reward: stored.reward,
                lesson: stored.lesson,
                wording: stored.wording,
                titled: stored.titled,
            }),
            _ => None,
        };
        let call = calls.get(&header.command);
        let acknowledged_us = call.and_then(|call| match call.ended {
            Some((us, Ending::Acknowledged(_))) => Some(us),
            _ => None,
        });
        let written = Written {
            task: task.clone(),
            said,
            sent_us: call.map(|call| call.invoked_us),
            acknowledged_us,
            header,
        };
        all.insert((task.clone(), written.header.seq), written);
    }
    all
}

/// A command that led to two trajectories, if there is one.
pub(super) fn twice(all: &BTreeMap<(Scope, Seq), Written>) -> Option<String> {
    let mut seen: BTreeSet<(&Scope, CommandId)> = BTreeSet::new();
    let mut again = all
        .values()
        .filter(|one| !seen.insert((&one.task, one.header.command)));
    let one = again.next()?;
    Some(format!(
        "command {} stored a second trajectory, {} of {}",
        one.header.command, one.header.seq, one.task
    ))
}

/// The notes of a kind.
pub(super) fn noted<T: DeserializeOwned>(
    end: &End<'_>,
    kind: &'static str,
) -> impl Iterator<Item = T> {
    let notes = end.history.notes.iter();
    let notes = notes.filter(move |note| note.kind == kind);
    notes.map(|note| serde_json::from_value(note.value.clone()).expect("it was noted here"))
}
