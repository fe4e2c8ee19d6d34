//! Each version of a decision changes the rows that it has to, in order, and no others.

use super::*;
use crate::decision::{Act, DecisionName, Domain, NewDecision, Node, Rank, Relation, RelationKind};
use crate::entry::Claim;
use crate::event::Body;
use crate::id::Seq;
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::time::Timestamp;

const ROOT: DecisionId = DecisionId::from_bytes([1; 16]);
const VALUE: &str = "v";

fn state() -> State {
    State::new(&Scope::parse("org/a").unwrap(), None, None)
}

fn file(path: &str) -> Relation {
    Relation {
        kind: RelationKind::AppliesTo,
        to: Node::file(path).unwrap(),
    }
}

fn text(rank: Rank, domain: &str, key: Option<&str>, files: &[&str]) -> NewDecision {
    NewDecision {
        rank,
        domain: domain.parse().unwrap(),
        phase: None,
        title: "t".into(),
        content: "c".into(),
        claim: key.map(|key| Claim {
            key: key.into(),
            value: VALUE.into(),
        }),
        relations: files.iter().map(|path| file(path)).collect(),
    }
}

fn apply(state: &mut State, number: u64, act: Act, text: Option<NewDecision>) -> Vec<Change> {
    let body = Body::DecisionSaved(Box::new(DecisionSaved {
        root: ROOT,
        number,
        act,
        before: state.decision(ROOT).map(|head| head.rank),
        text,
        reason: "r".into(),
    }));
    let at = Stamped {
        seq: Seq::new(10 + number),
        time: Timestamp::from_ms(100 + number),
        actor: Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse("kim").unwrap(),
        },
    };
    state.apply(&body, &at)
}

/// The changes behind those of the head and the version.
fn rest(state: &State, changes: &[Change]) -> Vec<Change> {
    let [
        Change::Decision(head),
        Change::DecisionVersion(version),
        rest @ ..,
    ] = changes
    else {
        panic!("{changes:?}")
    };
    assert_eq!(Some(&**head), state.decision(ROOT));
    assert_eq!((version.root, version.number), (ROOT, head.version));
    rest.to_vec()
}

fn listed(rank: Rank, domain: &str, listed: bool) -> Change {
    Change::DecisionListed {
        rank,
        domain: domain.parse().unwrap(),
        begun: Seq::new(11),
        root: ROOT,
        listed,
    }
}

fn claim(key: &str, version: Option<u64>) -> Change {
    Change::DecisionClaim {
        key: key.into(),
        value: VALUE.into(),
        root: ROOT,
        version,
    }
}

fn related(state: &State, path: &str, name: Option<(Rank, &str)>) -> Change {
    let from = Node::Decision {
        scope: state.scope().clone(),
        root: ROOT,
    };
    Change::RelatedTo {
        edge: file(path).edge_from(from),
        name: name.map(|(rank, title)| DecisionName {
            rank,
            title: title.into(),
        }),
    }
}

