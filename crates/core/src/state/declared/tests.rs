//! A declaration changes one row, and is remembered by its name.

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
