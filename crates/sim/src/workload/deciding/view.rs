//! What was committed of decisions, point by point, and which of these points somebody may have been shown.
//!
//! Owns the order: commits stand as the store stamped them, and a commit is there as a whole or not at all. It must not
//! know how nodes keep decisions: only events are read here.

use std::collections::BTreeMap;

use sillok_core::decision::NewDecision;
use sillok_core::event::{Body, DecisionSaved, EventKind};
use sillok_core::id::{CommandId, DecisionId, Seq};
use sillok_core::scope::Scope;
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

/// The versions that one commit wrote, and when clients asked for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Commit {
    pub(super) saves: Vec<Saved>,
    /// When the first of its commands was acknowledged, in µs of the world.
    pub(super) acknowledged_us: Option<u64>,
    /// When the last of its commands was first sent, in µs of the world.
    pub(super) sent_us: Option<u64>,
}

/// All commits that wrote versions of decisions, in their order.
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
}

/// All that stands at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct View<'a> {
    pub(super) chains: BTreeMap<(&'a Scope, DecisionId), Chain<'a>>,
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
    }
}

impl Timeline {
    /// The timeline of these versions.
    pub(super) fn of(end: &End<'_>, written: Written) -> Self {
        Self {
            commits: commits(end, written),
        }
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

/// All versions that events say were written.
pub(super) fn written(end: &End<'_>) -> Written {
    let scopes = scopes(end);
    let mut written = Written::new();
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect("the audit has read it");
        let header = event.decode_header().expect("the audit has read it");
        if header.kind != EventKind::DecisionSaved {
            continue;
        }
        let at = keys::event::parse(&key).expect("the audit has read it");
        let body = event.decode_body().expect("the audit has read it");
        if let Some(Body::DecisionSaved(said)) = body {
            let saved = Saved {
                scope: scopes[&at.scope].clone(),
                seq: at.seq,
                said: *said,
            };
            written.insert((at.scope, at.seq), (saved, header.command));
        }
    }
    written
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

/// The commits that wrote versions, in the order in which the store stamped them.
fn commits(end: &End<'_>, mut saves: Written) -> Vec<Commit> {
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
        let own = saves.range((scope, row.first)..=(scope, row.last));
        let own: Vec<(ScopeKey, Seq)> = own.map(|(at, _)| *at).collect();
        for at in own {
            let (saved, command) = saves.remove(&at).expect("it was just found");
            let commit = commits
                .entry((stamp.generation, stamp.counter))
                .or_default();
            commit.saves.push(saved);
            if let Some((sent_us, acknowledged_us)) = calls.get(&command) {
                commit.sent_us = commit.sent_us.max(Some(*sent_us));
                let earliest = commit.acknowledged_us.into_iter().chain(*acknowledged_us);
                commit.acknowledged_us = earliest.min();
            }
        }
    }
    commits.into_values().collect()
}

#[cfg(test)]
pub(super) mod tests {
    use sillok_core::decision::{Act, Domain, Rank, Relation};
    use sillok_core::entry::Claim;

    use super::*;

    impl Timeline {
        /// All that stands when every commit has happened.
        pub(in super::super) fn last(&self) -> View<'_> {
            let mut view = View::default();
            self.commits.iter().for_each(|commit| view.add(commit));
            view
        }
    }

    /// A decision that says this.
    pub(in super::super) fn text(rank: Rank, domain: &str, content: &str) -> NewDecision {
        NewDecision {
            rank,
            domain: domain.parse::<Domain>().unwrap(),
            phase: None,
            title: "a title".into(),
            content: content.into(),
            claim: None,
            relations: Vec::new(),
        }
    }

    /// The same, with relations.
    pub(in super::super) fn related(text: NewDecision, relations: Vec<Relation>) -> NewDecision {
        NewDecision { relations, ..text }
    }

    pub(in super::super) fn claim(key: &str, value: &str) -> Claim {
        Claim {
            key: key.into(),
            value: value.into(),
        }
    }

    pub(in super::super) fn root(number: u8) -> DecisionId {
        DecisionId::from_bytes([number; 16])
    }

    /// A commit that writes one version, sent and acknowledged at these moments.
    pub(in super::super) fn commit(
        (scope, number): (&str, u8),
        text: Option<NewDecision>,
        (seq, version): (u64, u64),
        (sent_us, acknowledged_us): (u64, u64),
    ) -> Commit {
        let act = match (version, &text) {
            (1, _) => Act::Begun,
            (_, None) => Act::Withdrawn,
            _ => Act::Changed,
        };
        let said = DecisionSaved {
            root: root(number),
            number: version,
            act,
            before: (version > 1).then_some(Rank::Normal),
            text,
            reason: "it was so".into(),
        };
        let saved = Saved {
            scope: Scope::parse(scope).unwrap(),
            seq: Seq::new(seq),
            said,
        };
        Commit {
            saves: vec![saved],
            acknowledged_us: Some(acknowledged_us),
            sent_us: Some(sent_us),
        }
    }

    #[test]
    fn who_asks_is_shown_what_was_acknowledged_before_and_nothing_that_was_sent_later() {
        let say = |content: &str| Some(text(Rank::Normal, "global", content));
        let at = ("org/a", 1);
        let timeline = Timeline {
            commits: vec![
                commit(at, say("one"), (1, 1), (10, 20)),
                commit(at, say("two"), (2, 2), (30, 60)),
                commit(at, say("three"), (3, 3), (70, 90)),
            ],
        };
        // Whether somebody who asked then may have been shown so many versions.
        let may_show = |asked: (u64, u64), versions: usize| {
            let wrong = timeline.wrong(asked, |view| {
                let chains = view.chains.values();
                let shown: usize = chains.map(|chain| chain.versions.len()).sum();
                (shown != versions).then(|| format!("{shown} and not {versions}"))
            });
            wrong.is_none()
        };
        let shown = |asked: (u64, u64)| -> Vec<usize> {
            (0..=3).filter(|count| may_show(asked, *count)).collect()
        };
        assert_eq!(shown((5, 8)), [0]);
        assert_eq!(shown((5, 25)), [0, 1]);
        assert_eq!(shown((25, 65)), [1, 2]);
        assert_eq!(shown((25, 80)), [1, 2, 3]);
        assert_eq!(shown((65, 69)), [2]);
        assert_eq!(shown((91, 99)), [3]);
        // A command that nobody was told of may be there or not.
        let mut unheard = timeline.clone();
        unheard.commits[1].acknowledged_us = None;
        let wrong = unheard.wrong((61, 65), |view| {
            let shown = view.chains.values().next().unwrap().versions.len();
            (shown != 1).then(String::new)
        });
        assert_eq!(wrong, None);
    }

    #[test]
    fn the_last_version_of_a_chain_is_active_unless_it_withdrew_the_decision() {
        let commits = [
            commit(
                ("org/a", 1),
                Some(text(Rank::Lock, "ui", "one")),
                (1, 1),
                (1, 2),
            ),
            commit(("org/a", 1), None, (2, 2), (3, 4)),
        ];
        let mut view = View::default();
        view.add(&commits[0]);
        let scope = Scope::parse("org/a").unwrap();
        let active = |view: &View<'_>| view.chains[&(&scope, root(1))].active().map(|(n, _)| n);
        assert_eq!(active(&view), Some(1));
        view.add(&commits[1]);
        assert_eq!(active(&view), None);
    }
}
