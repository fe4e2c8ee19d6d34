//! Tests of what a batch does when it does not commit, and of the quarantine.

use sillok_core::principal::PrincipalKind;

use super::*;
use crate::Node;
use crate::tests::harness::{TASK, append, first_seq, open_task, ports, store, submission};
use crate::tests::line::{Fate, Line};

async fn node(line: &Line) -> Node<Line> {
    let node = Node::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    node.submit(open).await.unwrap();
    node
}

fn lines(number: u64, texts: usize) -> sillok_core::command::Submission {
    let mut command = append("line");
    if let sillok_core::command::Command::Append { records } = &mut command {
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

fn key(number: u64) -> CommandKey {
    let given = submission(number, PrincipalKind::Agent, TASK, open_task());
    unresolved::name_of(&given)
}

#[test]
fn a_quarantine_ends_and_the_oldest_make_room() {
    let quarantine = Quarantine::default();
    let holds = |number, now_ms| quarantine.holds(|| key(number), || now_ms);
    assert!(!holds(0, 0));
    quarantine.add(key(0), 5);
    assert!(holds(0, 5) && holds(0, 4 + QUARANTINE_MS));
    assert!(!holds(0, 5 + QUARANTINE_MS));
    assert!(!holds(1, 5));
    // Those that are over go first.
    quarantine.add(key(1), 5 + QUARANTINE_MS);
    assert_eq!(quarantine.held.lock().len(), 1);
    for number in 2..=QUARANTINE_MAX as u64 {
        quarantine.add(key(number), 6 + QUARANTINE_MS);
    }
    assert_eq!(quarantine.held.lock().len(), QUARANTINE_MAX);
    assert!(holds(1, 7 + QUARANTINE_MS));
    quarantine.add(key(0), 7 + QUARANTINE_MS);
    assert_eq!(quarantine.held.lock().len(), QUARANTINE_MAX);
    assert!(holds(0, 8 + QUARANTINE_MS));
}
