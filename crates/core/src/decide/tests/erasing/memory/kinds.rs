//! Erasing what kinds of relations mean: their names and reaches stay, and so does whatever is of that kind.

use super::*;
use crate::decision::{DeclaredKind, DeclaredRelation, Reach};

fn kind(text: &str) -> DeclaredKind {
    DeclaredKind {
        name: text.parse().unwrap(),
        reach: Reach::Backward,
    }
}

/// Declares a kind that means `word`: its name.
pub(super) fn declared(world: &mut World, text: &str, word: &str) -> RelationName {
    let DeclaredKind { name, reach } = kind(text);
    let meaning = format!("what {word} brings about");
    let command = Command::DeclareRelation {
        name,
        reach,
        meaning,
    };
    assert_eq!(world.give(Human, command), Ok(AnswerBody::Done));
    name
}

/// The order to erase what these kinds mean, and nothing else.
fn kinds(names: &[RelationName]) -> Command {
    order_with(&[], &[], &[], names)
}

/// A decision that is related to another one by a kind.
fn joined(kind: DeclaredKind, to: DecisionId) -> NewDecision {
    let mut joined = text("plain");
    joined.relations = vec![Relation {
        kind: RelationKind::Declared(kind),
        to: to_decision(to),
    }];
    joined
}

#[test]
fn what_a_kind_means_goes_and_all_else_of_it_stays() {
    let mut world = World::new(PROJECT);
    let base = begun(&mut world, text("base"));
    let name = declared(&mut world, "CAUSES", WORD);
    let other = declared(&mut world, "BREAKS", "harmless");
    begun(&mut world, joined(kind("CAUSES"), base));
    let known = world.state.declared(name).unwrap().clone();
    let before = view(&world.changes);
    assert!(holds(&world, WORD.as_bytes()));

    assert_eq!(world.give(Human, kinds(&[name])), Ok(erased(1, 0)));
    assert!(!holds(&world, WORD.as_bytes()) && holds(&world, b"harmless"));
    let left = DeclaredRelation {
        meaning: String::new(),
        ..known
    };
    assert!(left.is_erased() && left.kind() == kind("CAUSES"));
    assert_eq!(world.state.declared(name), Some(&left));
    assert!(!world.state.declared(other).unwrap().is_erased());
    let after = view(&world.changes);
    for (key, value) in &before {
        let is_it = key == "kind CAUSES";
        assert_eq!(after.get(key) == Some(value), !is_it, "{key}");
    }
    check_folds(&world);
}

#[test]
fn a_kind_whose_meaning_is_gone_is_used_as_before_and_is_not_declared_again() {
    let mut world = World::new(PROJECT);
    let base = begun(&mut world, text("base"));
    let name = declared(&mut world, "CAUSES", WORD);
    world.give(Human, kinds(&[name])).unwrap();
    begun(&mut world, joined(kind("CAUSES"), base));
    let otherwise = DeclaredKind {
        reach: Reach::Neither,
        ..kind("CAUSES")
    };
    let refused = refused(&mut world, Human, save(None, joined(otherwise, base), ""));
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    let again = Command::DeclareRelation {
        name,
        reach: Reach::Backward,
        meaning: "something else".into(),
    };
    let declared_before = world.give(Human, again).unwrap_err();
    assert_eq!(declared_before.code, ErrorCode::Conflict);
    check_folds(&world);
}

#[test]
fn a_kind_counts_once_and_one_that_was_erased_before_as_such() {
    let mut world = World::new(PROJECT);
    let [first, second] = ["CAUSES", "BREAKS"].map(|text| declared(&mut world, text, WORD));
    let twice = kinds(&[first, first]);
    assert_eq!(world.give(Human, twice.clone()), Ok(erased(1, 0)));
    let before = world.events.len();
    assert_eq!(world.give(Human, twice), Ok(erased(0, 1)));
    assert_eq!(world.events.len(), before, "nothing follows from it");
    let original = evidence(&mut world, WORD, 1);
    let mixed = order_with(&[], &[original], &[], &[first, second]);
    assert_eq!(world.give(Human, mixed), Ok(erased(2, 1)));
    assert!(!holds(&world, WORD.as_bytes()));
    check_folds(&world);
}

#[test]
fn only_what_the_scope_itself_declared_is_erased_and_nothing_beside_what_is_not_there() {
    let mut org = World::new("org/a");
    let around = declared(&mut org, "REPLACES", WORD);
    let row = org.state.declared(around).unwrap().clone();
    let mut world = World::new(PROJECT);
    let above = (Scope::parse("org/a").unwrap(), around);
    world.declared_elsewhere.insert(above, row);
    let name = declared(&mut world, "CAUSES", WORD);
    let unknown = "BREAKS".parse().unwrap();
    for other in [around, unknown] {
        let refused = refused(&mut world, Human, kinds(&[name, other]));
        assert_eq!(refused.code, ErrorCode::NotFound, "{other}");
        assert!(refused.message.contains(other.as_str()), "{refused}");
    }
    assert!(holds(&world, WORD.as_bytes()));
    assert_eq!(org.give(Human, kinds(&[around])), Ok(erased(1, 0)));
}

#[test]
fn only_people_erase_what_a_kind_means() {
    for principal in PrincipalKind::ALL {
        let mut world = World::new(PROJECT);
        let name = declared(&mut world, "CAUSES", WORD);
        match world.give(principal, kinds(&[name])) {
            Ok(answer) => assert_eq!((principal, answer), (Human, erased(1, 0))),
            Err(refused) => {
                assert_ne!(principal, Human);
                assert_eq!(refused.rule(), Some("control/erase"));
            }
        }
    }
}

#[test]
fn the_declaration_is_asked_for_and_then_the_event_of_it_alone() {
    let mut world = World::new(PROJECT);
    evidence(&mut world, "plain", 1);
    let name = declared(&mut world, "CAUSES", WORD);
    let unknown: RelationName = "BREAKS".parse().unwrap();
    let submission = world.submission(Human, kinds(&[name, unknown]));
    let asked = needs(&world.state, &submission, &Facts::default());
    let here = Scope::parse(PROJECT).unwrap();
    let seq = world.state.declared(name).unwrap().seq;
    let expected = [
        Need::DeclaredRelation(here, unknown),
        Need::Events(vec![seq]),
    ];
    assert_eq!(asked, expected);
}

#[test]
fn an_event_that_did_not_declare_it_is_a_defect_and_erases_nothing() {
    let mut world = World::new(PROJECT);
    let name = declared(&mut world, "CAUSES", WORD);
    let other = declared(&mut world, "BREAKS", WORD);
    let submission = world.submission(Human, kinds(&[name]));
    let (seq, stray) = [name, other]
        .map(|name| world.state.declared(name).unwrap().seq)
        .into();
    let config = crate::config::RulesConfig::default();
    for found in [world.event(stray), None] {
        let mut facts = world.facts(&submission);
        facts.events.insert(seq, found);
        let decided = crate::decide::decide(&world.state, &submission, &facts, &config, world.now);
        assert_eq!(decided.unwrap_err().code, ErrorCode::Internal);
    }
}
