//! A clock that jumped: the run that asks, and the way back from one that did not.

use super::*;
use crate::reads::RecallQuery;

const SCOPES: u64 = 6;
const IN_EACH: u64 = 4;

/// A worktree of the project.
fn worktree(number: u64) -> String {
    format!("{PROJECT}/worktree/w{number}")
}

/// Entries in many small scopes: their ids.
async fn scattered(stage: &mut Stage) -> Vec<EntryId> {
    let mut entries = Vec::new();
    for number in 0..SCOPES * IN_EACH {
        let content = format!("fact number {number} of the build");
        let command = Command::PutEntry {
            entry: Box::new(crate::tests::world::entry(Table::Observations, &content)),
            verification: None,
        };
        let path = worktree(number % SCOPES);
        match stage.give(PrincipalKind::Agent, &path, command).await {
            AnswerBody::Entry { id, .. } => entries.push(id),
            other => panic!("{other:?}"),
        }
    }
    entries
}

fn retired(run: &Maintained) -> u64 {
    run.scopes.iter().map(|scope| scope.retired).sum()
}

#[tokio::test]
async fn a_jumped_clock_that_empties_many_small_scopes_makes_the_whole_run_ask() {
    let mut stage = Stage::set().await;
    let entries = scattered(&mut stage).await;
    stage.days.store(365, Ordering::Relaxed);
    for dry_run in [true, false] {
        let asked = stage.maintain(dry_run, false).await.unwrap();
        assert!(asked.asks && asked.scopes.iter().all(|scope| scope.asks));
        assert_eq!(retired(&asked), 0);
        assert_eq!(asked.outcome().asks, SCOPES);
    }
    assert_eq!(stage.status(entries[0]).await, Status::Hypothesis);
    // One of these scopes by itself holds too few for a question.
    let within = Maintain {
        within: Some(scope(&worktree(0))),
        ..Maintain::whole()
    };
    let one = stage.node.maintain(&within).await.unwrap();
    assert_eq!((one.asks, retired(&one)), (false, IN_EACH));
    let done = stage.maintain(false, true).await.unwrap();
    assert!(!done.asks, "whoever forces it has answered");
    assert_eq!(retired(&done), (SCOPES - 1) * IN_EACH);
}

/// More young entries than the old ones, in scopes of their own and in words of their own.
async fn young_elsewhere(stage: &mut Stage) {
    for number in 0..SCOPES * IN_EACH {
        let content = format!("younger fact {number} about the tests");
        let command = Command::PutEntry {
            entry: Box::new(crate::tests::world::entry(Table::Observations, &content)),
            verification: None,
        };
        let path = worktree(number % SCOPES);
        stage.give(PrincipalKind::Agent, &path, command).await;
    }
}

/// Everything in the store but the row that says how the last run went.
async fn but_for_runs(stage: &Stage) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut pairs = pairs_of(&stage.store).await;
    pairs.retain(|key, _| Family::of(key) != Some(Family::Run));
    pairs
}

/// A rehearsal, and then a run, that ask: both say that nothing is offered or forgotten, and nothing is. What the run
/// said.
async fn asks_and_does_nothing(stage: &Stage) -> Maintained {
    let before = but_for_runs(stage).await;
    let planned = stage.maintain(true, false).await.unwrap();
    let done = stage.maintain(false, false).await.unwrap();
    assert_eq!(planned.scopes, done.scopes);
    assert_eq!(planned.asks, done.asks);
    for run in [&planned, &done] {
        assert!(run.asks || run.scopes.iter().any(|scope| scope.asks));
        let did = (retired(run), run.offered, run.not_offered, run.forgotten);
        assert_eq!(did, (0, 0, 0, 0));
    }
    assert!(done.optimised, "no clock decides that");
    assert!(but_for_runs(stage).await == before, "it wrote something");
    done
}

