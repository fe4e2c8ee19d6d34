//! Tests of how slots are taken: what is ready is held, and nothing else.

use sillok_core::ErrorCode;
use sillok_core::id::VerificationId;
use sillok_core::membership::health::Reason;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::Job;
use sillok_core::stamp::Stamp;
use sillok_core::time::Timestamp;
use sillok_store::keys::Family;
use sillok_store::{KeyRange, Txn as _, keys};

use super::*;
use crate::cluster::tests::{Here, registered, slots_at, until};
use crate::cluster::{let_go, register};
use crate::indexer::Indexer;
use crate::indexer::tests::ByHand;
use crate::tests::harness::{TASK, node, scope, store, submission};
use crate::tests::index::put;
use crate::tests::line::{Fate, Line};

/// A node among others, and slots that belong on it.
async fn here<const COUNT: usize>() -> (Line, Here, [Slot; COUNT]) {
    let line = Line::new(&store(), Fate::Arrives);
    let here = registered(&line, "ada").await;
    let mut slots = slots_at("ada", &["ada"]);
    let slots = core::array::from_fn(|_| slots.next().unwrap());
    (line, here, slots)
}

/// Lets every other task come as far as it can without the index.
async fn rest() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// A promotion that waits in a slot.
async fn wait_in(line: &Line, slot: Slot) {
    let number = u128::from(slot.number());
    let waits = Job {
        source: scope(TASK),
        verification: VerificationId::from_bytes(number.to_be_bytes()),
        created_at: Timestamp::EPOCH,
    };
    let mut txn = line.begin().await.unwrap();
    let key = keys::job::key(slot, waits.verification);
    txn.set(key, keys::job::encode(&waits));
    txn.commit().await.unwrap();
}

fn takes(here: &Here, slots: &[Slot]) -> tokio::task::JoinHandle<Result<Option<Left>, Error>> {
    let (here, slots) = (Arc::clone(here), slots.to_vec());
    tokio::spawn(async move { take(&here, &slots).await })
}

#[tokio::test]
async fn a_slot_that_two_want_at_once_is_taken_once() {
    let node = node(&store()).await;
    let (shared, slot) = (node.shared(), Slot::of(&scope(TASK)));
    let epoch = shared.ownership.epoch(slot).unwrap();
    // It has forgotten what it holds.
    shared.ownership.begin_run(shared.ownership.incarnation());
    let before = node.metrics().slots_taken;
    let slots = [slot];
    let (one, other) = tokio::join!(take(shared, &slots), take(shared, &slots));
    assert!(one.unwrap().is_some() && other.unwrap().is_some());
    assert_eq!(shared.ownership.epoch(slot), Some(epoch));
    assert_eq!(node.metrics().slots_taken - before, 1);
}

#[tokio::test]
async fn a_takeover_is_counted_once_however_often_its_slot_is_looked_at() {
    let (line, here, [of_bob, of_nobody]) = here().await;
    let bob = registered(&line, "bob").await;
    let had = claims::claim(&line, &bob.ownership, &[of_bob], bob.protocol).await;
    assert!(matches!(had, Ok(Claim::Taken { slots, .. }) if slots.len() == 1));
    claims::leave(&line, &bob.ownership).await.unwrap();
    let mut index = ByHand::default();
    let both = [of_bob, of_nobody];
    let counted = || {
        (
            here.counters.takeovers.get(),
            here.counters.slots_taken.get(),
        )
    };
    let lagging = takes(&here, &both);
    rest().await;
    index.read(&here.index_requests, &[of_nobody]).await;
    assert_eq!(lagging.await.unwrap().unwrap().unwrap().len(), 1);
    assert_eq!(counted(), (1, 1), "its row is written, and it is not held");
    let again = takes(&here, &[of_bob]);
    while !again.is_finished() {
        rest().await;
        index.read(&here.index_requests, &[of_bob]).await;
    }
    assert_eq!(again.await.unwrap().unwrap(), Some(Left::new()));
    assert_eq!(counted(), (1, 2));
}

