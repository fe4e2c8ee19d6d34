//! Tests of what a batch does when it does not commit, and of poisoned commands.

use sillok_core::command::Publish;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::principal::PrincipalKind;
use sillok_core::time::Timestamp;
use sillok_core::verification::{Outcome as Said, Verification};

use super::*;
use crate::tests::harness::{
    PROJECT, TASK, TestNode, append, first_seq, open_task, ports, scope, store, submission,
};
use crate::tests::index::{HookedIndex, put};
use crate::tests::line::{Fate, Line};
use crate::tests::world::verification;
use sillok_store::{Txn as _, keys};

/// Reads of a key that one command on a task needs which looks nothing up.
const GETS_OF_ONE: usize = 4;

async fn node(line: &Line) -> TestNode {
    node_with(line, ports()).await
}

async fn node_with(line: &Line, ports: Ports) -> TestNode {
    let node = TestNode::start(line.clone(), ports, NodeConfig::default())
        .await
        .unwrap();
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    node.submit(open).await.unwrap();
    node
}

fn lines(number: u64, texts: usize) -> sillok_core::command::Submission {
    let mut command = append("line");
    if let Command::Append { records } = &mut command {
        *records = vec![records[0].clone(); texts];
    }
    submission(number, PrincipalKind::Agent, TASK, command)
}

#[tokio::test]
async fn who_meets_other_writers_too_often_is_told_to_come_back() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = node(&line).await;
    let before = node.metrics().conflicts;
    line.conflict(TRIES_MAX - 1);
    assert_eq!(first_seq(&node.submit(lines(1, 1)).await), 2);
    assert_eq!(node.metrics().conflicts - before, TRIES_MAX as u64 - 1);
    line.conflict(TRIES_MAX);
    let refused = node.submit(lines(2, 1)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Busy);
    assert_eq!(node.metrics().conflicts - before, 2 * TRIES_MAX as u64 - 1);
    // It was refused, not applied: the same command gets the next place.
    assert_eq!(first_seq(&node.submit(lines(2, 1)).await), 3);
}

#[tokio::test]
async fn a_batch_that_is_too_large_is_taken_apart_and_only_what_is_too_large_alone_is_refused() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = node(&line).await;
    // One record in one command sets three keys; two such commands in one batch set five.
    line.allow(4);
    let give = |number, texts| {
        let node = node.clone();
        async move { node.submit(lines(number, texts)).await }
    };
    let (one, two, large, three) = tokio::join!(give(1, 1), give(2, 1), give(3, 5), give(4, 1));
    assert_eq!(large.unwrap_err().code, ErrorCode::TooLarge);
    let mut places = [one, two, three].map(|answer| first_seq(&answer));
    places.sort_unstable();
    assert_eq!(places, [2, 3, 4], "each once");
    assert!(line.hit() > 0, "a batch was too large");
}

fn entry(number: u64) -> sillok_core::command::Submission {
    let text = format!("the build takes {number} minutes");
    submission(number, PrincipalKind::Human, PROJECT, put(&text))
}

/// A publication of two products, as a promotion's.
fn publication(number: u64) -> sillok_core::command::Submission {
    let Command::PutEntry { entry, .. } = put("the build takes long") else {
        unreachable!("it puts an entry");
    };
    let Command::RecordVerification(said) = verification(Said::Passed, "run") else {
        unreachable!("it records a verification");
    };
    let publish = Publish {
        source: scope(TASK),
        verification: Verification {
            id: VerificationId::from_bytes([7; 16]),
            said: *said,
            recorder: submission(0, PrincipalKind::Human, TASK, open_task())
                .principal
                .actor,
            time: Timestamp::EPOCH,
            from: Seq::ZERO,
            through: Seq::new(1),
            target: scope(PROJECT),
        },
        products: vec![(*entry).clone(), *entry],
    };
    let command = Command::Publish(Box::new(publish));
    submission(number, PrincipalKind::System, PROJECT, command)
}

#[tokio::test]
async fn a_publication_that_no_transaction_lives_long_enough_for_is_refused_for_good() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = node(&line).await;
    line.live(GETS_OF_ONE);
    let refused = node.submit(publication(1)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge, "{refused}");
    assert!(!refused.code.is_passing(), "a promotion's attempts count");
    assert_eq!(line.hit(), TOO_OLD_MAX as u64);
}

#[tokio::test]
async fn nobody_is_refused_for_good_while_an_earlier_attempt_may_still_commit() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = node(&line).await;
    line.hold_next();
    let unknown = node.submit(entry(1)).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::OutcomeUnknown);
    line.allow(1);
    let refused = node.submit(entry(1)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutcomeUnknown);
    assert_eq!(line.hit(), 1, "it was too large");
}

#[tokio::test]
async fn a_command_that_looks_little_up_comes_again_when_the_store_is_slow() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = node(&line).await;
    line.live(1);
    for command in [lines(1, 1), entry(2)] {
        let refused = node.submit(command).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Busy);
        assert!(refused.retry_after_ms().is_some());
    }
    line.live(usize::MAX);
    assert_eq!(first_seq(&node.submit(lines(1, 1)).await), 2);
    node.submit(entry(2)).await.unwrap();
}

