//! Erasing decisions, evidence, anchors and what kinds of relations mean: nothing of it is left, the view follows from what is,
//! and what still holds stays.

use std::collections::BTreeMap;

use super::super::world::*;
use super::folded_with_rows;
use crate::anchor::NewAnchor;
use crate::command::{AnswerBody, Command, DecisionRef, SaveDecision};
use crate::decision::{Domain, NewDecision, Node, Rank, Relation, RelationKind, RelationName};
use crate::entry::Claim;
use crate::erasure::EraseMemory;
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::evidence::NewEvidence;
use crate::facts::{Facts, Need, needs};
use crate::id::{AnchorId, DecisionId, EvidenceId};
use crate::invariants::decision_chain;
use crate::limits::{ERASED_MAX, INLINE_BYTES_MAX};
use crate::membership::WireVersion;
use crate::principal::PrincipalKind::{self, Human};
use crate::scope::Scope;
use crate::state::Change;

mod drawn;
mod kinds;
mod sizes;

/// Stands in every text, name and place of what is to go.
const WORD: &str = "xyzzy";

fn order(decisions: &[DecisionId], evidence: &[EvidenceId], anchors: &[AnchorId]) -> Command {
    order_with(decisions, evidence, anchors, &[])
}

fn order_with(
    decisions: &[DecisionId],
    evidence: &[EvidenceId],
    anchors: &[AnchorId],
    kinds: &[RelationName],
) -> Command {
    Command::EraseMemory(Box::new(EraseMemory {
        decisions: decisions.to_vec(),
        evidence: evidence.to_vec(),
        anchors: anchors.to_vec(),
        kinds: kinds.to_vec(),
        reason: "it is nobody's business".into(),
    }))
}

fn erased(events: u32, known: u32) -> AnswerBody {
    AnswerBody::Erased {
        events,
        entries: Vec::new(),
        known,
    }
}

/// A decision that says `word` wherever it can.
fn text(word: &str) -> NewDecision {
    NewDecision {
        rank: Rank::Lock,
        domain: word.parse().unwrap(),
        phase: Some(word.parse().unwrap()),
        title: format!("Use {word}"),
        content: format!("{word}, in full"),
        claim: Some(Claim {
            key: word.into(),
            value: format!("on {word}"),
        }),
        relations: vec![Relation {
            kind: RelationKind::AppliesTo,
            to: Node::file(&format!("src/{word}.rs")).unwrap(),
        }],
    }
}

fn save(change: Option<(DecisionId, u64)>, text: NewDecision, reason: &str) -> Command {
    Command::SaveDecision(Box::new(SaveDecision {
        change: change.map(|(root, expected_version)| DecisionRef {
            root,
            expected_version,
        }),
        text,
        reason: reason.into(),
    }))
}

fn withdraw(root: DecisionId, expected_version: u64, reason: &str) -> Command {
    Command::DeactivateDecision {
        root,
        expected_version,
        reason: reason.into(),
    }
}

fn restore(root: DecisionId, expected_version: u64, version: u64, reason: &str) -> Command {
    Command::RestoreDecision {
        root,
        expected_version,
        version,
        reason: reason.into(),
    }
}

fn begun(world: &mut World, text: NewDecision) -> DecisionId {
    match world.give(Human, save(None, text, "")).unwrap() {
        AnswerBody::Decision { root, .. } => root,
        other => panic!("{other:?}"),
    }
}

/// A chain of five versions that say `word`, and applies no longer.
fn chain(world: &mut World, word: &str) -> DecisionId {
    let root = match world.give(Human, save(None, text(word), word)).unwrap() {
        AnswerBody::Decision { root, .. } => root,
        other => panic!("{other:?}"),
    };
    let mut other = text(word);
    other.rank = Rank::Normal;
    other.domain = Domain::global();
    for command in [
        save(Some((root, 1)), other, word),
        withdraw(root, 2, word),
        restore(root, 3, 1, word),
        withdraw(root, 4, word),
    ] {
        world.give(Human, command).unwrap();
    }
    root
}

