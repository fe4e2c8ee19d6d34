//! What decisions may be related to.

use super::*;
use crate::decision::DeclaredKind;
use crate::error::ErrorCode;
use crate::facts::{Facts, Need, needs};
use crate::id::EvidenceId;
use crate::limits::RELATIONS_MAX;

const HUMAN: PrincipalKind = PrincipalKind::Human;

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn decision(path: &str, root: DecisionId) -> Node {
    Node::Decision {
        scope: scope(path),
        root,
    }
}

fn evidence(path: &str, id: EvidenceId) -> Node {
    Node::Evidence {
        scope: scope(path),
        id,
    }
}

fn related(kind: RelationKind, to: Node) -> NewDecision {
    NewDecision {
        relations: vec![Relation { kind, to }],
        ..normal("Cap retries")
    }
}

fn depends(to: Node) -> NewDecision {
    related(RelationKind::DependsOn, to)
}

/// A world of a task, beside which the project and the organisation hold a decision each, and a sibling as well.
fn nested() -> (World, [Node; 3]) {
    let mut world = World::task();
    let at = [PROJECT, ORG, "org/a/project/other"].map(|path| {
        let mut other = World::new(path);
        let root = begun(&mut other, HUMAN, normal("Use axum"));
        let head = other.state.decision(root).unwrap().clone();
        world.decisions_elsewhere.insert((scope(path), root), head);
        decision(path, root)
    });
    (world, at)
}

/// A conflict with what another decision is, which is named. Its version is none that a write of this one could name.
fn is_of_another(refused: &Error, other: &Node) {
    assert_eq!(current(refused), None, "{refused}");
    assert!(refused.message.contains(&other.to_string()), "{refused}");
}

#[test]
fn a_kind_leads_to_what_it_is_meant_for() {
    let mut world = World::new(PROJECT);
    let root = begun(&mut world, HUMAN, normal("Use axum"));
    let file = Node::file("src/main.rs").unwrap();
    let symbol = Node::symbol("main", Some("src/main.rs")).unwrap();
    let id = EvidenceId::from_bytes([7; 16]);
    world.learn_evidence(id);
    let evidence = evidence(PROJECT, id);
    let name = name("CAUSES");
    let kind = DeclaredKind {
        name,
        reach: Reach::Both,
    };
    let declares = Command::DeclareRelation {
        name,
        reach: kind.reach,
        meaning: "m".into(),
    };
    world.give(HUMAN, declares).unwrap();
    let declared = RelationKind::Declared(kind);
    for kind in RelationKind::BUILT_IN.into_iter().chain([declared]) {
        let places = kind == RelationKind::AppliesTo;
        let rests = kind == RelationKind::RestsOn;
        for (node, is_taken) in [
            (decision(PROJECT, root), !places && !rests),
            (file.clone(), places),
            (symbol.clone(), places),
            (evidence.clone(), rests),
        ] {
            let given = world.give(HUMAN, begin(related(kind, node.clone())));
            let code = given.err().map(|refused| refused.code);
            let wanted = (!is_taken).then_some(ErrorCode::InvalidArgument);
            assert_eq!(code, wanted, "{kind} {node}");
        }
    }
}

#[test]
fn relations_are_some_and_different_and_lead_away() {
    let mut world = World::new(PROJECT);
    let root = begun(&mut world, HUMAN, normal("Use axum"));
    let refused = world.give(HUMAN, change(root, 1, depends(decision(PROJECT, root))));
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
    let file = |number: usize| Relation {
        kind: RelationKind::AppliesTo,
        to: Node::file(&format!("src/{number}.rs")).unwrap(),
    };
    let with = |relations: Vec<Relation>| NewDecision {
        relations,
        ..normal("x")
    };
    let twice = with(vec![file(1), file(2), file(1)]);
    let refused = world.give(HUMAN, begin(twice)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    let many = |count| with((0..count).map(file).collect());
    world.give(HUMAN, begin(many(RELATIONS_MAX))).unwrap();
    let refused = world
        .give(HUMAN, begin(many(RELATIONS_MAX + 1)))
        .unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge);
}

#[test]
fn a_place_that_would_be_read_as_another_is_refused() {
    let mut world = World::new(PROJECT);
    for odd in [
        Node::File {
            path: "/etc/passwd".into(),
        },
        Node::File {
            path: "src/../../x".into(),
        },
        Node::File {
            path: "./src/x.rs".into(),
        },
        Node::File {
            path: String::new(),
        },
        Node::Symbol {
            name: "a@b".into(),
            file: None,
        },
        Node::Symbol {
            name: "a".into(),
            file: Some("b//c".into()),
        },
    ] {
        let given = world.give(HUMAN, begin(related(RelationKind::AppliesTo, odd.clone())));
        assert_eq!(given.unwrap_err().code, ErrorCode::InvalidArgument, "{odd}");
    }
}

#[test]
fn what_is_not_seen_is_not_told_apart_from_what_is_not_there() {
    let (mut world, [project, org, sibling]) = nested();
    for seen in [project, org] {
        world.give(HUMAN, begin(depends(seen))).unwrap();
    }
    let nowhere = DecisionId::from_bytes([9; 16]);
    let below = format!("{TASK}x");
    let mut refusals = Vec::new();
    for gone in [
        sibling,
        decision(TASK, nowhere),
        decision(PROJECT, nowhere),
        decision(&below, nowhere),
    ] {
        let refused = world.give(HUMAN, begin(depends(gone.clone()))).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound, "{gone}");
        refusals.push(refused.message.replace(&gone.to_string(), ""));
    }
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
}

