//! How much a decision says: whatever is taken fits one value of the store.

use super::*;
use crate::event::Body;
use crate::limits::{
    DECISION_BYTES_MAX, DECISION_TEXTS_BYTES_MAX, PLACE_BYTES_MAX, RELATIONS_MAX,
    SEGMENT_CHARS_MAX, SHORT_TEXT_BYTES_MAX,
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
    assert!(
        submission.command.size_bytes() >= sizes[0] - 1_000,
        "{sizes:?}"
    );
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
        assert!(counted + 1_000 >= event.len(), "{counted} {}", event.len());
    }
}