#[tokio::test]
async fn a_slot_whose_index_lags_holds_up_no_other() {
    let (line, here, [lags, ready, other]) = here().await;
    let mut index = ByHand::default();
    let taking = takes(&here, &[lags, ready]);
    rest().await;
    index.read(&here.index_requests, &[ready]).await;
    until("what is ready", || here.ownership.held() == [ready]).await;
    let for_command = takes(&here, &[other]);
    rest().await;
    index.read(&here.index_requests, &[other]).await;
    until("the other", || for_command.is_finished()).await;
    assert_eq!(for_command.await.unwrap().unwrap(), Some(Left::new()));
    assert!(!taking.is_finished(), "it waits for the index still");
    let left = taking.await.unwrap().unwrap().unwrap();
    assert_eq!(left.keys().collect::<Vec<_>>(), [&lags]);
    assert_eq!(left[&lags].code, ErrorCode::Unavailable);
    assert_eq!(here.ownership.held().len(), 2);
    let owners = claims::owners(&line).await.unwrap().slots;
    assert_eq!(owners[&lags].node, "ada", "it is looked at again");
    let again = takes(&here, &[lags]);
    rest().await;
    index.read(&here.index_requests, &[lags]).await;
    assert_eq!(again.await.unwrap().unwrap(), Some(Left::new()));
    assert!(here.ownership.held().contains(&lags));
}

#[tokio::test]
async fn a_slot_that_the_index_shows_from_memory_waits_for_nothing() {
    let (_line, here, [shown, unread]) = here().await;
    let read = (shown, Stamp::ZERO);
    here.index_requests.cursors.lock().extend([read]);
    let mut index = ByHand::default();
    let taking = takes(&here, &[shown, unread]);
    until("what is shown", || here.ownership.held() == [shown]).await;
    rest().await;
    assert!(!taking.is_finished(), "the other waits for the index");
    index.read(&here.index_requests, &[unread]).await;
    assert_eq!(taking.await.unwrap().unwrap(), Some(Left::new()));
    assert_eq!(here.ownership.held().len(), 2);
}

#[tokio::test]
async fn a_slot_that_is_long_in_being_shown_holds_up_neither_another_nor_itself() {
    let (line, here, [long, shown]) = here().await;
    line.silence_range(keys::outbox::range_after(long, Stamp::ZERO));
    let read = [long, shown].map(|slot| (slot, Stamp::ZERO));
    here.index_requests.cursors.lock().extend(read);
    let mut index = ByHand::default();
    let taking = takes(&here, &[long, shown]);
    until("what is shown", || here.ownership.held() == [shown]).await;
    index.read(&here.index_requests, &[long]).await;
    assert_eq!(taking.await.unwrap().unwrap(), Some(Left::new()));
    assert_eq!(here.ownership.held().len(), 2);
}

#[tokio::test]
async fn a_slot_that_is_ready_in_both_ways_is_held_once() {
    for is_shown_first in [true, false] {
        let (line, here, slots) = here().await;
        let [both, last] = slots;
        if !is_shown_first {
            line.silence_range(keys::outbox::range_after(both, Stamp::ZERO));
        }
        let read = (both, Stamp::ZERO);
        here.index_requests.cursors.lock().extend([read]);
        let mut index = ByHand::default();
        let taking = takes(&here, &[both, last]);
        if is_shown_first {
            until("what is shown", || here.ownership.held() == [both]).await;
        } else {
            rest().await;
        }
        index.read(&here.index_requests, &[both]).await;
        until("one of them", || here.ownership.held() == [both]).await;
        // Whoever holds it again would have to know again what is quarantined there.
        line.repair();
        line.lose_range(Family::Quarantine.range());
        rest().await;
        assert!(!taking.is_finished(), "{:?}", taking.await);
        line.repair();
        index.read(&here.index_requests, &[last]).await;
        assert_eq!(taking.await.unwrap().unwrap(), Some(Left::new()));
        assert_eq!(here.ownership.held(), slots);
        assert_eq!(here.counters.slots_taken.get(), 2);
    }
}

#[tokio::test]
async fn a_node_that_is_alone_shows_nothing_ahead() {
    let node = node(&store()).await;
    let path = "org/acme/project/compiler";
    let put = submission(0, PrincipalKind::Human, path, put("the parser is greedy"));
    node.submit(put).await.unwrap();
    let (shared, slot) = (node.shared(), Slot::of(&scope(path)));
    shared.ownership.begin_run(shared.ownership.incarnation());
    let unread = (slot, Stamp::ZERO);
    shared.index_requests.cursors.lock().extend([unread]);
    assert_eq!(take(shared, &[slot]).await.unwrap(), Some(Left::new()));
    assert_eq!(node.metrics().slots_shown_ahead, 0);
    node.shutdown().await;
}

