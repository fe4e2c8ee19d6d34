//! What was committed of decisions, evidence and anchors, point by point, and which of these points somebody may have been
//! shown.
//!
//! Owns the order: commits stand as the store stamped them, and a commit is there as a whole or not at all. It must not
//! know how nodes keep any of that: only events are read here.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use sillok_core::chain::Header;
use sillok_core::decision::{NewDecision, Reach, RelationName};
use sillok_core::event::{AnchorAdded, Body, DecisionSaved, EventKind, EvidenceSaved};
use sillok_core::id::{AnchorId, CommandId, DecisionId, EvidenceId, Seq};
use sillok_core::principal::Actor;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::history::Ending;
use crate::workload::End;

/// A version, as its event says it.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    /// The scope that holds the decision.
    pub(super) scope: Scope,
    /// The event.
    pub(super) seq: Seq,
    /// What the event says.
    pub(super) said: DecisionSaved,
}

/// Versions by the place of their events, each with the command that it follows from.
pub(super) type Written = BTreeMap<(ScopeKey, Seq), (Saved, CommandId)>;

/// What became of evidence or of an anchor, or what was declared, as its event says it.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// The scope that holds it.
    pub(super) scope: Scope,
    /// The event.
    pub(super) seq: Seq,
    /// Who did it.
    pub(super) by: Actor,
    /// When.
    pub(super) at: Timestamp,
    /// What the event says.
    pub(super) said: KeptSaid,
}

/// What an event says of evidence, of an anchor or of a kind of relation.
#[derive(Clone, Debug)]
pub(super) enum KeptSaid {
    /// Evidence was saved.
    Evidence(EvidenceSaved),
    /// An anchor was added.
    Anchor(AnchorAdded),
    /// An anchor was dropped.
    Dropped(AnchorId),
    /// A kind of relation was declared.
    Declared {
        name: RelationName,
        reach: Reach,
        meaning: String,
    },
}

/// What became of evidence and anchors by the place of its event, each with the command that it follows from.
pub(super) type WrittenKept = BTreeMap<(ScopeKey, Seq), (Kept, CommandId)>;

/// What one commit wrote of decisions, evidence and anchors, and when clients asked for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Commit {
    /// Versions of decisions.
    pub(super) saves: Vec<Saved>,
    /// Evidence and anchors.
    pub(super) kept: Vec<Kept>,
    /// When the first of its commands was acknowledged, in µs of the world.
    pub(super) acknowledged_us: Option<u64>,
    /// When the last of its commands was first sent, in µs of the world.
    pub(super) sent_us: Option<u64>,
}

/// All commits that wrote any of that, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) commits: Vec<Commit>,
}

/// A chain of versions.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain<'a> {
    /// The event that began it.
    pub(super) begun: Seq,
    /// What each of its versions says, from the first on; none of one that withdrew the decision.
    pub(super) versions: Vec<Option<&'a NewDecision>>,
}

impl<'a> Chain<'a> {
    /// The number of the active version, and what it says.
    pub(super) fn active(&self) -> Option<(u64, &'a NewDecision)> {
        let text = (*self.versions.last()?)?;
        Some((self.versions.len() as u64, text))
    }

    /// The number of the version that said something last, what it said, and whether that holds.
    pub(super) fn last_said(&self) -> Option<(u64, &'a NewDecision, bool)> {
        let at = self.versions.iter().rposition(Option::is_some)?;
        let text = self.versions[at]?;
        Some((at as u64 + 1, text, at + 1 == self.versions.len()))
    }
}

/// An anchor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pinned<'a> {
    /// The event that added it.
    pub(super) added: Seq,
    /// What it says.
    pub(super) said: &'a AnchorAdded,
    /// Whether it was dropped.
    pub(super) dropped: bool,
}