#[test]
fn nothing_is_asked_of_scopes_that_are_not_seen() {
    let (mut world, [project, _, sibling]) = nested();
    let below = decision(
        "org/a/project/b/worktree/c/task/d2",
        DecisionId::from_bytes([9; 16]),
    );
    let relations = [&project, &sibling, &below, &project].map(|to| Relation {
        kind: RelationKind::DependsOn,
        to: to.clone(),
    });
    let said = NewDecision {
        relations: relations.to_vec(),
        ..normal("x")
    };
    let submission = world.submission(HUMAN, begin(said));
    let asked = needs(&world.state, &submission, &Facts::default());
    let Node::Decision { scope, root } = project else {
        panic!("{project}")
    };
    assert_eq!(asked, [Need::DecisionElsewhere(scope, root)]);
}

#[test]
fn a_further_relation_leads_to_what_stands_and_an_old_one_may_stay() {
    let mut world = World::new(PROJECT);
    let base = begun(&mut world, HUMAN, normal("Use axum"));
    let node = decision(PROJECT, base);
    let root = begun(&mut world, HUMAN, depends(node.clone()));
    let plain = begun(&mut world, HUMAN, normal("x"));
    world.give(HUMAN, deactivate(base, 1)).unwrap();
    for command in [
        begin(depends(node.clone())),
        change(plain, 1, depends(node.clone())),
    ] {
        let refused = world.give(HUMAN, command).unwrap_err();
        is_of_another(&refused, &node);
    }
    // Another relation to the same decision is a further one.
    let other = change(root, 1, related(RelationKind::Constrains, node.clone()));
    is_of_another(&world.give(HUMAN, other).unwrap_err(), &node);
    let same = change(root, 1, depends(node.clone()));
    world.give(HUMAN, same).unwrap();
    world.give(HUMAN, deactivate(root, 2)).unwrap();
    world.give(HUMAN, restore(root, 3, 1)).unwrap();
    // Once it was given up, it comes back only to what stands.
    world.give(HUMAN, change(root, 4, normal("x"))).unwrap();
    world.give(HUMAN, deactivate(root, 5)).unwrap();
    let refused = world.give(HUMAN, restore(root, 6, 1)).unwrap_err();
    is_of_another(&refused, &node);
    world.give(HUMAN, restore(base, 2, 1)).unwrap();
    world.give(HUMAN, restore(root, 6, 1)).unwrap();
    assert_eq!(world.state.decision(root).unwrap().relations.len(), 1);
}

/// That a decision rests on evidence is checked where it is declared, and not again where it stays.
#[test]
fn a_decision_rests_on_evidence_that_is_seen_from_where_it_is_saved() {
    let id = EvidenceId::from_bytes([7; 16]);
    let rests = |path: &str| related(RelationKind::RestsOn, evidence(path, id));
    let mut world = World::new(PROJECT);
    for (path, is_there) in [(PROJECT, false), (ORG, false), (ORG, true), (TASK, true)] {
        if is_there {
            world.evidence_elsewhere.insert((scope(path), id));
        }
        let given = world.give(HUMAN, begin(rests(path)));
        let code = given.err().map(|refused| refused.code);
        let is_taken = is_there && path == ORG;
        assert_eq!(code, (!is_taken).then_some(ErrorCode::NotFound), "{path}");
    }
    let root = begun(&mut world, HUMAN, rests(ORG));
    world.evidence_elsewhere.clear();
    world.give(HUMAN, change(root, 1, rests(ORG))).unwrap();
    let anew = world.give(HUMAN, begin(rests(ORG))).unwrap_err();
    assert_eq!(anew.code, ErrorCode::NotFound);
}

#[test]
fn what_was_withdrawn_further_up_is_no_longer_related_to() {
    let (mut world, [project, ..]) = nested();
    for head in world.decisions_elsewhere.values_mut() {
        head.active = false;
        head.version = 7;
    }
    let given = world.give(HUMAN, begin(depends(project.clone())));
    is_of_another(&given.unwrap_err(), &project);
}

#[test]
fn a_place_that_holds_a_secret_is_refused_by_its_number() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let file = format!("src/{secret}.rs");
    let symbol = |name: &str, file: Option<&str>| Node::symbol(name, file).unwrap();
    let mut world = World::new(PROJECT);
    let root = begun(&mut world, HUMAN, normal("x"));
    for held in [
        Node::file(&file).unwrap(),
        symbol(&secret, None),
        symbol(&secret, Some("src/a.rs")),
        symbol("main", Some(&file)),
        // Nor is it told by what else is wrong with the place.
        Node::File {
            path: format!("./{file}"),
        },
    ] {
        let relations = [Node::file("src/b.rs").unwrap(), held].map(|to| Relation {
            kind: RelationKind::AppliesTo,
            to,
        });
        let said = NewDecision {
            relations: relations.to_vec(),
            ..normal("x")
        };
        for command in [begin(said.clone()), change(root, 1, said)] {
            let refused = world.give(HUMAN, command).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument);
            assert!(refused.message.contains("relation 2"), "{refused}");
            assert!(!format!("{refused:?}").contains(&secret), "{refused:?}");
        }
    }
    // What only speaks of secrets is a place like any other.
    for plain in [
        Node::file("src/password.rs").unwrap(),
        symbol("auth::token::verify", Some("src/secret/api_key.rs")),
        symbol("Token::new", None),
    ] {
        let said = related(RelationKind::AppliesTo, plain.clone());
        let given = world.give(HUMAN, begin(said));
        assert!(given.is_ok(), "{plain}: {given:?}");
    }
}
