//! Whether an approach failed before: what is looked at, in which order, and how much of it.

use sillok_core::ErrorCode;
use sillok_core::circular::{Approach, FailedApproach, Likeness, Verdict, Wording};
use sillok_core::command::Command;
use sillok_core::id::Seq;
use sillok_core::limits::{ERROR_TEXT_BYTES_MAX, FIX_FAILURES_BYTES_MAX, FIX_FAILURES_MAX};
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::failed_approach::{self, Key};
use sillok_store::keys::related::ScopePath;
use sillok_store::{Store as _, Txn as _};

use super::stage::{Stage, approach};
use crate::reads::FixChecked;
use crate::tests::harness::{TASK, TestStore, scope};
use crate::tests::world::{FAILED_TASK, OTHER_TASK};

/// A task of another project.
const ELSEWHERE: &str = "org/acme/project/web/worktree/main/task/42";

fn tried() -> Approach {
    approach("Read the whole file before parsing", &["src/parser.rs"])
}

async fn check(stage: &Stage, path: &str, proposed: &Approach) -> FixChecked {
    let checked = stage.node.reader().check_fix(&scope(path), proposed);
    checked.await.unwrap()
}

#[tokio::test]
async fn what_failed_in_the_task_is_rejected_in_another_task_warned_of_and_elsewhere_not_told() {
    let mut stage = Stage::set().await;
    for path in [TASK, OTHER_TASK, FAILED_TASK, ELSEWHERE] {
        stage.open(path).await;
    }
    let error = Some("it loses the end");
    stage.fail(TASK, error, Some(&tried())).await;
    let again = approach(
        "Parsing begins once the whole file is read",
        &["src/parser.rs"],
    );
    for (path, verdict) in [
        (TASK, Verdict::Reject),
        (OTHER_TASK, Verdict::Warn),
        // Another worktree is of the same project.
        (FAILED_TASK, Verdict::Warn),
        (ELSEWHERE, Verdict::Allow),
    ] {
        let found = check(&stage, path, &again).await;
        assert_eq!(found.judged.verdict, verdict, "{path}");
        assert_eq!((found.stuck, found.judged.cut), (None, false));
        let told: Vec<&str> = found
            .judged
            .tried
            .iter()
            .map(|tried| tried.task.as_str())
            .collect();
        let expected = if path == ELSEWHERE {
            vec![]
        } else {
            vec![TASK]
        };
        assert_eq!(told, expected, "{path}");
    }
    let other = approach("Count the lines that are left", &["src/lines.rs"]);
    let found = check(&stage, TASK, &other).await;
    assert_eq!(found.judged.verdict, Verdict::Allow);
    // What passed since is forgiven, and goes on being told.
    stage.pass(TASK).await;
    let found = check(&stage, TASK, &again).await;
    assert_eq!(found.judged.verdict, Verdict::Warn);
    stage.fail(TASK, error, Some(&again)).await;
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(found.judged.verdict, Verdict::Reject);
    let attempts = found.judged.tried.iter().map(|tried| tried.attempts);
    assert_eq!(attempts.collect::<Vec<_>>(), [1, 1]);
}

#[tokio::test]
async fn a_stuck_task_takes_no_fix_until_it_is_cleared() {
    let mut stage = Stage::set().await;
    stage.open(TASK).await;
    let stuck = Command::MarkStuck {
        reason: "it goes in circles".to_owned(),
    };
    let given = stage.give(PrincipalKind::Agent, TASK, stuck).await;
    given.unwrap();
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(found.judged.verdict, Verdict::Block);
    assert_eq!(found.stuck.as_deref(), Some("it goes in circles"));
    let cleared = stage
        .give(PrincipalKind::Human, TASK, Command::ClearStuck)
        .await;
    cleared.unwrap();
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!((found.judged.verdict, found.stuck), (Verdict::Allow, None));
}

