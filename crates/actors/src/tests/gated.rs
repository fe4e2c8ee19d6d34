//! What the cognitive gate found at the main branch, through a node: what is gone leaves recall, and what moved is cited where it
//! lies, for good.

use sillok_core::citation::{Citation, CitationsHash};
use sillok_core::command::{Command, GateFound, GateReport};
use sillok_core::commit::CommitName;
use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;

use super::harness::{PROJECT, TASK, scope};
use super::world::{World, entry};
use crate::audit;
use crate::reads::RecallQuery;
use crate::rebuild::rebuild;

fn file(path: &str) -> Citation {
    Citation::File {
        path: path.into(),
        lines: Some((1, 3)),
        fingerprint: Some("0".repeat(64)),
    }
}

async fn about_code(world: &mut World, content: &str) -> EntryId {
    let new = NewEntry {
        citations: vec![file("src/a.rs")],
        ..entry(Table::Observations, content)
    };
    world.put(PrincipalKind::Human, PROJECT, new).await
}

fn report(entry: EntryId, found: GateFound) -> Command {
    Command::ReportGate(Box::new(GateReport {
        task: scope(TASK),
        entry,
        expected_version: 1,
        at: CommitName::new("aaaaaaa1", "r"),
        found,
    }))
}

#[tokio::test]
async fn what_the_gate_reports_holds_for_all_and_after_a_rebuild() {
    let mut world = World::new().await;
    let gone = about_code(&mut world, "the gate looks for what nobody has kept").await;
    let moved = about_code(&mut world, "a renamed folder holds what lay beside it").await;
    let citations = world.head(moved).await.citations;
    let there: Vec<Citation> = citations
        .iter()
        .map(|one| match one {
            Citation::File { .. } => file("lib/a.rs"),
            other => other.clone(),
        })
        .collect();
    let found = || GateFound::Moved {
        seen: CitationsHash::of(&citations),
        citations: there.clone(),
    };
    let agent = PrincipalKind::Agent;
    world.give(agent, PROJECT, report(moved, found())).await;
    assert_eq!(world.head(moved).await.citations, citations);
    let orchestrator = PrincipalKind::Orchestrator;
    world
        .give(orchestrator, PROJECT, report(moved, found()))
        .await;
    world
        .give(orchestrator, PROJECT, report(gone, GateFound::Stale))
        .await;
    let before = [world.head(gone).await, world.head(moved).await];
    assert_eq!(before[0].status, Status::Archived);
    assert_eq!(before[1].citations, there);
    let query = RecallQuery {
        limit: Some(50),
        ..RecallQuery::new(scope(TASK), "what lay beside it, and what nobody has kept")
    };
    let answer = world.node.reader().recall(query).await.unwrap();
    let recalled: Vec<EntryId> = answer.results.iter().map(|one| one.head.id).collect();
    assert!(recalled.contains(&moved) && !recalled.contains(&gone));

    world.node.shutdown().await;
    rebuild(&world.store, &*world.node.ports().index, &|_| {})
        .await
        .unwrap();
    let after = [world.head(gone).await, world.head(moved).await];
    assert_eq!(after, before);
}

#[tokio::test]
async fn what_a_person_brought_back_is_not_taken_out_again_for_the_commit_at_which_it_left() {
    let mut world = World::new().await;
    let gone = about_code(&mut world, "the gate looks for what nobody has kept").await;
    let orchestrator = PrincipalKind::Orchestrator;
    let stale = || report(gone, GateFound::Stale);
    world.give(orchestrator, PROJECT, stale()).await;
    assert_eq!(world.head(gone).await.status, Status::Archived);
    let restore = Command::RestoreEntry {
        entry: gone,
        reason: "it still holds".into(),
    };
    world.give(PrincipalKind::Human, PROJECT, restore).await;
    let restored = world.head(gone).await;
    world.give(orchestrator, PROJECT, stale()).await;
    assert_eq!(world.head(gone).await, restored);
    let commit = CommitName::new("aaaaaaa1", "r");
    let cited = restored.citations.last().and_then(Citation::commit);
    assert_eq!(cited, Some(commit));
    assert!(restored.status.is_live());

    world.node.shutdown().await;
    let found = audit::verify(&world.store, &|_| {}).await.unwrap();
    assert!(found.is_ok(), "{found:?}");
}