/// All that stands at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct View<'a> {
    pub(super) chains: BTreeMap<(&'a Scope, DecisionId), Chain<'a>>,
    /// Evidence, each with the event that saved it.
    pub(super) evidence: BTreeMap<(&'a Scope, EvidenceId), (Seq, &'a EvidenceSaved)>,
    pub(super) anchors: BTreeMap<(&'a Scope, AnchorId), Pinned<'a>>,
    /// Which way kinds of relations carry a change, each with the scope that declared it.
    pub(super) declared: BTreeMap<(&'a Scope, RelationName), Reach>,
}

impl<'a> View<'a> {
    /// The view once a commit has happened as well.
    pub(super) fn add(&mut self, commit: &'a Commit) {
        for saved in &commit.saves {
            let chain = self.chains.entry((&saved.scope, saved.said.root));
            let chain = chain.or_insert_with(|| Chain {
                begun: saved.seq,
                versions: Vec::new(),
            });
            chain.versions.push(saved.said.text.as_ref());
        }
        commit.kept.iter().for_each(|kept| self.keep(kept));
    }

    fn keep(&mut self, kept: &'a Kept) {
        match &kept.said {
            KeptSaid::Evidence(said) => {
                let evidence = (kept.seq, said);
                self.evidence.insert((&kept.scope, said.id), evidence);
            }
            KeptSaid::Anchor(said) => {
                let anchor = Pinned {
                    added: kept.seq,
                    said,
                    dropped: false,
                };
                self.anchors.insert((&kept.scope, said.id), anchor);
            }
            KeptSaid::Dropped(id) => {
                if let Some(anchor) = self.anchors.get_mut(&(&kept.scope, *id)) {
                    anchor.dropped = true;
                }
            }
            KeptSaid::Declared { name, reach, .. } => {
                self.declared.insert((&kept.scope, *name), *reach);
            }
        }
    }
}

impl Timeline {
    /// The timeline of all that was written.
    pub(super) fn of(end: &End<'_>, written: Written, kept: WrittenKept) -> Self {
        Self {
            commits: commits(end, written, kept),
        }
    }

    /// A kind of relation that was declared where its name was declared before, or around there, if there is one.
    pub(super) fn declared_again(&self) -> Option<String> {
        let mut view = View::default();
        self.commits.iter().find_map(|commit| {
            for kept in &commit.kept {
                if let KeptSaid::Declared { name, .. } = &kept.said {
                    let mut known = view.declared.keys();
                    let again = known.find(|(of, known)| known == name && of.contains(&kept.scope));
                    if let Some((of, _)) = again {
                        return Some(format!(
                            "{name} is declared in {} and before in {of}",
                            kept.scope
                        ));
                    }
                }
                view.keep(kept);
            }
            None
        })
    }

    /// Why what somebody was told fits no point that whoever asked within this time may have been shown; none if it fits
    /// one. What was acknowledged before is there at each of these points, and what was sent only later at none.
    pub(super) fn wrong(
        &self,
        (from_us, to_us): (u64, u64),
        wrong_at: impl Fn(&View<'_>) -> Option<String>,
    ) -> Option<String> {
        let is_before = |commit: &Commit| commit.acknowledged_us.is_some_and(|us| us < from_us);
        let is_behind = |commit: &Commit| commit.sent_us.is_some_and(|us| us > to_us);
        let last_before = self.commits.iter().rposition(is_before);
        let first = last_before.map_or(0, |last| last + 1);
        let behind = self.commits.iter().position(is_behind);
        let end = behind.unwrap_or(self.commits.len()).max(first);
        let mut view = View::default();
        self.commits[..first]
            .iter()
            .for_each(|commit| view.add(commit));
        let mut what = wrong_at(&view)?;
        for commit in &self.commits[first..end] {
            view.add(commit);
            what = wrong_at(&view)?;
        }
        Some(format!("{what}, or else at {} commits", end - first))
    }
}

/// All versions that events say were written, and all that became of evidence and anchors. What was erased is left out, but
/// of kinds of relations only what they mean: relations go on saying their names.
pub(super) fn written(end: &End<'_>) -> (Written, WrittenKept) {
    const READ: &str = "the audit has read it";
    let scopes = scopes(end);
    let mut reading = Reading::default();
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect(READ);
        let header = event.decode_header().expect(READ);
        if Reading::KINDS.contains(&header.kind) {
            let at = keys::event::parse(&key).expect(READ).scope;
            let body = event.decode_body().expect(READ);
            reading.event(at, &scopes[&at], header, body);
        }
    }
    (reading.written, reading.kept)
}

/// What was read of the events so far.
#[derive(Default)]
struct Reading {
    written: Written,
    kept: WrittenKept,
    /// Declarations whose content is gone, until the event is read that says what is left of them.
    bare: BTreeMap<(ScopeKey, Seq), Header>,
}

impl Reading {
    /// The kinds of events that are read.
    const KINDS: [EventKind; 6] = [
        EventKind::DecisionSaved,
        EventKind::EvidenceSaved,
        EventKind::AnchorAdded,
        EventKind::AnchorDropped,
        EventKind::RelationDeclared,
        EventKind::ContentErased,
    ];

    /// Takes the next event of a scope in.
    fn event(&mut self, at: ScopeKey, scope: &Scope, header: Header, body: Option<Body>) {
        let (scope, seq) = (scope.clone(), header.seq);
        let said = match body {
            None if header.kind == EventKind::RelationDeclared => {
                self.bare.insert((at, seq), header);
                return;
            }
            Some(Body::DecisionSaved(said)) => {
                let said = *said;
                let saved = Saved { scope, seq, said };
                self.written.insert((at, seq), (saved, header.command));
                return;
            }
            Some(Body::ContentErased(erased)) => {
                for one in erased.events {
                    let declared = self.bare.remove(&(at, one.at.seq));
                    if let (Some(declared), Some(said)) = (declared, said_by(one.rest)) {
                        self.keep(at, &scope, declared, said);
                    }
                }
                return;
            }
            body => body.and_then(said_by),
        };
        if let Some(said) = said {
            self.keep(at, &scope, header, said);
        }
    }

    fn keep(&mut self, at: ScopeKey, scope: &Scope, header: Header, said: KeptSaid) {
        let kept = Kept {
            scope: scope.clone(),
            seq: header.seq,
            by: header.actor,
            at: header.time,
            said,
        };
        self.kept.insert((at, header.seq), (kept, header.command));
    }
}

/// What a body says of evidence, of an anchor or of a kind of relation.
fn said_by(body: Body) -> Option<KeptSaid> {
    Some(match body {
        Body::EvidenceSaved(said) => KeptSaid::Evidence(*said),
        Body::AnchorAdded(said) => KeptSaid::Anchor(*said),
        Body::AnchorDropped { anchor, .. } => KeptSaid::Dropped(anchor),
        Body::RelationDeclared {
            name,
            reach,
            meaning,
        } => KeptSaid::Declared {
            name,
            reach,
            meaning,
        },
        _ => return None,
    })
}

/// The scopes by their keys.
pub(super) fn scopes(end: &End<'_>) -> BTreeMap<ScopeKey, Scope> {
    let rows = end.rows(Family::Scope).into_iter();
    let scopes =
        rows.map(|(key, value)| keys::scope::decode(&key, &value).expect("the audit has read it"));
    scopes
        .map(|row| (ScopeKey::of(&row.scope), row.scope))
        .collect()
}

/// The commits that wrote any of that, in the order in which the store stamped them.
fn commits(end: &End<'_>, mut saves: Written, mut kept: WrittenKept) -> Vec<Commit> {
    let calls = end.history.calls.iter();
    let calls: BTreeMap<CommandId, (u64, Option<u64>)> = calls
        .map(|call| {
            let acknowledged = match call.ended {
                Some((us, Ending::Acknowledged(_))) => Some(us),
                _ => None,
            };
            (call.command, (call.invoked_us, acknowledged))
        })
        .collect();
    let mut commits: BTreeMap<(u32, u64), Commit> = BTreeMap::new();
    for (key, value) in end.rows(Family::Outbox) {
        let stamp = keys::outbox::parse(&key)
            .expect("the audit has read it")
            .stamp;
        let row = keys::outbox::decode(&key, &value).expect("the audit has read it");
        let scope = ScopeKey::of(&row.scope);
        let run = (scope, row.first)..=(scope, row.last);
        let (saves, saved_by) = taken(&mut saves, run.clone());
        let (kept, kept_by) = taken(&mut kept, run);
        if saves.is_empty() && kept.is_empty() {
            continue;
        }
        let commit = commits
            .entry((stamp.generation, stamp.counter))
            .or_default();
        commit.saves.extend(saves);
        commit.kept.extend(kept);
        for command in saved_by.into_iter().chain(kept_by) {
            if let Some((sent_us, acknowledged_us)) = calls.get(&command) {
                commit.sent_us = commit.sent_us.max(Some(*sent_us));
                let earliest = commit.acknowledged_us.into_iter().chain(*acknowledged_us);
                commit.acknowledged_us = earliest.min();
            }
        }
    }
    commits.into_values().collect()
}

/// Takes out what events of a run say, and the commands that it follows from.
fn taken<T>(
    written: &mut BTreeMap<(ScopeKey, Seq), (T, CommandId)>,
    run: RangeInclusive<(ScopeKey, Seq)>,
) -> (Vec<T>, Vec<CommandId>) {
    let places: Vec<(ScopeKey, Seq)> = written.range(run).map(|(at, _)| *at).collect();
    let own = places.iter().filter_map(|at| written.remove(at));
    own.unzip()
}

#[cfg(test)]
pub(super) mod tests;
