//! Evidence and anchors change the rows that they have to, in order, and no others.

use super::*;
use crate::decision::Node;
use crate::event::Body;
use crate::id::Seq;
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::scope::Scope;
use crate::staging::Content;
use crate::time::Timestamp;

const EVIDENCE: EvidenceId = EvidenceId::from_bytes([1; 16]);
const ANCHOR: AnchorId = AnchorId::from_bytes([2; 16]);

fn state() -> State {
    State::new(&Scope::parse("org/a").unwrap(), None, None)
}

fn at(seq: u64) -> Stamped {
    Stamped {
        seq: Seq::new(seq),
        time: Timestamp::from_ms(100 + seq),
        actor: Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse("kim").unwrap(),
        },
    }
}

fn saved() -> EvidenceSaved {
    EvidenceSaved {
        id: EVIDENCE,
        title: "t".into(),
        source: "s".into(),
        media_type: "text/plain".into(),
        content: Content::Inline("x".into()),
        hash: [7; 32],
        masked: 3,
    }
}

fn added() -> AnchorAdded {
    AnchorAdded {
        id: ANCHOR,
        hint: "h".into(),
        domain: "ui".parse().unwrap(),
        to: vec![Node::Evidence {
            scope: Scope::parse("org/a").unwrap(),
            id: EVIDENCE,
        }],
    }
}

fn listed(listed: bool) -> Change {
    Change::AnchorListed {
        domain: "ui".parse().unwrap(),
        seq: Seq::new(12),
        anchor: ANCHOR,
        listed,
    }
}

#[test]
fn evidence_is_one_row_that_tells_all_of_its_event() {
    let mut state = state();
    assert!(!state.knows_evidence(EVIDENCE) && !state.has_evidence(EVIDENCE));
    let changes = state.apply(&Body::EvidenceSaved(Box::new(saved())), &at(11));
    let row = Evidence {
        id: EVIDENCE,
        title: "t".into(),
        source: "s".into(),
        media_type: "text/plain".into(),
        content: Content::Inline("x".into()),
        hash: [7; 32],
        masked: 3,
        by: at(11).actor,
        at: at(11).time,
        seq: Seq::new(11),
    };
    assert_eq!(changes, [Change::Evidence(Box::new(row))]);
    assert!(state.knows_evidence(EVIDENCE) && state.has_evidence(EVIDENCE));
}

#[test]
fn an_anchor_is_listed_where_it_was_added_until_it_is_dropped() {
    let mut state = state();
    let changes = state.apply(&Body::AnchorAdded(Box::new(added())), &at(12));
    let anchor = state.anchor(ANCHOR).unwrap().clone();
    assert_eq!((&anchor.by, anchor.at), (&at(12).actor, at(12).time));
    assert!(!anchor.is_dropped());
    assert_eq!(
        changes,
        [Change::Anchor(Arc::new(anchor.clone())), listed(true)]
    );

    let dropped = Body::AnchorDropped {
        anchor: ANCHOR,
        reason: "r".into(),
    };
    let changes = state.apply(&dropped, &at(15));
    let after = Anchor {
        dropped: Some(Seq::new(15)),
        ..anchor
    };
    assert_eq!(state.anchor(ANCHOR), Some(&after));
    assert_eq!(changes, [Change::Anchor(Arc::new(after)), listed(false)]);
}

#[test]
fn what_was_learnt_counts_until_it_is_forgotten_and_what_was_written_is_not_learnt_over() {
    let mut state = state();
    state.learn_evidence(EVIDENCE, None);
    state.learn_anchor(ANCHOR, None);
    assert!(state.knows_evidence(EVIDENCE) && !state.has_evidence(EVIDENCE));
    assert!(state.knows_anchor(ANCHOR) && state.anchor(ANCHOR).is_none());
    assert_eq!(state.remembered(), 2);
    state.apply(&Body::EvidenceSaved(Box::new(saved())), &at(11));
    state.apply(&Body::AnchorAdded(Box::new(added())), &at(12));
    // Read before the two were written.
    state.learn_evidence(EVIDENCE, None);
    state.learn_anchor(ANCHOR, None);
    assert!(state.has_evidence(EVIDENCE) && state.anchor(ANCHOR).is_some());
    assert_eq!(state.remembered(), 2);
    state.forget();
    assert!(!state.knows_evidence(EVIDENCE) && !state.knows_anchor(ANCHOR));
    assert_eq!(state.remembered(), 0);
}

#[test]
fn evidence_that_was_erased_is_known_and_not_there() {
    let mut state = state();
    let row = evidence_of(&saved().rest(), &at(11));
    assert!(row.is_erased());
    state.learn_evidence(EVIDENCE, Some(&row));
    assert!(state.knows_evidence(EVIDENCE) && !state.has_evidence(EVIDENCE));
    let known = state.evidence(EVIDENCE).unwrap();
    assert_eq!((known.seq, known.erased), (Seq::new(11), true));
}
