//! What was committed of decisions, evidence and anchors, point by point, and which of these points somebody may have been
//! shown.
//!
//! Owns the order: commits stand as the store stamped them, and a commit is there as a whole or not at all. It must not
//! know how nodes keep any of that: only events are read here.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use sillok_core::decision::NewDecision;
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

/// What became of evidence or of an anchor, as its event says it.
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

/// What an event says of evidence or of an anchor.
#[derive(Clone, Debug)]
pub(super) enum KeptSaid {
    /// Evidence was saved.
    Evidence(EvidenceSaved),
    /// An anchor was added.
    Anchor(AnchorAdded),
    /// An anchor was dropped.
    Dropped(AnchorId),
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

/// All versions that events say were written, and all that became of evidence and anchors.
pub(super) fn written(end: &End<'_>) -> (Written, WrittenKept) {
    const READ: &str = "the audit has read it";
    const KINDS: [EventKind; 4] = [
        EventKind::DecisionSaved,
        EventKind::EvidenceSaved,
        EventKind::AnchorAdded,
        EventKind::AnchorDropped,
    ];
    let scopes = scopes(end);
    let (mut written, mut all_kept) = (Written::new(), WrittenKept::new());
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect(READ);
        let header = event.decode_header().expect(READ);
        if !KINDS.contains(&header.kind) {
            continue;
        }
        let at = keys::event::parse(&key).expect(READ);
        let (scope, seq) = (scopes[&at.scope].clone(), at.seq);
        let place = (at.scope, seq);
        let said = match event.decode_body().expect(READ) {
            Some(Body::DecisionSaved(said)) => {
                let said = *said;
                let saved = Saved { scope, seq, said };
                written.insert(place, (saved, header.command));
                continue;
            }
            Some(Body::EvidenceSaved(said)) => KeptSaid::Evidence(*said),
            Some(Body::AnchorAdded(said)) => KeptSaid::Anchor(*said),
            Some(Body::AnchorDropped { anchor, .. }) => KeptSaid::Dropped(anchor),
            _ => continue,
        };
        let kept = Kept {
            scope,
            seq,
            by: header.actor,
            at: header.time,
            said,
        };
        all_kept.insert(place, (kept, header.command));
    }
    (written, all_kept)
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
pub(super) mod tests {
    use sillok_core::decision::{Act, Domain, Node, Rank, Relation};
    use sillok_core::entry::Claim;
    use sillok_core::principal::{PrincipalId, PrincipalKind};
    use sillok_core::staging::Content;

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
            kept: Vec::new(),
            acknowledged_us: Some(acknowledged_us),
            sent_us: Some(sent_us),
        }
    }

    /// Somebody who keeps evidence and anchors.
    pub(in super::super) fn keeper() -> Actor {
        Actor {
            kind: PrincipalKind::Agent,
            id: PrincipalId::parse("keeper").unwrap(),
        }
    }

    pub(in super::super) fn evidence_id(number: u8) -> EvidenceId {
        EvidenceId::from_bytes([number; 16])
    }

    pub(in super::super) fn anchor_id(number: u8) -> AnchorId {
        AnchorId::from_bytes([number; 16])
    }

    /// Evidence that says this.
    pub(in super::super) fn evidence(number: u8, text: &str) -> KeptSaid {
        KeptSaid::Evidence(EvidenceSaved {
            id: evidence_id(number),
            title: format!("evidence {number}"),
            source: String::new(),
            media_type: "text/plain".into(),
            content: Content::Inline(text.into()),
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            masked: 0,
        })
    }

    /// An anchor that points there.
    pub(in super::super) fn anchor(number: u8, domain: &str, to: Vec<Node>) -> KeptSaid {
        KeptSaid::Anchor(AnchorAdded {
            id: anchor_id(number),
            hint: format!("hint {number}"),
            domain: domain.parse::<Domain>().unwrap(),
            to,
        })
    }

    pub(in super::super) fn kept(scope: &str, seq: u64, said: KeptSaid) -> Kept {
        Kept {
            scope: Scope::parse(scope).unwrap(),
            seq: Seq::new(seq),
            by: keeper(),
            at: Timestamp::EPOCH,
            said,
        }
    }

    /// A commit that writes all of this, sent and acknowledged at these moments.
    pub(in super::super) fn keeping(
        kept: Vec<Kept>,
        (sent_us, acknowledged_us): (u64, u64),
    ) -> Commit {
        Commit {
            saves: Vec::new(),
            kept,
            acknowledged_us: Some(acknowledged_us),
            sent_us: Some(sent_us),
        }
    }

    #[test]
    fn evidence_and_anchors_stand_from_their_commit_on_and_a_dropped_one_is_known_as_such() {
        let timeline = Timeline {
            commits: vec![
                keeping(
                    vec![
                        kept("org/a", 1, evidence(1, "one")),
                        kept("org/a", 2, anchor(1, "ui", Vec::new())),
                    ],
                    (10, 20),
                ),
                keeping(
                    vec![kept("org/a", 3, KeptSaid::Dropped(anchor_id(1)))],
                    (30, 40),
                ),
            ],
        };
        let may_show = |asked: (u64, u64), seen: Option<bool>| {
            let wrong = timeline.wrong(asked, |view| {
                let anchors: Vec<bool> = view.anchors.values().map(|one| one.dropped).collect();
                let is_shown = anchors.first().copied() == seen
                    && view.evidence.len() == usize::from(seen.is_some());
                (!is_shown).then(String::new)
            });
            wrong.is_none()
        };
        assert!(may_show((1, 5), None));
        assert!(!may_show((1, 5), Some(false)));
        assert!(may_show((21, 25), Some(false)));
        assert!(!may_show((21, 25), Some(true)));
        assert!(may_show((21, 35), Some(true)));
        assert!(may_show((41, 45), Some(true)));
        assert!(!may_show((41, 45), Some(false)));
        let last = timeline.last();
        let first = last.anchors.values().next().unwrap();
        assert_eq!(first.added, Seq::new(2));
    }

    #[test]
    fn a_run_of_a_commit_takes_what_lies_in_it_and_leaves_the_rest() {
        let scope = ScopeKey::of(&Scope::parse("org/a").unwrap());
        let command = CommandId::from_parts(Timestamp::EPOCH, [1; 10]);
        let written = (1..=4).map(|seq| ((scope, Seq::new(seq)), (seq, command)));
        let mut written: BTreeMap<_, _> = written.collect();
        let run = (scope, Seq::new(2))..=(scope, Seq::new(3));
        let (took, by) = taken(&mut written, run);
        assert_eq!((took, by), (vec![2, 3], vec![command; 2]));
        assert_eq!(written.len(), 2);
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
