//! Tests of the queue, and of reading jobs from the store.

use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::Table;
use sillok_core::id::Seq;
use sillok_core::limits::INLINE_BYTES_MAX;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{BACKOFF_MS_MAX, Patience, REACH_BACKOFF_MS_MAX, Unread};
use sillok_core::time::Timestamp;
use sillok_core::verification::{Outcome, Verification};
use sillok_store::keys::ScopeKey;
use sillok_store::{KeyRange, Txn as _, keys};

use super::*;
use crate::cluster::tests::among_others;
use crate::tests::faults::Silent;
use crate::tests::harness::{
    PROJECT, TestNode, TestStore, append, in_time, node, open_task, ports, scope, store, submission,
};
use crate::tests::line::{Fate, Line};
use crate::tests::world::{entry, verification};
use crate::{NodeConfig, Ports};

fn task(number: u64) -> String {
    format!("{PROJECT}/worktree/main/task/{number}")
}

/// Has a task verified, which starts its promotion.
async fn verify(node: &TestNode, number: u64) -> VerificationId {
    let task = task(number);
    let give = |step, command| {
        let number = 10 * number + step;
        submission(number, PrincipalKind::Orchestrator, &task, command)
    };
    node.submit(give(0, open_task())).await.unwrap();
    let line = append("root cause: an early stop");
    node.submit(give(1, line)).await.unwrap();
    let passed = verification(Outcome::Passed, &format!("run {number}"));
    let answer = node.submit(give(2, passed)).await.unwrap();
    match answer.result {
        AnswerBody::Verification { id, .. } => id,
        other => panic!("a verification was answered with {other:?}"),
    }
}

/// A store with two promotions that wait, and a node on it in which nothing runs any more.
async fn at_rest(memory: &TestStore) -> (TestNode, Line, [VerificationId; 2]) {
    let line = Line::new(memory, Fate::Arrives);
    let ports = Ports {
        cognifier: Arc::new(Silent),
        ..ports()
    };
    let node = TestNode::start(line.clone(), ports, NodeConfig::default())
        .await
        .unwrap();
    let mut ids = [verify(&node, 1).await, verify(&node, 2).await];
    ids.sort_unstable();
    node.shutdown().await;
    node.shared().jobs.keep_only(|_| false);
    (node, line, ids)
}

fn waiting(node: &TestNode) -> Vec<VerificationId> {
    let list = node.waiting_jobs().into_iter();
    list.map(|waiting| waiting.job.verification).collect()
}

fn slot_of_tasks() -> Slot {
    Slot::of(&scope(&task(1)))
}

#[tokio::test]
async fn a_row_that_does_not_decode_costs_its_own_promotion_only() {
    let memory = store();
    let (node, _, ids) = at_rest(&memory).await;
    let mut txn = memory.begin().await.unwrap();
    txn.set(keys::job::key(slot_of_tasks(), ids[0]), b"?".to_vec());
    txn.commit().await.unwrap();
    node.shared().jobs.look_again(slot_of_tasks());
    read_unread(node.shared()).await.unwrap();
    assert_eq!(waiting(&node), [ids[1]]);
}

#[tokio::test]
async fn slots_that_were_being_read_when_a_defect_showed_are_read_again() {
    let (node, line, ids) = at_rest(&store()).await;
    node.shared().jobs.look_again(slot_of_tasks());
    line.panic_next_range();
    let read = AssertUnwindSafe(read_unread(node.shared())).catch_unwind();
    assert!(read.await.is_err());
    read_unread(node.shared()).await.unwrap();
    assert_eq!(waiting(&node), ids);
}

#[tokio::test]
async fn promotions_that_are_known_are_carried_out_although_others_cannot_be_read() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    line.break_range(keys::job::range_all());
    node.shared().jobs.look_again(slot_of_tasks());
    // The job's own row is looked at as well: it fails, but it is tried.
    let id = verify(&node, 1).await;
    let tried = async {
        while !node.waiting_jobs().iter().any(|job| job.attempts > 0) {
            tokio::task::yield_now().await;
        }
    };
    in_time(tried).await;
    line.break_range(KeyRange::new("", ""));
    let state = node.promotion(&scope(&task(1)), id, 1_000_000).await;
    assert!(matches!(state.unwrap(), PromotionState::Done(_)));
}

/// A queue with one job that was tried so often.
async fn tried(attempts: u32) -> (JobQueue, VerificationId) {
    let (node, _, ids) = at_rest(&store()).await;
    node.shared().jobs.look_again(slot_of_tasks());
    read_unread(node.shared()).await.unwrap();
    let job = node.waiting_jobs().remove(0).job;
    let queue = JobQueue::default();
    queue.add(slot_of_tasks(), job);
    queue.set_made(ids[0], attempts);
    (queue, ids[0])
}

