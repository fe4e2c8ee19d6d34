//! How much a decision says: whatever is taken fits one value of the store.

use super::*;
use crate::event::Body;
use crate::limits::{
    DECISION_BYTES_MAX, DECISION_TEXTS_BYTES_MAX, PLACE_BYTES_MAX, RELATION_NAME_BYTES_MAX,
    RELATIONS_MAX, SEGMENT_CHARS_MAX, SHORT_TEXT_BYTES_MAX,
};

/// The most that one value of the store takes.
const VALUE_BYTES_MAX: usize = 100_000;

fn too_large(world: &mut World, command: Command) {
    let refused = world.give(PrincipalKind::Human, command).unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge, "{refused}");
}

fn files(count: usize, bytes: usize) -> Vec<Relation> {
    let file = |number: usize| {
        let path = format!("{number:02}{}", "x".repeat(bytes - 2));
        Relation {
            kind: RelationKind::AppliesTo,
            to: Node::file(&path).unwrap(),
        }
    };
    (0..count).map(file).collect()
}

#[test]
fn each_text_has_a_bound() {
    let mut world = World::new(PROJECT);
    let long = "x".repeat(SHORT_TEXT_BYTES_MAX + 1);
    let claim = |key: &str, value: &str| {
        Some(Claim {
            key: key.into(),
            value: value.into(),
        })
    };
    for said in [
        normal(&long),
        NewDecision {
            content: "x".repeat(DECISION_BYTES_MAX + 1),
            ..normal("x")
        },
        NewDecision {
            claim: claim(&long, "v"),
            ..normal("x")
        },
        NewDecision {
            claim: claim("k", &long),
            ..normal("x")
        },
        // Each is short, and all of them are not.
        NewDecision {
            relations: files(RELATIONS_MAX, PLACE_BYTES_MAX),
            ..normal("x")
        },
        NewDecision {
            content: "x".repeat(DECISION_BYTES_MAX),
            relations: files(RELATIONS_MAX, 400),
            ..normal("x")
        },
    ] {
        too_large(&mut world, begin(said));
    }
    let mut wordy = begin(normal("x"));
    if let Command::SaveDecision(save) = &mut wordy {
        save.reason = long;
    }
    too_large(&mut world, wordy);
    let whole = NewDecision {
        content: "x".repeat(DECISION_BYTES_MAX),
        ..normal("x")
    };
    world.give(PrincipalKind::Human, begin(whole)).unwrap();
}

#[test]
fn the_bounds_hold_for_what_is_stored() {
    let mut world = World::new(PROJECT);
    // A short secret in place of which more bytes are stored.
    let line = "password=hunter2x\n";
    let lines = DECISION_BYTES_MAX / line.len();
    let said = NewDecision {
        content: line.repeat(lines),
        ..normal("x")
    };
    assert!(said.masked().content.len() > DECISION_BYTES_MAX);
    too_large(&mut world, begin(said));
}

#[test]
fn the_largest_decision_fits_one_value() {
    let name = "n".repeat(SEGMENT_CHARS_MAX);
    let path = format!("org/{name}/project/{name}/worktree/{name}/task/{name}");
    let mut world = World::new(TASK);
    let scope = Scope::parse(&path).unwrap();
    world.state = crate::state::State::new(&scope, None, None);
    let mut said = NewDecision {
        domain: "d".repeat(64).parse().unwrap(),
        phase: Some("p".repeat(64).parse().unwrap()),
        title: "t".repeat(SHORT_TEXT_BYTES_MAX),
        content: "c".repeat(DECISION_BYTES_MAX),
        claim: Some(Claim {
            key: "k".repeat(SHORT_TEXT_BYTES_MAX),
            value: "v".repeat(1 << 10),
        }),
        relations: files(RELATIONS_MAX, 100),
        ..normal("x")
    };
    let mut submission = world.submission(PrincipalKind::Human, Command::ClearStuck);
    submission.principal.prefix = "*".parse().unwrap();
    let reason = "r".repeat(SHORT_TEXT_BYTES_MAX);
    let rest = DECISION_TEXTS_BYTES_MAX - said.text_bytes() - reason.len();
    let Some(claim) = &mut said.claim else {
        panic!("it declares a claim")
    };
    let more = rest.min(SHORT_TEXT_BYTES_MAX - claim.value.len());
    claim.value.push_str(&"v".repeat(more));
    let longer = files(1, 100 + rest - more);
    said.relations.splice(..1, longer);
    assert_eq!(
        said.text_bytes() + reason.len(),
        DECISION_TEXTS_BYTES_MAX,
        "nothing longer is taken"
    );
    let again = said.title.len() * said.relations.len();
    submission.command = Command::SaveDecision(Box::new(SaveDecision {
        change: None,
        text: said,
        reason,
    }));
    let answer = world.carry_out(&submission).unwrap();
    let root = root_of(&answer);
    let event = world.events.last().unwrap();
    assert!(matches!(
        event.decode_body().unwrap(),
        Some(Body::DecisionSaved(_))
    ));
    let version = &world.decision_versions[&(root, 1)];
    let sizes = [
        postcard::to_allocvec(event).unwrap().len(),
        postcard::to_allocvec(version).unwrap().len(),
        postcard::to_allocvec(world.state.decision(root).unwrap())
            .unwrap()
            .len(),
    ];
    assert!(
        sizes.iter().all(|bytes| *bytes < VALUE_BYTES_MAX - 4_000),
        "{sizes:?}"
    );
    // Apart from its title in the rows of its relations.
    let counted = submission.command.size_bytes() - again;
    assert!(
        (sizes[0]..sizes[0] + 2_000).contains(&(counted + 1_000)),
        "{counted} {sizes:?}"
    );
}