#[tokio::test]
async fn who_wants_a_slot_that_is_being_taken_waits_until_it_is_ready() {
    let (_line, here, [slot]) = here().await;
    let mut index = ByHand::default();
    let first = takes(&here, &[slot]);
    rest().await;
    let second = takes(&here, &[slot]);
    rest().await;
    assert_eq!(index.read(&here.index_requests, &[]).await, 1, "one asks");
    assert!(!first.is_finished() && !second.is_finished());
    assert!(here.ownership.held().is_empty());
    index.read(&here.index_requests, &[slot]).await;
    assert_eq!(second.await.unwrap().unwrap(), Some(Left::new()));
    assert_eq!(here.ownership.held(), [slot]);
    assert_eq!(first.await.unwrap().unwrap(), Some(Left::new()));
}

#[tokio::test]
async fn a_slot_that_nobody_takes_any_more_is_taken_by_who_waits() {
    let (_line, here, [slot]) = here().await;
    let mut index = ByHand::default();
    let first = takes(&here, &[slot]);
    rest().await;
    let second = takes(&here, &[slot]);
    rest().await;
    first.abort();
    rest().await;
    assert!(!second.is_finished());
    index.read(&here.index_requests, &[slot]).await;
    assert_eq!(second.await.unwrap().unwrap(), Some(Left::new()));
    assert_eq!(here.ownership.held(), [slot]);
}

#[tokio::test]
async fn what_keeps_a_slot_is_told_to_all_who_wait_for_it() {
    let (line, here, [slot]) = here().await;
    let mut index = ByHand::default();
    line.lose_range(Family::Quarantine.range());
    let first = takes(&here, &[slot]);
    rest().await;
    let second = takes(&here, &[slot]);
    rest().await;
    index.read(&here.index_requests, &[slot]).await;
    let failed = first.await.unwrap().unwrap_err();
    assert_eq!(failed.code, ErrorCode::Unavailable);
    assert_eq!(second.await.unwrap().unwrap().unwrap()[&slot], failed);
    assert!(
        here.ownership.held().is_empty(),
        "what is quarantined there is unread"
    );
    line.repair();
    let again = takes(&here, &[slot]);
    rest().await;
    index.read(&here.index_requests, &[slot]).await;
    assert_eq!(again.await.unwrap().unwrap(), Some(Left::new()));
    assert_eq!(here.ownership.held(), [slot]);
}

#[tokio::test]
async fn a_slot_is_not_held_while_its_promotions_are_unread() {
    let (line, here, [slot]) = here().await;
    let mut index = ByHand::default();
    line.lose_range(keys::job::range_all());
    let taking = takes(&here, &[slot]);
    rest().await;
    index.read(&here.index_requests, &[slot]).await;
    let refused = taking.await.unwrap().unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(here.ownership.held().is_empty());
    assert_eq!(here.members.slots_behind(), 1);
    line.repair();
    let again = takes(&here, &[slot]);
    rest().await;
    index.read(&here.index_requests, &[slot]).await;
    assert_eq!(again.await.unwrap().unwrap(), Some(Left::new()));
    assert_eq!(here.ownership.held(), [slot]);
}

#[tokio::test]
async fn what_waits_in_slots_of_one_taking_is_resumed_as_each_gets_ready() {
    let (line, here, slots) = here().await;
    let [first, second] = slots;
    for slot in slots {
        wait_in(&line, slot).await;
    }
    let mut index = ByHand::default();
    let taking = takes(&here, &slots);
    for (slot, count) in [(first, 1), (second, 2)] {
        rest().await;
        index.read(&here.index_requests, &[slot]).await;
        until("what is ready", || here.ownership.held().len() == count).await;
        assert_eq!(here.jobs.list().len(), count);
        // They are read once for all.
        line.lose_range(keys::job::range_all());
    }
    assert_eq!(taking.await.unwrap().unwrap(), Some(Left::new()));
}