/// The change by which a relation says from now on that its decision is called so.
fn renamed(state: &State, path: &str, name: (Rank, &str)) -> Change {
    match related(state, path, Some(name)) {
        Change::RelatedTo {
            edge,
            name: Some(name),
        } => Change::RelationRenamed { edge, name },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_decision_is_listed_and_claims_and_is_related_as_long_as_it_applies() {
    let mut state = state();
    let first = text(Rank::Lock, "global", Some("http"), &["b", "a"]);
    let changes = apply(&mut state, 1, Act::Begun, Some(first));
    assert_eq!(
        rest(&state, &changes),
        [
            listed(Rank::Lock, "global", true),
            claim("http", Some(1)),
            related(&state, "b", Some((Rank::Lock, "t"))),
            related(&state, "a", Some((Rank::Lock, "t"))),
        ]
    );
    let changes = apply(&mut state, 2, Act::Withdrawn, None);
    assert_eq!(
        rest(&state, &changes),
        [
            listed(Rank::Lock, "global", false),
            claim("http", None),
            related(&state, "b", None),
            related(&state, "a", None),
        ]
    );
    let head = state.decision(ROOT).unwrap();
    assert!(!head.active && head.relations.len() == 2 && head.edges(state.scope()).is_empty());
    let back = text(Rank::Lock, "global", None, &["a"]);
    let changes = apply(&mut state, 3, Act::Restored { from: 1 }, Some(back));
    assert_eq!(
        rest(&state, &changes),
        [
            listed(Rank::Lock, "global", true),
            related(&state, "a", Some((Rank::Lock, "t")))
        ]
    );
}

#[test]
fn what_stays_where_it_was_is_listed_as_before_and_a_claim_is_written_once_with_its_new_version() {
    let mut state = state();
    let said = text(Rank::Normal, "ui", Some("http"), &["a", "b"]);
    apply(&mut state, 1, Act::Begun, Some(said));
    let again = text(Rank::Normal, "ui", Some("http"), &["b", "a"]);
    let changes = apply(&mut state, 2, Act::Changed, Some(again));
    assert_eq!(rest(&state, &changes), [claim("http", Some(2))]);
}

#[test]
fn what_moves_leaves_its_former_place_first() {
    let mut state = state();
    let said = text(Rank::Normal, "ui", Some("http"), &["a", "b"]);
    apply(&mut state, 1, Act::Begun, Some(said));
    let moved = text(Rank::Axis, "ui", Some("store"), &["c", "b"]);
    let changes = apply(&mut state, 2, Act::Changed, Some(moved));
    assert_eq!(
        rest(&state, &changes),
        [
            listed(Rank::Normal, "ui", false),
            listed(Rank::Axis, "ui", true),
            claim("http", None),
            claim("store", Some(2)),
            related(&state, "a", None),
            related(&state, "c", Some((Rank::Axis, "t"))),
            // What stays says how strong its decision is.
            renamed(&state, "b", (Rank::Axis, "t")),
        ]
    );
    let silent = text(Rank::Axis, "runtime", None, &["c", "b"]);
    let changes = apply(&mut state, 3, Act::Changed, Some(silent));
    assert_eq!(
        rest(&state, &changes),
        [
            listed(Rank::Axis, "ui", false),
            listed(Rank::Axis, "runtime", true),
            claim("store", None),
        ]
    );
}

#[test]
fn what_a_decision_stays_related_to_is_told_where_it_is_called_otherwise() {
    let mut state = state();
    let said = text(Rank::Normal, "ui", None, &["a", "b"]);
    apply(&mut state, 1, Act::Begun, Some(said.clone()));
    let otherwise = NewDecision {
        title: "another".into(),
        relations: vec![file("b"), file("c")],
        ..said.clone()
    };
    let changes = apply(&mut state, 2, Act::Changed, Some(otherwise.clone()));
    let name = (Rank::Normal, "another");
    assert_eq!(
        rest(&state, &changes),
        [
            related(&state, "a", None),
            renamed(&state, "b", name),
            related(&state, "c", Some(name)),
        ]
    );
    let again = NewDecision {
        content: "another".into(),
        ..otherwise
    };
    let changes = apply(&mut state, 3, Act::Changed, Some(again));
    assert_eq!(rest(&state, &changes), []);
}

#[test]
fn a_head_tells_when_its_chain_began_and_when_it_was_changed() {
    let mut state = state();
    let said = text(Rank::Normal, "ui", None, &[]);
    apply(&mut state, 1, Act::Begun, Some(said.clone()));
    apply(&mut state, 2, Act::Changed, Some(said));
    let head = state.decision(ROOT).unwrap();
    assert_eq!(head.begun_seq, Seq::new(11));
    assert_eq!(head.begun_at, Timestamp::from_ms(101));
    assert_eq!(head.changed_at, Timestamp::from_ms(102));
    assert_eq!(head.domain, "ui".parse::<Domain>().unwrap());
}

#[test]
fn what_was_read_before_an_event_does_not_undo_it() {
    let mut state = state();
    assert!(!state.knows_decision(ROOT));
    let said = text(Rank::Normal, "ui", None, &[]);
    apply(&mut state, 1, Act::Begun, Some(said));
    let remembered = state.remembered();
    state.learn_decision(ROOT, None);
    assert_eq!(state.decision(ROOT).map(|head| head.version), Some(1));
    state.forget();
    assert!(!state.knows_decision(ROOT) && state.remembered() < remembered);
    state.learn_decision(ROOT, None);
    assert!(state.knows_decision(ROOT) && state.decision(ROOT).is_none());
}
