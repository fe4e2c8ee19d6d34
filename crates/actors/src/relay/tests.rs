//! Tests of what listeners in this process hear.

use futures::FutureExt as _;
use sillok_bus::in_process::Heard;
use sillok_core::id::Epoch;
use sillok_core::principal::PrincipalKind;

use super::*;
use crate::cluster::tests::registered;
use crate::tests::harness::{
    TestStore, append, in_time, node, open_task, scope, store, submission,
};
use crate::tests::line::{Fate, Line};

fn task(project: u64) -> String {
    format!("org/acme/project/p{project}/worktree/main/task/1")
}

/// Whether these are all commits of a slot, each once, in order, with the one before it.
async fn are_all(store: &TestStore, slot: Slot, heard: &[Message], after: Stamp) -> bool {
    let rows = rows_after(store, slot, after, 10_000).await.unwrap();
    let of_slot = heard.iter().filter(|message| message.slot == slot);
    let mut previous = after;
    let mut expected = Vec::new();
    for (stamp, row) in rows {
        let (scope, first, last) = (row.scope, row.first, row.last);
        expected.push(Message {
            slot,
            stamp,
            previous,
            scope,
            first,
            last,
        });
        previous = stamp;
    }
    of_slot.eq(&expected)
}

#[tokio::test]
async fn a_listener_hears_every_commit_once_and_in_order() {
    const PROJECTS: u64 = 2;
    let store = store();
    let node = node(&store).await;
    let mut listener = node.bus().listen();
    let mut number = 0;
    for round in 0..4 {
        for project in 0..PROJECTS {
            let command = if round == 0 {
                open_task()
            } else {
                append("line")
            };
            let given = submission(number, PrincipalKind::Agent, &task(project), command);
            node.submit(given).await.unwrap();
            number += 1;
        }
    }
    let mut heard = Vec::new();
    for _ in 0..number {
        match listener.next().await {
            Heard::Message(message) => heard.push(message),
            other => panic!("instead of a message: {other:?}"),
        }
    }
    for project in 0..PROJECTS {
        let slot = Slot::of(&scope(&task(project)));
        let first = heard.iter().find(|message| message.slot == slot);
        let after = first.map(|message| message.previous).unwrap();
        assert!(are_all(&store, slot, &heard, after).await, "{heard:?}");
        assert_eq!(heard.iter().filter(|told| told.slot == slot).count(), 4);
    }
    assert_eq!(node.metrics().relayed, number);
}

#[tokio::test]
async fn many_commits_are_told_page_after_page() {
    let store = store();
    let node = node(&store).await;
    let slot = Slot::of(&scope(&task(0)));
    let give = |number, command| submission(number, PrincipalKind::Agent, &task(0), command);
    node.submit(give(0, open_task())).await.unwrap();
    for number in 1..=2 * PAGE_ROWS as u64 {
        node.submit(give(number, append("line"))).await.unwrap();
    }
    let bus = InProcessBus::default();
    let mut listener = bus.listen();
    let last = tell(node.shared(), &bus, slot, Stamp::ZERO).await.unwrap();
    let mut heard = Vec::new();
    for _ in 0..=2 * PAGE_ROWS {
        match listener.next().await {
            Heard::Message(message) => heard.push(message),
            other => panic!("instead of a message: {other:?}"),
        }
    }
    assert!(are_all(&store, slot, &heard, Stamp::ZERO).await);
    assert_eq!(heard.last().unwrap().stamp, last);
    let again = tell(node.shared(), &bus, slot, last).await.unwrap();
    assert_eq!(again, last, "nothing is new");
}

#[tokio::test]
async fn a_relay_that_met_a_defect_before_it_told_anything_tells_everything() {
    let node = node(&store()).await;
    let given = submission(0, PrincipalKind::Agent, &task(0), open_task());
    node.submit(given).await.unwrap();
    node.shutdown().await;
    let shared = Arc::clone(node.shared());
    // What was marked is taken, by the relay that met the defect.
    drop(shared.bus_feed.take());
    let _ = shared.bus_feed.changed().now_or_never();
    let bus = InProcessBus::default();
    let mut listener = bus.listen();
    let heard = tokio::select! {
        biased;
        heard = in_time(listener.next()) => heard,
        () = run(shared, bus.clone(), Stamp::ZERO, Told::default()) => panic!("a relay goes on"),
    };
    assert!(matches!(heard, Heard::Message(message) if message.slot == Slot::of(&scope(&task(0)))));
}