#[tokio::test]
async fn a_task_that_was_never_opened_is_not_there() {
    let stage = Stage::set().await;
    let checked = stage.node.reader().check_fix(&scope(TASK), &tried()).await;
    assert_eq!(checked.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn approaches_that_failed_come_page_by_page_in_their_order_and_of_one_task() {
    let mut stage = Stage::set().await;
    for path in [TASK, OTHER_TASK] {
        stage.open(path).await;
    }
    for number in 0..5 {
        let tried = approach(&format!("approach number {number}"), &[]);
        stage.fail(TASK, None, Some(&tried)).await;
        stage.fail(OTHER_TASK, None, Some(&tried)).await;
        // A failure without an approach is none of them.
        stage.fail(TASK, Some("it fails"), None).await;
    }
    let reader = stage.node.reader();
    let all = reader.failed_approaches(&scope(TASK), None, 100);
    let all = all.await.unwrap();
    assert_eq!(all.next, None);
    let texts: Vec<&str> = all
        .items
        .iter()
        .map(|failed| failed.approach.text.as_str())
        .collect();
    let expected: Vec<String> = (0..5)
        .map(|number| format!("approach number {number}"))
        .collect();
    assert_eq!(texts, expected);
    assert!(all.items.is_sorted_by_key(|failed| failed.seq));
    for limit in [1, 2, 5] {
        let paged = listed(&stage, TASK, limit).await;
        assert!(paged == all.items, "in pages of {limit}");
    }
    let refused = reader.failed_approaches(&scope(TASK), None, 0).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
}

/// Rows that nobody recorded, each under a key that says where it lies.
async fn plant(store: &TestStore, rows: impl IntoIterator<Item = (Key, FailedApproach)>) {
    let mut txn = store.begin().await.unwrap();
    for (key, failed) in rows {
        txn.set(failed_approach::key(&key), failed_approach::encode(&failed));
    }
    txn.commit().await.unwrap();
}

/// The same that failed once, as if it had failed in a task by an event.
fn as_of(failed: &FailedApproach, path: &str, seq: u64) -> FailedApproach {
    let mut failed = failed.clone();
    failed.task = scope(path);
    failed.seq = Seq::new(seq);
    failed
}

async fn listed(stage: &Stage, path: &str, limit: usize) -> Vec<FailedApproach> {
    let reader = stage.node.reader();
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = reader.failed_approaches(&scope(path), after, limit).await;
        let page = page.unwrap();
        assert!(page.items.len() <= limit);
        listed.extend(page.items);
        after = page.next;
        if after.is_none() {
            return listed;
        }
    }
}

/// A stage on which an approach failed in the task, and another one in a task beside it: the rows of both.
async fn failed_beside(path: &str) -> (Stage, FailedApproach, FailedApproach) {
    let mut stage = Stage::set().await;
    for path in [TASK, path] {
        stage.open(path).await;
    }
    stage.fail(TASK, Some("it fails"), Some(&tried())).await;
    stage.fail(path, Some("it fails"), Some(&sorting())).await;
    let own = listed(&stage, TASK, 10).await.remove(0);
    let beside = listed(&stage, path, 10).await.remove(0);
    (stage, own, beside)
}

fn sorting() -> Approach {
    approach("sort the rows", &["src/parser.rs"])
}

#[tokio::test]
async fn of_very_many_failures_those_of_the_task_are_looked_at_first_and_the_rest_is_cut() {
    let (stage, _, model) = failed_beside(OTHER_TASK).await;
    // They lie before the task and behind it, in the order of keys.
    let of_project = |number: usize| {
        let path = format!("org/acme/project/api/worktree/w{}/task/1", number % 4);
        let seq = 100 + u64::try_from(number).unwrap();
        let failed = as_of(&model, &path, seq);
        (Key::of(&failed), failed)
    };
    // With that of the task and the one beside it, as many as are looked at.
    plant(&stage.store, (2..FIX_FAILURES_MAX).map(of_project)).await;
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Reject, false)
    );
    plant(&stage.store, [of_project(FIX_FAILURES_MAX)]).await;
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Reject, true)
    );
    let found = check(&stage, TASK, &sorting()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Warn, true)
    );
    let attempts: u32 = found.judged.tried.iter().map(|tried| tried.attempts).sum();
    let looked_at = usize::try_from(attempts).unwrap() + 1;
    assert_eq!(looked_at, FIX_FAILURES_MAX, "and the one of the task");
}

