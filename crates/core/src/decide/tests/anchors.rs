//! Anchors: what is added, what they may lead to, and how they are dropped.

use super::world::{PROJECT, TASK, World};
use crate::anchor::{Anchor, NewAnchor};
use crate::command::{AnswerBody, Command, SaveDecision};
use crate::decision::{Domain, NewDecision, Node, Rank};
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::evidence::{MEDIA_TYPE_USUAL, NewEvidence};
use crate::facts::{Facts, Need, needs};
use crate::id::{AnchorId, DecisionId, EvidenceId, Seq};
use crate::limits::{
    ANCHOR_HINT_BYTES_MAX, ANCHOR_NODES_MAX, ANCHORS_PER_COMMAND_MAX, SEGMENT_CHARS_MAX,
    SHORT_TEXT_BYTES_MAX,
};
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;
use crate::scope::Scope;
use crate::secret::mask;

const HUMAN: PrincipalKind = PrincipalKind::Human;
const ORG: &str = "org/a";
const SIBLING: &str = "org/a/project/other";

/// The most that one value of the store takes.
const VALUE_BYTES_MAX: usize = 100_000;

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn decision(path: &str, number: u8) -> Node {
    Node::Decision {
        scope: scope(path),
        root: DecisionId::from_bytes([number; 16]),
    }
}

fn evidence(path: &str, number: u8) -> Node {
    Node::Evidence {
        scope: scope(path),
        id: EvidenceId::from_bytes([number; 16]),
    }
}

fn new(hint: &str, to: &[Node]) -> NewAnchor {
    NewAnchor {
        hint: hint.into(),
        domain: Domain::global(),
        to: to.to_vec(),
    }
}

fn add(anchors: &[NewAnchor]) -> Command {
    Command::AddAnchors {
        anchors: anchors.to_vec(),
    }
}

fn drop_of(anchor: AnchorId) -> Command {
    Command::DropAnchor {
        anchor,
        reason: "it leads nowhere any more".into(),
    }
}

fn begin(title: &str) -> Command {
    Command::SaveDecision(Box::new(SaveDecision {
        change: None,
        text: NewDecision {
            rank: Rank::Normal,
            domain: Domain::global(),
            phase: None,
            title: title.into(),
            content: "c".into(),
            claim: None,
            relations: Vec::new(),
        },
        reason: String::new(),
    }))
}

fn save(content: &str) -> Command {
    Command::SaveEvidence(Box::new(NewEvidence {
        title: "t".into(),
        source: String::new(),
        media_type: MEDIA_TYPE_USUAL.into(),
        content: content.into(),
    }))
}

/// A decision and evidence of the world's own scope.
fn begun(world: &mut World) -> [Node; 2] {
    let scope = world.state.scope().clone();
    let AnswerBody::Decision { root, .. } = world.give(HUMAN, begin("Use axum")).unwrap() else {
        panic!("a decision is saved")
    };
    let AnswerBody::EvidenceSaved { id, .. } = world.give(HUMAN, save("x")).unwrap() else {
        panic!("evidence is saved")
    };
    let decision = Node::Decision {
        scope: scope.clone(),
        root,
    };
    [decision, Node::Evidence { scope, id }]
}

fn added(world: &mut World, anchors: &[NewAnchor]) -> Vec<AnchorId> {
    match world.give(HUMAN, add(anchors)).unwrap() {
        AnswerBody::AnchorsAdded { ids } => ids,
        other => panic!("{other:?}"),
    }
}

fn refused(world: &mut World, anchors: &[NewAnchor]) -> Error {
    let before = world.state.row().tip;
    let refused = world.give(HUMAN, add(anchors)).unwrap_err();
    assert_eq!(world.state.row().tip, before);
    refused
}

fn anchor(world: &World, id: AnchorId) -> &Anchor {
    world.state.anchor(id).unwrap()
}

