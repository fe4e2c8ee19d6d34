//! Entries that go of several scopes at a time, with several commands under way in each.

use sillok_core::retention::pace::{RETIRED_AT_ONCE, RETIRED_BESIDE, WRITTEN_MS};
use sillok_store::Read;

use super::retiring::{COMMANDS_AT_ONCE, SCOPES_AT_ONCE};
use super::*;

const SCOPES: u64 = SCOPES_AT_ONCE as u64 + 2;
const IN_EACH: u64 = 3;
/// Entries of the project: more commands than are under way at a time.
const IN_PROJECT: u64 = (RETIRED_AT_ONCE * (COMMANDS_AT_ONCE + 1)) as u64 + 1;

/// A text that is like no other.
fn text(number: u64) -> String {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!("{mixed:016x} {:016x}", mixed.rotate_left(29) ^ number)
}

/// How many events a scope has.
async fn events(stage: &Stage, path: &str) -> u64 {
    let key = keys::scope::key(&ScopeKey::of(&scope(path)));
    let mut txn = stage.store.begin().await.unwrap();
    let value = txn.get(&key, Read::Snapshot).await.unwrap().unwrap();
    keys::scope::decode(&key, &value).unwrap().tip.seq.get()
}

#[tokio::test]
async fn what_goes_of_several_scopes_at_a_time_goes_once_and_is_counted() {
    let commands = goes_once_and_is_counted(false).await;
    assert_eq!(commands, IN_PROJECT.div_ceil(RETIRED_AT_ONCE as u64));
}

#[tokio::test]
async fn what_goes_beside_a_writer_goes_a_little_at_a_time() {
    let commands = goes_once_and_is_counted(true).await;
    assert_eq!(commands, IN_PROJECT.div_ceil(RETIRED_BESIDE as u64));
}

/// A run beside a command that waits all the while, or long after the last one: how many commands took out what was due in
/// the project.
async fn goes_once_and_is_counted(is_beside: bool) -> u64 {
    let mut stage = Stage::set().await;
    let mut entries = Vec::new();
    for number in 0..IN_PROJECT {
        let content = text(number);
        let put = stage.put(Table::Observations, &content, Detail::Plain);
        entries.push(put.await);
    }
    for number in 0..SCOPES * IN_EACH {
        let path = format!("{PROJECT}/worktree/w{}", number % SCOPES);
        let content = text(IN_PROJECT + number);
        let command = Command::PutEntry {
            entry: Box::new(crate::tests::world::entry(Table::Observations, &content)),
            verification: None,
        };
        match stage.give(PrincipalKind::Agent, &path, command).await {
            AnswerBody::Entry { id, .. } => entries.push(id),
            other => panic!("{other:?}"),
        }
    }
    let before = events(&stage, PROJECT).await;
    stage.days.store(91, Ordering::Relaxed);
    stage.boot_ms.store(WRITTEN_MS, Ordering::Relaxed);
    let waits = is_beside.then(|| stage.waits());
    let done = stage.maintain(false, true).await.unwrap();
    for scope in &done.scopes {
        assert_eq!(scope.retired, scope.plan.going() as u64, "{scope:?}");
        assert_eq!((scope.left, scope.error.is_some()), (0, false), "{scope:?}");
    }
    let retired: u64 = done.scopes.iter().map(|scope| scope.retired).sum();
    assert_eq!(retired, IN_PROJECT + SCOPES * IN_EACH);
    let commands = events(&stage, PROJECT).await - before;
    drop(waits);
    for entry in entries {
        assert_eq!(stage.status(entry).await, Status::Archived);
    }
    assert!(audit::verify(&stage.store, &|_| {}).await.unwrap().is_ok());
    commands
}

#[tokio::test]
async fn entries_that_cannot_be_read_keep_nobody_from_going_whatever_command_names_them() {
    let mut stage = Stage::set().await;
    let mut entries = Vec::new();
    for number in 0..=RETIRED_AT_ONCE as u64 {
        let detail = skill(&format!("skill{number}"), 0.1);
        entries.push(stage.put(Table::Skills, &text(number), detail).await);
    }
    entries.sort_unstable();
    // One of the first command, and the only one of the last.
    for damaged in [entries[0], entries[RETIRED_AT_ONCE]] {
        let key = keys::version::key(&ScopeKey::of(&scope(PROJECT)), damaged, 1);
        let mut txn = stage.store.begin().await.unwrap();
        txn.set(key, vec![9, 9, 9]);
        txn.commit().await.unwrap();
    }
    stage.days.store(91, Ordering::Relaxed);
    stage.boot_ms.store(WRITTEN_MS, Ordering::Relaxed);
    let done = stage.maintain(false, true).await.unwrap();
    let gone = RETIRED_AT_ONCE as u64 - 1;
    assert_eq!((done.unreadable, done.scopes[0].retired), (2, gone));
    assert!(done.scopes[0].error.is_none());
}