#[tokio::test]
async fn what_a_run_has_claimed_is_not_held_by_the_next() {
    let (_line, here, [slot]) = here().await;
    let mut index = ByHand::default();
    let (first, second) = (takes(&here, &[slot]), takes(&here, &[slot]));
    rest().await;
    assert_eq!(here.members.slots_behind(), 1);
    register(&here).await.unwrap();
    assert_eq!(here.members.slots_behind(), 0);
    index.read(&here.index_requests, &[slot]).await;
    assert_eq!(first.await.unwrap().unwrap(), None);
    assert_eq!(second.await.unwrap().unwrap(), None);
    assert!(here.ownership.held().is_empty());
}

#[tokio::test]
async fn what_is_held_already_is_not_waited_for_when_it_is_claimed_again() {
    let (_line, here, [slot]) = here().await;
    let mut index = ByHand::default();
    let taking = takes(&here, &[slot]);
    rest().await;
    index.read(&here.index_requests, &[slot]).await;
    assert_eq!(taking.await.unwrap().unwrap(), Some(Left::new()));
    // Whoever has read the rows before that claims it again, and no index answers by now.
    assert_eq!(take(&here, &[slot]).await.unwrap(), Some(Left::new()));
    assert_eq!(here.members.slots_behind(), 0);
    assert_eq!(here.ownership.held(), [slot]);
    // Nor is what was let go of since.
    let epoch = here.ownership.epoch(slot).unwrap();
    let_go(&here, slot, epoch);
    assert_eq!(take(&here, &[slot]).await.unwrap(), Some(Left::new()));
    assert_eq!(here.members.slots_behind(), 0);
    assert!(here.ownership.held().is_empty());
}

#[tokio::test]
async fn what_was_claimed_counts_as_behind_though_a_later_claim_fails() {
    let (line, here, slots) = here::<{ CLAIMED_AT_ONCE + 1 }>().await;
    let last = KeyRange::key(&keys::owner::key(slots[CLAIMED_AT_ONCE]));
    line.lose_range(last);
    let refused = take(&here, &slots).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert_eq!(here.members.slots_behind(), CLAIMED_AT_ONCE as u64);
}

#[tokio::test]
async fn a_slot_that_was_let_go_of_is_behind_only_if_it_was_claimed_since() {
    let (_line, here, [slot]) = here().await;
    let run = here.ownership.incarnation();
    let behind = || here.members.slots_behind();
    for (claimed, expected) in [(Epoch(4), 0), (Epoch(7), 1)] {
        assert!(here.ownership.take(slot, Epoch(claimed.0.min(5)), run));
        here.members.behind.lock().insert(slot, claimed);
        let_go(&here, slot, here.ownership.epoch(slot).unwrap());
        assert_eq!(behind(), expected);
    }
    here.members.not_behind(slot, Epoch(7));
    assert_eq!(behind(), 0);
}

#[tokio::test]
async fn a_slot_that_cannot_be_read_keeps_nobody_from_the_others() {
    let (line, here, [broken, whole]) = here().await;
    line.break_range(keys::outbox::range_after(broken, Stamp::ZERO));
    wait_in(&line, broken).await;
    let indexer = Indexer::start(Arc::clone(&here)).await.unwrap();
    let (_running, stop) = tokio::sync::watch::channel(false);
    let indexing = tokio::spawn(indexer.run(stop));
    let unreadable = take(&here, &[broken, whole]).await.unwrap().unwrap();
    assert_eq!(unreadable.keys().collect::<Vec<_>>(), [&broken]);
    assert_eq!(here.ownership.held(), [whole]);
    let error = take_for_command(&here, broken).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Internal);
    // It is the owner by its row, and says that it serves less than it owns.
    let me = here.ownership.node().to_owned();
    assert_eq!(here.members.slots_behind(), 1);
    let status = crate::cluster_status::of(&*here).await.unwrap();
    assert_eq!(status.reasons, [Reason::Behind { node: me }]);
    assert!(
        here.jobs.list().is_empty(),
        "whoever holds it does what waits"
    );
    line.repair();
    assert!(take_for_command(&here, broken).await.unwrap());
    assert_eq!(here.jobs.list().len(), 1);
    assert_eq!(here.ownership.held(), [broken, whole]);
    assert_eq!(here.members.slots_behind(), 0);
    let status = crate::cluster_status::of(&*here).await.unwrap();
    assert_eq!(status.reasons, []);
    indexing.abort();
}
