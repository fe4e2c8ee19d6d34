//! Kinds of relations: who declares them and where, and which of them a decision may use.

use proptest::prelude::*;

use super::*;
use crate::decision::DeclaredKind;
use crate::event::{Body, EventKind};
use crate::facts::{Facts, Need, needs};
use crate::limits::SHORT_TEXT_BYTES_MAX;

const HUMAN: PrincipalKind = PrincipalKind::Human;
const SIBLING: &str = "org/a/project/other";

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn declares(text: &str, reach: Reach) -> Command {
    Command::DeclareRelation {
        name: name(text),
        reach,
        meaning: "one leads to the other".into(),
    }
}

fn kind(text: &str, reach: Reach) -> RelationKind {
    RelationKind::Declared(DeclaredKind {
        name: name(text),
        reach,
    })
}

/// Has another scope declare a kind.
fn declared_in(world: &mut World, path: &str, text: &str, reach: Reach) {
    let named = (scope(path), name(text));
    let declared = stored(text, reach);
    world.declared_elsewhere.insert(named, declared);
}

/// A decision of the organisation, for others to be related to.
fn base(world: &mut World) -> Node {
    let node = |root| Node::Decision {
        scope: scope(ORG),
        root,
    };
    if *world.state.scope() == scope(ORG) {
        return node(begun(world, HUMAN, normal("Use axum")));
    }
    let mut org = World::new(ORG);
    let root = begun(&mut org, HUMAN, normal("Use axum"));
    let head = org.state.decision(root).unwrap().clone();
    world.decisions_elsewhere.insert((scope(ORG), root), head);
    node(root)
}

fn related(kinds: &[RelationKind], to: &Node) -> NewDecision {
    let relation = |kind: &RelationKind| Relation {
        kind: *kind,
        to: to.clone(),
    };
    NewDecision {
        relations: kinds.iter().map(relation).collect(),
        ..normal("Cap retries")
    }
}

fn code_of(given: Result<AnswerBody, Error>) -> Option<ErrorCode> {
    given.err().map(|refused| refused.code)
}

fn asked(world: &mut World, command: Command) -> Vec<Need> {
    let submission = world.submission(HUMAN, command);
    needs(&world.state, &submission, &Facts::default())
}

#[test]
fn a_kind_is_declared_by_whoever_may_save_a_lock() {
    let (up_to_project, of_org) = ("control/save_lock_up_to_project", "control/save_lock_org");
    let orchestrator = PrincipalKind::Orchestrator;
    for (path, allowed, rule) in [
        (PROJECT, &[orchestrator, HUMAN][..], up_to_project),
        (ORG, &[HUMAN][..], of_org),
    ] {
        for who in PrincipalKind::ALL {
            let mut world = World::new(path);
            let given = world.give(who, declares("CAUSES", Reach::Forward));
            let known = world.state.declared(name("CAUSES"));
            if allowed.contains(&who) {
                assert_eq!(given, Ok(AnswerBody::Done), "{who} {path}");
                let known = known.unwrap();
                assert_eq!((known.by.kind, known.reach), (who, Reach::Forward));
                assert_eq!(known.seq, world.state.row().tip.seq);
            } else {
                assert_eq!(given.unwrap_err().rule(), Some(rule), "{who} {path}");
                assert_eq!(known, None);
            }
        }
    }
}

#[test]
fn a_kind_is_declared_in_a_project_or_an_organisation_alone() {
    for path in [TASK, WORKTREE] {
        let mut world = World::new(path);
        let command = declares("CAUSES", Reach::Forward);
        assert_eq!(asked(&mut world, command.clone()), [], "{path}");
        let refused = world.give(HUMAN, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidScope, "{path}");
    }
}