/// So many relations of kinds that `declarer` has declared, all to one decision there, and none has a longer name.
fn of_declared_kinds(world: &mut World, declarer: &Scope, count: usize) -> Vec<Relation> {
    let mut other = World::new(PROJECT);
    let root = begun(&mut other, PrincipalKind::Human, normal("Use axum"));
    let head = other.state.decision(root).unwrap().clone();
    let named = (declarer.clone(), root);
    world.decisions_elsewhere.insert(named, head);
    let relation = |number: usize| {
        let text = format!("{}{number:02}", "N".repeat(RELATION_NAME_BYTES_MAX - 2));
        let declared = stored(&text, Reach::Neither);
        let kind = declared.kind();
        let named = (declarer.clone(), kind.name);
        world.declared_elsewhere.insert(named, declared);
        Relation {
            kind: RelationKind::Declared(kind),
            to: Node::Decision {
                scope: declarer.clone(),
                root,
            },
        }
    };
    (0..count).map(relation).collect()
}

#[test]
fn the_largest_decision_with_kinds_that_are_declared_fits_one_value() {
    let name = "n".repeat(SEGMENT_CHARS_MAX);
    let project = Scope::parse(&format!("org/{name}/project/{name}")).unwrap();
    let path = format!("{project}/worktree/{name}/task/{name}");
    let mut world = World::new(TASK);
    world.state = crate::state::State::new(&Scope::parse(&path).unwrap(), None, None);
    let mut said = NewDecision {
        title: "t".repeat(SHORT_TEXT_BYTES_MAX),
        relations: of_declared_kinds(&mut world, &project, RELATIONS_MAX),
        ..normal("x")
    };
    let bare = NewDecision {
        relations: Vec::new(),
        ..said.clone()
    };
    let nodes = said.relations.iter().map(|one| one.to.text_bytes());
    let relations = nodes.sum::<usize>() + RELATIONS_MAX * RELATION_NAME_BYTES_MAX;
    assert_eq!(said.text_bytes() - bare.text_bytes(), relations);
    let reason = "r".repeat(SHORT_TEXT_BYTES_MAX);
    let rest = DECISION_TEXTS_BYTES_MAX - said.text_bytes() - reason.len();
    let more = rest.min(DECISION_BYTES_MAX - said.content.len());
    said.content.push_str(&"c".repeat(more));
    let save = |text: &NewDecision| {
        Command::SaveDecision(Box::new(SaveDecision {
            change: None,
            text: text.clone(),
            reason: reason.clone(),
        }))
    };
    let mut submission = world.submission(PrincipalKind::Human, save(&said));
    submission.principal.prefix = "*".parse().unwrap();
    let root = root_of(&world.carry_out(&submission).unwrap());
    let version = &world.decision_versions[&(root, 1)];
    let sizes = [
        postcard::to_allocvec(world.events.last().unwrap())
            .unwrap()
            .len(),
        postcard::to_allocvec(version).unwrap().len(),
    ];
    assert!(
        sizes.iter().all(|bytes| *bytes < VALUE_BYTES_MAX - 4_000),
        "{sizes:?}"
    );
    // Apart from its title in the rows of its relations.
    let again = said.title.len() * said.relations.len();
    let counted = submission.command.size_bytes() - again;
    assert!(
        (sizes[0]..sizes[0] + 4_000).contains(&(counted + 1_000)),
        "{counted} {sizes:?}"
    );
}

#[test]
fn a_save_counts_its_title_for_each_relation_whose_row_says_it() {
    let text = NewDecision {
        title: "t".repeat(SHORT_TEXT_BYTES_MAX),
        relations: files(RELATIONS_MAX, 10),
        ..normal("x")
    };
    let save = Command::SaveDecision(Box::new(SaveDecision {
        change: None,
        text,
        reason: "r".into(),
    }));
    assert!(save.size_bytes() > (RELATIONS_MAX + 1) * SHORT_TEXT_BYTES_MAX);
}

#[test]
fn a_restore_counts_as_much_as_the_text_may_be_that_its_event_has() {
    let mut world = World::new(PROJECT);
    let mut said = NewDecision {
        content: "c".repeat(DECISION_BYTES_MAX),
        relations: files(RELATIONS_MAX, 330),
        ..normal("x")
    };
    let rest = DECISION_TEXTS_BYTES_MAX - said.text_bytes();
    said.title.push_str(&"t".repeat(rest));
    let root = begun(&mut world, PrincipalKind::Human, said);
    let human = PrincipalKind::Human;
    let reason = "r".repeat(SHORT_TEXT_BYTES_MAX);
    let withdraws = Command::DeactivateDecision {
        root,
        expected_version: 1,
        reason: reason.clone(),
    };
    let restores = Command::RestoreDecision {
        root,
        expected_version: 2,
        version: 1,
        reason,
    };
    for command in [withdraws, restores] {
        let counted = command.size_bytes();
        world.give(human, command).unwrap();
        let event = postcard::to_allocvec(world.events.last().unwrap()).unwrap();
        assert!(event.len() < VALUE_BYTES_MAX, "{}", event.len());
        assert!(
            (event.len()..event.len() + 2_000).contains(&(counted + 1_000)),
            "{counted} {}",
            event.len()
        );
    }
}
