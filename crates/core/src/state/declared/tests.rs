//! A declaration changes one row, and is remembered by its name; what it means goes once.

use super::*;
use crate::event::Body;
use crate::id::Seq;
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::scope::Scope;
use crate::time::Timestamp;

fn name(text: &str) -> RelationName {
    text.parse().unwrap()
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

fn stored(text: &str, seq: u64) -> DeclaredRelation {
    let at = at(seq);
    DeclaredRelation {
        name: name(text),
        reach: Reach::Backward,
        meaning: "m".into(),
        by: at.actor,
        at: at.time,
        seq: at.seq,
    }
}

#[test]
fn a_declaration_is_one_row_and_known_from_then_on() {
    let mut state = State::new(&Scope::parse("org/a").unwrap(), None, None);
    assert!(!state.knows_declared(name("CAUSES")));
    let body = Body::RelationDeclared {
        name: name("CAUSES"),
        reach: Reach::Backward,
        meaning: "m".into(),
    };
    let declared = stored("CAUSES", 7);
    let row = Change::RelationDeclared(Box::new(declared.clone()));
    assert_eq!(state.apply(&body, &at(7)), [row]);
    assert_eq!(state.declared(name("CAUSES")), Some(&declared));
    assert!(!state.knows_declared(name("CAUSE")));
}

#[test]
fn what_a_kind_means_goes_and_who_declared_it_which_way_and_when_stays() {
    let kind = name("CAUSES");
    let mut state = State::new(&Scope::parse("org/a").unwrap(), None, None);
    assert_eq!(state.declared_by(kind), None);
    let body = |meaning: &str| Body::RelationDeclared {
        name: kind,
        reach: Reach::Backward,
        meaning: meaning.into(),
    };
    let rest = DeclaredRelation {
        meaning: String::new(),
        ..stored("CAUSES", 7)
    };
    // Also where the content of the event that declared it is gone by now.
    for meaning in ["m", ""] {
        state.apply(&body(meaning), &at(7));
        assert_eq!(state.declared_by(kind), Some(Seq::new(7)), "{meaning}");
        let row = Change::RelationDeclared(Box::new(rest.clone()));
        assert_eq!(state.meaning_erased(kind), row);
        assert_eq!(state.declared(kind), Some(&rest));
        assert!(rest.is_erased() && !stored("CAUSES", 7).is_erased());
        assert_eq!(state.declared_by(kind), None, "{meaning}");
    }
    state.forget();
    state.learn_declared(kind, Some(rest));
    assert_eq!(state.declared_by(kind), None, "its row says that it went");
    state.forget();
    state.learn_declared(kind, Some(stored("CAUSES", 7)));
    assert_eq!(state.declared_by(kind), Some(Seq::new(7)));
}

#[test]
fn what_was_read_is_remembered_until_all_is_forgotten() {
    let mut state = State::new(&Scope::parse("org/a").unwrap(), None, None);
    state.learn_declared(name("CAUSES"), Some(stored("CAUSES", 7)));
    state.learn_declared(name("BREAKS"), None);
    // What is known stays: it may be newer than what was read.
    state.learn_declared(name("CAUSES"), None);
    assert_eq!(state.declared(name("CAUSES")), Some(&stored("CAUSES", 7)));
    assert!(state.knows_declared(name("BREAKS")));
    assert_eq!(state.declared(name("BREAKS")), None);
    assert_eq!(state.remembered(), 2);
    state.forget();
    assert_eq!(state.remembered(), 0);
    assert!(!state.knows_declared(name("CAUSES")));
}