#[test]
fn a_declaration_is_one_event_and_says_its_meaning_without_secrets() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let mut world = World::new(PROJECT);
    let means = |meaning: &str| Command::DeclareRelation {
        name: name("causes"),
        reach: Reach::Backward,
        meaning: meaning.into(),
    };
    for (meaning, code) in [
        ("", ErrorCode::InvalidArgument),
        (" \n", ErrorCode::InvalidArgument),
        (&"m".repeat(SHORT_TEXT_BYTES_MAX + 1), ErrorCode::TooLarge),
    ] {
        let given = world.give(HUMAN, means(meaning));
        assert_eq!(code_of(given), Some(code), "{meaning:?}");
    }
    let said = means(&format!("seen with {secret}"));
    assert!(said.size_bytes() > secret.len());
    world.give(HUMAN, said).unwrap();
    assert_eq!(world.events.len(), 1);
    let body = world.events[0].decode_body().unwrap().unwrap();
    assert_eq!(body.kind(), EventKind::RelationDeclared);
    assert_eq!(body.kind().as_str(), "RELATION_DECLARED");
    let Body::RelationDeclared { meaning, .. } = &body else {
        panic!("{body:?}")
    };
    assert!(meaning.starts_with("seen with [masked:"), "{meaning}");
    let known = world.state.declared(name("CAUSES")).unwrap();
    assert_eq!(&known.meaning, meaning);
    assert!(!format!("{known:?}").contains(&secret));
}

#[test]
fn the_stored_forms_of_a_declaration_never_change() {
    let (name, reach) = (name("CAUSES"), Reach::Backward);
    let meaning = || "m".to_owned();
    let said = b"\x06CAUSES\x01\x01m";
    let body = Body::RelationDeclared {
        name,
        reach,
        meaning: meaning(),
    };
    let bytes = postcard::to_allocvec(&body).unwrap();
    assert_eq!(bytes, [&[32], &said[..]].concat());
    let command = Command::DeclareRelation {
        name,
        reach,
        meaning: meaning(),
    };
    let bytes = postcard::to_allocvec(&command).unwrap();
    assert_eq!(bytes, [&[30], &said[..]].concat());
}

#[test]
fn a_name_that_is_a_secret_is_neither_declared_nor_used_nor_told() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["AKI", "AIOSFODNN7EXAMPLE"].concat();
    let mut world = World::new(PROJECT);
    let base = base(&mut world);
    let uses = related(
        &[RelationKind::DependsOn, kind(&secret, Reach::Both)],
        &base,
    );
    for command in [declares(&secret, Reach::Both), begin(uses)] {
        let refused = world.give(HUMAN, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert!(!format!("{refused:?}").contains(&secret), "{refused:?}");
    }
}

#[test]
fn a_name_that_is_taken_is_not_declared_and_may_have_been() {
    let mut world = World::new(PROJECT);
    let base = base(&mut world);
    for taken in ["RESTS_ON", "CAUSED", "IMPORTS"] {
        let declared = Command::DeclareRelation {
            name: RelationName::stored(taken).unwrap(),
            reach: Reach::Both,
            meaning: "one leads to the other".into(),
        };
        let refused = world.give(HUMAN, declared).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
    }
    // Declared before it was taken.
    let name = RelationName::stored("IMPORTS").unwrap();
    let known = stored("CAUSES", Reach::Both);
    let known = DeclaredRelation { name, ..known };
    world.declared_elsewhere.insert((scope(ORG), name), known);
    let reach = Reach::Both;
    let imports = RelationKind::Declared(DeclaredKind { name, reach });
    world
        .give(HUMAN, begin(related(&[imports], &base)))
        .unwrap();
}

