//! Decisions: who saves, changes, withdraws and restores them, and what is refused.

use super::world::{PROJECT, TASK, World};
use crate::command::{AnswerBody, Command, DecisionRef, SaveDecision};
use crate::decision::{
    Act, DeclaredRelation, Domain, NewDecision, Node, Rank, Reach, Relation, RelationKind,
    RelationName,
};
use crate::entry::Claim;
use crate::error::{Error, ErrorCode};
use crate::id::{DecisionId, Seq};
use crate::invariants::decision_chain;
use crate::membership::WireVersion;
use crate::principal::{Actor, PrincipalKind};
use crate::scope::Scope;
use crate::time::Timestamp;

mod chains;
mod declaring;
mod relations;
mod sizes;

const WORKTREE: &str = "org/a/project/b/worktree/c";
const ORG: &str = "org/a";

fn text(rank: Rank, title: &str) -> NewDecision {
    NewDecision {
        rank,
        domain: Domain::global(),
        phase: None,
        title: title.into(),
        content: format!("{title}, in full."),
        claim: None,
        relations: Vec::new(),
    }
}

fn normal(title: &str) -> NewDecision {
    text(Rank::Normal, title)
}

fn begin(text: NewDecision) -> Command {
    Command::SaveDecision(Box::new(SaveDecision {
        change: None,
        text,
        reason: String::new(),
    }))
}

fn change(root: DecisionId, expected_version: u64, text: NewDecision) -> Command {
    Command::SaveDecision(Box::new(SaveDecision {
        change: Some(DecisionRef {
            root,
            expected_version,
        }),
        text,
        reason: "it was found wanting".into(),
    }))
}

fn deactivate(root: DecisionId, expected_version: u64) -> Command {
    Command::DeactivateDecision {
        root,
        expected_version,
        reason: "it holds no longer".into(),
    }
}

fn restore(root: DecisionId, expected_version: u64, version: u64) -> Command {
    Command::RestoreDecision {
        root,
        expected_version,
        version,
        reason: "it was right".into(),
    }
}

fn root_of(answer: &AnswerBody) -> DecisionId {
    match answer {
        AnswerBody::Decision { root, .. } => *root,
        other => panic!("{other:?}"),
    }
}

fn begun(world: &mut World, kind: PrincipalKind, text: NewDecision) -> DecisionId {
    root_of(&world.give(kind, begin(text)).unwrap())
}

fn name(text: &str) -> RelationName {
    text.parse().unwrap()
}

/// What a scope declared, as it is stored.
fn stored(text: &str, reach: Reach) -> DeclaredRelation {
    DeclaredRelation {
        name: name(text),
        reach,
        meaning: "m".into(),
        by: Actor::system(),
        at: Timestamp::EPOCH,
        seq: Seq::new(1),
    }
}

fn current(refused: &Error) -> Option<u64> {
    assert_eq!(refused.code, ErrorCode::Conflict, "{refused}");
    refused.current().and_then(|current| current.version)
}

#[test]
fn a_chain_begins_at_a_save_and_everything_in_it_stays_readable() {
    let mut world = World::new(PROJECT);
    let human = PrincipalKind::Human;
    let root = begun(&mut world, human, normal("Use axum"));
    let answers = [
        change(root, 1, normal("Use hyper")),
        deactivate(root, 2),
        restore(root, 3, 1),
    ]
    .map(|command| world.give(human, command).unwrap());
    let told = |version, active| AnswerBody::Decision {
        root,
        version,
        active,
    };
    assert_eq!(answers, [told(2, true), told(3, false), told(4, true)]);
    let versions: Vec<_> = world.decision_versions.values().cloned().collect();
    let acts: Vec<Act> = versions.iter().map(|version| version.act).collect();
    let restored = Act::Restored { from: 1 };
    assert_eq!(acts, [Act::Begun, Act::Changed, Act::Withdrawn, restored]);
    let said = versions.iter().map(|version| {
        let text = version.text.as_ref();
        text.map(|text| text.title.as_str())
    });
    let titles = [Some("Use axum"), Some("Use hyper"), None, Some("Use axum")];
    assert_eq!(said.collect::<Vec<_>>(), titles);
    let head = world.state.decision(root).unwrap();
    assert_eq!((head.title.as_str(), head.version), ("Use axum", 4));
    assert_eq!(decision_chain(&versions, head), Ok(()));
}