fn evidence(world: &mut World, word: &str, bytes: usize) -> EvidenceId {
    let new = NewEvidence {
        title: format!("A run of {word}"),
        source: format!("ci/{word}"),
        media_type: format!("text/{word}"),
        content: format!("{word} {}", "x".repeat(bytes)),
    };
    match world
        .give(Human, Command::SaveEvidence(Box::new(new)))
        .unwrap()
    {
        AnswerBody::EvidenceSaved { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

fn to_evidence(id: EvidenceId) -> Node {
    Node::Evidence {
        scope: Scope::parse(PROJECT).unwrap(),
        id,
    }
}

fn to_decision(root: DecisionId) -> Node {
    Node::Decision {
        scope: Scope::parse(PROJECT).unwrap(),
        root,
    }
}

fn add(word: &str, to: Vec<Node>) -> Command {
    Command::AddAnchors {
        anchors: vec![NewAnchor {
            hint: format!("see {word}"),
            domain: word.parse().unwrap(),
            to,
        }],
    }
}

fn anchor(world: &mut World, word: &str, to: Vec<Node>) -> AnchorId {
    match world.give(Human, add(word, to)).unwrap() {
        AnswerBody::AnchorsAdded { ids } => ids[0],
        other => panic!("{other:?}"),
    }
}

fn drop_of(anchor: AnchorId, reason: &str) -> Command {
    Command::DropAnchor {
        anchor,
        reason: reason.into(),
    }
}

fn rests_on(id: EvidenceId) -> NewDecision {
    let mut text = text("plain");
    text.relations = vec![Relation {
        kind: RelationKind::RestsOn,
        to: to_evidence(id),
    }];
    text
}

fn refused(world: &mut World, kind: PrincipalKind, command: Command) -> Error {
    let before = (world.events.clone(), view(&world.changes));
    let refused = world.give(kind, command).unwrap_err();
    let after = (world.events.clone(), view(&world.changes));
    assert!(before == after, "nothing follows from what is refused");
    refused
}

/// The rows that changes leave, as text.
fn view(changes: &[Change]) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    for change in changes {
        let (key, value) = match change {
            Change::Decision(head) => (format!("head {}", head.root), Some(format!("{head:?}"))),
            Change::DecisionVersion(one) => {
                let key = format!("version {} {}", one.root, one.number);
                (key, Some(format!("{one:?}")))
            }
            Change::DecisionListed {
                rank,
                domain,
                begun,
                root,
                listed,
            } => (
                format!("listed {rank:?} {domain} {begun} {root}"),
                listed.then(String::new),
            ),
            Change::DecisionClaim {
                key,
                value,
                root,
                version,
            } => (
                format!("claim {key} {root}"),
                version.map(|version| format!("{version} {value}")),
            ),
            Change::RelatedTo { edge, name } => (
                format!("edge {edge:?}"),
                name.as_ref().map(|name| format!("{name:?}")),
            ),
            Change::RelationRenamed { edge, name } => {
                (format!("edge {edge:?}"), Some(format!("{name:?}")))
            }
            Change::Evidence(one) => (format!("evidence {}", one.id), Some(format!("{one:?}"))),
            Change::Anchor(one) => (format!("anchor {}", one.id), Some(format!("{one:?}"))),
            Change::AnchorListed {
                domain,
                seq,
                anchor,
                listed,
            } => (
                format!("hint {domain} {seq} {anchor}"),
                listed.then(String::new),
            ),
            Change::RelationDeclared(one) => {
                (format!("kind {}", one.name), Some(format!("{one:?}")))
            }
            other => panic!("{other:?}"),
        };
        match value {
            Some(value) => drop(rows.insert(key, value)),
            None => drop(rows.remove(&key)),
        }
    }
    rows
}

/// The view is the fold of what is left, and each chain is one.
fn check_folds(world: &World) {
    let (state, changes) = folded_with_rows(world);
    assert_eq!(view(&changes), view(&world.changes));
    let versions = &world.decision_versions;
    for root in versions
        .keys()
        .filter(|named| named.1 == 1)
        .map(|named| named.0)
    {
        let head = world.state.decision(root).unwrap();
        assert_eq!(state.decision(root), Some(head));
        let of_chain = versions.range((root, 1)..=(root, u64::MAX));
        assert_eq!(
            decision_chain(of_chain.map(|(_, version)| version), head),
            Ok(())
        );
    }
    for id in world.evidence.keys() {
        assert_eq!(state.has_evidence(*id), world.state.has_evidence(*id));
    }
}

/// Everything that is stored: events as they are encoded, and the rows of the view.
fn stored(world: &World) -> Vec<u8> {
    let mut bytes = postcard::to_allocvec(&world.events).unwrap();
    for (key, value) in view(&world.changes) {
        bytes.extend(key.into_bytes());
        bytes.extend(value.into_bytes());
    }
    bytes.extend(postcard::to_allocvec(&world.decision_versions).unwrap());
    bytes.extend(postcard::to_allocvec(&world.evidence).unwrap());
    bytes
}

fn holds(world: &World, sought: &[u8]) -> bool {
    let stored = stored(world);
    stored.windows(sought.len()).any(|part| part == sought)
}

#[test]
fn nothing_that_somebody_wrote_is_left_anywhere() {
    let mut world = World::new(PROJECT);
    let kept = begun(&mut world, text("harmless"));
    let root = chain(&mut world, WORD);
    let small = evidence(&mut world, WORD, 10);
    let large = evidence(&mut world, WORD, INLINE_BYTES_MAX);
    let hashes = [small, large].map(|id| world.evidence[&id].hash);
    let points = vec![to_evidence(small), to_decision(kept)];
    let hint = anchor(&mut world, WORD, points);
    world.give(Human, drop_of(hint, WORD)).unwrap();
    assert!(holds(&world, WORD.as_bytes()));
    assert!(hashes.iter().all(|hash| holds(&world, hash)));

    let answer = world.give(Human, order(&[root], &[small, large], &[hint]));
    assert_eq!(answer, Ok(erased(9, 0)));
    assert!(!holds(&world, WORD.as_bytes()));
    assert!(!hashes.iter().any(|hash| holds(&world, hash)));
    assert!(holds(&world, b"harmless"));
    let head = world.state.decision(root).unwrap();
    assert!(head.is_erased() && !head.active && head.version == 5);
    assert!(!world.state.decision(kept).unwrap().is_erased());
    for id in [small, large] {
        assert!(world.evidence[&id].is_erased() && !world.state.has_evidence(id));
    }
    let hint = world.state.anchor(hint).unwrap();
    assert!(hint.is_erased() && hint.is_dropped() && hint.to.is_empty());
    check_folds(&world);
}

#[test]
fn what_was_erased_before_is_counted_and_nothing_follows_from_it() {
    let mut world = World::new(PROJECT);
    let (root, original) = (chain(&mut world, WORD), evidence(&mut world, WORD, 1));
    let hint = anchor(&mut world, WORD, vec![to_evidence(original)]);
    world.give(Human, drop_of(hint, WORD)).unwrap();
    let whole = order(&[root, root], &[original, original], &[hint, hint]);
    assert_eq!(world.give(Human, whole.clone()), Ok(erased(8, 0)));
    let before = world.events.len();
    assert_eq!(world.give(Human, whole), Ok(erased(0, 3)));
    assert_eq!(world.events.len(), before);
    let other = evidence(&mut world, "harmless", 1);
    let more = order(&[root], &[other], &[]);
    assert_eq!(world.give(Human, more), Ok(erased(1, 1)));
    check_folds(&world);
}

#[test]
fn what_applies_or_is_listed_is_not_erased_and_nothing_else_of_the_order_is() {
    let mut world = World::new(PROJECT);
    let (gone, root) = (chain(&mut world, WORD), begun(&mut world, text("plain")));
    let original = evidence(&mut world, "plain", 1);
    let hint = anchor(&mut world, "plain", vec![to_evidence(original)]);
    for (command, first) in [
        (order(&[gone, root], &[original], &[]), "withdraw it first"),
        (order(&[gone], &[original], &[hint]), "drop it first"),
    ] {
        let refused = refused(&mut world, Human, command);
        assert_eq!(refused.code, ErrorCode::Conflict);
        assert!(refused.message.contains(first), "{refused}");
    }
    world.give(Human, withdraw(root, 1, "r")).unwrap();
    world.give(Human, drop_of(hint, "r")).unwrap();
    let both = order(&[gone, root], &[original], &[hint]);
    assert_eq!(world.give(Human, both), Ok(erased(10, 0)));
    check_folds(&world);
}

#[test]
fn an_order_has_to_name_what_is_there_and_not_too_much_of_it() {
    let mut world = World::new(PROJECT);
    let root = chain(&mut world, WORD);
    let [decision, original, hint] = [[7; 16]; 3];
    for command in [
        order(&[root, DecisionId::from_bytes(decision)], &[], &[]),
        order(&[root], &[EvidenceId::from_bytes(original)], &[]),
        order(&[root], &[], &[AnchorId::from_bytes(hint)]),
    ] {
        let refused = refused(&mut world, Human, command);
        assert_eq!(refused.code, ErrorCode::NotFound, "{refused}");
    }
    let nothing = refused(&mut world, Human, order(&[], &[], &[]));
    assert_eq!(nothing.code, ErrorCode::InvalidArgument);
    let no_reason = EraseMemory {
        decisions: vec![root],
        reason: " ".into(),
        ..EraseMemory::default()
    };
    let unsaid = refused(&mut world, Human, Command::EraseMemory(Box::new(no_reason)));
    assert_eq!(unsaid.code, ErrorCode::InvalidArgument);
    let many = vec![root; ERASED_MAX + 1];
    let much = refused(&mut world, Human, order(&many, &[], &[]));
    assert_eq!(much.code, ErrorCode::TooLarge);
    world.spoken = WireVersion::WITH_DECISIONS;
    let early = refused(&mut world, Human, order(&[root], &[], &[]));
    assert_eq!(early.code, ErrorCode::Unavailable);
}

#[test]
fn only_people_erase_what_was_decided() {
    for kind in PrincipalKind::ALL {
        let mut world = World::new(PROJECT);
        let root = chain(&mut world, WORD);
        let given = world.give(kind, order(&[root], &[], &[]));
        match given {
            Ok(answer) => assert_eq!((kind, answer), (Human, erased(5, 0))),
            Err(refused) => {
                assert_ne!(kind, Human);
                assert_eq!(refused.rule(), Some("control/erase"));
            }
        }
    }
}

#[test]
fn nothing_brings_an_erased_decision_back() {
    let mut world = World::new(PROJECT);
    let root = chain(&mut world, WORD);
    world.give(Human, order(&[root], &[], &[])).unwrap();
    for command in [
        restore(root, 5, 1, "r"),
        restore(root, 1, 1, "r"),
        save(Some((root, 5)), text("plain"), "r"),
        withdraw(root, 5, "r"),
    ] {
        let refused = refused(&mut world, Human, command);
        assert_eq!(refused.code, ErrorCode::Conflict);
        assert!(refused.message.contains("was erased"), "{refused}");
    }
    check_folds(&world);
}

#[test]
fn nothing_new_leads_to_what_was_erased_and_what_led_to_it_stays_as_it_was() {
    let mut world = World::new(PROJECT);
    let (root, original) = (chain(&mut world, WORD), evidence(&mut world, WORD, 1));
    let resting = begun(&mut world, rests_on(original));
    let hint = anchor(&mut world, "plain", vec![to_evidence(original)]);
    let before = view(&world.changes);
    let told = world.give(Human, order(&[root], &[original], &[]));
    assert_eq!(told, Ok(erased(6, 0)));
    let after = view(&world.changes);
    for (key, value) in &before {
        let is_theirs = key.contains(&resting.to_string()) || key.contains(&hint.to_string());
        assert!(!is_theirs || after.get(key) == Some(value), "{key}");
    }
    let mut depends = rests_on(original);
    depends.relations = vec![Relation {
        kind: RelationKind::DependsOn,
        to: to_decision(root),
    }];
    for command in [
        save(None, rests_on(original), ""),
        save(None, depends, ""),
        add("plain", vec![to_evidence(original)]),
        add("plain", vec![to_decision(root)]),
    ] {
        let refused = refused(&mut world, Human, command);
        assert_eq!(refused.code, ErrorCode::NotFound, "{refused}");
    }
    let mut again = rests_on(original);
    again.title = "Use it still".into();
    world
        .give(Human, save(Some((resting, 1)), again, "r"))
        .unwrap();
    check_folds(&world);
}

#[test]
fn nothing_leads_to_what_another_scope_erased() {
    let org = Scope::parse("org/a").unwrap();
    let mut world = World::new("org/a");
    let root = chain(&mut world, WORD);
    world.give(Human, order(&[root], &[], &[])).unwrap();
    let head = world.state.decision(root).unwrap().clone();
    let mut world = World::new(PROJECT);
    world.decisions_elsewhere.insert((org.clone(), root), head);
    let to = Node::Decision { scope: org, root };
    let refused = refused(&mut world, Human, add("plain", vec![to]));
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[test]
fn only_the_events_of_what_is_named_are_asked_for() {
    let mut world = World::new(PROJECT);
    evidence(&mut world, "plain", 1);
    let root = chain(&mut world, WORD);
    let original = evidence(&mut world, WORD, 1);
    let hint = anchor(&mut world, WORD, vec![to_evidence(original)]);
    world.give(Human, save(None, text("plain"), "")).unwrap();
    world.give(Human, drop_of(hint, WORD)).unwrap();
    let submission = world.submission(Human, order(&[root], &[original], &[hint]));
    let asked = needs(&world.state, &submission, &Facts::default());
    let numbers: Vec<u64> = (1..=5).collect();
    assert!(asked.contains(&Need::DecisionSeqs(root, numbers)));
    let facts = world.facts(&submission);
    let positions: Vec<u64> = facts.events.keys().map(|seq| seq.get()).collect();
    assert_eq!(positions, [2, 3, 4, 5, 6, 7, 8, 10]);
    assert!(facts.decision_versions.is_empty() && facts.texts.is_none());
}

#[test]
fn an_event_that_is_not_the_one_sought_is_a_defect_and_erases_nothing() {
    let mut world = World::new(PROJECT);
    let (first, second) = (chain(&mut world, WORD), chain(&mut world, "plain"));
    let submission = world.submission(Human, order(&[first], &[], &[]));
    let sound = world.facts(&submission);
    let decided = |world: &World, facts: &Facts| {
        let config = crate::config::RulesConfig::default();
        crate::decide::decide(&world.state, &submission, facts, &config, world.now)
    };
    assert!(decided(&world, &sound).is_ok());
    let of_other = world.decision_versions[&(second, 1)].seq;
    let of_same = world.decision_versions[&(first, 2)].seq;
    let mut stray = world.facts(&submission);
    let other = world.event(of_other);
    stray.events.insert(of_other, other);
    for seq in [Some(of_other), Some(of_same), None] {
        let mut facts = stray.clone();
        facts.decision_seqs.insert((first, 1), seq);
        let refused = decided(&world, &facts).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Internal, "{seq:?}");
    }
}

#[test]
fn the_event_of_an_erasure_names_no_entries_and_says_why() {
    let mut world = World::new(PROJECT);
    let root = chain(&mut world, WORD);
    world.give(Human, order(&[root], &[], &[])).unwrap();
    let last = world.events.last().unwrap().decode_body().unwrap();
    let Some(Body::ContentErased(told)) = last else {
        panic!("{last:?}")
    };
    assert!(told.entries.is_empty());
    assert_eq!(told.reason, "it is nobody's business");
    assert_eq!(told.events.len(), 5);
}