#[test]
fn what_the_scope_or_one_around_it_has_declared_is_declared_once() {
    let mut world = World::new(PROJECT);
    declared_in(&mut world, ORG, "BREAKS", Reach::Both);
    declared_in(&mut world, SIBLING, "CAUSES", Reach::Both);
    declared_in(&mut world, TASK, "CAUSES", Reach::Both);
    world
        .give(HUMAN, declares("CAUSES", Reach::Forward))
        .unwrap();
    let before = world.state.row().tip;
    for (text, declarer) in [("CAUSES", PROJECT), ("BREAKS", ORG), ("breaks", ORG)] {
        for reach in Reach::ALL {
            let refused = world.give(HUMAN, declares(text, reach)).unwrap_err();
            assert_eq!(current(&refused), None);
            let begins = format!("{declarer} has declared");
            assert!(refused.message.starts_with(&begins), "{refused}");
        }
    }
    assert_eq!(world.state.row().tip, before);
    let known = world.state.declared(name("CAUSES")).unwrap();
    assert_eq!(known.reach, Reach::Forward);
    // What scopes inside it have declared hinders no organisation.
    let mut org = World::new(ORG);
    declared_in(&mut org, PROJECT, "CAUSES", Reach::Both);
    org.give(HUMAN, declares("CAUSES", Reach::Forward)).unwrap();
}

#[test]
fn nothing_is_asked_of_scopes_whose_declarations_do_not_count() {
    let need = |path: &str| Need::DeclaredRelation(scope(path), name("CAUSES"));
    let own_and_org = [need(PROJECT), need(ORG)];
    let both = [PROJECT, TASK].map(|path| {
        let mut world = World::new(path);
        let to = Node::file("src/a.rs").unwrap();
        let kinds = [Reach::Forward, Reach::Both].map(|reach| kind("CAUSES", reach));
        asked(&mut world, begin(related(&kinds, &to)))
    });
    assert_eq!(both, [own_and_org.clone(), own_and_org.clone()]);
    let mut world = World::new(PROJECT);
    let command = declares("CAUSES", Reach::Forward);
    assert_eq!(asked(&mut world, command.clone()), own_and_org);
    assert_eq!(asked(&mut World::new(ORG), command.clone()), [need(ORG)]);
    // Where the nearest is known, none further out counts.
    world.give(HUMAN, command.clone()).unwrap();
    assert_eq!(asked(&mut world, command), []);
    // Nor does it matter where the relation stays.
    let mut world = World::new(TASK);
    let base = base(&mut world);
    declared_in(&mut world, ORG, "CAUSES", Reach::Forward);
    let said = related(&[kind("CAUSES", Reach::Forward)], &base);
    let root = begun(&mut world, HUMAN, said.clone());
    assert!(asked(&mut world, begin(said.clone())).contains(&need(ORG)));
    assert_eq!(asked(&mut world, change(root, 1, said)), []);
}

#[test]
fn an_earlier_command_of_a_batch_declares_what_a_later_one_uses() {
    let mut world = World::new(PROJECT);
    world.in_batch = true;
    let base = base(&mut world);
    let uses = related(&[kind("CAUSES", Reach::Forward)], &base);
    let refused = world.give(HUMAN, begin(uses.clone())).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert!(refused.message.contains("no relation CAUSES"), "{refused}");
    world
        .give(HUMAN, declares("CAUSES", Reach::Forward))
        .unwrap();
    world.give(HUMAN, begin(uses)).unwrap();
    let again = world.give(HUMAN, declares("CAUSES", Reach::Forward));
    assert_eq!(code_of(again), Some(ErrorCode::Conflict));
}

