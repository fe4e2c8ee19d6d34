//! Rows of decisions that no event leads to, and what an audit asks of a chain beside its rows.

use serde::Serialize;
use sillok_core::chain::{Origin, Tip, seal};
use sillok_core::command::{Answer, AnswerBody, CommandRecord};
use sillok_core::decision::{Act, Domain, NamedEdge, Node, Rank, RelationKind};
use sillok_core::event::Body;
use sillok_core::id::{DecisionId, Seq};
use sillok_core::invariants::Invariant;
use sillok_store::keys::decision_claim::{self, ClaimKey, Declared};
use sillok_store::keys::decision_listed::DomainKey;
use sillok_store::keys::related::{KindKey, NodeKey, ScopePath};
use sillok_store::keys::{self, Family, decision_listed, related};
use xxhash_rust::xxh3::xxh3_64;

use super::{WORLD, audit_of, changed, difference_of, events_of, keys_of, rebuilt};
use crate::rows::Place;
use crate::tests::harness::{PROJECT, scope};
use crate::tests::world::Pairs;

/// For each family of decisions, and of the kinds of relations between them, a row that no event leads to.
pub(super) fn additions() -> Vec<(Vec<u8>, Vec<u8>)> {
    let value_of = |family| WORLD[&keys_of(family)[0]].clone();
    let place = Place::of(&scope(PROJECT));
    let root = DecisionId::from_bytes([7; 16]);
    let listed = decision_listed::Key {
        scope: place.key,
        rank: Rank::Axis,
        domain: DomainKey::of(&Domain::global()),
        begun: Seq::new(1),
        root,
    };
    let related = related::Key {
        to: NodeKey::of(&Node::file("src/nowhere.rs").unwrap()),
        scope: ScopePath::of(&scope(PROJECT)),
        root,
        kind: KindKey::of(RelationKind::AppliesTo),
    };
    let claim = ClaimKey::of("unsaid");
    vec![
        (
            keys::decision::key(&place.key, root),
            value_of(Family::Decision),
        ),
        (
            keys::decision_version::key(&place.key, root, 1),
            value_of(Family::DecisionVersion),
        ),
        (
            decision_listed::key(&listed),
            value_of(Family::DecisionListed),
        ),
        (
            decision_claim::key(&place.key, claim, root),
            value_of(Family::DecisionClaim),
        ),
        (related::key(&related), value_of(Family::Related)),
        (
            keys::declared_relation::key(&place.key, "UNSAID".parse().unwrap()),
            value_of(Family::DeclaredRelation),
        ),
    ]
}

#[test]
fn a_relation_that_its_decision_does_not_declare_is_found() {
    let key = keys_of(Family::Related).remove(0);
    let mut named = related::decode(&key, &WORLD[&key]).unwrap();
    named.edge.to = Node::file("src/elsewhere.rs").unwrap();
    let place = related::Key::of(&named.edge).unwrap();
    let further = related::key(&place);
    let value = related::encode(&named);
    let found = difference_of(&changed(|pairs| drop(pairs.insert(further.clone(), value))));
    assert_eq!(found.family, Family::Related.as_str());
    assert_eq!(found.key, Some(hex::encode(&further)));
}

#[test]
fn a_decision_that_is_listed_twice_is_found() {
    let key = keys_of(Family::DecisionListed).remove(0);
    let mut place = decision_listed::parse(&key).unwrap();
    let ranks = Rank::ALL.into_iter();
    place.rank = ranks.rev().find(|rank| *rank != place.rank).unwrap();
    let (second, value) = (decision_listed::key(&place), WORLD[&key].clone());
    let found = difference_of(&changed(|pairs| drop(pairs.insert(second.clone(), value))));
    assert_eq!(found.family, Family::DecisionListed.as_str());
    assert_eq!(found.key, Some(hex::encode(&second)));
}

#[test]
fn a_place_in_the_former_format_is_what_its_event_leads_to_whichever_version_it_says() {
    let places = keys_of(Family::DecisionListed);
    let former = changed(|pairs| {
        for (key, number) in places.iter().zip(1..) {
            pairs.insert(key.clone(), decision_listed::encode(&Some(number)));
        }
    });
    assert!(former != *WORLD);
    let report = audit_of(&former);
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.rows, audit_of(&WORLD).rows);
    let (after, _) = rebuilt(&former).unwrap();
    assert!(after == former, "a rebuild leaves what is sound");
    let damaged = changed(|pairs| {
        let value = pairs.get_mut(&places[0]).unwrap();
        *value = row_of(1, &());
    });
    let found = difference_of(&damaged);
    assert_eq!(found.key, Some(hex::encode(&places[0])));
}

