//! A kind of relation is declared once, where it may be, and by whom may save a lock there.

use super::*;
use crate::decision::{Rank, Reach};
use crate::permission::{Access, allows};

fn declared(name: &str) -> Body {
    Body::RelationDeclared {
        name: name.parse().unwrap(),
        reach: Reach::Both,
        meaning: "m".into(),
    }
}

fn actor(kind: PrincipalKind) -> Actor {
    Actor {
        kind,
        id: PrincipalId::parse("p").unwrap(),
    }
}

#[test]
fn a_kind_is_declared_once_in_a_project_or_an_organisation() {
    for (path, may_be) in [
        ("org/a", true),
        ("org/a/project/b", true),
        ("org/a/project/b/worktree/c", false),
        ("org/a/project/b/worktree/c/task/d", false),
    ] {
        let mut state = State::new(&Scope::parse(path).unwrap(), None, None);
        let applies = |state: &State, name: &str| event_applies(state, &declared(name)).is_ok();
        assert_eq!(applies(&state, "CAUSES"), may_be, "{path}");
        let at = Stamped {
            seq: Seq::new(1),
            time: Timestamp::EPOCH,
            actor: actor(PrincipalKind::Human),
        };
        state.apply(&declared("CAUSES"), &at);
        assert!(!applies(&state, "CAUSES"), "{path}");
        assert_eq!(applies(&state, "BREAKS"), may_be, "{path}");
    }
}

#[test]
fn whoever_may_save_a_lock_may_have_declared_a_kind() {
    for path in ["org/a", "org/a/project/b"] {
        let scope = Scope::parse(path).unwrap();
        for kind in PrincipalKind::ALL {
            let permitted = command_permitted(&scope, &actor(kind), &[declared("CAUSES")]);
            let may = allows(kind, Access::Save(Rank::Lock), scope.level());
            assert_eq!(permitted.is_ok(), may, "{kind} {path}");
        }
    }
}
