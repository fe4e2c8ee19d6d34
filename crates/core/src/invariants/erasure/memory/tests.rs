//! What no erasure may do to decisions, evidence, anchors and kinds of relations.

use crate::anchor::Anchor;
use crate::chain::Tip;
use crate::decision::{Act, Domain, NewDecision, Node, Rank, Reach};
use crate::erasure::{ContentErased, Erased, rest_of};
use crate::event::{AnchorAdded, Body, DecisionSaved, EvidenceSaved};
use crate::id::{AnchorId, DecisionId, EvidenceId, Seq};
use crate::invariants::{erasure_is_whole, event_applies};
use crate::principal::{Actor, PrincipalKind};
use crate::scope::Scope;
use crate::staging::Content;
use crate::state::{Stamped, State};
use crate::time::Timestamp;

const ROOT: DecisionId = DecisionId::from_bytes([1; 16]);
const EVIDENCE: EvidenceId = EvidenceId::from_bytes([2; 16]);
const ANCHOR: AnchorId = AnchorId::from_bytes([3; 16]);

fn at(seq: u64) -> Stamped {
    Stamped {
        seq: Seq::new(seq),
        time: Timestamp::from_ms(seq),
        actor: Actor::system(),
    }
}

fn version(number: u64, act: Act) -> Body {
    let text = NewDecision {
        rank: Rank::Normal,
        domain: Domain::global(),
        phase: None,
        title: "t".into(),
        content: "c".into(),
        claim: None,
        relations: Vec::new(),
    };
    Body::DecisionSaved(Box::new(DecisionSaved {
        root: ROOT,
        number,
        act,
        before: (number > 1).then_some(Rank::Normal),
        text: (act != Act::Withdrawn).then_some(text),
        reason: "r".into(),
    }))
}

fn evidence() -> Body {
    Body::EvidenceSaved(Box::new(EvidenceSaved {
        id: EVIDENCE,
        title: "t".into(),
        source: String::new(),
        media_type: "text/plain".into(),
        content: Content::Inline("c".into()),
        hash: *blake3::hash(b"c").as_bytes(),
        masked: 0,
    }))
}

fn added() -> Body {
    let to = Node::Evidence {
        scope: Scope::parse("org/a").unwrap(),
        id: EVIDENCE,
    };
    Body::AnchorAdded(Box::new(AnchorAdded {
        id: ANCHOR,
        hint: "h".into(),
        domain: Domain::global(),
        to: vec![to],
    }))
}

fn dropped() -> Body {
    Body::AnchorDropped {
        anchor: ANCHOR,
        reason: "r".into(),
    }
}

fn declared(name: &str, reach: Reach) -> Body {
    Body::RelationDeclared {
        name: name.parse().unwrap(),
        reach,
        meaning: "m".into(),
    }
}

/// A decision of two versions that was withdrawn, evidence, an anchor that was dropped, and a kind of relation, by the events 1
/// to 6.
fn bodies() -> [Body; 6] {
    [
        version(1, Act::Begun),
        version(2, Act::Withdrawn),
        evidence(),
        added(),
        dropped(),
        declared("CAUSES", Reach::Both),
    ]
}

fn apply(state: &mut State, body: &Body) {
    event_applies(state, body).unwrap();
    let at = at(state.row().tip.seq.get() + 1);
    state.apply(body, &at);
    let mut tip = Tip::genesis(state.scope());
    (tip.seq, tip.time) = (at.seq, at.time);
    state.advance(tip);
}

/// The state that the first of those events lead to.
fn state(events: usize) -> State {
    let mut state = State::new(&Scope::parse("org/a").unwrap(), None, None);
    for body in &bodies()[..events] {
        apply(&mut state, body);
    }
    state
}

/// An erasure of what these positions have, told as if it were of these bodies.
fn erasure(events: &[(u64, Body)]) -> Body {
    let erased = |(seq, body): &(u64, Body)| Erased {
        at: at(*seq),
        rest: rest_of(body, |hash, _, _| hash).unwrap(),
    };
    Body::ContentErased(Box::new(ContentErased {
        events: events.iter().map(erased).collect(),
        entries: Vec::new(),
        reason: "r".into(),
    }))
}

/// Whether a command may have erased this: each event applies, and all of them make a whole.
fn is_sound(state: &State, erasures: &[Body]) -> bool {
    let mut state = state.clone();
    for body in erasures {
        if event_applies(&state, body).is_err() {
            return false;
        }
        apply(&mut state, body);
    }
    erasure_is_whole(&state, erasures).is_ok()
}