#[test]
fn a_claim_in_the_former_format_is_what_its_event_leads_to_and_with_another_version_it_is_not() {
    let claims = keys_of(Family::DecisionClaim);
    assert!(claims.len() > 1);
    let said = |key: &Vec<u8>| decision_claim::decode(key, &WORLD[key]).unwrap();
    let former = |version| {
        let value = None;
        decision_claim::encode(&Declared { version, value })
    };
    let all = changed(|pairs| {
        for key in &claims {
            pairs.insert(key.clone(), former(said(key).version));
        }
    });
    let report = audit_of(&all);
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.rows, audit_of(&WORLD).rows);
    let key = &claims[0];
    let version = said(key).version;
    let another = Declared::of(version, "another value");
    for wrong in [former(version + 1), decision_claim::encode(&another)] {
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), wrong))));
        assert_eq!(found.family, Family::DecisionClaim.as_str());
        assert_eq!(found.key, Some(hex::encode(key)));
    }
}

/// An audit finds nothing where all relations are written so, and looks at as many rows.
fn assert_sound_as(written: impl Fn(&NamedEdge) -> Vec<u8>) {
    let all = changed(|pairs| {
        for key in keys_of(Family::Related) {
            let former = written(&related::decode(&key, &WORLD[&key]).unwrap());
            assert_ne!(pairs.insert(key, former.clone()), Some(former));
        }
    });
    let report = audit_of(&all);
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.rows, audit_of(&WORLD).rows);
}

#[test]
fn a_relation_in_the_former_format_is_what_its_event_leads_to_and_with_another_name_it_is_not() {
    let relations = keys_of(Family::Related);
    assert!(relations.len() > 1);
    let said = |key: &Vec<u8>| related::decode(key, &WORLD[key]).unwrap();
    assert_sound_as(|named| related::encode(&named.edge.clone().into()));
    for key in &relations {
        let mut renamed = said(key);
        renamed.name.as_mut().unwrap().title.push('!');
        let mut stronger = said(key);
        let name = stronger.name.as_mut().unwrap();
        let mut ranks = Rank::ALL.into_iter();
        name.rank = ranks.find(|rank| *rank != name.rank).unwrap();
        for wrong in [renamed, stronger] {
            let wrong = related::encode(&wrong);
            let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), wrong))));
            assert_eq!(found.family, Family::Related.as_str());
            assert_eq!(found.key, Some(hex::encode(key)));
        }
    }
}

/// A row of format 2, of which both ends were texts, as it was written.
fn of_format_2(named: &NamedEdge) -> Vec<u8> {
    let NamedEdge { edge, name } = named;
    row_of(2, &(edge, name.as_ref().unwrap()))
}

/// A row of this format with these fields.
fn row_of(format: u8, fields: &impl Serialize) -> Vec<u8> {
    let mut row = vec![format];
    row.extend(postcard::to_allocvec(fields).unwrap());
    let checksum = xxh3_64(&row).to_be_bytes();
    row.extend_from_slice(&checksum[..4]);
    row
}

#[test]
fn a_relation_in_the_format_in_use_that_is_written_otherwise_is_found() {
    let mut written = 0;
    for key in keys_of(Family::Related) {
        let named = related::decode(&key, &WORLD[&key]).unwrap();
        let NamedEdge { edge, name } = &named;
        let (from, Node::Decision { scope: to, root }) = (edge.from.scope().unwrap(), &edge.to)
        else {
            continue;
        };
        if !to.contains(from) {
            continue;
        }
        // To a decision (0) of a scope that is told in full (1), and not by its level.
        let to = (0_u8, (1_u8, to), root);
        let otherwise = row_of(3, &(from, edge.kind, to, name.as_ref().unwrap()));
        assert_eq!(related::decode(&key, &otherwise).unwrap(), named);
        let all = changed(|pairs| drop(pairs.insert(key.clone(), otherwise)));
        let found = difference_of(&all);
        assert_eq!(found.family, Family::Related.as_str());
        assert_eq!(found.key, Some(hex::encode(&key)));
        written += 1;
    }
    assert!(written > 0, "a relation to a decision of a scope around");
}

#[test]
fn a_relation_in_the_second_format_is_what_its_event_leads_to_and_with_another_name_it_is_not() {
    let relations = keys_of(Family::Related);
    let said = |key: &Vec<u8>| related::decode(key, &WORLD[key]).unwrap();
    assert_sound_as(of_format_2);
    for key in &relations {
        assert_eq!(
            related::decode(key, &of_format_2(&said(key))).unwrap(),
            said(key)
        );
        let mut renamed = said(key);
        renamed.name.as_mut().unwrap().title.push('!');
        let wrong = of_format_2(&renamed);
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), wrong))));
        assert_eq!(found.family, Family::Related.as_str());
        assert_eq!(found.key, Some(hex::encode(key)));
    }
}

#[test]
fn a_relation_of_a_former_format_that_says_another_decision_than_its_key_is_found_and_rebuilt() {
    for key in keys_of(Family::Related) {
        let mut of_another = related::decode(&key, &WORLD[&key]).unwrap();
        let scope = of_another.edge.from.scope().unwrap().clone();
        of_another.edge.from = Node::Decision {
            scope,
            root: DecisionId::from_bytes([7; 16]),
        };
        let wrong = of_format_2(&of_another);
        let all = changed(|pairs| drop(pairs.insert(key.clone(), wrong)));
        let found = difference_of(&all);
        assert_eq!(found.family, Family::Related.as_str());
        assert_eq!(found.key, Some(hex::encode(&key)));
        let (after, _) = rebuilt(&all).unwrap();
        assert!(after == *WORLD);
    }
}

