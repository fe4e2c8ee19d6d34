//! What is gone at the main branch leaves recall, and what lies elsewhere is cited there: who may say so, what it takes, and that
//! what left can come back.

use super::governance::{human, project, report, task};
use super::world::{PROJECT, World, amend, entry};
use crate::citation::{Citation, CitationsHash};
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

fn moved(id: EntryId, seen: &[Citation], citations: &[Citation]) -> GateReport {
    GateReport {
        found: GateFound::Moved {
            seen: CitationsHash::of(seen),
            citations: citations.to_vec(),
        },
        ..said(id, 0)
    }
}

/// The same, found at another commit.
fn at(hash: &str, said: GateReport) -> GateReport {
    GateReport {
        at: CommitName::new(hash, "r"),
        ..said
    }
}

fn restore(world: &mut World, id: EntryId) {
    let restore = Command::RestoreEntry {
        entry: id,
        reason: "it still holds".into(),
    };
    world.give(PrincipalKind::Human, restore).unwrap();
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
    for kind in [PrincipalKind::Orchestrator, PrincipalKind::Human] {
        let mut world = project();
        let id = about_code(&mut world, "the reader skips a line");
        let status = tell(&mut world, kind, said(id, 0)).unwrap();
        assert_eq!(status, Status::Archived);
        assert_eq!(world.state.head(id).unwrap().usage.stale, 1);
        let twice = tell(&mut world, kind, said(id, 0)).unwrap_err();
        assert_eq!(twice.code, ErrorCode::Conflict);
        restore(&mut world, id);
        assert!(world.state.head(id).unwrap().status.is_live());
    }
}

#[test]
fn what_a_person_brought_back_goes_by_a_report_of_another_commit_alone() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    let orchestrator = PrincipalKind::Orchestrator;
    tell(&mut world, orchestrator, said(id, 0)).unwrap();
    let before = world.state.head(id).unwrap().clone();
    restore(&mut world, id);
    let head = world.state.head(id).unwrap().clone();
    let against = Citation::Commit {
        hash: MAIN.into(),
        repository: "r".into(),
    };
    assert_eq!(head.citations[..before.citations.len()], before.citations);
    assert_eq!(head.citations.last(), Some(&against));
    assert_eq!(head.version, before.version);
    // The same task, another one, and the commit by more of its name.
    let longer = format!("{MAIN}0");
    for again in [said(id, 0), said(id, 1), at(&longer, said(id, 2))] {
        let status = tell(&mut world, orchestrator, again).unwrap();
        assert_eq!(status, head.status);
    }
    assert_eq!(world.state.head(id).unwrap().usage.stale, 3);
    let status = tell(&mut world, orchestrator, at("bbbbbbb2", said(id, 0))).unwrap();
    assert_eq!(status, Status::Archived);
    restore(&mut world, id);
    for settled in [MAIN, "bbbbbbb2"] {
        let status = tell(&mut world, orchestrator, at(settled, said(id, 0))).unwrap();
        assert!(status.is_live(), "{settled}");
    }
}

#[test]
fn what_is_amended_goes_by_what_is_found_of_the_version_that_it_has() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    for from in 0..3 {
        tell(&mut world, PrincipalKind::Agent, said(id, from)).unwrap();
    }
    let again = amend(id, 1, "the reader skips two lines");
    world.give(PrincipalKind::Human, again).unwrap();
    let former = tell(&mut world, PrincipalKind::Orchestrator, said(id, 0)).unwrap_err();
    assert_eq!(former.code, ErrorCode::Conflict);
    let newest = GateReport {
        expected_version: 2,
        ..said(id, 4)
    };
    let status = tell(&mut world, PrincipalKind::Agent, newest).unwrap();
    assert!(status.is_live(), "words of the former version take nothing");
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
fn the_word_of_agents_is_counted_and_takes_nothing_out_in_how_many_tasks_it_is_said() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    for from in [0, 0, 1, 2, 3, 4, 5] {
        let status = tell(&mut world, PrincipalKind::Agent, said(id, from)).unwrap();
        assert!(status.is_live(), "task {from}");
    }
    assert_eq!(world.state.head(id).unwrap().usage.stale, 6);
    let system = tell(&mut world, PrincipalKind::System, said(id, 0)).unwrap();
    assert!(system.is_live());
    // Whose word is enough adds none for a task that said so before.
    let status = tell(&mut world, PrincipalKind::Orchestrator, said(id, 0)).unwrap();
    assert_eq!(status, Status::Archived);
    assert_eq!(world.state.head(id).unwrap().usage.stale, 6);
}

