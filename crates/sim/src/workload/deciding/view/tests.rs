//! Commits for the tests of what stands and of what was told, and which points come into question.

use sillok_core::chain::{Origin, Tip, seal};
use sillok_core::decision::{Act, DeclaredKind, Domain, Node, Rank, Relation};
use sillok_core::entry::Claim;
use sillok_core::erasure::{ContentErased, Erased};
use sillok_core::id::Epoch;
use sillok_core::principal::{PrincipalId, PrincipalKind};
use sillok_core::staging::Content;
use sillok_core::state::Stamped;

use super::super::declaring::meaning;
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

/// A kind of relation that is declared, as the workload declares it.
pub(in super::super) fn declared(name: &str, reach: Reach) -> KeptSaid {
    let name = name.parse().unwrap();
    let meaning = meaning(DeclaredKind { name, reach });
    KeptSaid::Declared {
        name,
        reach,
        meaning,
    }
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
pub(in super::super) fn keeping(kept: Vec<Kept>, (sent_us, acknowledged_us): (u64, u64)) -> Commit {
    Commit {
        saves: Vec::new(),
        kept,
        acknowledged_us: Some(acknowledged_us),
        sent_us: Some(sent_us),
    }
}

#[test]
fn a_name_that_is_declared_twice_on_its_way_is_found() {
    let again = |scopes: &[&str]| {
        let commits = (1..).zip(scopes).map(|(seq, scope)| {
            let said = declared("CAUSES", Reach::Both);
            keeping(vec![kept(scope, seq, said)], (seq, seq + 1))
        });
        let timeline = Timeline {
            commits: commits.collect(),
        };
        timeline.declared_again().is_some()
    };
    let (above, inside, beside) = ("org/a", "org/a/project/b", "org/a/project/c");
    assert!(!again(&[inside, beside, above]));
    assert!(again(&[above, inside]));
    assert!(again(&[inside, beside, inside]));
}

/// The header of an event of the keeper.
fn header(seq: u64, body: &Body) -> Header {
    let scope = Scope::parse("org/a").unwrap();
    let origin = Origin {
        actor: keeper(),
        command: CommandId::from_parts(Timestamp::EPOCH, [1; 10]),
        epoch: Epoch(1),
    };
    let mut tip = Tip::genesis(&scope);
    tip.seq = Seq::new(seq - 1);
    let event = seal(&mut tip, body, &origin, Timestamp::EPOCH, [0; 16]);
    event.decode_header().unwrap()
}

fn body(meaning: &str) -> Body {
    Body::RelationDeclared {
        name: "CAUSES".parse().unwrap(),
        reach: Reach::Both,
        meaning: meaning.into(),
    }
}

#[test]
fn a_kind_whose_meaning_was_erased_is_known_by_its_name_and_evidence_that_was_erased_is_not() {
    let scope = Scope::parse("org/a").unwrap();
    let at = ScopeKey::of(&scope);
    let KeptSaid::Evidence(saved) = evidence(1, "one") else {
        panic!("evidence says something else");
    };
    let saved = Body::EvidenceSaved(Box::new(saved));
    let erased = |seq: u64, rest: &Body| Erased {
        at: Stamped {
            seq: Seq::new(seq),
            time: Timestamp::EPOCH,
            actor: keeper(),
        },
        rest: rest.clone(),
    };
    let order = Body::ContentErased(Box::new(ContentErased {
        events: vec![erased(1, &body("")), erased(2, &saved)],
        entries: Vec::new(),
        reason: "r".into(),
    }));
    let mut reading = Reading::default();
    reading.event(at, &scope, header(1, &body("m")), None);
    reading.event(at, &scope, header(2, &saved), None);
    assert!(reading.kept.is_empty());
    reading.event(at, &scope, header(3, &order), Some(order));
    let (place, (kept, _)) = reading.kept.pop_first().unwrap();
    assert_eq!((place.1, kept.seq), (Seq::new(1), Seq::new(1)));
    let KeptSaid::Declared { name, meaning, .. } = kept.said else {
        panic!("{kept:?}");
    };
    assert_eq!((name.as_str(), meaning.as_str()), ("CAUSES", ""));
    assert!(reading.kept.is_empty(), "of evidence nothing is known");
    reading.event(at, &scope, header(4, &body("m")), Some(body("m")));
    assert_eq!(reading.kept.len(), 1, "what was not erased says itself");
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