#[tokio::test]
async fn a_run_that_asks_offers_and_forgets_nothing_though_an_event_agrees_with_its_clock() {
    let mut stage = Stage::set().await;
    scattered(&mut stage).await;
    let skill = proven(&mut stage).await;
    let opened = worked(&mut stage, "old", 3).await;
    stage.days.store(365, Ordering::Relaxed);
    worked(&mut stage, "newest", 1).await;
    assert!(asks_and_does_nothing(&stage).await.asks);
    assert_eq!(stage.status(skill).await, Status::Published);
    stage.node.submit(opened.clone()).await.unwrap();
    let forget = Maintain {
        parts: [Part::Forget].into(),
        ..Maintain::whole()
    };
    let alone = stage.node.maintain(&forget).await.unwrap();
    assert_eq!((alone.asks, alone.forgotten), (true, 0));
    let forced = stage.maintain(false, true).await.unwrap();
    assert!(!forced.asks && forced.forgotten > 0, "{forced:?}");
    holds(&stage).await;
}

#[tokio::test]
async fn while_one_scope_asks_its_skills_are_not_offered_and_no_answer_is_forgotten() {
    let mut stage = Stage::set().await;
    for number in 0..20 {
        let content = format!("fact number {number} of the build");
        stage
            .put(Table::Observations, &content, Detail::Plain)
            .await;
    }
    proven(&mut stage).await;
    stage.days.store(91, Ordering::Relaxed);
    young_elsewhere(&mut stage).await;
    let done = asks_and_does_nothing(&stage).await;
    assert!(!done.asks, "it is less than half of everything");
    assert_eq!(done.outcome().asks, 1);
    let offer = Maintain {
        parts: [Part::Offer].into(),
        ..Maintain::whole()
    };
    let alone = stage.node.maintain(&offer).await.unwrap();
    assert_eq!((alone.offered, alone.outcome().asks), (0, 1));
    let forced = stage.maintain(false, true).await.unwrap();
    assert_eq!((retired(&forced), forced.offered), (20, 1));
    assert!(forced.forgotten > 0);
    holds(&stage).await;
}

#[tokio::test]
async fn few_of_many_go_without_a_question() {
    let mut stage = Stage::set().await;
    scattered(&mut stage).await;
    stage.days.store(91, Ordering::Relaxed);
    scattered_again(&mut stage).await;
    let done = stage.maintain(false, false).await.unwrap();
    assert_eq!((done.asks, retired(&done)), (false, SCOPES * IN_EACH));
}

/// As many young entries, in words of their own.
async fn scattered_again(stage: &mut Stage) {
    for number in 0..SCOPES * IN_EACH {
        let content = format!("younger fact {number} about the tests");
        stage
            .put(Table::Observations, &content, Detail::Plain)
            .await;
    }
}

#[tokio::test]
async fn what_a_wrong_clock_took_out_is_brought_back_and_found() {
    let mut stage = Stage::set().await;
    let entries = scattered(&mut stage).await;
    stage.days.store(365, Ordering::Relaxed);
    assert_eq!(
        retired(&stage.maintain(false, true).await.unwrap()),
        SCOPES * IN_EACH
    );
    let first = entries[0];
    let home = worktree(0);
    let restore = |entry| Command::RestoreEntry {
        entry,
        reason: "the clock was wrong".into(),
    };
    let answer = stage
        .give(PrincipalKind::Orchestrator, &home, restore(first))
        .await;
    assert!(matches!(answer, AnswerBody::Entry { id, .. } if id == first));
    assert_eq!(stage.status(first).await, Status::Hypothesis);
    let query = RecallQuery::new(scope(&home), "fact number 0 of the build");
    let found = stage.node.recall(query).await.unwrap();
    let found: Vec<EntryId> = found.results.iter().map(|one| one.head.id).collect();
    assert_eq!(found, [first]);
    let next = stage.maintain(false, false).await.unwrap();
    assert!(next.scopes.is_empty(), "it is not due again: {next:?}");
    let twice = stage.made(PrincipalKind::Human, &home, restore(first));
    let refused = stage.node.submit(twice).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    for entry in &entries[6..9] {
        let path = worktree(entries.iter().position(|one| one == entry).unwrap() as u64 % SCOPES);
        stage
            .give(PrincipalKind::Human, &path, restore(*entry))
            .await;
    }
    holds(&stage).await;
}