fn failed(counts: bool) -> FailedAttempt {
    FailedAttempt {
        error: Error::new(ErrorCode::Unavailable, "not now"),
        at: Timestamp::EPOCH,
        counts,
        is_costly: true,
        asked: None,
    }
}

#[tokio::test]
async fn the_wait_before_the_next_attempt_is_long_where_that_costs_a_model_call() {
    let patience = NodeConfig::default().jobs.patience();
    for (is_costly, wait_ms) in [(true, BACKOFF_MS_MAX), (false, REACH_BACKOFF_MS_MAX)] {
        let (queue, id) = tried(40).await;
        let failed = FailedAttempt {
            is_costly,
            ..failed(false)
        };
        let after = queue.failed(id, &failed, patience, 7).unwrap();
        assert_eq!((queue.due_ms(id), after.failures), (7 + wait_ms, 0));
    }
}

#[tokio::test]
async fn what_has_halted_is_taken_up_until_that_is_kept_and_no_longer() {
    let patience = Patience {
        failures_max: 1,
        backoff_ms: 10,
    };
    let (queue, id) = tried(0).await;
    let taken = queue.take(100).unwrap();
    assert!(!taken.is_halted);
    let halted = queue.failed(id, &failed(true), patience, 100).unwrap();
    assert!(halted.halted && halted.next_at.is_none());
    // The store does not answer: it is said again, and nothing else is tried.
    queue.put_back(id, None, 100, 50);
    assert_eq!(queue.take(149).map(|_| ()), Err(Some(1)));
    assert!(queue.take(150).unwrap().is_halted);
    queue.put_back(id, Some(halted.clone()), 150, 50);
    assert_eq!(queue.take(u64::MAX).map(|_| ()), Err(None));
    assert!(
        !queue.retry_unkept(id),
        "whoever wants it anew says so in the store"
    );
    // What is stored of the same round is no news, what is stored of the next one is.
    let (asked, _) = queue.take_halted(1_000);
    let found = |attempts| Found {
        slot: asked[0].0,
        job: asked[0].1.clone(),
        attempts,
        due_ms: 0,
    };
    queue.add_found(found(halted.clone()));
    assert!(queue.list()[0].halted);
    queue.add_found(found(halted.anew().unwrap()));
    assert!(!queue.list()[0].halted);
    assert!(!queue.take(1_000).unwrap().is_halted);
}

#[tokio::test]
async fn one_whose_halt_could_not_be_kept_is_taken_up_again_where_it_is_known() {
    let patience = Patience {
        failures_max: 1,
        backoff_ms: 10,
    };
    let (queue, id) = tried(0).await;
    queue.take(0).unwrap();
    queue.failed(id, &failed(true), patience, 0).unwrap();
    assert!(!queue.retry_unkept(id), "it is being kept");
    queue.put_back(id, None, 0, 50);
    assert!(queue.retry_unkept(id));
    assert!(!queue.retry_unkept(id), "it has not halted any more");
    assert!(!queue.take(0).unwrap().is_halted);
}

#[tokio::test]
async fn nobody_keeps_attempts_but_the_owner_of_the_slot_and_none_of_what_has_ended() {
    let memory = store();
    let (node, _, ids) = at_rest(&memory).await;
    let (slot, known) = (slot_of_tasks(), Attempts::default());
    let bob = among_others(&memory, "bob");
    let other = kept::keep(&bob, slot, ids[0], &known).await.unwrap();
    assert!(matches!(other, Kept::Not));
    let owner = kept::keep(node.shared(), slot, ids[0], &known);
    assert!(matches!(owner.await.unwrap(), Kept::Stored(_)));
    let mut txn = memory.begin().await.unwrap();
    txn.clear(keys::job::key(slot, ids[1]));
    txn.commit().await.unwrap();
    let ended = kept::keep(node.shared(), slot, ids[1], &known);
    assert!(matches!(ended.await.unwrap(), Kept::Ended));
    // Whoever has lost the slot keeps nothing more, even of what it knew before.
    let mut txn = memory.begin().await.unwrap();
    txn.clear(keys::owner::key(slot));
    txn.commit().await.unwrap();
    let late = kept::keep(node.shared(), slot, ids[0], &known);
    assert!(matches!(late.await.unwrap(), Kept::Not));
}

#[tokio::test]
async fn what_was_prepared_is_kept_for_jobs_that_wait_and_goes_with_them() {
    let (queue, id) = tried(1).await;
    let other = VerificationId::from_bytes([7; 16]);
    assert!(
        !queue.keep_prepared(other, Vec::new()),
        "nobody waits for it"
    );
    assert!(queue.keep_prepared(id, Vec::new()));
    assert!(queue.prepared(id).is_some());
    assert!(queue.prepared(id).is_none(), "it was taken");
    assert!(queue.keep_prepared(id, Vec::new()));
    let product = entry(Table::Observations, "it stops early");
    assert!(queue.keep_prepared(id, vec![product]));
    assert_eq!(queue.prepared(id).unwrap().len(), 1, "the later");
    assert!(queue.keep_prepared(id, Vec::new()));
    queue.keep_only(|_| false);
    assert!(queue.prepared(id).is_none());
}