fn all() -> Vec<(u64, Body)> {
    (1..).zip(bodies()).collect()
}

#[test]
fn what_is_erased_whole_is_sound_in_one_part_and_in_several() {
    assert!(is_sound(&state(6), &[erasure(&all())]));
    for at in 1..6 {
        let (first, rest) = (&all()[..at], &all()[at..]);
        assert!(
            is_sound(&state(6), &[erasure(first), erasure(rest)]),
            "{at}"
        );
    }
}

#[test]
fn a_decision_or_an_anchor_that_is_erased_in_part_is_not_sound() {
    for left in [0, 1, 3, 4] {
        let mut events = all();
        events.remove(left);
        assert!(!is_sound(&state(6), &[erasure(&events)]), "{left}");
    }
    // Evidence and kinds stand alone.
    for left in [2, 5] {
        let mut events = all();
        events.remove(left);
        assert!(is_sound(&state(6), &[erasure(&events)]), "{left}");
        let alone = &all()[left..=left];
        assert!(is_sound(&state(6), &[erasure(alone)]), "{left}");
    }
}

#[test]
fn what_applies_or_is_listed_is_not_erased() {
    let active = erasure(&all()[..1]);
    assert!(!is_sound(&state(1), &[active]));
    let listed = erasure(&all()[3..4]);
    assert!(!is_sound(&state(4), &[listed]));
}

#[test]
fn an_event_is_erased_as_what_it_saved_and_once() {
    let [_, _, evidence, added, dropped, kind] = bodies();
    for (seq, body) in [
        (4, evidence.clone()),
        (3, added),
        (4, dropped),
        (5, kind.clone()),
        (6, declared("BREAKS", Reach::Both)),
        (6, declared("CAUSES", Reach::Neither)),
    ] {
        assert!(event_applies(&state(6), &erasure(&[(seq, body)])).is_err());
    }
    let third = version(3, Act::Changed);
    assert!(event_applies(&state(6), &erasure(&[(2, third)])).is_err());
    for one in [(3, evidence), (6, kind)] {
        let once = erasure(&[one]);
        assert!(!is_sound(&state(6), &[once.clone(), once]));
    }
    let denied = Body::Denied {
        rule: "r".into(),
        kind: PrincipalKind::Agent,
        command: "c".into(),
        unsampled: 0,
    };
    let mut without = state(0);
    apply(&mut without, &denied);
    for body in bodies() {
        assert!(event_applies(&without, &erasure(&[(1, body)])).is_err());
    }
}

#[test]
fn what_was_erased_takes_no_version_that_says_something() {
    let mut state = state(6);
    apply(&mut state, &erasure(&all()));
    let restored = version(3, Act::Restored { from: 1 });
    assert!(event_applies(&state, &restored).is_err());
    let head = state.decision(ROOT).unwrap();
    assert!(head.is_erased());
    assert!(state.anchor(ANCHOR).is_some_and(Anchor::is_erased));
    assert!(
        event_applies(&state, &evidence()).is_err(),
        "it was saved before"
    );
    let again = declared("CAUSES", Reach::Both);
    assert!(
        event_applies(&state, &again).is_err(),
        "it was declared before"
    );
}

#[test]
fn what_is_left_of_events_applies_in_their_place_all_or_none_of_it() {
    let rests = bodies().map(|body| rest_of(&body, |hash, _, _| hash).unwrap());
    let mut bare = state(0);
    rests.iter().for_each(|rest| apply(&mut bare, rest));
    let whole = erasure(&all());
    assert!(is_sound(&bare, &[whole]), "it is left, and then erased");
    assert!(
        event_applies(&state(1), &rests[1]).is_err(),
        "one version says something"
    );
    assert!(
        event_applies(&state(4), &rests[4]).is_err(),
        "the anchor says something"
    );
    let mut without = state(0);
    rests[..4].iter().for_each(|rest| apply(&mut without, rest));
    assert!(event_applies(&without, &dropped()).is_err());
    let forged = Body::EvidenceSaved(Box::new(EvidenceSaved {
        id: EVIDENCE,
        title: "t".into(),
        source: String::new(),
        media_type: String::new(),
        content: Content::Inline(String::new()),
        hash: [0; 32],
        masked: 0,
    }));
    assert!(
        event_applies(&state(0), &forged).is_err(),
        "only what is bare has no hash"
    );
}