#[test]
fn anchors_of_one_command_are_events_in_its_order_and_each_has_an_id() {
    let mut world = World::new(PROJECT);
    let [axum, run] = begun(&mut world);
    let ui: Domain = "ui".parse().unwrap();
    let anchors = [
        new("how retries came to be", &[run.clone(), axum.clone()]),
        NewAnchor {
            domain: ui.clone(),
            ..new("the failing run", std::slice::from_ref(&run))
        },
    ];
    let before = world.state.row().tip.seq;
    let ids = added(&mut world, &anchors);
    assert_eq!(ids.len(), 2);
    for (number, id) in ids.iter().enumerate() {
        let stored = anchor(&world, *id);
        let said = &anchors[number];
        assert_eq!((&stored.hint, &stored.to), (&said.hint, &said.to));
        assert_eq!(stored.domain, said.domain);
        let seq = Seq::new(before.get() + number as u64 + 1);
        assert_eq!((stored.seq, stored.dropped), (seq, None));
        assert_eq!(stored.by.kind, HUMAN);
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn an_anchor_whose_domain_holds_a_secret_is_refused_by_its_number() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_ab3de6gh9jk2mn5pq8st1vw4yz7ab3de6gh9"].concat();
    let mut world = World::new(PROJECT);
    let [axum, _] = begun(&mut world);
    let to = std::slice::from_ref(&axum);
    let held = NewAnchor {
        domain: secret.parse().unwrap(),
        ..new("where it leads", to)
    };
    let why = refused(&mut world, &[new("a", to), held]);
    assert_eq!(why.code, ErrorCode::InvalidArgument);
    assert_eq!(why.message, "the domain of anchor 2 holds a secret");
}

#[test]
fn what_a_command_earlier_in_the_batch_made_can_be_pointed_to() {
    let mut world = World::new(PROJECT);
    world.in_batch = true;
    let [axum, run] = begun(&mut world);
    added(&mut world, &[new("both", &[axum, run])]);
}

#[test]
fn an_anchor_leads_to_what_is_seen_from_its_scope_and_stands_there() {
    let mut world = World::task();
    for path in [PROJECT, ORG, SIBLING] {
        let mut other = World::new(path);
        let [Node::Decision { root, .. }, Node::Evidence { id, .. }] = begun(&mut other) else {
            panic!("a decision and evidence")
        };
        let head = other.state.decision(root).unwrap().clone();
        world.decisions_elsewhere.insert((scope(path), root), head);
        world.evidence_elsewhere.insert((scope(path), id));
    }
    let all: Vec<Node> = world
        .decisions_elsewhere
        .keys()
        .map(|(scope, root)| Node::Decision {
            scope: scope.clone(),
            root: *root,
        })
        .chain(world.evidence_elsewhere.iter().map(|(scope, id)| {
            let (scope, id) = (scope.clone(), *id);
            Node::Evidence { scope, id }
        }))
        .collect();
    assert_eq!(all.len(), 6);
    for node in &all {
        let is_seen = !node.to_string().contains(SIBLING);
        let given = world.give(HUMAN, add(&[new("h", std::slice::from_ref(node))]));
        let code = given.err().map(|refused| refused.code);
        assert_eq!(code, (!is_seen).then_some(ErrorCode::NotFound), "{node}");
    }
    // What is not seen is not told apart from what is not there.
    let mut messages = Vec::new();
    for gone in [
        decision(SIBLING, 9),
        decision(TASK, 9),
        decision(PROJECT, 9),
        evidence(SIBLING, 9),
        evidence(TASK, 9),
        evidence(PROJECT, 9),
        evidence(&format!("{TASK}x"), 9),
        all.iter()
            .find(|node| node.to_string().contains(SIBLING))
            .unwrap()
            .clone(),
    ] {
        let refused = refused(&mut world, &[new("h", std::slice::from_ref(&gone))]);
        assert_eq!(refused.code, ErrorCode::NotFound, "{gone}");
        messages.push(refused.message.replace(&gone.to_string(), ""));
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[test]
fn an_anchor_leads_to_no_decision_that_was_withdrawn_and_stays_where_one_is_withdrawn_later() {
    let mut world = World::new(PROJECT);
    let [axum, _] = begun(&mut world);
    let ids = added(&mut world, &[new("h", std::slice::from_ref(&axum))]);
    let Node::Decision { root, .. } = axum.clone() else {
        panic!("a decision")
    };
    let withdraws = Command::DeactivateDecision {
        root,
        expected_version: 1,
        reason: "r".into(),
    };
    world.give(HUMAN, withdraws).unwrap();
    let refused = refused(&mut world, &[new("h", std::slice::from_ref(&axum))]);
    assert_eq!(refused.code, ErrorCode::Conflict);
    let version = refused.current().and_then(|current| current.version);
    assert_eq!(version, None, "{refused}");
    assert!(refused.message.contains(&axum.to_string()), "{refused}");
    assert_eq!(anchor(&world, ids[0]).to, [axum]);
}

#[test]
fn each_node_is_asked_for_once_and_none_that_is_not_seen() {
    let mut world = World::task();
    let to = [
        decision(TASK, 1),
        decision(PROJECT, 2),
        evidence(TASK, 3),
        evidence(ORG, 4),
        decision(SIBLING, 5),
        evidence(SIBLING, 6),
    ];
    let anchors = [new("a", &to), new("b", &to)];
    let submission = world.submission(HUMAN, add(&anchors));
    let asked = needs(&world.state, &submission, &Facts::default());
    let (decision, evidence) = (DecisionId::from_bytes, EvidenceId::from_bytes);
    let wanted = [
        Need::Decision(decision([1; 16])),
        Need::DecisionElsewhere(scope(PROJECT), decision([2; 16])),
        Need::Evidence(evidence([3; 16])),
        Need::EvidenceElsewhere(scope(ORG), evidence([4; 16])),
    ];
    assert_eq!(asked, wanted);
    // What is refused for its form asks for nothing.
    let many = vec![new("a", &to); ANCHORS_PER_COMMAND_MAX + 1];
    let submission = world.submission(HUMAN, add(&many));
    assert_eq!(needs(&world.state, &submission, &Facts::default()), []);
}

#[test]
fn what_has_no_form_is_refused_and_no_anchor_of_the_command_is_added() {
    let mut world = World::new(PROJECT);
    let [axum, run] = begun(&mut world);
    let good = new("h", &[axum.clone(), run.clone()]);
    let file = Node::file("src/main.rs").unwrap();
    let symbol = Node::symbol("main", None).unwrap();
    for bad in [
        new("", std::slice::from_ref(&axum)),
        new(" \n", std::slice::from_ref(&axum)),
        new("h", &[]),
        new("h", &[axum.clone(), file]),
        new("h", &[symbol]),
        new("h", &[axum.clone(), run.clone(), axum.clone()]),
        new("h", &[run.clone(), run.clone()]),
    ] {
        let what = format!("{bad:?}");
        let refused = refused(&mut world, &[good.clone(), bad]);
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{what}");
        assert!(refused.message.contains("anchor 2"), "{refused}");
    }
    assert_eq!(refused(&mut world, &[]).code, ErrorCode::InvalidArgument);
    added(&mut world, &[good]);
}

#[test]
fn a_place_that_holds_a_secret_is_not_told_when_it_is_refused() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let file = Node::file(&format!("src/{secret}.rs")).unwrap();
    let refused = refused(&mut World::new(PROJECT), &[new("h", &[file])]);
    assert!(!format!("{refused:?}").contains(&secret), "{refused:?}");
}

#[test]
fn what_is_too_large_is_refused_by_the_limit() {
    let mut world = World::new(PROJECT);
    let [axum, _] = begun(&mut world);
    let to = std::slice::from_ref(&axum);
    let many: Vec<Node> = (0..=u8::try_from(ANCHOR_NODES_MAX).unwrap())
        .map(|number| evidence(PROJECT, number))
        .collect();
    // A short secret in place of which more bytes are stored.
    let line = "password=hunter2x\n";
    let masked = line.repeat(ANCHOR_HINT_BYTES_MAX / line.len());
    assert!(mask(&masked).text.len() > ANCHOR_HINT_BYTES_MAX);
    for (anchors, what) in [
        (
            vec![new(&"x".repeat(ANCHOR_HINT_BYTES_MAX + 1), to)],
            "anchor hint bytes",
        ),
        (vec![new(&masked, to)], "anchor hint bytes"),
        (vec![new("h", &many)], "nodes of an anchor"),
        (vec![new("h", to); ANCHORS_PER_COMMAND_MAX + 1], "anchors"),
    ] {
        let refused = refused(&mut world, &anchors);
        assert_eq!(refused.code, ErrorCode::TooLarge, "{what}");
        assert_eq!(refused.details.unwrap().limit.unwrap().0, what);
    }
    let most = vec![new(&"x".repeat(ANCHOR_HINT_BYTES_MAX), to); ANCHORS_PER_COMMAND_MAX];
    let ids = added(&mut world, &most);
    assert_eq!(ids.len(), ANCHORS_PER_COMMAND_MAX);
}

#[test]
fn secrets_are_masked_before_anything_is_stored() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
    let mut world = World::new(PROJECT);
    let [axum, _] = begun(&mut world);
    let hint = format!("log in with {secret}");
    let ids = added(&mut world, &[new(&hint, &[axum])]);
    let drops = Command::DropAnchor {
        anchor: ids[0],
        reason: format!("{secret} leaked"),
    };
    world.give(HUMAN, drops).unwrap();
    let bodies: Vec<Option<Body>> = world
        .events
        .iter()
        .map(|event| event.decode_body().unwrap())
        .collect();
    let stored = format!("{bodies:?} {:?}", anchor(&world, ids[0]));
    assert!(!stored.contains(&secret), "{stored}");
    assert_eq!(stored.matches("[masked:").count(), 3, "{stored}");
}

#[test]
fn an_anchor_is_dropped_once_by_a_reason_and_stays_readable() {
    let mut world = World::new(PROJECT);
    let [axum, _] = begun(&mut world);
    let id = added(&mut world, &[new("h", &[axum])])[0];
    let before = anchor(&world, id).clone();
    let silent = Command::DropAnchor {
        anchor: id,
        reason: " ".into(),
    };
    let refused = world.give(HUMAN, silent).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    let wordy = Command::DropAnchor {
        anchor: id,
        reason: "x".repeat(SHORT_TEXT_BYTES_MAX + 1),
    };
    let refused = world.give(HUMAN, wordy).unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge);
    let nowhere = drop_of(AnchorId::from_bytes([9; 16]));
    let refused = world.give(HUMAN, nowhere).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);

    assert_eq!(world.give(HUMAN, drop_of(id)), Ok(AnswerBody::Done));
    let after = Anchor {
        dropped: Some(world.state.row().tip.seq),
        ..before
    };
    assert_eq!(anchor(&world, id), &after);
    let refused = world.give(HUMAN, drop_of(id)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
}

