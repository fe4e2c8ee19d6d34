//! Evidence is written once and is what its hash says; anchors lead to what stands, and are dropped once.

use super::*;
use crate::decision::{Act, NewDecision, Node, Rank};
use crate::event::{AnchorAdded, DecisionSaved, EvidenceSaved};
use crate::id::{AnchorId, DecisionId, EvidenceId};
use crate::staging::Content;

const DECISION: DecisionId = DecisionId::from_bytes([1; 16]);
const EVIDENCE: EvidenceId = EvidenceId::from_bytes([2; 16]);
const ANCHOR: AnchorId = AnchorId::from_bytes([3; 16]);

fn saved() -> EvidenceSaved {
    EvidenceSaved {
        id: EVIDENCE,
        title: "t".into(),
        source: String::new(),
        media_type: "text/plain".into(),
        content: Content::Inline("x".into()),
        hash: *blake3::hash(b"x").as_bytes(),
        masked: 0,
    }
}

fn evidence(saved: EvidenceSaved) -> Body {
    Body::EvidenceSaved(Box::new(saved))
}

fn decision(number: u64, act: Act) -> Body {
    let text = NewDecision {
        rank: Rank::Normal,
        domain: "ui".parse().unwrap(),
        phase: None,
        title: "t".into(),
        content: "c".into(),
        claim: None,
        relations: Vec::new(),
    };
    Body::DecisionSaved(Box::new(DecisionSaved {
        root: DECISION,
        number,
        act,
        before: (number > 1).then_some(Rank::Normal),
        text: (act != Act::Withdrawn).then_some(text),
        reason: "r".into(),
    }))
}

fn decision_node(scope: Scope) -> Node {
    Node::Decision {
        scope,
        root: DECISION,
    }
}

fn evidence_node(scope: Scope) -> Node {
    Node::Evidence {
        scope,
        id: EVIDENCE,
    }
}

fn anchor(to: Vec<Node>) -> Body {
    Body::AnchorAdded(Box::new(AnchorAdded {
        id: ANCHOR,
        hint: "h".into(),
        domain: "ui".parse().unwrap(),
        to,
    }))
}

fn dropped() -> Body {
    Body::AnchorDropped {
        anchor: ANCHOR,
        reason: "r".into(),
    }
}

#[test]
fn evidence_is_written_once_and_is_what_its_hash_says() {
    let new = state_after(&project(), &[]);
    assert_eq!(event_applies(&new, &evidence(saved())), Ok(()));
    let chunked = |hash| Content::Chunked {
        command: command_id(1),
        first: 0,
        count: 2,
        bytes: 100_000,
        hash,
    };
    let large = EvidenceSaved {
        content: chunked(saved().hash),
        ..saved()
    };
    assert_eq!(event_applies(&new, &evidence(large)), Ok(()));
    for content in [Content::Inline("y".into()), chunked([7; 32])] {
        let wrong = EvidenceSaved { content, ..saved() };
        broken_is(event_applies(&new, &evidence(wrong)), Invariant::Chained);
    }
    let there = state_after(&project(), &[evidence(saved())]);
    broken_is(
        event_applies(&there, &evidence(saved())),
        Invariant::Chained,
    );
}

#[test]
fn an_anchor_leads_to_what_stands_when_it_is_added() {
    let begun = [decision(1, Act::Begun), evidence(saved())];
    let state = state_after(&project(), &begun);
    let both = vec![decision_node(project()), evidence_node(project())];
    assert_eq!(event_applies(&state, &anchor(both.clone())), Ok(()));
    // Of what another scope holds, only that it lies around this one is known.
    for seen in [decision_node(scope("org/a")), evidence_node(scope("org/a"))] {
        assert_eq!(event_applies(&state, &anchor(vec![seen])), Ok(()));
    }
    let empty = state_after(&project(), &[]);
    let withdrawn = [decision(1, Act::Begun), decision(2, Act::Withdrawn)];
    let withdrawn = state_after(&project(), &withdrawn);
    for (state, to) in [
        (&state, vec![]),
        (&empty, vec![decision_node(project())]),
        (&empty, vec![evidence_node(project())]),
        (&withdrawn, vec![decision_node(project())]),
        (&state, vec![decision_node(task())]),
        (&state, vec![evidence_node(scope("org/b"))]),
        (&state, vec![Node::file("src/a.rs").unwrap()]),
    ] {
        let what = format!("{to:?}");
        let applied = event_applies(state, &anchor(to));
        assert!(applied.is_err(), "{what}");
        broken_is(applied, Invariant::Chained);
    }
    let there = state_after(&project(), &[&begun[..], &[anchor(both.clone())]].concat());
    broken_is(event_applies(&there, &anchor(both)), Invariant::Chained);
}

#[test]
fn an_anchor_is_dropped_once_after_it_was_added() {
    let mut bodies = vec![evidence(saved())];
    let never = state_after(&project(), &bodies);
    broken_is(event_applies(&never, &dropped()), Invariant::Chained);
    bodies.push(anchor(vec![evidence_node(project())]));
    let added = state_after(&project(), &bodies);
    assert_eq!(event_applies(&added, &dropped()), Ok(()));
    bodies.push(dropped());
    let gone = state_after(&project(), &bodies);
    broken_is(event_applies(&gone, &dropped()), Invariant::Chained);
}

#[test]
fn whoever_may_save_a_normal_decision_may_write_evidence_and_anchors() {
    use PrincipalKind::{Agent, Human, Orchestrator, System};
    for body in [
        evidence(saved()),
        anchor(vec![evidence_node(project())]),
        dropped(),
    ] {
        let bodies = [body];
        for (scope, kind, is_allowed) in [
            (task(), Agent, true),
            (task(), System, false),
            (project(), Agent, false),
            (project(), Orchestrator, true),
            (scope("org/a"), Orchestrator, false),
            (scope("org/a"), Human, true),
        ] {
            let permitted = command_permitted(&scope, &actor(kind), &bodies);
            assert_eq!(permitted.is_ok(), is_allowed, "{kind} in {scope}");
        }
    }
}
