//! The graph of what somebody sees: what is in it, what is not, and what is refused.

use core::fmt::Write as _;
use std::collections::BTreeSet;

use sillok_core::command::{AnswerBody, Command};
use sillok_core::decision::{Node as Place, Rank, Reach, RelationKind};
use sillok_core::entry::{Detail, Episode, Table};
use sillok_core::id::EntryId;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{CausalEdge, NewEntry};
use sillok_core::{Error, ErrorCode};

use super::declared::{declare, kind};
use super::erased::erase;
use super::kept::kept;
use super::stage::{PLACES, Stage, at, file, relates, says, viewer, withdraw};
use crate::reads::{
    GraphAsked, GraphBounds, GraphEdge, GraphEdgeKind, GraphNode, GraphParts, Viewer,
};
use crate::tests::harness::{PROJECT, TASK, scope};
use crate::tests::world::{ORG, OTHER_PROJECT, WORKTREE, entry};

/// A project of another organisation.
const STRANGE: &str = "org/zeta/project/api";

const WHOLE: GraphAsked = GraphAsked {
    inside: true,
    causes: false,
};
const WITH_CAUSES: GraphAsked = GraphAsked {
    inside: true,
    causes: true,
};

/// A node in a word: a title, a path, a name or what is said.
fn word(node: &GraphNode) -> String {
    match node {
        GraphNode::Decision { title, .. } | GraphNode::Evidence { title, .. } => title.clone(),
        GraphNode::File { path } => path.clone(),
        GraphNode::Symbol { name, .. } => name.clone(),
        GraphNode::Episode { success, .. } => format!("an episode, {success}"),
        GraphNode::Finding { text } => text.clone(),
    }
}

fn words(parts: &GraphParts) -> Vec<String> {
    parts.nodes.iter().map(word).collect()
}

/// The edges, each as its ends and how they are joined.
fn joined(parts: &GraphParts) -> Vec<String> {
    let line = |edge: &GraphEdge| {
        let mut line = word(&parts.nodes[edge.from]);
        let written = match edge.kind {
            GraphEdgeKind::Related(kind) => write!(line, " {kind} "),
            GraphEdgeKind::Caused { confidence, .. } => write!(line, " CAUSED {confidence} "),
            GraphEdgeKind::Tells => write!(line, " TELLS "),
        };
        written.unwrap();
        line + &word(&parts.nodes[edge.to])
    };
    parts.edges.iter().map(line).collect()
}

impl Stage {
    async fn graph(&self, viewer: &Viewer, asked: GraphAsked) -> GraphParts {
        let bounds = GraphBounds::default();
        self.bounded(viewer, asked, bounds).await.unwrap()
    }

    async fn bounded(
        &self,
        viewer: &Viewer,
        asked: GraphAsked,
        bounds: GraphBounds,
    ) -> Result<GraphParts, Error> {
        let reader = self.node.reader();
        reader.graph(viewer, asked, bounds).await
    }

    /// Has an agent write an episode of a worktree that says what brought about what.
    async fn tell(&mut self, path: &str, causes: &[(&str, &str)]) -> EntryId {
        let edge = |(cause, effect): &(&str, &str)| CausalEdge {
            cause: (*cause).to_owned(),
            effect: (*effect).to_owned(),
            confidence: 0.5,
        };
        let episode = Episode {
            task_id: scope(TASK),
            task: "mend it".to_owned(),
            critique: String::new(),
            reward: 1.0,
            success: true,
            input: String::new(),
            output: String::new(),
            key_decisions: Vec::new(),
            causal_edges: causes.iter().map(edge).collect(),
        };
        let new = NewEntry {
            detail: Detail::Episode(Box::new(episode)),
            ..entry(Table::Episodes, &format!("what became of it: {causes:?}"))
        };
        let command = Command::PutEntry {
            entry: Box::new(new),
            verification: None,
        };
        match self.give(PrincipalKind::Agent, path, command).await {
            Ok(AnswerBody::Entry { id, .. }) => id,
            other => panic!("an entry was answered with {other:?}"),
        }
    }
}