#[test]
fn a_head_that_is_wrong_is_told_and_not_a_relation_in_the_former_format_that_its_events_lead_to() {
    let of_format_1 = changed(|pairs| {
        for key in keys_of(Family::Related) {
            let named = related::decode(&key, &pairs[&key]).unwrap();
            pairs.insert(key, related::encode(&named.edge.into()));
        }
    });
    let mut changed_since = 0;
    for key in keys_of(Family::Decision) {
        let mut head = keys::decision::decode(&key, &WORLD[&key]).unwrap();
        if head.relations.is_empty() || !head.active {
            continue;
        }
        changed_since += u32::from(head.version > 1);
        head.title.push('!');
        let mut pairs = of_format_1.clone();
        pairs.insert(key.clone(), keys::decision::encode(&head));
        let found = difference_of(&pairs);
        assert_eq!(found.family, Family::Decision.as_str());
        assert_eq!(found.key, Some(hex::encode(key)));
    }
    assert!(changed_since > 0, "a row of an earlier event than its head");
}

/// The world, in which the last restore of a decision says something else than the version that it names: in its event, and
/// in all that follows from that. The key of the decision's head, and the event.
fn restored_as_another() -> (Pairs, Vec<u8>, Seq) {
    let is_restore = |key: &Vec<u8>| {
        let version = keys::decision_version::decode(key, &WORLD[key]).unwrap();
        matches!(version.act, Act::Restored { .. })
    };
    let mut versions = keys_of(Family::DecisionVersion).into_iter();
    let key = versions.find(is_restore).unwrap();
    let mut version = keys::decision_version::decode(&key, &WORLD[&key]).unwrap();
    let place = Place::of(&scope(PROJECT));
    let mut text = version.text.take().unwrap();
    text.content.push_str(" Or so it is said.");
    version.text = Some(text.clone());
    let pairs = changed(|pairs| {
        pairs.insert(key, keys::decision_version::encode(&version));
        let mut tip = Tip::genesis(&place.scope);
        for key in events_of(PROJECT) {
            let event = keys::event::decode(&key, &pairs[&key]).unwrap();
            let mut body = event.decode_body().unwrap().unwrap();
            let header = event.decode_header().unwrap();
            if let Body::DecisionSaved(saved) = &mut body
                && header.seq == version.seq
            {
                saved.text = Some(text.clone());
            }
            let origin = Origin {
                actor: header.actor,
                command: header.command,
                epoch: header.epoch,
            };
            let salt = event.sealed.unwrap().salt;
            let event = seal(&mut tip, &body, &origin, header.time, salt);
            pairs.insert(key, keys::event::encode(&event));
        }
        let key = keys::scope::key(&place.key);
        let mut row = keys::scope::decode(&key, &pairs[&key]).unwrap();
        row.tip = tip;
        pairs.insert(key, keys::scope::encode(&row));
    });
    let head = keys::decision::key(&place.key, version.root);
    (pairs, head, version.seq)
}

#[test]
fn a_restore_that_says_something_else_than_the_version_that_it_names_is_found() {
    let (pairs, head, seq) = restored_as_another();
    let found = difference_of(&pairs);
    assert_eq!(found.family, Family::Decision.as_str());
    assert_eq!((found.key, found.seq), (Some(hex::encode(head)), Some(seq)));
    assert_eq!(found.invariant, Invariant::Chained);
    assert!(
        found.what.contains("does not say what version 1 did"),
        "{}",
        found.what
    );
}

#[test]
fn an_answer_about_a_decision_is_what_its_own_event_says() {
    let mut answers = 0;
    for key in keys_of(Family::Command) {
        let record = keys::command::decode(&key, &WORLD[&key]).unwrap();
        let CommandRecord::Applied { digest, answer } = record else {
            continue;
        };
        let AnswerBody::Decision {
            root,
            version,
            active,
        } = answer.result
        else {
            continue;
        };
        let told = |version, active| AnswerBody::Decision {
            root,
            version,
            active,
        };
        // Versions that other events saved, and one that none did.
        let others = (1..=4).filter(|other| *other != version);
        let others = others.map(|other| told(other, active));
        for result in others.chain([told(version, !active)]) {
            let wrong = CommandRecord::Applied {
                digest,
                answer: Answer {
                    result: result.clone(),
                    ..answer.clone()
                },
            };
            let wrong = keys::command::encode(&wrong);
            let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), wrong))));
            assert_eq!(found.key, Some(hex::encode(&key)), "{result:?}");
            assert_eq!(found.invariant, Invariant::AppliedOnce);
        }
        answers += 1;
    }
    assert_eq!(answers, keys_of(Family::DecisionVersion).len());
}
