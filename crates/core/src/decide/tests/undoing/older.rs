//! Promotions that are taken back beside nodes that do not read of entries that come back.

use super::{Merged, Step, approved_merge, entry, project, promotion, publish, take, undo};
use crate::command::AnswerBody;
use crate::entry::{Status, Table};
use crate::error::ErrorCode;
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;

#[test]
fn beside_older_nodes_an_undoing_leaves_what_maintenance_took_out_and_reaches_it_later() {
    let mut world = project();
    let facts = ["the linker is mold", "CI runs on arm"];
    let facts = facts.map(|text| entry(Table::Observations, text));
    let named = publish(&mut world, promotion("one", &facts));
    let products = world.marks[&(named.task.clone(), named.id)]
        .products
        .clone();
    let [aged, held] = [1, 2].map(|place: usize| products[place].entry.unwrap());
    take(&mut world, Step::Retire, &named, &[aged]);
    world.spoken = WireVersion::WITH_ERASURE;
    let answer = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone { retired, left, .. } = answer else {
        panic!("{answer:?}");
    };
    assert!(retired.contains(&held) && !retired.contains(&aged));
    assert_eq!(left, [aged]);
    // Nothing else is left of it: it waits for those nodes, and is not over.
    world.spoken = WireVersion::WITH_ERASURE;
    let refused = world.give(PrincipalKind::Human, undo(&named)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable, "{refused}");
    world.spoken = WireVersion::NEWEST;
    let answer = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone { retired, .. } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(retired, [aged]);
}

#[test]
fn beside_older_nodes_an_undoing_leaves_what_was_merged_into_an_aged_entry_and_reaches_it_later() {
    let mut world = project();
    let Merged { named, before } = approved_merge(&mut world);
    let known = before.id;
    let merged = world.state.head(known).unwrap().trust.clone();
    take(&mut world, Step::Retire, &named, &[known]);
    world.spoken = WireVersion::WITH_ERASURE;
    let answer = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone { revised, left, .. } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((revised.len(), left.as_slice()), (0, [known].as_slice()));
    let held = world.state.head(known).unwrap();
    assert_eq!(
        (held.status, &held.trust.counted),
        (Status::Archived, &merged.counted)
    );
    world.spoken = WireVersion::WITH_ERASURE;
    let refused = world.give(PrincipalKind::Human, undo(&named)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable, "{refused}");

    world.spoken = WireVersion::NEWEST;
    let answer = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone { revised, .. } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(revised, [known]);
    let after = world.state.head(known).unwrap();
    assert_eq!(after.status, Status::Archived);
    assert_eq!(after.trust.validation_count, 2);
    assert_eq!(after.citations, before.citations);
}