/// Who looks in a scope with a token of one that is wider or the same.
fn under(path: &str, prefix: &str) -> Viewer {
    Viewer {
        scope: scope(path),
        prefix: prefix.parse().unwrap(),
    }
}

#[tokio::test]
async fn a_graph_holds_what_is_seen_around_and_inside_a_scope_and_nothing_beside_it() {
    let mut stage = Stage::set().await;
    for path in PLACES.into_iter().chain([STRANGE]) {
        let text = relates(
            RelationKind::AppliesTo,
            file("src/a.rs"),
            says(Rank::Normal, path),
        );
        stage.begin(path, text).await;
    }
    let inside = [ORG, PROJECT, WORKTREE, TASK];
    for (path, asked, seen) in [
        (ORG, WHOLE, PLACES.to_vec()),
        (PROJECT, WHOLE, inside.to_vec()),
        (TASK, WHOLE, inside.to_vec()),
        (OTHER_PROJECT, WHOLE, vec![ORG, OTHER_PROJECT]),
        (
            PROJECT,
            GraphAsked {
                inside: false,
                ..WHOLE
            },
            vec![ORG, PROJECT],
        ),
    ] {
        let parts = stage.graph(&viewer(path), asked).await;
        let mut expected: BTreeSet<String> = seen.iter().map(|&one| one.to_owned()).collect();
        let edges = expected.len();
        // One file of that name is one node, whoever names it.
        expected.insert("src/a.rs".to_owned());
        let found: BTreeSet<String> = words(&parts).into_iter().collect();
        assert_eq!(found, expected, "{path}");
        assert_eq!(parts.nodes.len(), expected.len(), "{path}");
        assert_eq!(parts.edges.len(), edges, "{path}");
    }
    // Who looks from above sees inside as far as the token covers, and of another organisation nothing.
    let narrow = stage.graph(&under(ORG, OTHER_PROJECT), WHOLE).await;
    assert_eq!(words(&narrow), [ORG, OTHER_PROJECT, "src/a.rs"]);
    let strange = stage.graph(&under(STRANGE, "org/zeta"), WHOLE).await;
    assert_eq!(words(&strange), [STRANGE, "src/a.rs"]);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn relations_lead_to_what_holds_is_there_and_is_seen() {
    let mut stage = Stage::set().await;
    let run = stage.keep(ORG, "a run", "p99 is 12 ms").await;
    let above = stage.begin(ORG, says(Rank::Axis, "one store")).await;
    let gone = stage.begin(ORG, says(Rank::Normal, "no cache")).await;
    let explains = kind("EXPLAINS", Reach::Both);
    let declared = declare(explains);
    stage
        .give(PrincipalKind::Human, ORG, declared)
        .await
        .unwrap();
    let mut text = says(Rank::Lock, "one writer");
    let symbol = Place::symbol("write", Some("src/a.rs")).unwrap();
    for (kind, to) in [
        (RelationKind::DependsOn, at(ORG, above)),
        (RelationKind::DependsOn, at(ORG, gone)),
        (RelationKind::AppliesTo, symbol),
        (RelationKind::RestsOn, kept(ORG, run)),
        (RelationKind::Declared(explains), at(ORG, above)),
        (RelationKind::Declared(explains), at(ORG, gone)),
    ] {
        text = relates(kind, to, text);
    }
    stage.begin(PROJECT, text).await;
    let beside = stage.keep(OTHER_PROJECT, "their run", "it fails").await;
    let rests = RelationKind::RestsOn;
    let text = relates(
        rests,
        kept(OTHER_PROJECT, beside),
        says(Rank::Normal, "beside"),
    );
    stage.begin(OTHER_PROJECT, text).await;
    stage.person(ORG, withdraw(gone, 1)).await.unwrap();
    let parts = stage.graph(&viewer(PROJECT), WHOLE).await;
    assert_eq!(words(&parts), ["one store", "one writer", "write", "a run"]);
    let expected = [
        "one writer DEPENDS_ON one store",
        "one writer APPLIES_TO write",
        "one writer RESTS_ON a run",
        "one writer EXPLAINS one store",
    ];
    assert_eq!(joined(&parts), expected);
    let GraphNode::Evidence {
        id,
        bytes,
        media_type,
        ..
    } = &parts.nodes[3]
    else {
        panic!("{:?}", parts.nodes[3])
    };
    let said = (*id, *bytes, media_type.as_str());
    assert_eq!(said, (run, 12, "text/plain"));
    // The same state gives the same graph.
    assert_eq!(stage.graph(&viewer(PROJECT), WHOLE).await, parts);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn evidence_that_was_erased_is_not_in_it_and_neither_is_what_led_to_it() {
    let mut stage = Stage::set().await;
    let gone = stage.keep(ORG, "a run", "p99 is 12 ms").await;
    let stays = stage.keep(ORG, "another run", "p99 is 13 ms").await;
    let text = says(Rank::Lock, "one writer");
    let text = relates(RelationKind::RestsOn, kept(ORG, gone), text);
    let text = relates(RelationKind::RestsOn, kept(ORG, stays), text);
    stage.begin(PROJECT, text).await;
    let before = stage.graph(&viewer(PROJECT), WHOLE).await;
    assert_eq!(words(&before), ["one writer", "a run", "another run"]);
    let order = erase(&[], &[gone], &[]);
    stage.give(PrincipalKind::Human, ORG, order).await.unwrap();
    let parts = stage.graph(&viewer(PROJECT), WHOLE).await;
    assert_eq!(words(&parts), ["one writer", "another run"]);
    assert_eq!(joined(&parts), ["one writer RESTS_ON another run"]);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn causes_are_in_it_where_they_are_asked_for_and_their_episode_is_seen() {
    let mut stage = Stage::set().await;
    let told = [("no lock", "two writers"), ("two writers", "a lost row")];
    let first = stage.tell(WORKTREE, &told).await;
    let second = stage.tell(WORKTREE, &[("no lock", "a wait")]).await;
    let beside = format!("{OTHER_PROJECT}/worktree/main");
    stage.tell(&beside, &[("no lock", "their loss")]).await;
    let without = stage.graph(&viewer(PROJECT), WHOLE).await;
    assert_eq!(without, GraphParts::default());
    let parts = stage.graph(&viewer(PROJECT), WITH_CAUSES).await;
    let found: BTreeSet<String> = joined(&parts).into_iter().collect();
    let teller = "an episode, true";
    let expected = [
        "no lock CAUSED 0.5 two writers".to_owned(),
        "two writers CAUSED 0.5 a lost row".to_owned(),
        "no lock CAUSED 0.5 a wait".to_owned(),
        format!("{teller} TELLS no lock"),
        format!("{teller} TELLS two writers"),
        format!("{teller} TELLS a lost row"),
        format!("{teller} TELLS a wait"),
    ];
    assert_eq!(found, BTreeSet::from(expected));
    // What two episodes say in the same words is one node: four are said.
    assert_eq!((parts.nodes.len(), parts.edges.len()), (6, 8));
    let tellers: BTreeSet<EntryId> = parts
        .edges
        .iter()
        .filter_map(|edge| match edge.kind {
            GraphEdgeKind::Caused { episode, .. } => Some(episode),
            GraphEdgeKind::Related(_) | GraphEdgeKind::Tells => None,
        })
        .collect();
    assert_eq!(tellers, BTreeSet::from([first, second]));
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_graph_over_a_bound_is_refused_with_its_name() {
    let mut stage = Stage::set().await;
    for number in 0..3 {
        let path = file(&format!("src/{number}.rs"));
        let text = relates(
            RelationKind::AppliesTo,
            path,
            says(Rank::Normal, &format!("decision {number}")),
        );
        stage.begin(PROJECT, text).await;
    }
    stage.begin(STRANGE, says(Rank::Normal, "elsewhere")).await;
    let all = GraphBounds::default();
    let nodes = |nodes_max| GraphBounds { nodes_max, ..all };
    let edges = |edges_max| GraphBounds { edges_max, ..all };
    let bytes = |bytes_max| GraphBounds { bytes_max, ..all };
    let scopes = |scopes_max| GraphBounds { scopes_max, ..all };
    for (name, fits, tight) in [
        ("nodes", nodes(6), nodes(5)),
        ("edges", edges(3), edges(2)),
        ("bytes", bytes(4_096), bytes(512)),
        ("scopes", scopes(2), scopes(1)),
    ] {
        let viewer = viewer(PROJECT);
        let found = stage.bounded(&viewer, WHOLE, fits).await.unwrap();
        assert_eq!((found.nodes.len(), found.edges.len()), (6, 3), "{name}");
        let refused = stage.bounded(&viewer, WHOLE, tight).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, ErrorCode::TooLarge, "{name}: {refused}");
        assert!(refused.message.contains(name), "{name}: {refused}");
    }
    // The scopes of the store are not looked through for what lies around.
    let around = GraphAsked {
        inside: false,
        ..WHOLE
    };
    let found = stage.bounded(&viewer(PROJECT), around, scopes(0)).await;
    let found = found.unwrap();
    assert_eq!(found.nodes.len(), 6);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn the_scopes_that_a_graph_is_read_of_count_among_its_bytes() {
    let mut stage = Stage::set().await;
    stage.begin(PROJECT, says(Rank::Normal, "one")).await;
    stage.begin(WORKTREE, says(Rank::Normal, "two")).await;
    let around = GraphAsked {
        inside: false,
        ..WHOLE
    };
    // The same two decisions, seen from the worktree and from the project that it lies inside.
    let mut leasts = Vec::new();
    for (viewer, asked) in [(viewer(WORKTREE), around), (viewer(PROJECT), WHOLE)] {
        let (mut short, mut least) = (0, 4_096);
        while least - short > 1 {
            let bounds = GraphBounds {
                bytes_max: usize::midpoint(short, least),
                ..GraphBounds::default()
            };
            match stage.bounded(&viewer, asked, bounds).await {
                Ok(found) => {
                    assert_eq!(words(&found), ["one", "two"]);
                    least = bounds.bytes_max;
                }
                Err(refused) => {
                    assert_eq!(refused.code, ErrorCode::TooLarge, "{refused}");
                    assert!(refused.message.contains("bytes"), "{refused}");
                    short = bounds.bytes_max;
                }
            }
        }
        leasts.push(least);
    }
    // The path of the worktree is held while what lies inside the project is read.
    assert!(leasts[1] >= leasts[0] + WORKTREE.len(), "{leasts:?}");
    stage.node.shutdown().await;
}

#[tokio::test]
async fn reading_a_graph_ends_with_its_time() {
    let mut stage = Stage::set().await;
    // The clock is looked at now and then.
    for number in 0..70 {
        let text = says(Rank::Normal, &format!("decision {number}"));
        stage.begin(PROJECT, text).await;
    }
    let within = |ms| GraphBounds {
        ms_max: Some(ms),
        ..GraphBounds::default()
    };
    let viewer = viewer(PROJECT);
    let found = stage.bounded(&viewer, WHOLE, within(60_000)).await.unwrap();
    assert_eq!(found.nodes.len(), 70);
    let refused = stage.bounded(&viewer, WHOLE, within(0)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge);
    assert!(refused.message.contains("time"), "{refused}");
    stage.node.shutdown().await;
}