#[test]
fn a_relation_that_a_decision_had_may_stay_and_a_further_one_is_as_the_nearest_scope_declares() {
    let mut world = World::new(TASK);
    let base = base(&mut world);
    declared_in(&mut world, ORG, "CAUSES", Reach::Forward);
    let [old, new] = [Reach::Forward, Reach::Both].map(|reach| kind("CAUSES", reach));
    let root = begun(&mut world, HUMAN, related(&[old], &base));
    let plain = begun(&mut world, HUMAN, normal("x"));
    declared_in(&mut world, PROJECT, "CAUSES", Reach::Both);
    for command in [
        begin(related(&[old], &base)),
        change(plain, 1, related(&[old], &base)),
    ] {
        let refused = world.give(HUMAN, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        let why = "org/a/project/b has declared the relation CAUSES both, not forward";
        assert_eq!(refused.message, why);
    }
    world
        .give(HUMAN, change(root, 1, related(&[old], &base)))
        .unwrap();
    world.give(HUMAN, deactivate(root, 2)).unwrap();
    world.give(HUMAN, restore(root, 3, 1)).unwrap();
    world
        .give(HUMAN, change(root, 4, related(&[old, new], &base)))
        .unwrap();
    // Once it was given up, what is restored would declare it anew.
    world
        .give(HUMAN, change(root, 5, related(&[new], &base)))
        .unwrap();
    world.give(HUMAN, deactivate(root, 6)).unwrap();
    let refused = world.give(HUMAN, restore(root, 7, 1));
    assert_eq!(code_of(refused), Some(ErrorCode::InvalidArgument));
    world.give(HUMAN, restore(root, 7, 6)).unwrap();
}

#[test]
fn nothing_is_declared_or_used_while_older_nodes_would_not_read_it() {
    let mut world = World::new(PROJECT);
    let base = base(&mut world);
    declared_in(&mut world, ORG, "CAUSES", Reach::Forward);
    world.spoken = WireVersion::WITH_DECISIONS;
    let uses = related(&[kind("CAUSES", Reach::Forward)], &base);
    for command in [declares("BREAKS", Reach::Forward), begin(uses.clone())] {
        let given = world.give(HUMAN, command);
        assert_eq!(code_of(given), Some(ErrorCode::Unavailable));
    }
    let depends = related(&[RelationKind::DependsOn], &base);
    world.give(HUMAN, begin(depends)).unwrap();
    world.spoken = WireVersion::WITH_EVIDENCE;
    for command in [declares("BREAKS", Reach::Forward), begin(uses)] {
        world.give(HUMAN, command).unwrap();
    }
}

fn any_reach() -> impl Strategy<Value = Reach> {
    proptest::sample::select(Reach::ALL.to_vec())
}

fn any_name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["CAUSES", "BREAKS", "CAUSE"])
}

proptest! {
    #[test]
    fn a_kind_is_used_as_the_nearest_scope_outward_declares_it(
        path in proptest::sample::select(vec![TASK, WORKTREE, PROJECT, ORG]),
        declared in proptest::collection::btree_map(
            (proptest::sample::select(vec![PROJECT, ORG, SIBLING]), any_name()), any_reach(), 0..6,
        ),
        (used, reach) in (any_name(), any_reach()),
    ) {
        let mut world = World::new(path);
        let base = base(&mut world);
        for ((declarer, text), reach) in &declared {
            if *declarer == path {
                world.state.learn_declared(name(text), Some(stored(text, *reach)));
            } else {
                declared_in(&mut world, declarer, text, *reach);
            }
        }
        let seen = if path == ORG { &[ORG][..] } else { &[PROJECT, ORG] };
        let nearest = seen.iter().find_map(|declarer| declared.get(&(*declarer, used)));
        let given = world.give(HUMAN, begin(related(&[kind(used, reach)], &base)));
        let wanted = (nearest != Some(&reach)).then_some(ErrorCode::InvalidArgument);
        prop_assert_eq!(code_of(given), wanted);
    }

    #[test]
    fn of_any_declarations_the_first_of_each_name_stands(
        around in proptest::collection::btree_map(any_name(), any_reach(), 0..3),
        own in proptest::collection::vec((any_name(), any_reach()), 0..8),
    ) {
        let mut world = World::new(PROJECT);
        for (text, reach) in &around {
            declared_in(&mut world, ORG, text, *reach);
        }
        let mut first = std::collections::BTreeMap::new();
        for (text, reach) in own {
            let is_new = !around.contains_key(text) && !first.contains_key(text);
            let wanted = (!is_new).then_some(ErrorCode::Conflict);
            prop_assert_eq!(code_of(world.give(HUMAN, declares(text, reach))), wanted);
            if is_new {
                first.insert(text, reach);
            }
        }
        for text in ["CAUSES", "BREAKS", "CAUSE"] {
            let known = world.state.declared(name(text)).map(|known| known.reach);
            prop_assert_eq!(known, first.get(text).copied());
        }
        prop_assert_eq!(world.events.len(), first.len());
    }
}