/// A store in which two slots have something, and one of them cannot be read: the slots, the broken one
/// first.
async fn with_a_broken_slot() -> (Line, [Slot; 2]) {
    let store = store();
    let writer = node(&store).await;
    for project in 0..2 {
        let given = submission(project, PrincipalKind::Agent, &task(project), open_task());
        writer.submit(given).await.unwrap();
    }
    writer.shutdown().await;
    let line = Line::new(&store, Fate::Arrives);
    let slots = [0, 1].map(|project| Slot::of(&scope(&task(project))));
    line.break_range(keys::outbox::range_after(slots[0], Stamp::ZERO));
    (line, slots)
}

#[tokio::test]
async fn a_slot_that_cannot_be_read_keeps_nobody_from_hearing_of_the_others() {
    let (line, slots) = with_a_broken_slot().await;
    let shared = registered(&line, "eve").await;
    let (bus, told) = (InProcessBus::default(), Told::default());
    let mut listener = bus.listen();
    let unread = tell_some(&shared, &bus, &slots, Stamp::ZERO, &told).await;
    assert!(unread.unwrap().is_empty());
    let heard = in_time(listener.next()).await;
    assert!(matches!(heard, Heard::Message(message) if message.slot == slots[1]));
    assert_eq!(told.lock().keys().collect::<Vec<_>>(), [&slots[1]]);
    // A store that is out of reach is something else: all is read again.
    line.lose_range(sillok_store::KeyRange::all());
    let error = tell_some(&shared, &bus, &slots, Stamp::ZERO, &told).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn the_other_nodes_hear_of_a_slot_that_was_taken_while_it_was_told() {
    let (line, slots) = with_a_broken_slot().await;
    let shared = registered(&line, "eve").await;
    let (bus, told) = (InProcessBus::default(), Told::default());
    let tell = || tell_some(&shared, &bus, &slots[1..], Stamp::ZERO, &told);
    tell().await.unwrap();
    assert!(shared.news.take().is_empty(), "it is another's to tell");
    told.lock().clear();
    let run = shared.ownership.incarnation();
    assert!(shared.ownership.take(slots[1], Epoch(2), run));
    tell().await.unwrap();
    assert_eq!(shared.news.take(), [slots[1]]);
    tell().await.unwrap();
    assert!(shared.news.take().is_empty(), "nothing is new");
}

#[tokio::test]
async fn a_relay_says_what_is_new_here_once_and_reads_again_only_where_that_may_help() {
    let (line, slots) = with_a_broken_slot().await;
    let shared = registered(&line, "eve").await;
    let incarnation = shared.ownership.incarnation();
    for slot in slots {
        assert!(shared.ownership.take(slot, Epoch(2), incarnation));
    }
    let (bus, told) = (InProcessBus::default(), Told::default());
    let running = tokio::spawn(run(
        Arc::clone(&shared),
        bus,
        Stamp::ZERO,
        Arc::clone(&told),
    ));
    let until_told = async |slot: Slot| {
        while !told.lock().contains_key(&slot) {
            tokio::task::yield_now().await;
        }
    };
    let at_rest = async || {
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    };
    in_time(until_told(slots[1])).await;
    assert_eq!(
        shared.news.take(),
        [slots[1]],
        "the other one cannot be read"
    );
    let begun_ms = shared.ports.clock.monotonic_ms();
    shared.bus_feed.mark(slots[1]);
    at_rest().await;
    assert!(shared.news.take().is_empty(), "nothing is new");
    let waited_ms = shared.ports.clock.monotonic_ms() - begun_ms;
    assert!(waited_ms < RETRY_MS, "reading again does not help");
    // Once the store is only out of reach, it is read until it answers.
    line.lose_range(sillok_store::KeyRange::all());
    shared.bus_feed.mark(slots[0]);
    at_rest().await;
    assert!(!told.lock().contains_key(&slots[0]));
    line.repair();
    in_time(until_told(slots[0])).await;
    assert_eq!(shared.news.take(), [slots[0]]);
    running.abort();
}