#[test]
fn an_agent_takes_out_not_even_what_it_might_have_written() {
    let worktree = format!("{PROJECT}/worktree/c");
    for kind in [PrincipalKind::Orchestrator, PrincipalKind::Human] {
        let mut world = World::new(&worktree);
        world.tasks.extend((0..3).map(task));
        let (id, _) = world
            .put(PrincipalKind::Agent, citing("the reader skips a line"))
            .unwrap();
        for from in 0..3 {
            let status = tell(&mut world, PrincipalKind::Agent, said(id, from)).unwrap();
            assert!(status.is_live(), "task {from}");
        }
        let status = tell(&mut world, kind, said(id, 0)).unwrap();
        assert_eq!(status, Status::Archived, "{kind}");
    }
}

#[test]
fn what_an_organisation_knows_goes_for_a_task_of_one_project_only_by_the_word_of_a_person() {
    let mut world = World::new("org/a");
    world.tasks.extend((0..3).map(task));
    let id = about_code(&mut world, "the reader skips a line");
    for kind in [
        PrincipalKind::Agent,
        PrincipalKind::Orchestrator,
        PrincipalKind::System,
    ] {
        for from in 0..3 {
            let status = tell(&mut world, kind, said(id, from)).unwrap();
            assert!(status.is_live(), "{kind}, task {from}");
        }
    }
    assert_eq!(world.state.head(id).unwrap().usage.stale, 3);
    let status = tell(&mut world, PrincipalKind::Human, said(id, 0)).unwrap();
    assert_eq!(status, Status::Archived);
}

#[test]
fn what_a_task_said_itself_stays_whatever_the_gate_finds_for_it() {
    for outcome in [ReuseOutcome::Helped, ReuseOutcome::Wrong] {
        let mut world = project();
        let id = about_code(&mut world, "the reader skips a line");
        report(&mut world, id, 0, outcome);
        let before = world.state.head(id).unwrap().clone();
        tell(&mut world, PrincipalKind::Agent, said(id, 0)).unwrap();
        assert_eq!(world.state.head(id), Some(&before), "{outcome}");
        let status = tell(&mut world, PrincipalKind::Orchestrator, said(id, 0)).unwrap();
        assert_eq!(status, Status::Archived);
        assert_eq!(world.state.head(id).unwrap().usage, before.usage);
    }
    // What the gate said for it gives way to its own word.
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    tell(&mut world, PrincipalKind::Agent, said(id, 0)).unwrap();
    report(&mut world, id, 0, ReuseOutcome::Helped);
    let usage = world.state.head(id).unwrap().usage;
    assert_eq!((usage.helped, usage.stale), (1, 0));
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
    let said = || moved(id, &before.citations, &there);
    tell(&mut world, PrincipalKind::Agent, said()).unwrap();
    assert_eq!(world.state.head(id), Some(&before));
    // Whoever finds the same changes nothing.
    for _ in 0..2 {
        let said = said();
        let status = tell(&mut world, PrincipalKind::Orchestrator, said).unwrap();
        assert_eq!(status, before.status);
    }
    let after = world.state.head(id).unwrap();
    assert_eq!(after.citations, there);
    assert_eq!((&after.trust, after.usage), (&before.trust, before.usage));
    assert_eq!(after.version, before.version);
}

#[test]
fn a_place_that_was_found_before_another_one_was_told_is_refused() {
    let mut world = project();
    let id = about_code(&mut world, "the reader skips a line");
    let first = world.state.head(id).unwrap().citations.clone();
    let newer = placed(&world, id, &lines("lib/a.rs", (11, 13), "0"));
    let older = placed(&world, id, &lines("old/a.rs", (1, 3), "0"));
    let orchestrator = PrincipalKind::Orchestrator;
    tell(&mut world, orchestrator, moved(id, &first, &newer)).unwrap();
    for kind in [orchestrator, PrincipalKind::Human, PrincipalKind::Agent] {
        for late in [&older, &first] {
            let refused = tell(&mut world, kind, moved(id, &first, late)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Conflict, "{kind}: {refused}");
        }
    }
    assert_eq!(world.state.head(id).unwrap().citations, newer);
    tell(&mut world, orchestrator, moved(id, &newer, &older)).unwrap();
    assert_eq!(world.state.head(id).unwrap().citations, older);
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
    let seen = world.state.head(id).unwrap().citations.clone();
    for citations in wrong {
        let said = moved(id, &seen, &citations);
        let refused = tell(&mut world, PrincipalKind::Orchestrator, said).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{citations:?}");
    }
}
