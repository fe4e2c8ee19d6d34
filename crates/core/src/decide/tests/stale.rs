//! What is gone at the main branch leaves recall: who may say so, what it takes, and that it can come back.

use super::governance::{human, project, report, task};
use super::world::{PROJECT, World, entry};
use crate::citation::Citation;
use crate::command::{AnswerBody, Command, ReportStale};
use crate::commit::{CommitName, Presence};
use crate::entry::{Status, Table};
use crate::error::{Error, ErrorCode};
use crate::id::EntryId;
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;
use crate::promotion::NewEntry;
use crate::reuse::ReuseOutcome;

const MAIN: &str = "aaaaaaa1";

fn citing(content: &str) -> NewEntry {
    NewEntry {
        citations: vec![Citation::File {
            path: "src/a.rs".into(),
            lines: Some((1, 3)),
            fingerprint: Some("0".repeat(64)),
        }],
        ..entry(Table::Observations, content)
    }
}

fn about_code(world: &mut World, content: &str) -> EntryId {
    world.put(PrincipalKind::Human, citing(content)).unwrap().0
}

fn said(id: EntryId, from: u32) -> ReportStale {
    ReportStale {
        task: task(from),
        entry: id,
        expected_version: 1,
        at: CommitName::new(MAIN, "r"),
    }
}

fn tell(world: &mut World, kind: PrincipalKind, said: ReportStale) -> Result<Status, Error> {
    let answer = world.give(kind, Command::ReportStale(Box::new(said)))?;
    let AnswerBody::Reported { status, .. } = answer else {
        panic!("{answer:?}");
    };
    Ok(status)
}

#[test]
fn what_whoever_may_write_there_finds_stale_leaves_recall_and_can_come_back() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    let status = tell(&mut world, PrincipalKind::Orchestrator, said(id, 0)).unwrap();
    assert_eq!(status, Status::Archived);
    assert_eq!(world.state.head(id).unwrap().usage.stale, 1);
    let twice = tell(&mut world, PrincipalKind::Orchestrator, said(id, 0)).unwrap_err();
    assert_eq!(twice.code, ErrorCode::Conflict);
    let restore = Command::RestoreEntry {
        entry: id,
        reason: "the file is back".into(),
    };
    world.give(PrincipalKind::Human, restore).unwrap();
    assert!(world.state.head(id).unwrap().status.is_live());
}

#[test]
fn of_agents_two_tasks_have_to_find_what_they_may_not_write_stale() {
    let mut world = project();
    let (one, two) = (
        about_code(&mut world, "the reader skips a line"),
        about_code(&mut world, "the writer locks a file"),
    );
    for _ in 0..2 {
        let status = tell(&mut world, PrincipalKind::Agent, said(one, 0)).unwrap();
        assert!(status.is_live(), "one task counts once");
    }
    let status = tell(&mut world, PrincipalKind::Agent, said(one, 1)).unwrap();
    assert_eq!(status, Status::Archived);
    // What others say of it on their branches counts, and is not enough.
    for from in 0..3 {
        report(&mut world, two, from, ReuseOutcome::Stale);
    }
    assert!(world.state.head(two).unwrap().status.is_live());
    let status = tell(&mut world, PrincipalKind::Agent, said(two, 0)).unwrap();
    assert_eq!(status, Status::Archived);
}

#[test]
fn an_agent_takes_out_what_it_might_have_written() {
    let worktree = format!("{PROJECT}/worktree/c");
    let mut world = World::new(&worktree);
    world.tasks.insert(task(0));
    let (id, _) = world
        .put(PrincipalKind::Agent, citing("the reader skips a line"))
        .unwrap();
    let status = tell(&mut world, PrincipalKind::Agent, said(id, 0)).unwrap();
    assert_eq!(status, Status::Archived);
}

#[test]
fn what_cannot_be_so_is_refused() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    let plain = human(&mut world, Table::Observations, "the build is hermetic");
    world
        .commits
        .insert(CommitName::new("bbbbbbb2", "r"), Presence::Missing);
    let at = |hash: &str| CommitName::new(hash, "r");
    let refusals = [
        (said(plain, 0), ErrorCode::InvalidArgument),
        (said(EntryId::from_bytes([9; 16]), 0), ErrorCode::NotFound),
        (
            ReportStale {
                expected_version: 2,
                ..said(id, 0)
            },
            ErrorCode::Conflict,
        ),
        (
            ReportStale {
                at: at("bbbbbbb2"),
                ..said(id, 0)
            },
            ErrorCode::UnresolvableCitation,
        ),
        (
            ReportStale {
                at: at("main"),
                ..said(id, 0)
            },
            ErrorCode::UnresolvableCitation,
        ),
        (said(id, 77), ErrorCode::NotFound),
    ];
    for (said, code) in refusals {
        let refused = tell(&mut world, PrincipalKind::Orchestrator, said.clone()).unwrap_err();
        assert_eq!(refused.code, code, "{said:?}: {refused}");
    }
    world.spoken = WireVersion::WITH_FAILURES;
    let waits = tell(&mut world, PrincipalKind::Orchestrator, said(id, 0)).unwrap_err();
    assert_eq!(waits.code, ErrorCode::Unavailable);
    assert!(world.state.head(id).unwrap().status.is_live());
}
