//! Evidence and anchors that are not what the events lead to, chunks of evidence that are lost, and answers that say
//! something else.

use sillok_core::command::{Answer, AnswerBody, CommandRecord};
use sillok_core::id::{AnchorId, EvidenceId, Seq};
use sillok_core::invariants::Invariant;
use sillok_core::staging::Content;
use sillok_store::keys::{self, Family, ScopeKey, anchor_listed};

use super::{WORLD, changed, difference_of, keys_of};
use crate::rows::Place;
use crate::tests::harness::{PROJECT, scope};
use crate::tests::world::ORG;

/// For each family of evidence and anchors, a row that no event leads to.
pub(super) fn additions() -> Vec<(Vec<u8>, Vec<u8>)> {
    let place = Place::of(&scope(PROJECT));
    let value_of = |family| WORLD[&keys_of(family)[0]].clone();
    let listed = anchor_listed::parse(&keys_of(Family::AnchorListed)[0]).unwrap();
    let elsewhere = anchor_listed::Key {
        added: Seq::new(1),
        ..listed
    };
    vec![
        (
            keys::evidence::key(&place.key, EvidenceId::from_bytes([7; 16])),
            value_of(Family::Evidence),
        ),
        (
            keys::anchor::key(&place.key, AnchorId::from_bytes([7; 16])),
            value_of(Family::Anchor),
        ),
        (
            anchor_listed::key(&elsewhere),
            value_of(Family::AnchorListed),
        ),
    ]
}

#[test]
fn a_row_of_evidence_or_of_an_anchor_that_nobody_wrote_is_named() {
    for (key, value) in additions() {
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
        assert_eq!(found.scope, Some(scope(PROJECT)));
        assert_eq!(found.key, Some(hex::encode(&key)));
        assert_eq!(found.invariant, Invariant::ViewIsFold);
        let family = Family::of(&key).unwrap();
        assert_eq!(found.family, family.as_str());
    }
}

#[test]
fn evidence_that_was_changed_is_named_by_the_event_that_saved_it() {
    for key in keys_of(Family::Evidence) {
        let evidence = keys::evidence::decode(&key, &WORLD[&key]).unwrap();
        let mut title = evidence.clone();
        title.title.push('!');
        let mut hash = evidence.clone();
        hash.hash[0] ^= 1;
        let mut text = evidence.clone();
        match &mut text.content {
            Content::Inline(text) => text.push('!'),
            Content::Chunked { first, .. } => *first += 1,
        }
        for wrong in [title, hash, text] {
            let value = keys::evidence::encode(&wrong);
            let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
            assert_eq!(found.family, Family::Evidence.as_str());
            assert_eq!(found.key, Some(hex::encode(&key)));
            assert_eq!(found.seq, Some(evidence.seq));
        }
    }
}

#[test]
fn an_anchor_that_points_elsewhere_or_was_dropped_by_nobody_is_named() {
    for key in keys_of(Family::Anchor) {
        let anchor = keys::anchor::decode(&key, &WORLD[&key]).unwrap();
        let mut other = anchor.clone();
        other.dropped = match other.dropped {
            None => Some(other.seq),
            Some(_) => None,
        };
        let mut turned = anchor;
        turned.to.reverse();
        let is_turned = turned.to.len() > 1;
        for wrong in [Some(other), is_turned.then_some(turned)] {
            let Some(wrong) = wrong else { continue };
            let value = keys::anchor::encode(&wrong);
            let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
            assert_eq!(found.family, Family::Anchor.as_str());
            assert_eq!(found.key, Some(hex::encode(&key)));
        }
    }
}

#[test]
fn an_anchor_that_is_listed_no_more_though_nobody_dropped_it_is_missed() {
    for key in keys_of(Family::AnchorListed) {
        let found = difference_of(&changed(|pairs| drop(pairs.remove(&key))));
        assert_eq!(found.family, Family::AnchorListed.as_str());
        let added = anchor_listed::parse(&key).unwrap().added;
        assert_eq!(
            (found.key, found.seq),
            (Some(hex::encode(&key)), Some(added))
        );
    }
}

/// The keys of the chunks of evidence, with the event that names them.
fn chunks_of_evidence() -> Vec<(Vec<u8>, Seq)> {
    let here = ScopeKey::of(&scope(ORG));
    let mut found = Vec::new();
    for key in keys_of(Family::Evidence) {
        let evidence = keys::evidence::decode(&key, &WORLD[&key]).unwrap();
        if let Content::Chunked {
            command,
            first,
            count,
            ..
        } = evidence.content
        {
            let numbers = first..first + count;
            found.extend(numbers.map(|number| {
                let key = keys::chunk::key(&here, command, number);
                (key, evidence.seq)
            }));
        }
    }
    assert!(found.len() > 1);
    found
}

#[test]
fn a_chunk_of_evidence_that_is_lost_or_changed_is_named() {
    for (key, seq) in chunks_of_evidence() {
        let lost = changed(|pairs| drop(pairs.remove(&key)));
        let mut text = keys::chunk::decode(&key, &WORLD[&key]).unwrap().to_vec();
        text[0] ^= 1;
        let other = keys::chunk::encode(&text);
        let other = changed(|pairs| drop(pairs.insert(key.clone(), other)));
        for pairs in [lost, other] {
            let found = difference_of(&pairs);
            assert_eq!(found.family, Family::Chunk.as_str());
            assert_eq!((found.scope, found.seq), (Some(scope(ORG)), Some(seq)));
        }
    }
}

/// What else an answer about evidence or anchors may not say.
fn others(result: &AnswerBody) -> Vec<AnswerBody> {
    match result {
        AnswerBody::EvidenceSaved { id, hash, masked } => {
            let told = |id, hash, masked| AnswerBody::EvidenceSaved { id, hash, masked };
            let mut wrong = *hash;
            wrong[0] ^= 1;
            vec![
                told(EvidenceId::from_bytes([7; 16]), *hash, *masked),
                told(*id, wrong, *masked),
                told(*id, *hash, masked + 1),
            ]
        }
        AnswerBody::AnchorsAdded { ids } => {
            let mut turned = ids.clone();
            turned.reverse();
            let fewer = ids[1..].to_vec();
            let more = [ids.as_slice(), &[AnchorId::from_bytes([7; 16])]].concat();
            let told = |ids| AnswerBody::AnchorsAdded { ids };
            [turned, fewer, more].map(told).to_vec()
        }
        _ => Vec::new(),
    }
}

#[test]
fn an_answer_about_evidence_or_anchors_is_what_its_own_events_say() {
    let mut answers = 0;
    for key in keys_of(Family::Command) {
        let record = keys::command::decode(&key, &WORLD[&key]).unwrap();
        let CommandRecord::Applied { digest, answer } = record else {
            continue;
        };
        for result in others(&answer.result) {
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
            answers += 1;
        }
    }
    assert_eq!(answers, 9);
}
