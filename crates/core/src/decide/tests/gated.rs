//! What is gone at the main branch leaves recall, and what lies elsewhere is cited there: who may say so, what it takes, and that
//! what left can come back.

use super::governance::{human, project, report, task};
use super::world::{PROJECT, World, entry};
use crate::citation::Citation;
use crate::command::{AnswerBody, Command, GateFound, GateReport};
use crate::commit::{CommitName, Presence};
use crate::entry::{Status, Table};
use crate::error::{Error, ErrorCode};
use crate::facts::{Facts, HashKey, Need, needs};
use crate::id::EntryId;
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;
use crate::promotion::NewEntry;
use crate::reuse::ReuseOutcome;
use crate::state::State;

const MAIN: &str = "aaaaaaa1";

/// What an entry rests on, with another place of its file.
fn placed(world: &World, id: EntryId, cited: &Citation) -> Vec<Citation> {
    let citations = world.state.head(id).unwrap().citations.iter();
    let placed = citations.map(|one| match one {
        Citation::File { .. } => cited,
        other => other,
    });
    placed.cloned().collect()
}

fn citing(content: &str) -> NewEntry {
    NewEntry {
        citations: vec![lines("src/a.rs", (1, 3), "0")],
        ..entry(Table::Observations, content)
    }
}

fn about_code(world: &mut World, content: &str) -> EntryId {
    world.put(PrincipalKind::Human, citing(content)).unwrap().0
}

fn said(id: EntryId, from: u32) -> GateReport {
    GateReport {
        task: task(from),
        entry: id,
        expected_version: 1,
        at: CommitName::new(MAIN, "r"),
        found: GateFound::Stale,
    }
}

fn moved(id: EntryId, from: u32, citations: Vec<Citation>) -> GateReport {
    GateReport {
        found: GateFound::Moved { citations },
        ..said(id, from)
    }
}

fn lines(path: &str, lines: (u32, u32), digit: &str) -> Citation {
    Citation::File {
        path: path.into(),
        lines: Some(lines),
        fingerprint: Some(digit.repeat(64)),
    }
}

fn tell(world: &mut World, kind: PrincipalKind, said: GateReport) -> Result<Status, Error> {
    let answer = world.give(kind, Command::ReportGate(Box::new(said)))?;
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
fn by_which_text_an_entry_is_found_is_asked_before_it_is_taken_out() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    let head = world.state.head(id).unwrap().clone();
    let command = Command::ReportGate(Box::new(said(id, 0)));
    let submission = world.submission(PrincipalKind::Orchestrator, command);
    let key = HashKey {
        table: head.table,
        failure: head.failure,
        hash: head.content_hash,
    };
    let mut state = State::new(world.state.scope(), None, None);
    state.learn_head(id, Some(head));
    let asked = needs(&state, &submission, &Facts::default());
    assert!(asked.contains(&Need::ByHash(key)), "{asked:?}");
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
            GateReport {
                expected_version: 2,
                ..said(id, 0)
            },
            ErrorCode::Conflict,
        ),
        (
            GateReport {
                at: at("bbbbbbb2"),
                ..said(id, 0)
            },
            ErrorCode::UnresolvableCitation,
        ),
        (
            GateReport {
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

#[test]
fn what_lies_elsewhere_is_cited_there_by_whoever_may_write_and_says_the_same() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    let before = world.state.head(id).unwrap().clone();
    let there = placed(&world, id, &lines("lib/a.rs", (11, 13), "0"));
    // An agent may write no entries of a project.
    tell(
        &mut world,
        PrincipalKind::Agent,
        moved(id, 0, there.clone()),
    )
    .unwrap();
    assert_eq!(world.state.head(id), Some(&before));
    for _ in 0..2 {
        let said = moved(id, 0, there.clone());
        let status = tell(&mut world, PrincipalKind::Orchestrator, said).unwrap();
        assert_eq!(status, before.status);
    }
    let after = world.state.head(id).unwrap();
    assert_eq!(after.citations, there);
    assert_eq!((&after.trust, after.usage), (&before.trust, before.usage));
    assert_eq!(after.version, before.version);
}

#[test]
fn what_is_told_of_a_place_changes_nothing_else_of_what_is_cited() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    let wrong = [
        lines("src/a.rs", (1, 3), "1"),
        lines("src/a.rs", (2, 3), "0"),
        lines("../a.rs", (1, 3), "0"),
        lines("/etc/passwd", (1, 3), "0"),
    ];
    let mut wrong: Vec<_> = wrong.map(|cited| placed(&world, id, &cited)).to_vec();
    wrong.push(Vec::new());
    let mut more = world.state.head(id).unwrap().citations.clone();
    more.push(lines("lib/a.rs", (1, 3), "0"));
    wrong.push(more);
    for citations in wrong {
        let said = moved(id, 0, citations.clone());
        let refused = tell(&mut world, PrincipalKind::Orchestrator, said).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{citations:?}");
    }
}
