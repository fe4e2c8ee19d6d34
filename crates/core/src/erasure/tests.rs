//! What is left of content, by example.

use super::*;
use crate::circular::{Approach, ErrorHash, ErrorSeen, Wording};
use crate::config::TrustConfig;
use crate::decision::{Act, Domain, NewDecision, Node, Rank, Reach, Relation, RelationKind};
use crate::entry::{Binding, Claim, Episode, Kind, Status, Table};
use crate::event::{AnchorAdded, Body, DecisionSaved, EvidenceSaved, FixFailed};
use crate::id::{AnchorId, CommandId, DecisionId, EvidenceId, VerificationId};
use crate::principal::Actor;
use crate::scope::Scope;
use crate::staging::{LogLevel, RecordKind};
use crate::time::Timestamp;
use crate::trust::Trust;
use crate::verification::{NewVerification, Outcome, Verification, VerificationSource};

const SECRET: &str = "a word that nobody may read again";
/// What stands where only a plain name may.
const WORD: &str = "xyzzy";

fn entry(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn text() -> Text {
    let episode = Episode {
        task_id: Scope::parse("org/a/project/b/worktree/c/task/d").unwrap(),
        task: SECRET.into(),
        critique: SECRET.into(),
        reward: 0.5,
        success: true,
        input: SECRET.into(),
        output: SECRET.into(),
        key_decisions: vec![SECRET.into()],
        causal_edges: Vec::new(),
    };
    Text {
        content: SECRET.into(),
        detail: Detail::Episode(Box::new(episode)),
        metadata: Metadata::parse(&format!("{{\"said\":\"{SECRET}\"}}")).unwrap(),
        claim: Some(Claim {
            key: SECRET.into(),
            value: SECRET.into(),
        }),
        content_hash: ContentHash::of(SECRET),
        embedding: None,
    }
}

fn bodies() -> Vec<Body> {
    let created = EntryCreated {
        id: entry(1),
        table: Table::Episodes,
        text: text(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        status: Status::Verified,
        trust: Trust::draft(Kind::Episodic, &TrustConfig::default()),
        failure: false,
        promotion: None,
    };
    let amended = EntryAmended {
        id: entry(1),
        version: 2,
        text: text(),
        citations: Vec::new(),
        status: Status::Verified,
        trust: Trust::draft(Kind::Episodic, &TrustConfig::default()),
    };
    let merged = EntryMerged {
        into: entry(1),
        content: SECRET.into(),
        cosine: 1.0,
        citations: Vec::new(),
        status: Status::Verified,
        trust: Trust::draft(Kind::Episodic, &TrustConfig::default()),
        promotion: None,
        used_at: Timestamp::EPOCH,
    };
    let record = Record {
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: Content::Inline(SECRET.into()),
        metadata: text().metadata,
        time: Timestamp::EPOCH,
        masked: 1,
    };
    let mut all = vec![
        Body::RecordAppended(Box::new(record)),
        Body::EntryCreated(Box::new(created)),
        Body::EntryAmended(Box::new(amended)),
        Body::Merged(Box::new(merged)),
    ];
    all.extend(questions());
    all
}

/// What decisions, evidence, anchors and kinds of relations are told by, with all that can be said in it.
fn memory() -> [Body; 6] {
    let scope = Scope::parse("org/a").unwrap();
    let root = DecisionId::from_bytes([3; 16]);
    let to = Node::Evidence {
        scope: scope.clone(),
        id: EvidenceId::from_bytes([4; 16]),
    };
    let saved = |act, text| {
        Body::DecisionSaved(Box::new(DecisionSaved {
            root,
            number: 2,
            act,
            before: Some(Rank::Lock),
            text,
            reason: SECRET.into(),
        }))
    };
    let text = NewDecision {
        rank: Rank::Axis,
        domain: WORD.parse().unwrap(),
        phase: Some(WORD.parse().unwrap()),
        title: SECRET.into(),
        content: SECRET.into(),
        claim: text().claim,
        relations: vec![Relation {
            kind: RelationKind::AppliesTo,
            to: Node::file(WORD).unwrap(),
        }],
    };
    [
        saved(Act::Changed, Some(text)),
        saved(Act::Withdrawn, None),
        Body::EvidenceSaved(Box::new(EvidenceSaved {
            id: EvidenceId::from_bytes([4; 16]),
            title: SECRET.into(),
            source: SECRET.into(),
            media_type: format!("text/{WORD}"),
            content: Content::Chunked {
                command: CommandId::from_bytes([5; 16]),
                first: 0,
                count: 2,
                bytes: 70_000,
                hash: [7; 32],
            },
            hash: [7; 32],
            masked: 3,
        })),
        Body::AnchorAdded(Box::new(AnchorAdded {
            id: AnchorId::from_bytes([6; 16]),
            hint: SECRET.into(),
            domain: WORD.parse().unwrap(),
            to: vec![to],
        })),
        Body::AnchorDropped {
            anchor: AnchorId::from_bytes([6; 16]),
            reason: SECRET.into(),
        },
        Body::RelationDeclared {
            name: "CAUSES".parse().unwrap(),
            reach: Reach::Backward,
            meaning: SECRET.into(),
        },
    ]
}

#[test]
fn of_a_decision_its_rank_its_act_and_its_number_are_left_and_of_the_rest_that_there_was_some() {
    let [changed, withdrawn, saved, added, dropped, _] = memory();
    let id = |body: &Body| rest_of(body, |hash, _, _| hash).unwrap();
    let (Body::DecisionSaved(said), Body::DecisionSaved(rest)) = (&changed, id(&changed)) else {
        panic!("it stays of its kind")
    };
    let kept = |one: &DecisionSaved| (one.root, one.number, one.act, one.before);
    assert_eq!(kept(&rest), kept(said));
    let text = rest.text.as_ref().unwrap();
    assert_eq!((text.rank, &text.domain), (Rank::Axis, &Domain::global()));
    assert!(text.phase.is_none() && text.claim.is_none() && text.relations.is_empty());
    assert!(matches!(id(&withdrawn), Body::DecisionSaved(rest) if rest.text.is_none()));
    let Body::EvidenceSaved(rest) = id(&saved) else {
        panic!("it stays of its kind")
    };
    assert_eq!(
        (rest.content.bytes(), rest.hash, rest.masked),
        (0, [0; 32], 0)
    );
    let Body::AnchorAdded(rest) = id(&added) else {
        panic!("it stays of its kind")
    };
    assert!(rest.to.is_empty() && rest.domain.is_global());
    let bare = Body::AnchorDropped {
        anchor: rest.id,
        reason: String::new(),
    };
    assert_eq!(id(&dropped), bare);
}

#[test]
fn of_a_kind_of_relation_its_name_and_its_reach_are_left() {
    let [.., declared] = memory();
    let rest = Body::RelationDeclared {
        name: "CAUSES".parse().unwrap(),
        reach: Reach::Backward,
        meaning: String::new(),
    };
    assert_eq!(rest_of(&declared, |hash, _, _| hash), Some(rest));
}

#[test]
fn an_order_names_something_and_not_too_much() {
    let order = |decisions: usize, evidence: usize, anchors: usize, kinds: usize| EraseMemory {
        decisions: vec![DecisionId::from_bytes([1; 16]); decisions],
        evidence: vec![EvidenceId::from_bytes([1; 16]); evidence],
        anchors: vec![AnchorId::from_bytes([1; 16]); anchors],
        kinds: vec!["CAUSES".parse().unwrap(); kinds],
        reason: "r".into(),
    };
    let code = |order: EraseMemory| order.check().err().map(|refused| refused.code);
    let nothing = order(0, 0, 0, 0);
    assert_eq!(code(nothing), Some(ErrorCode::InvalidArgument));
    for one in [
        order(1, 0, 0, 0),
        order(0, 1, 0, 0),
        order(0, 0, 1, 0),
        order(0, 0, 0, 1),
    ] {
        assert_eq!(code(one), None);
    }
    assert_eq!(code(order(ERASED_MAX - 3, 1, 1, 1)), None);
    let much = order(ERASED_MAX - 2, 1, 1, 1);
    assert_eq!(code(much), Some(ErrorCode::TooLarge));
}

/// What a verification that failed is told by, with all that can be said in it.
fn verified() -> [Body; 2] {
    let id = VerificationId::from_bytes([8; 16]);
    let said = NewVerification {
        outcome: Outcome::Failed,
        source: VerificationSource::TestsFailed,
        run: "run 7".into(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: Some(SECRET.into()),
        approach: Some(SECRET.into()),
        target: None,
    };
    let recorded = Verification {
        id,
        said,
        recorder: Actor::system(),
        time: Timestamp::EPOCH,
        from: Seq::new(1),
        through: Seq::new(3),
        target: Scope::parse("org/a/project/b").unwrap(),
    };
    let failed = FixFailed {
        verification: id,
        error: Some(ErrorSeen {
            error: ErrorHash::of(SECRET),
            first: VerificationId::from_bytes([7; 16]),
        }),
        approach: Some(Approach {
            text: SECRET.into(),
            files: vec![format!("src/{WORD}.rs")],
            symbols: vec![WORD.into()],
        }),
        reason: SECRET.into(),
        wording: Wording::of(&Approach {
            text: SECRET.into(),
            ..Approach::default()
        }),
    };
    [
        Body::VerificationRecorded(Box::new(recorded)),
        Body::FixFailed(Box::new(failed)),
    ]
}

#[test]
fn of_a_verification_what_it_rests_on_and_how_it_ended_are_left_and_of_a_fix_that_it_failed() {
    let id = |body: &Body| rest_of(body, |hash, _, _| hash).unwrap();
    let [recorded, failed] = verified();
    let (Body::VerificationRecorded(said), Body::VerificationRecorded(rest)) =
        (&recorded, id(&recorded))
    else {
        panic!("it stays of its kind")
    };
    let bare = Some(String::new());
    assert_eq!((&rest.said.error, &rest.said.approach), (&bare, &bare));
    let mut again = rest;
    again.said.error = said.said.error.clone();
    again.said.approach = said.said.approach.clone();
    assert_eq!(&again, said, "all else is as it was");
    let Body::FixFailed(rest) = id(&failed) else {
        panic!("it stays of its kind")
    };
    assert_eq!(rest.approach, Some(Approach::default()));
    let left = ErrorSeen {
        error: ErrorHash::ERASED,
        first: VerificationId::from_bytes([7; 16]),
    };
    assert_eq!((rest.error, rest.reason.as_str()), (Some(left), ""));
    // What was not said is not said to have been.
    let Body::FixFailed(mut silent) = failed else {
        panic!("it is of a fix")
    };
    (silent.error, silent.approach) = (None, None);
    let Body::FixFailed(rest) = id(&Body::FixFailed(silent)) else {
        panic!("it stays of its kind")
    };
    assert_eq!((rest.error, rest.approach), (None, None));
}

#[test]
fn an_order_names_verifications_and_not_too_many() {
    let code = |count: usize| {
        let order = EraseVerifications {
            verifications: vec![VerificationId::from_bytes([1; 16]); count],
            reason: "r".into(),
        };
        order.check().err().map(|refused| refused.code)
    };
    assert_eq!(code(0), Some(ErrorCode::InvalidArgument));
    assert_eq!((code(1), code(ERASED_MAX)), (None, None));
    assert_eq!(code(ERASED_MAX + 1), Some(ErrorCode::TooLarge));
}

fn questions() -> [Body; 2] {
    let contradiction = Question::Contradiction {
        new: entry(1),
        known: entry(2),
        why: SECRET.into(),
    };
    let offer = Question::Offer(Box::new(Offer {
        scope: Scope::parse("org/a/project/b").unwrap(),
        entry: entry(1),
        version: 1,
        product: NewEntry {
            table: Table::Skills,
            content: SECRET.into(),
            detail: text().detail,
            metadata: text().metadata,
            claim: text().claim,
            citations: Vec::new(),
            failure: false,
            binding: Binding::NoRepository,
            embedding: None,
        },
    }));
    let raised = |question| Body::ReviewRaised {
        id: ReviewId::from_bytes([1; 16]),
        question: Box::new(question),
    };
    [raised(contradiction), raised(offer)]
}

#[test]
fn nothing_of_a_text_is_left_in_any_body_and_its_kind_stays() {
    let hash = hex::encode(ContentHash::of(SECRET).as_bytes());
    let error = ErrorHash::of(SECRET).to_string();
    for body in bodies().into_iter().chain(memory()).chain(verified()) {
        assert!(format!("{body:?}").contains(SECRET), "{body:?}");
        let rest = rest_of(&body, |_, entry, version| {
            ContentHash::erased(entry, version)
        })
        .unwrap();
        let left = format!("{rest:?}");
        assert!(!left.contains(SECRET) && !left.contains(&hash), "{left}");
        assert!(!left.contains(WORD) && !left.contains(&error), "{left}");
        assert_eq!(rest.kind(), body.kind());
        assert_eq!(
            rest_of(&rest, |named, _, _| named),
            Some(rest),
            "what is left is left"
        );
    }
}

#[test]
fn what_nobody_wrote_a_text_into_is_not_erased() {
    let wrong = Question::Wrong {
        entry: entry(1),
        tasks: 2,
    };
    let asked = Body::ReviewRaised {
        id: ReviewId::from_bytes([1; 16]),
        question: Box::new(wrong),
    };
    assert_eq!(rest_of(&asked, |hash, _, _| hash), None);
    assert!(!holds_text_of(&asked, &[entry(1)]));
    assert_eq!(rest_of(&Body::StuckCleared, |hash, _, _| hash), None);
}

#[test]
fn the_texts_of_an_entry_are_those_of_its_own_events() {
    let of_first: Vec<bool> = bodies()
        .iter()
        .map(|body| holds_text_of(body, &[entry(1)]))
        .collect();
    assert_eq!(of_first, [false, true, true, true, true, false]);
    let of_second = bodies()
        .iter()
        .filter(|body| holds_text_of(body, &[entry(2)]))
        .count();
    assert_eq!(of_second, 1, "the question is about it too");
}

#[test]
fn what_stands_in_place_of_hashes_differs_by_entry_and_version() {
    let all = [
        ContentHash::erased(entry(1), 1),
        ContentHash::erased(entry(1), 2),
        ContentHash::erased(entry(2), 1),
    ];
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
}