#[tokio::test]
async fn a_batch_that_no_transaction_lives_long_enough_for_is_taken_apart() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = node(&line).await;
    line.live(GETS_OF_ONE);
    let give = |number| {
        let node = node.clone();
        async move { node.submit(lines(number, 1)).await }
    };
    let (one, two, three, four) = tokio::join!(give(1), give(2), give(3), give(4));
    let mut places = [one, two, three, four].map(|answer| first_seq(&answer));
    places.sort_unstable();
    assert_eq!(places, [2, 3, 4, 5], "each once");
    assert_eq!(
        (line.hit(), node.metrics().conflicts),
        (1, 1),
        "a batch lived too long, and was tried once"
    );
}

#[tokio::test]
async fn the_index_is_searched_before_the_transaction_begins() {
    let line = Line::new(&store(), Fate::Arrives);
    let outlived = line.clone();
    let index = HookedIndex::new(move |_| outlived.outlive());
    let node = node_with(&line, Ports { index, ..ports() }).await;
    node.submit(entry(1)).await.unwrap();
    assert_eq!(line.hit(), 0, "no transaction was open meanwhile");
}

/// The others of its batch take longer than it is held for.
#[tokio::test]
async fn a_command_that_panics_is_tried_once_in_its_batch_however_long_the_others_take() {
    const PANICS_MAX: usize = 20;
    let line = Line::new(&store(), Fate::Arrives);
    let ports = ports();
    let (clock, panics) = (Arc::clone(&ports.clock), AtomicUsize::new(0));
    let poison = entry(3);
    let embedding = poison.command.embeddings().next().unwrap().clone();
    let index = HookedIndex::new(move |request| {
        drop(clock.sleep(2 * POISONED_MS));
        if request.embedding == embedding {
            let before = panics.fetch_add(1, Ordering::Relaxed);
            assert!(before >= PANICS_MAX, "the planted defect");
        }
    });
    let node = node_with(&line, Ports { index, ..ports }).await;
    let give = |submission| {
        let node = node.clone();
        async move { node.submit(submission).await }
    };
    let (before, slow, poisoned) = tokio::join!(give(entry(1)), give(entry(2)), give(poison));
    before.unwrap();
    slow.unwrap();
    assert_eq!(poisoned.unwrap_err().code, ErrorCode::Internal);
    assert_eq!(node.metrics().panics, 1);
}

#[tokio::test]
async fn a_record_that_does_not_decode_is_its_own_commands_alone() {
    let memory = store();
    let line = Line::new(&memory, Fate::Arrives);
    let node = node(&line).await;
    let place = keys::ScopeKey::of(&scope(TASK));
    let broken = lines(2, 1);
    let key = keys::command::key(&place, &broken.principal.actor, broken.id);
    let mut txn = memory.begin().await.unwrap();
    txn.set(key, b"?".to_vec());
    txn.commit().await.unwrap();
    let give = |number| {
        let node = node.clone();
        async move { node.submit(lines(number, 1)).await }
    };
    let (before, one, two, three) = tokio::join!(give(4), give(1), give(2), give(3));
    assert_eq!(two.unwrap_err().code, ErrorCode::Internal);
    let mut places = [before, one, three].map(|answer| first_seq(&answer));
    places.sort_unstable();
    assert_eq!(places, [2, 3, 4]);
}

#[tokio::test]
async fn who_repeats_an_applied_command_that_is_held_back_is_not_told_that_nothing_was_written() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = node(&line).await;
    node.submit(lines(1, 1)).await.unwrap();
    for (number, expected) in [(1, ErrorCode::OutcomeUnknown), (2, ErrorCode::Internal)] {
        let given = lines(number, 1);
        let now_ms = node.ports().clock.monotonic_ms();
        let held = unresolved::name_of(&given);
        node.shared().poisoned.add(held, now_ms);
        assert_eq!(node.submit(given).await.unwrap_err().code, expected);
    }
}

fn key(number: u64) -> CommandKey {
    let given = submission(number, PrincipalKind::Agent, TASK, open_task());
    unresolved::name_of(&given)
}

#[test]
fn a_poisoned_command_is_let_go_and_the_oldest_make_room() {
    let poisoned = Poisoned::default();
    let holds = |number, now_ms| poisoned.holds(|| key(number), || now_ms);
    assert!(!holds(0, 0));
    poisoned.add(key(0), 5);
    assert!(holds(0, 5) && holds(0, 4 + POISONED_MS));
    assert!(!holds(0, 5 + POISONED_MS));
    assert!(!holds(1, 5));
    // Those that are over go first.
    poisoned.add(key(1), 5 + POISONED_MS);
    assert_eq!(poisoned.held.lock().len(), 1);
    for number in 2..=POISONED_MAX as u64 {
        poisoned.add(key(number), 6 + POISONED_MS);
    }
    assert_eq!(poisoned.held.lock().len(), POISONED_MAX);
    assert!(holds(1, 7 + POISONED_MS));
    poisoned.add(key(0), 7 + POISONED_MS);
    assert_eq!(poisoned.held.lock().len(), POISONED_MAX);
    assert!(holds(0, 8 + POISONED_MS));
}