#[test]
fn two_chains_that_say_the_same_are_two() {
    let mut world = World::new(PROJECT);
    let first = begun(&mut world, PrincipalKind::Human, normal("Use axum"));
    let second = begun(&mut world, PrincipalKind::Human, normal("Use axum"));
    assert_ne!(first, second);
    assert_eq!(world.decision_versions.len(), 2);
}

#[test]
fn the_rank_and_the_level_say_who_saves() {
    let (agent, orchestrator, human) = (
        PrincipalKind::Agent,
        PrincipalKind::Orchestrator,
        PrincipalKind::Human,
    );
    let table: [(Rank, &str, &[PrincipalKind], &str); 12] = [
        (
            Rank::Normal,
            TASK,
            &[agent, orchestrator, human],
            "control/save_normal_below_project",
        ),
        (
            Rank::Normal,
            WORKTREE,
            &[agent, orchestrator, human],
            "control/save_normal_below_project",
        ),
        (
            Rank::Normal,
            PROJECT,
            &[orchestrator, human],
            "control/save_normal_project",
        ),
        (Rank::Normal, ORG, &[human], "control/save_normal_org"),
        (
            Rank::Lock,
            TASK,
            &[orchestrator, human],
            "control/save_lock_up_to_project",
        ),
        (
            Rank::Lock,
            WORKTREE,
            &[orchestrator, human],
            "control/save_lock_up_to_project",
        ),
        (
            Rank::Lock,
            PROJECT,
            &[orchestrator, human],
            "control/save_lock_up_to_project",
        ),
        (Rank::Lock, ORG, &[human], "control/save_lock_org"),
        (Rank::Axis, TASK, &[human], "control/save_axis"),
        (Rank::Axis, ORG, &[human], "control/save_axis"),
        (Rank::Policy, PROJECT, &[human], "control/save_axis"),
        (Rank::Policy, ORG, &[human], "control/save_axis"),
    ];
    for (rank, path, allowed, rule) in table {
        for kind in PrincipalKind::ALL {
            let given = World::new(path).give(kind, begin(text(rank, "x")));
            if allowed.contains(&kind) {
                assert!(given.is_ok(), "{kind} saves a {rank} in {path}: {given:?}");
            } else {
                let refused = given.unwrap_err();
                assert_eq!(
                    refused.rule(),
                    Some(rule),
                    "{kind} saves a {rank} in {path}"
                );
            }
        }
    }
}

#[test]
fn a_decision_is_changed_by_those_alone_who_may_save_what_it_was() {
    let mut world = World::new(WORKTREE);
    let axis = begun(
        &mut world,
        PrincipalKind::Human,
        text(Rank::Axis, "One store"),
    );
    let lock = begun(
        &mut world,
        PrincipalKind::Orchestrator,
        text(Rank::Lock, "One queue"),
    );
    let before = world.state.row().tip;
    for (kind, root, rule) in [
        (PrincipalKind::Agent, axis, "control/save_axis"),
        (PrincipalKind::Orchestrator, axis, "control/save_axis"),
        (
            PrincipalKind::Agent,
            lock,
            "control/save_lock_up_to_project",
        ),
    ] {
        for command in [change(root, 1, normal("Many")), deactivate(root, 1)] {
            let refused = world.give(kind, command).unwrap_err();
            assert_eq!(refused.rule(), Some(rule), "{kind}");
        }
    }
    // Nor is it made stronger by those who may not save what it becomes.
    let plain = begun(&mut world, PrincipalKind::Agent, normal("Tabs"));
    let stronger = change(plain, 1, text(Rank::Lock, "Tabs"));
    let refused = world.give(PrincipalKind::Agent, stronger).unwrap_err();
    assert_eq!(refused.rule(), Some("control/save_lock_up_to_project"));
    assert_eq!(world.state.row().tip.seq, before.seq.next());
    world
        .give(
            PrincipalKind::Orchestrator,
            change(lock, 1, normal("Queues")),
        )
        .unwrap();
    world
        .give(PrincipalKind::Agent, deactivate(lock, 2))
        .unwrap();
}

