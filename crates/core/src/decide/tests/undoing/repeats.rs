//! What holds again beside another entry that has its text by now.

use super::{
    answer, entry, human, project, promotion, publish, publish_asking, questions, supersede, undo,
};
use crate::command::{AnswerBody, Replacement};
use crate::entry::{Claim, Status, Table};
use crate::error::ErrorCode;
use crate::principal::PrincipalKind;
use crate::promotion::{Disposition, NewEntry};
use crate::review::Question;

#[test]
fn a_person_is_asked_about_what_holds_again_beside_its_own_text() {
    let mut world = project();
    let old = human(&mut world, Table::Observations, "the linker is lld");
    let fact = entry(Table::Observations, "the linker is mold");
    let named = publish(&mut world, promotion("one", &[fact]));
    let products = &world.marks[&(named.task.clone(), named.id)].products;
    let new = products[1].entry.unwrap();
    let replace = supersede(old, 1, Replacement::Existing(new));
    world.give(PrincipalKind::Human, replace).unwrap();
    let again = human(&mut world, Table::Observations, "the linker is lld");
    assert_ne!(again, old, "what is deprecated takes no merge");

    let raised = questions(&mut world, PrincipalKind::Human, undo(&named));
    let [(review, question)] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    let same_text = Question::Merge {
        new: old,
        known: again,
        cosine: 1.0,
    };
    assert_eq!(*question, same_text);
    for id in [old, again] {
        assert_eq!(world.state.head(id).unwrap().status, Status::Verified);
    }
    let twice = world.give(PrincipalKind::Human, undo(&named)).unwrap_err();
    assert_eq!(twice.code, ErrorCode::Conflict, "nobody is asked twice");

    world
        .give(PrincipalKind::Human, answer(*review, true, None))
        .unwrap();
    assert_eq!(world.state.head(old).unwrap().status, Status::Archived);
    assert!(world.state.head(again).unwrap().status.is_live());
}

#[test]
fn nobody_is_asked_about_what_holds_again_alone() {
    let mut world = project();
    let old = human(&mut world, Table::Observations, "the linker is lld");
    let fact = entry(Table::Observations, "the linker is mold");
    let named = publish(&mut world, promotion("one", &[fact]));
    let products = &world.marks[&(named.task.clone(), named.id)].products;
    let new = products[1].entry.unwrap();
    let replace = supersede(old, 1, Replacement::Existing(new));
    world.give(PrincipalKind::Human, replace).unwrap();
    let raised = questions(&mut world, PrincipalKind::Human, undo(&named));
    assert!(raised.is_empty(), "{raised:?}");
    assert!(world.state.head(old).unwrap().links.is_empty());
}

#[test]
fn what_holds_again_is_found_by_its_text_where_what_replaced_it_has_the_same() {
    let claims = |value: &str| NewEntry {
        claim: Some(Claim {
            key: "http.port".into(),
            value: value.into(),
        }),
        ..entry(Table::Observations, "the service listens on one port")
    };
    let mut world = project();
    let (old, _) = world.put(PrincipalKind::Human, claims("80")).unwrap();
    let (named, raised) = publish_asking(&mut world, promotion("one", &[claims("81")]));
    let [(review, Question::Contradiction { .. })] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    world
        .give(PrincipalKind::Human, answer(*review, true, None))
        .unwrap();
    assert_eq!(world.state.head(old).unwrap().status, Status::Deprecated);
    let undone = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone { restored, .. } = undone else {
        panic!("{undone:?}")
    };
    assert_eq!(restored, [old]);
    let written = world.put(PrincipalKind::Human, claims("80")).unwrap();
    assert_eq!(written, (old, Disposition::Merged { cosine: 1.0 }));
}