/// Rows that nobody recorded of the task, each of another event.
fn further(model: &FailedApproach, count: usize) -> impl Iterator<Item = (Key, FailedApproach)> {
    (1_000..).take(count).map(|seq| {
        let failed = as_of(model, TASK, seq);
        (Key::of(&failed), failed)
    })
}

#[tokio::test]
async fn of_very_many_failures_of_the_task_the_newest_are_looked_at() {
    let (stage, own, beside) = failed_beside(OTHER_TASK).await;
    plant(&stage.store, further(&beside, FIX_FAILURES_MAX - 1)).await;
    let newest = as_of(&own, TASK, 1_000_000);
    plant(&stage.store, [(Key::of(&newest), newest)]).await;
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Reject, true)
    );
    // The one that was recorded first is not among them.
    assert_eq!(found.judged.tried[0].attempts, 1);
    let found = check(&stage, TASK, &sorting()).await;
    let looked_at = usize::try_from(found.judged.tried[0].attempts).unwrap() + 1;
    assert_eq!(looked_at, FIX_FAILURES_MAX);
}

#[tokio::test]
async fn what_counts_in_the_task_is_looked_at_before_what_was_cleared_there() {
    let (mut stage, _, beside) = failed_beside(OTHER_TASK).await;
    stage.pass(TASK).await;
    plant(&stage.store, further(&beside, FIX_FAILURES_MAX - 2)).await;
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Warn, false)
    );
    plant(&stage.store, further(&beside, FIX_FAILURES_MAX)).await;
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Allow, true)
    );
    let found = check(&stage, TASK, &sorting()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Reject, true)
    );
}

#[tokio::test]
async fn of_long_failures_so_many_bytes_are_looked_at() {
    let (stage, own, _) = failed_beside(OTHER_TASK).await;
    let long = approach(&"x".repeat(ERROR_TEXT_BYTES_MAX), &[]);
    let mut model = own.clone();
    model.wording = Wording::of(&long);
    model.approach = long;
    let all = FIX_FAILURES_BYTES_MAX / ERROR_TEXT_BYTES_MAX;
    let mut rows = further(&model, all + 2);
    // Each transaction of the store takes some of them.
    for _ in 0..4 {
        plant(&stage.store, rows.by_ref().take((all - 4) / 4)).await;
    }
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Reject, false)
    );
    plant(&stage.store, rows).await;
    let found = check(&stage, TASK, &tried()).await;
    assert_eq!(
        (found.judged.verdict, found.judged.cut),
        (Verdict::Allow, true)
    );
}

#[tokio::test]
async fn what_differs_in_a_word_from_what_failed_warns() {
    let (stage, ..) = failed_beside(ELSEWHERE).await;
    let near = approach("Read the whole file before counting", &["src/parser.rs"]);
    let found = check(&stage, TASK, &near).await;
    assert_eq!(found.judged.verdict, Verdict::Warn);
    let told = found.judged.tried.iter();
    let told: Vec<_> = told
        .map(|tried| (tried.likeness, &tried.approach))
        .collect();
    assert_eq!(told, [(Likeness::Near, &tried())]);
}

#[tokio::test]
async fn a_row_of_another_scope_that_shares_its_place_by_chance_is_told_nobody() {
    let (stage, own, beside) = failed_beside(ELSEWHERE).await;
    let place = |path: &str, seq| Key {
        task: ScopePath::of(&scope(path)),
        seq: Seq::new(seq),
    };
    // What says that it is of another project lies among those of the task, and among those of its project; and what says that
    // it is of another task lies among those of the task.
    let of_sibling = as_of(&beside, OTHER_TASK, 60);
    plant(
        &stage.store,
        [
            (place(TASK, 50), as_of(&beside, ELSEWHERE, 50)),
            (place(OTHER_TASK, 50), as_of(&beside, ELSEWHERE, 50)),
            (place(TASK, 60), of_sibling),
        ],
    )
    .await;
    let found = check(&stage, TASK, &sorting()).await;
    assert_eq!(found.judged.verdict, Verdict::Allow);
    assert_eq!(found.judged.tried, []);
    for limit in [1, 10] {
        let listed = listed(&stage, TASK, limit).await;
        assert_eq!(listed, [own.clone()], "in pages of {limit}");
    }
}
