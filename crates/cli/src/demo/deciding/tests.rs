//! What the demo's texts ask for, and what its agents do with and without them, against a real server.

use std::net::{Ipv4Addr, SocketAddr};

use indicatif::ProgressBar;
use tempfile::TempDir;

use super::*;
use crate::args::Global;
use crate::data_directory::DataDirectory;
use crate::demo::operator;
use crate::demo::scenario::LATER;
use crate::local_server::{LocalServer, NO_NIGHTS};

/// A server, and a project in which nothing was decided.
struct World {
    server: LocalServer,
    stage: Stage,
    _folder: TempDir,
}

impl World {
    async fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let more = [NO_NIGHTS, ("index.engine", "exact")];
        let server =
            LocalServer::start_with(&Global::default(), folder.path(), free_port, &more).await;
        let server = server.unwrap();
        let client = operator(&server, &DataDirectory::at(folder.path())).unwrap();
        let project = Scope::parse("org/demo/project/tally").unwrap();
        let stage = Stage::open(client, project, ProgressBar::hidden()).await;
        Self {
            server,
            stage: stage.unwrap(),
            _folder: folder,
        }
    }
}

#[test]
fn one_later_fix_is_in_line_with_both_decisions_and_the_bug_and_the_other_fix_with_neither() {
    let (own, obeying) = (&LATER[0].attempts[0], &LATER[1].attempts[0]);
    for text in [LOCKED, LEFT] {
        assert!(is_in_line(text.content, obeying.new), "{}", text.title);
        for source in [obeying.old, own.new] {
            assert!(!is_in_line(text.content, source), "{}", text.title);
        }
    }
    assert!(!is_in_line("It quotes nothing.", obeying.new));
    for bug in &LATER {
        assert_eq!(FILE, format!("file:{}", bug.source()));
    }
}

#[test]
fn the_change_that_is_stopped_claims_otherwise_under_the_locked_key() {
    assert!(LOCKED.claim.is_some() && UNLOCKING.claim.is_some());
    assert_ne!(LOCKED.claim, UNLOCKING.claim);
    assert!(LOCKED.rank.is_guarded());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_about_a_file_is_made_unless_something_locked_applies_to_that_file() {
    let world = World::set().await;
    let stage = &world.stage;
    let before = stage.agent(0).await.unwrap();
    let course = choose(&before, OTHER_FILE, UNLOCKING).await.unwrap();
    let Course::Made(made) = course else {
        panic!("nothing is locked: {course:?}");
    };
    assert_eq!(made.title, UNLOCKING.title);

    let applies = relation(RelationKind::AppliesTo, OTHER_FILE);
    let body = said(&stage.project, LOCKED, vec![applies]);
    let lock = save(&stage.orchestrator, "the orchestrator", body).await;
    let lock = lock.unwrap();
    let behind = stage.agent(1).await.unwrap();
    let course = choose(&behind, OTHER_FILE, UNLOCKING).await.unwrap();
    let Course::LetBe(stop) = course else {
        panic!("it is locked: {course:?}");
    };
    let guards: Vec<&Node> = guarded(&stop.impact).map(|(_, one)| &one.node).collect();
    assert_eq!(guards, [&node(&lock)]);
    // The proposal names the file alone, and the lock is found by the key that both claim.
    let against = stop.proposed.contradictions.iter();
    let against: Vec<_> = against.map(|other| other.root).collect();
    assert_eq!(against, [lock.saved.root]);
    check_unsaved(&behind, &stop).await.unwrap();

    // What is locked is the one file.
    let course = choose(&behind, FREE_FILE, SPELLING).await.unwrap();
    assert!(matches!(course, Course::Made(_)), "{course:?}");
    world.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_agent_fixes_a_bug_in_its_own_way_unless_its_brief_rules_that_out() {
    let world = World::set().await;
    let next = world.stage.agent(1).await.unwrap();
    let approach = |place: usize| LATER[place].attempts[0].approach;
    let brief = load(&next, &next.worktree).await.unwrap();
    let (bug, taken) = way(&brief, &LATER).unwrap();
    assert_eq!(bug.attempts[0].approach, approach(0));
    assert_eq!(taken.taken, approach(0));
    assert!(taken.passed_over.is_empty());

    let mut deciding = Deciding::default();
    let found = (&next.worktree, "the source as it was\n");
    deciding
        .decide(&world.stage, "agent-1", found)
        .await
        .unwrap();
    let brief = load(&next, &next.worktree).await.unwrap();
    let (bug, taken) = way(&brief, &LATER).unwrap();
    assert_eq!(bug.attempts[0].approach, approach(1));
    assert_eq!(taken.taken, approach(1));
    assert_eq!(taken.passed_over, [approach(0)]);
    let refused = way(&brief, &LATER[..1]).unwrap_err();
    assert!(matches!(refused, Failure::Verdict(_)), "{refused:?}");
    world.server.stop().await.unwrap();
}