#[tokio::test]
async fn a_promotion_that_another_node_ends_is_not_waited_for_any_longer() {
    let memory = store();
    let ports = Ports {
        cognifier: Arc::new(Silent),
        ..ports()
    };
    let silent = TestNode::start(memory.clone(), ports, NodeConfig::default());
    let silent = silent.await.unwrap();
    let id = verify(&silent, 1).await;
    silent.shutdown().await;
    let here = among_others(&memory, "bob");
    let clock = Arc::clone(&here.ports.clock);
    let begun_ms = clock.monotonic_ms();
    let waiting = tokio::spawn(async move { state(&here, &scope(&task(1)), id, 600_000).await });
    let _there = node(&memory).await;
    let ended = waiting.await.unwrap();
    assert!(matches!(ended, Ok(PromotionState::Done(_))), "{ended:?}");
    let waited_ms = clock.monotonic_ms() - begun_ms;
    assert!(waited_ms < 600_000, "it waited for {waited_ms} ms");
}

/// Has a task verified that has these records, and is marked as stuck after them.
async fn judged(node: &TestNode, task: &str, texts: &[&str]) -> Verification {
    let stuck = Command::MarkStuck {
        reason: "it hangs".into(),
    };
    let records = texts.iter().map(|text| append(text));
    let passed = verification(Outcome::Passed, "run");
    let commands = std::iter::once(open_task()).chain(records);
    let mut answered = None;
    for (number, command) in (0..).zip(commands.chain([stuck, passed])) {
        let given = submission(number, PrincipalKind::Orchestrator, task, command);
        answered = Some(node.submit(given).await.unwrap().result);
    }
    let Some(AnswerBody::Verification { id, .. }) = answered else {
        panic!("a verification was answered with {answered:?}")
    };
    let found = promote::verification(node.shared(), &scope(task), id).await;
    found.unwrap()
}

/// A node on which no promotion comes to an end.
async fn unended(store: TestStore) -> TestNode {
    let ports = Ports {
        cognifier: Arc::new(Silent),
        ..ports()
    };
    let node = TestNode::start(store, ports, NodeConfig::default());
    node.await.unwrap()
}

#[tokio::test]
async fn of_what_one_promotion_does_not_read_the_events_are_counted_and_not_looked_at() {
    let memory = store();
    let node = unended(memory.clone()).await;
    let lines = ["first", "second", "third line"];
    let named = judged(&node, &task(1), &lines).await;
    let (shared, source) = (node.shared(), scope(&task(1)));
    for (records, bytes, count) in [(3, 1_000, 3), (2, 1_000, 2), (3, 8, 2), (3, 1, 1)] {
        let bounds = collect::Bounds { records, bytes };
        let read = collect::records(shared, &source, &named, bounds).await;
        let (read, unread) = read.unwrap();
        let read: Vec<&str> = read.iter().map(|record| record.content.as_str()).collect();
        assert_eq!(read, &lines[..count]);
        // That the task is stuck counts as well: who does not look cannot tell.
        let events = (lines.len() - count) as u64 + 1;
        assert_eq!(unread, Unread { events, bytes: 0 });
    }
    let third = keys::event::key(&ScopeKey::of(&source), Seq::new(4));
    let mut txn = memory.begin().await.unwrap();
    txn.set(third, b"?".to_vec());
    txn.commit().await.unwrap();
    for (records, is_read) in [(2, true), (3, false)] {
        let bytes = 1_000;
        let bounds = collect::Bounds { records, bytes };
        let read = collect::records(shared, &source, &named, bounds).await;
        assert_eq!(read.is_ok(), is_read, "{records} records");
    }
    node.shutdown().await;
}

#[tokio::test]
async fn records_are_read_for_longer_than_the_store_keeps_one_moment() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = unended(line.clone()).await;
    let long = "test case passed\n".repeat(INLINE_BYTES_MAX / 8);
    let named = judged(&node, &task(1), &[&long, &long]).await;
    let bounds = collect::Bounds {
        records: 10,
        bytes: INLINE_BYTES_MAX,
    };
    // Both ends of one record are two reads.
    line.live(1);
    let read = collect::records(node.shared(), &scope(&task(1)), &named, bounds).await;
    line.live(usize::MAX);
    let (read, unread) = read.unwrap();
    assert!(read.len() == 2 && read.iter().all(|record| record.end.is_some()));
    assert!(unread.events == 0 && unread.bytes > 0, "{unread:?}");
    node.shutdown().await;
}