#[test]
fn whoever_may_save_a_normal_decision_may_add_and_drop_anchors() {
    use PrincipalKind::{Agent, Human, Orchestrator};
    let table: [(&str, &[PrincipalKind]); 4] = [
        (TASK, &[Agent, Orchestrator, Human]),
        ("org/a/project/b/worktree/c", &[Agent, Orchestrator, Human]),
        (PROJECT, &[Orchestrator, Human]),
        (ORG, &[Human]),
    ];
    for (path, allowed) in table {
        for kind in PrincipalKind::ALL {
            let mut world = World::new(path);
            let to = begun(&mut world);
            let id = added(&mut world, &[new("h", &to)])[0];
            for command in [add(&[new("h", &to)]), drop_of(id)] {
                let name = command.name();
                let code = world.give(kind, command).err().map(|refused| refused.code);
                let wanted = (!allowed.contains(&kind)).then_some(ErrorCode::Forbidden);
                assert_eq!(code, wanted, "{name} by {kind} in {path}");
            }
        }
    }
}

#[test]
fn no_anchor_is_added_or_dropped_while_older_nodes_would_not_read_it() {
    let mut world = World::new(PROJECT);
    let to = begun(&mut world);
    let id = added(&mut world, &[new("h", &to)])[0];
    world.spoken = WireVersion::WITH_DECISIONS;
    for command in [add(&[new("h", &to)]), drop_of(id)] {
        let refused = world.give(HUMAN, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
    }
}

#[test]
fn the_largest_anchor_and_its_event_fit_one_value_each() {
    let name = "n".repeat(SEGMENT_CHARS_MAX);
    let path = format!("org/{name}/project/{name}/worktree/{name}/task/{name}");
    let mut world = World::new(&path);
    let nodes: Vec<Node> = (0..u8::try_from(ANCHOR_NODES_MAX).unwrap())
        .map(|number| {
            let id = EvidenceId::from_bytes([number; 16]);
            world.learn_evidence(id);
            evidence(&path, number)
        })
        .collect();
    let largest = NewAnchor {
        hint: "h".repeat(ANCHOR_HINT_BYTES_MAX),
        domain: "d".repeat(64).parse().unwrap(),
        to: nodes,
    };
    let mut submission = world.submission(HUMAN, add(&[largest]));
    submission.principal.prefix = "*".parse().unwrap();
    let AnswerBody::AnchorsAdded { ids } = world.carry_out(&submission).unwrap() else {
        panic!("an anchor is added")
    };
    let event = postcard::to_allocvec(world.events.last().unwrap()).unwrap();
    let row = postcard::to_allocvec(anchor(&world, ids[0])).unwrap();
    let counted = submission.command.size_bytes();
    for bytes in [event.len(), row.len()] {
        assert!(bytes < VALUE_BYTES_MAX, "{bytes}");
        assert!(counted + 1_000 >= bytes, "{counted} {bytes}");
    }
}