#[test]
fn a_text_is_restored_by_those_alone_who_may_save_it() {
    let mut world = World::new(WORKTREE);
    let root = begun(
        &mut world,
        PrincipalKind::Human,
        text(Rank::Axis, "One store"),
    );
    let weaker = change(root, 1, normal("Many stores"));
    world.give(PrincipalKind::Human, weaker).unwrap();
    world
        .give(PrincipalKind::Agent, deactivate(root, 2))
        .unwrap();
    let refused = world.give(PrincipalKind::Agent, restore(root, 3, 1));
    assert_eq!(refused.unwrap_err().rule(), Some("control/save_axis"));
    world
        .give(PrincipalKind::Agent, restore(root, 3, 2))
        .unwrap();
    assert_eq!(world.state.decision(root).unwrap().rank, Rank::Normal);
}

#[test]
fn a_stale_write_is_told_the_current_version() {
    let mut world = World::new(PROJECT);
    let human = PrincipalKind::Human;
    let root = begun(&mut world, human, normal("Use axum"));
    world
        .give(human, change(root, 1, normal("Use hyper")))
        .unwrap();
    for stale in [0, 1, 3, u64::MAX] {
        let commands = [
            change(root, stale, normal("x")),
            deactivate(root, stale),
            restore(root, stale, 1),
        ];
        for command in commands {
            let refused = world.give(human, command).unwrap_err();
            assert_eq!(current(&refused), Some(2), "{refused}");
        }
    }
    let unknown = DecisionId::from_bytes([9; 16]);
    for command in [
        change(unknown, 1, normal("x")),
        deactivate(unknown, 1),
        restore(unknown, 1, 1),
    ] {
        let refused = world.give(human, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotFound);
    }
}

