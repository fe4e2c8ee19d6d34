//! What holds again beside another entry that has its text by now.

use super::{
    World, answer, entry, human, project, promotion, publish, publish_asking, questions, supersede,
    undo,
};
use crate::command::{AnswerBody, Replacement, Submission};
use crate::entry::{Claim, Status, Table};
use crate::error::ErrorCode;
use crate::facts::{Facts, Need, needs};
use crate::id::EntryId;
use crate::limits::{FACT_ROUNDS_MAX, UNCOVERED_MAX};
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;
use crate::promotion::{Disposition, NewEntry};
use crate::review::Question;
use crate::state::State;

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

/// The same text, with another claim.
fn claims(value: &str) -> NewEntry {
    NewEntry {
        claim: Some(Claim {
            key: "http.port".into(),
            value: value.into(),
        }),
        ..entry(Table::Observations, "the service listens on one port")
    }
}

#[test]
fn what_holds_again_is_found_by_its_text_where_what_replaced_it_has_the_same() {
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

#[test]
fn what_holds_again_beside_its_text_with_another_claim_contradicts_it() {
    let mut world = project();
    let (old, _) = world.put(PrincipalKind::Human, claims("80")).unwrap();
    let (named, raised) = publish_asking(&mut world, promotion("one", &[claims("81")]));
    let [(review, Question::Contradiction { .. })] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    world
        .give(PrincipalKind::Human, answer(*review, true, None))
        .unwrap();
    let (third, disposition) = world.put(PrincipalKind::Human, claims("82")).unwrap();
    assert!(
        matches!(disposition, Disposition::Contradicts { other } if other != old),
        "{disposition:?}"
    );
    let raised = questions(&mut world, PrincipalKind::Human, undo(&named));
    let [(review, Question::Contradiction { new, known, .. })] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    assert_eq!((*new, *known), (old, third));
    // Whoever approves has one of the two hold, and nothing is merged.
    world
        .give(PrincipalKind::Human, answer(*review, true, Some(third)))
        .unwrap();
    let status = |id: EntryId| world.state.head(id).unwrap().status;
    assert!(status(third).is_live() && !status(old).is_live());
}

/// How often something is asked for until a command can be decided, where nothing of the scope is at hand.
fn rounds(world: &World, submission: &Submission) -> usize {
    let row = world.state.row().clone();
    let mut state = State::new(world.state.scope(), Some(row), None);
    let mut facts = Facts {
        spoken: WireVersion::NEWEST,
        ..Facts::default()
    };
    for round in 0.. {
        let missing = needs(&state, submission, &facts);
        if missing.is_empty() {
            return round;
        }
        for need in missing {
            answer_from(world, need, &mut state, &mut facts);
        }
    }
    unreachable!("it comes to an end")
}

fn answer_from(world: &World, need: Need, state: &mut State, facts: &mut Facts) {
    match need {
        Need::Head(id) => state.learn_head(id, world.state.head(id).cloned()),
        Need::ByHash(key) => state.learn_hash(key, world.state.by_hash(&key)),
        Need::Version(id, _) => {
            let found = world.versions.get(&id).cloned();
            facts.versions.insert(id, found);
        }
        Need::Verification(named) => {
            let found = world.verifications.get(&named).cloned();
            facts.verifications.insert(named, found);
        }
        Need::Mark(source, id) => {
            let mark = (source, id);
            let found = world.marks.get(&mark).cloned();
            facts.marks.insert(mark, found);
        }
        Need::Merges(_) => facts.merges = Some(world.merges.clone()),
        Need::Retirement(entry, _) => drop(facts.retirements.insert(entry, None)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_longest_line_that_is_looked_through_is_known_within_the_rounds_that_there_are() {
    let mut world = project();
    let first = human(&mut world, Table::Observations, "the linker is ld");
    let oldest = human(&mut world, Table::Observations, "the linker is lld");
    let replace = supersede(first, 1, Replacement::Existing(oldest));
    world.give(PrincipalKind::Human, replace).unwrap();
    let (mut made, mut last) = (Vec::new(), oldest);
    for number in 0..UNCOVERED_MAX {
        let fact = entry(Table::Observations, &format!("the linker is mold {number}"));
        let named = publish(&mut world, promotion(&format!("run {number}"), &[fact]));
        let products = &world.marks[&(named.task.clone(), named.id)].products;
        let id = products[1].entry.unwrap();
        let replace = supersede(last, 1, Replacement::Existing(id));
        world.give(PrincipalKind::Human, replace).unwrap();
        last = id;
        made.push(named);
    }
    let top = made.pop().unwrap();
    for named in &made {
        world.give(PrincipalKind::Human, undo(named)).unwrap();
    }
    let again = human(&mut world, Table::Observations, "the linker is lld");
    assert_ne!(again, oldest);
    let submission = world.submission(PrincipalKind::Human, undo(&top));
    let taken = rounds(&world, &submission);
    assert!(taken <= FACT_ROUNDS_MAX, "{taken}");
    let raised = questions(&mut world, PrincipalKind::Human, undo(&top));
    let [(_, Question::Merge { new, known, .. })] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    assert_eq!((*new, *known), (oldest, again));
}