#[test]
fn what_is_withdrawn_is_only_restored_and_what_is_not_is_not_restored() {
    let mut world = World::new(PROJECT);
    let human = PrincipalKind::Human;
    let root = begun(&mut world, human, normal("Use axum"));
    assert_eq!(
        current(&world.give(human, restore(root, 1, 1)).unwrap_err()),
        Some(1)
    );
    world.give(human, deactivate(root, 1)).unwrap();
    for command in [change(root, 2, normal("x")), deactivate(root, 2)] {
        let refused = world.give(human, command).unwrap_err();
        assert_eq!(current(&refused), Some(2));
        assert!(refused.message.contains("restore it first"), "{refused}");
    }
    for silent in [0, 2, 3, u64::MAX] {
        let refused = world.give(human, restore(root, 2, silent)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{silent}");
    }
    world.give(human, restore(root, 2, 1)).unwrap();
    assert!(world.state.decision(root).unwrap().active);
}

#[test]
fn a_policy_is_one_of_a_project_or_an_organisation_and_applies_everywhere() {
    for (path, is_taken) in [
        (TASK, false),
        (WORKTREE, false),
        (PROJECT, true),
        (ORG, true),
    ] {
        let mut world = World::new(path);
        let given = world.give(
            PrincipalKind::Human,
            begin(text(Rank::Policy, "No secrets")),
        );
        let code = given.err().map(|refused| refused.code);
        assert_eq!(
            code,
            (!is_taken).then_some(ErrorCode::InvalidArgument),
            "{path}"
        );
        let narrow = NewDecision {
            domain: "ui".parse().unwrap(),
            ..text(Rank::Policy, "No secrets")
        };
        let refused = world.give(PrincipalKind::Human, begin(narrow)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        // A decision becomes no policy where none may stand.
        let root = begun(
            &mut world,
            PrincipalKind::Human,
            text(Rank::Axis, "No secrets"),
        );
        let given = world.give(
            PrincipalKind::Human,
            change(root, 1, text(Rank::Policy, "No secrets")),
        );
        assert_eq!(given.is_ok(), is_taken, "{path}");
    }
}

#[test]
fn a_decision_says_something_and_a_change_says_why() {
    let mut world = World::new(PROJECT);
    let human = PrincipalKind::Human;
    let root = begun(&mut world, human, normal("Use axum"));
    for bad in [
        NewDecision {
            title: "  ".into(),
            ..normal("x")
        },
        NewDecision {
            content: "\n".into(),
            ..normal("x")
        },
    ] {
        for command in [begin(bad.clone()), change(root, 1, bad)] {
            let refused = world.give(human, command).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument);
        }
    }
    let silent = Command::SaveDecision(Box::new(SaveDecision {
        change: Some(DecisionRef {
            root,
            expected_version: 1,
        }),
        text: normal("Use hyper"),
        reason: " ".into(),
    }));
    let withdrawn = Command::DeactivateDecision {
        root,
        expected_version: 1,
        reason: String::new(),
    };
    for command in [silent, withdrawn] {
        let refused = world.give(human, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
    }
    world.give(human, deactivate(root, 1)).unwrap();
    let back = Command::RestoreDecision {
        root,
        expected_version: 2,
        version: 1,
        reason: String::new(),
    };
    let refused = world.give(human, back).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert_eq!(world.state.decision(root).unwrap().version, 2);
}

#[test]
fn secrets_are_masked_before_anything_is_stored() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let mut world = World::new(PROJECT);
    let said = NewDecision {
        title: format!("Use {secret}"),
        content: format!("Log in with {secret}."),
        claim: Some(Claim {
            key: "login".into(),
            value: secret.clone(),
        }),
        ..normal("x")
    };
    let root = begun(&mut world, PrincipalKind::Human, said);
    let mut why = deactivate(root, 1);
    if let Command::DeactivateDecision { reason, .. } = &mut why {
        *reason = format!("{secret} leaked");
    }
    world.give(PrincipalKind::Human, why).unwrap();
    let stored = format!(
        "{:?} {:?}",
        world.decision_versions,
        world.state.decision(root)
    );
    assert!(!stored.contains(&secret), "{stored}");
    assert_eq!(stored.matches("[masked:").count(), 6, "{stored}");
}

#[test]
fn a_domain_or_phase_that_holds_a_secret_is_refused_and_not_told() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_ab3de6gh9jk2mn5pq8st1vw4yz7ab3de6gh9"].concat();
    let mut world = World::new(PROJECT);
    let human = PrincipalKind::Human;
    let root = begun(&mut world, human, normal("x"));
    let in_domain = NewDecision {
        domain: secret.parse().unwrap(),
        ..normal("x")
    };
    let in_phase = NewDecision {
        phase: Some(secret.parse().unwrap()),
        ..normal("x")
    };
    for (what, said) in [("domain", in_domain), ("phase", in_phase)] {
        for command in [begin(said.clone()), change(root, 1, said.clone())] {
            let refused = world.give(human, command).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument);
            assert_eq!(refused.message, format!("the {what} holds a secret"));
        }
        // Nor is one said again that was saved before such names were refused.
        let withdrawn = begun(&mut world, human, normal("x"));
        world.give(human, deactivate(withdrawn, 1)).unwrap();
        let stored = world.decision_versions.get_mut(&(withdrawn, 1)).unwrap();
        stored.text = Some(said);
        let refused = world.give(human, restore(withdrawn, 2, 1)).unwrap_err();
        assert_eq!(refused.message, format!("the {what} holds a secret"));
    }
    // What only speaks of secrets is a name like any other.
    let plain = NewDecision {
        domain: "secrets".parse().unwrap(),
        phase: Some("rotate-api-keys".parse().unwrap()),
        ..normal("y")
    };
    begun(&mut world, human, plain);
}

#[test]
fn no_decision_is_saved_while_older_nodes_would_not_read_it() {
    let mut world = World::new(PROJECT);
    let human = PrincipalKind::Human;
    let root = begun(&mut world, human, normal("Use axum"));
    world.spoken = WireVersion::WITH_SPACES;
    for command in [
        begin(normal("x")),
        change(root, 1, normal("x")),
        deactivate(root, 1),
        restore(root, 1, 1),
    ] {
        let refused = world.give(human, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
    }
}

#[test]
fn a_contradiction_refuses_nothing() {
    let mut world = World::new(PROJECT);
    let roots = ["axum", "hyper"].map(|value| {
        let claim = Claim {
            key: "http".into(),
            value: value.into(),
        };
        let said = NewDecision {
            claim: Some(claim),
            ..normal(value)
        };
        begun(&mut world, PrincipalKind::Human, said)
    });
    for root in roots {
        assert!(world.state.decision(root).unwrap().active);
    }
}
