//! Tests of the relay against a stream that forgets.

use std::collections::BTreeSet;

use sillok_bus::Message;
use sillok_core::{Error, ErrorCode};

use super::*;
use crate::protocol::Without;
use crate::tests::harness::{TestNode, TestStore, append, in_time, store};
use crate::tests::projects::{Projects, slot};
use crate::tests::stream::MemoryStream;

/// A node with a task in each of some projects, whose relay is moved by hand.
struct Bench {
    projects: Projects,
    stream: Arc<MemoryStream>,
    relay: Relay<TestStore, Without>,
}

/// The relay of the events.
fn relay(node: &TestNode, stream: &Arc<MemoryStream>) -> Relay<TestStore, Without> {
    relay_of(Channel::Events, node, stream)
}

fn relay_of(
    channel: Channel,
    node: &TestNode,
    stream: &Arc<MemoryStream>,
) -> Relay<TestStore, Without> {
    Relay {
        shared: Arc::clone(node.shared()),
        channel,
        stream: Arc::clone(stream) as Arc<dyn EventStream>,
        cursors: BTreeMap::new(),
        unseen: BTreeMap::new(),
        newest: None,
        newest_ms: 0,
    }
}

/// Has a relay tell what is marked to its end. Whether nothing kept it from that.
async fn whole(relay: &mut Relay<TestStore, Without>) -> bool {
    loop {
        match relay.tell_all().await {
            Round::GoesOn => {}
            round => return round == Round::Whole,
        }
    }
}

impl Bench {
    async fn new(projects: usize) -> Self {
        let projects = Projects::new(&store(), projects).await;
        let stream = Arc::new(MemoryStream::default());
        Self {
            relay: relay(&projects.node, &stream),
            projects,
            stream,
        }
    }

    /// Commits once more in a project, and tells the stream of it.
    async fn tell(&mut self, project: usize) {
        self.projects.open_another(project).await;
        self.projects.node.shared().stream_feeds.mark(slot(project));
        assert!(whole(&mut self.relay).await);
    }

    async fn tell_all(&mut self) {
        for held in self.projects.node.ownership().held() {
            self.projects.node.shared().stream_feeds.mark(held);
        }
        assert!(whole(&mut self.relay).await);
    }

    /// Looks, and tells what is missed.
    async fn look(&mut self) {
        self.relay.look().await;
        assert!(whole(&mut self.relay).await);
    }

    /// Every commit of some projects.
    async fn committed(&self, projects: usize) -> BTreeSet<(Slot, Stamp)> {
        let mut all = BTreeSet::new();
        for slot in (0..projects).map(slot) {
            let rows =
                rows_after(&self.projects.node.shared().store, slot, Stamp::ZERO, 1_000).await;
            all.extend(rows.unwrap().into_iter().map(|(stamp, _)| (slot, stamp)));
        }
        all
    }
}

#[tokio::test]
async fn each_commit_is_told_once_in_order_with_the_one_before_it() {
    let mut bench = Bench::new(2).await;
    for project in [0, 1, 1, 0] {
        bench.tell(project).await;
    }
    bench.tell_all().await;
    let messages = bench.stream.messages();
    assert_eq!(messages.len(), 6, "each once");
    assert_eq!(bench.stream.stamps(), bench.committed(2).await);
    for slot in [slot(0), slot(1)] {
        let mut before = Stamp::ZERO;
        for message in messages.iter().filter(|message| message.slot == slot) {
            assert_eq!(message.previous, before);
            before = message.stamp;
        }
    }
}

#[tokio::test]
async fn what_was_lost_is_told_again_although_others_have_its_numbers() {
    let mut bench = Bench::new(3).await;
    bench.tell_all().await;
    bench.look().await;
    bench.tell(0).await;
    bench.tell(1).await;
    bench.stream.lose(2);
    // Three more of another slot, which had no part in the loss.
    for _ in 0..3 {
        bench.tell(2).await;
    }
    bench.look().await;
    assert_eq!(bench.stream.stamps(), bench.committed(3).await);
    assert_eq!(bench.projects.node.metrics().streams_lost, 2);
}

#[tokio::test]
async fn the_loss_of_what_was_seen_long_ago_is_found_by_the_newest_of_it() {
    let mut bench = Bench::new(3).await;
    bench.tell_all().await;
    bench.look().await;
    let told = bench.stream.messages();
    bench.stream.lose(2);
    // Another writer has told the newest of them again: it has its old number, and the other has not.
    bench.stream.tell_again(told[0].clone());
    bench.stream.tell_again(told[2].clone());
    bench.look().await;
    assert_eq!(bench.stream.stamps(), bench.committed(3).await);
    assert_eq!(bench.projects.node.metrics().streams_lost, 1);
}

#[tokio::test]
async fn what_was_lost_is_not_taken_for_aged() {
    let mut bench = Bench::new(2).await;
    bench.tell_all().await;
    let lost = bench.stream.messages()[1].slot;
    let other = usize::from(slot(0) == lost);
    bench.stream.lose(1);
    for _ in 0..9 {
        bench.tell(other).await;
    }
    // What has its number now has aged.
    bench.stream.keep(4);
    // The slots are another run's from now on, which has only the cursor row.
    bench.relay = relay(&bench.projects.node, &bench.stream);
    bench.tell_all().await;
    assert!(bench.stream.stamps().iter().any(|(slot, _)| *slot == lost));
}

#[tokio::test]
async fn a_stream_created_anew_is_filled_again() {
    let mut bench = Bench::new(2).await;
    bench.tell(0).await;
    bench.tell_all().await;
    bench.look().await;
    bench.stream.create_anew();
    bench.look().await;
    assert_eq!(bench.stream.stamps(), bench.committed(2).await);
    assert_eq!(bench.stream.messages().len(), 3, "each once");
    // And so it is by another run, which has the rows alone.
    bench.stream.create_anew();
    bench.relay = relay(&bench.projects.node, &bench.stream);
    bench.tell_all().await;
    assert_eq!(bench.stream.messages().len(), 3);
}

#[tokio::test]
async fn filling_goes_on_where_another_run_left_off() {
    let mut bench = Bench::new(1).await;
    for _ in 0..(2 * PAGE_ROWS) {
        bench.projects.open_another(0).await;
    }
    bench.tell_all().await;
    bench.stream.create_anew();
    bench.relay = relay(&bench.projects.node, &bench.stream);
    bench.projects.node.shared().stream_feeds.mark(slot(0));
    assert_eq!(bench.relay.tell_all().await, Round::GoesOn);
    assert_eq!(bench.stream.messages().len(), PAGE_ROWS);
    // One that has told more, and has not written so down.
    let committed = bench.committed(1).await;
    let store = &bench.projects.node.shared().store;
    let rows = rows_after(store, slot(0), Stamp::ZERO, 2 * PAGE_ROWS).await;
    let (stamp, row) = rows.unwrap().swap_remove(PAGE_ROWS);
    let before = bench.stream.messages().pop().unwrap().stamp;
    bench
        .stream
        .tell_again(message_of(slot(0), stamp, before, row));
    for _ in 0..2 {
        bench.relay = relay(&bench.projects.node, &bench.stream);
        bench.tell_all().await;
        assert_eq!(bench.stream.stamps(), committed);
        assert_eq!(bench.stream.messages().len(), committed.len(), "each once");
    }
}

#[tokio::test]
async fn a_stream_created_anew_is_told_what_it_would_still_keep() {
    let mut bench = Bench::new(1).await;
    for _ in 0..(3 * PAGE_ROWS) {
        bench.projects.open_another(0).await;
    }
    bench.tell_all().await;
    let committed = bench.committed(1).await;
    for (keeps_ms, least, most) in [
        (0, committed.len(), committed.len()),
        (u64::MAX, committed.len(), committed.len()),
        // The clock goes on with each look at it: all of it is older.
        (1, 1, PAGE_ROWS),
    ] {
        bench.stream.create_anew();
        bench.stream.say_it_keeps(keeps_ms);
        bench.relay = relay(&bench.projects.node, &bench.stream);
        bench.tell_all().await;
        let told = bench.stream.stamps();
        assert!((least..=most).contains(&told.len()), "{keeps_ms}");
        let newest = committed.iter().skip(committed.len() - told.len());
        assert!(told.iter().eq(newest), "{keeps_ms}");
    }
}

#[tokio::test]
async fn what_never_was_told_is_told_to_a_new_stream_however_old_it_is() {
    let mut bench = Bench::new(1).await;
    bench.tell_all().await;
    let told = bench.committed(1).await;
    for _ in 0..(2 * PAGE_ROWS) {
        bench.projects.open_another(0).await;
    }
    bench.stream.create_anew();
    bench.stream.say_it_keeps(1);
    bench.relay = relay(&bench.projects.node, &bench.stream);
    bench.tell_all().await;
    let committed = bench.committed(1).await;
    let untold: BTreeSet<_> = committed.difference(&told).copied().collect();
    assert_eq!(bench.stream.stamps(), untold);
}

#[tokio::test]
async fn while_several_slots_lack_much_each_gets_its_turn_soon() {
    let mut bench = Bench::new(2).await;
    for project in 0..2 {
        for _ in 0..PAGE_ROWS {
            bench.projects.open_another(project).await;
        }
    }
    for held in [slot(0), slot(1)] {
        bench.projects.node.shared().stream_feeds.mark(held);
    }
    assert_eq!(bench.relay.tell_all().await, Round::GoesOn);
    for held in [slot(0), slot(1)] {
        let messages = bench.stream.messages().into_iter();
        assert_eq!(messages.filter(|told| told.slot == held).count(), TURN_ROWS);
    }
    bench.tell_all().await;
    assert_eq!(bench.stream.stamps(), bench.committed(2).await);
}

#[tokio::test]
async fn a_slot_whose_part_of_the_stream_was_lost_is_filled_again() {
    let mut bench = Bench::new(2).await;
    bench.tell(1).await;
    for _ in 0..3 {
        bench.tell(0).await;
    }
    // All of one slot went with the end of the stream, whose numbers another one gets.
    bench.stream.lose(4);
    bench.tell(1).await;
    bench.look().await;
    assert_eq!(bench.stream.stamps(), bench.committed(2).await);
}

#[tokio::test]
async fn a_stream_that_let_all_age_is_told_the_last_of_each_slot_once() {
    let mut bench = Bench::new(2).await;
    bench.tell_all().await;
    bench.look().await;
    bench.stream.keep(0);
    for _ in 0..3 {
        bench.look().await;
    }
    assert_eq!(bench.stream.messages().len(), 2);
    assert_eq!(
        bench.projects.node.metrics().streams_lost,
        0,
        "it may have aged"
    );
}

#[tokio::test]
async fn what_has_aged_for_certain_is_not_told_again() {
    let mut bench = Bench::new(2).await;
    bench.stream.say_it_keeps(60_000);
    bench.tell_all().await;
    bench.look().await;
    bench.stream.keep(0);
    for _ in 0..3 {
        bench.look().await;
    }
    assert_eq!(bench.stream.messages().len(), 0);
    // What comes next goes behind the one before it.
    bench.tell(0).await;
    assert_eq!(bench.stream.messages().len(), 2);
    bench.look().await;
    bench.stream.lose(1);
    bench.look().await;
    assert_eq!(bench.stream.stamps().len(), 3, "a loss is still seen");
    assert_eq!(bench.projects.node.metrics().streams_lost, 1);
}

#[tokio::test]
async fn what_was_not_looked_at_for_too_long_may_have_been_lost() {
    let mut bench = Bench::new(2).await;
    bench.tell_all().await;
    bench.look().await;
    bench.stream.keep(0);
    bench.stream.say_it_keeps(60_000);
    let newest = bench.relay.newest.unwrap();
    let page = bench.stream.page(0, 1).await.unwrap();
    assert!(has_aged(&newest, &page.stream, 59_999));
    assert!(!has_aged(&newest, &page.stream, 60_000));
}

#[tokio::test]
async fn what_no_node_wrote_makes_no_commit_told_twice() {
    let mut bench = Bench::new(2).await;
    for _ in 0..3 {
        bench.tell(0).await;
    }
    bench.stream.scribble(slot(0));
    bench.projects.open_another(0).await;
    bench.projects.node.shared().stream_feeds.mark(slot(0));
    assert_eq!(bench.relay.tell_all().await, Round::Refused);
    assert!(whole(&mut bench.relay).await, "it goes on behind that");
    assert_eq!(bench.stream.messages().len(), 5);
    bench.stream.scribble(slot(0));
    // Another run finds the same.
    bench.relay = relay(&bench.projects.node, &bench.stream);
    bench.tell(0).await;
    assert_eq!(bench.stream.messages().len(), 6);
}

#[tokio::test]
async fn a_message_that_somebody_plays_again_makes_no_history_told_again() {
    let mut bench = Bench::new(1).await;
    for _ in 0..5 {
        bench.tell(0).await;
    }
    let recorded = bench.stream.messages()[1].clone();
    bench.stream.tell_again(recorded.clone());
    bench.look().await;
    bench.relay = relay(&bench.projects.node, &bench.stream);
    bench.tell(0).await;
    assert_eq!(
        bench.stream.messages().len(),
        8,
        "{recorded:?}, and the next"
    );
    // Once the genuine one has aged, one message is told again.
    bench.stream.tell_again(recorded);
    bench.stream.keep(1);
    bench.relay = relay(&bench.projects.node, &bench.stream);
    bench.tell_all().await;
    assert_eq!(bench.stream.messages().len(), 2);
    let last = bench.stream.messages().pop().unwrap();
    assert_eq!(
        bench.committed(1).await.last(),
        Some(&(slot(0), last.stamp))
    );
}

#[tokio::test]
async fn a_stream_that_does_not_answer_is_not_asked_for_every_slot() {
    let mut bench = Bench::new(1).await;
    bench.tell_all().await;
    bench.look().await;
    let unseen = (0..200).map(|number| (Slot::new(number).unwrap(), Stamp::ZERO));
    bench.relay.unseen.extend(unseen);
    bench.stream.set_down(true);
    let before = bench.stream.asked();
    bench.relay.look().await;
    assert!(bench.stream.asked() - before <= ASKED_AT_ONCE as u64 + 1);
    assert_eq!(bench.relay.unseen.len(), 200);
    bench.stream.set_down(false);
    bench.look().await;
    assert!(bench.relay.unseen.is_empty());
}

#[tokio::test]
async fn what_is_not_told_is_marked_again() {
    let mut bench = Bench::new(2).await;
    bench.tell_all().await;
    bench.stream.set_down(true);
    bench.projects.open_another(0).await;
    bench.projects.open_another(1).await;
    bench.projects.node.shared().stream_feeds.mark(slot(0));
    bench.projects.node.shared().stream_feeds.mark(slot(1));
    assert_eq!(bench.relay.tell_all().await, Round::Refused);
    bench.stream.set_down(false);
    assert!(whole(&mut bench.relay).await);
    assert_eq!(bench.stream.stamps(), bench.committed(2).await);
}

#[tokio::test]
async fn a_slot_that_cannot_be_told_does_not_hold_up_the_others() {
    let mut bench = Bench::new(3).await;
    bench.tell_all().await;
    let first = (0..3).min_by_key(|project| slot(*project)).unwrap();
    for project in 0..3 {
        bench.projects.open_another(project).await;
        bench
            .projects
            .node
            .shared()
            .stream_feeds
            .mark(slot(project));
    }
    // Another owner has told the first slot's commit already.
    let told = bench.committed(3).await;
    let last = told.iter().rfind(|(of, _)| *of == slot(first)).unwrap().1;
    let before = bench.stream.messages();
    let before = before.iter().find(|of| of.slot == slot(first)).unwrap();
    bench.stream.tell_again(Message {
        stamp: last,
        previous: before.stamp,
        ..before.clone()
    });
    assert_eq!(bench.relay.tell_all().await, Round::Refused);
    assert_eq!(bench.stream.stamps(), told);
    assert!(whole(&mut bench.relay).await, "it goes on behind that");
    assert_eq!(bench.stream.messages().len(), 6);
}

#[tokio::test]
async fn a_slot_that_is_held_no_longer_is_not_told() {
    let mut bench = Bench::new(1).await;
    bench.tell_all().await;
    bench.projects.open_another(0).await;
    let epoch = bench.projects.node.ownership().epoch(slot(0)).unwrap();
    bench.projects.node.ownership().release(slot(0), epoch);
    bench.projects.node.shared().stream_feeds.mark(slot(0));
    assert!(whole(&mut bench.relay).await);
    assert_eq!(bench.stream.messages().len(), 1);
    assert!(!bench.relay.cursors.contains_key(&slot(0)));
}

#[tokio::test]
async fn a_slot_with_many_commits_is_told_to_its_end() {
    let mut bench = Bench::new(1).await;
    for _ in 0..PAGE_ROWS {
        bench.projects.open_another(0).await;
    }
    bench.tell_all().await;
    assert_eq!(bench.stream.messages().len(), PAGE_ROWS + 1);
    assert_eq!(bench.stream.stamps(), bench.committed(1).await);
}

#[tokio::test]
async fn a_relay_looks_again_and_again_and_tells_what_was_lost() {
    let bench = Bench::new(1).await;
    let committed = bench.committed(1).await;
    let (shared, stream) = (bench.projects.node.shared(), Arc::clone(&bench.stream));
    let running = tokio::spawn(run(
        Arc::clone(shared),
        Channel::Events,
        Arc::clone(&stream) as _,
    ));
    for _ in 0..3 {
        let told = async {
            while stream.stamps() != committed {
                tokio::task::yield_now().await;
            }
        };
        in_time(told).await;
        stream.lose(1);
    }
    running.abort();
}

mod channels;

#[test]
fn what_cannot_be_read_is_the_fault_of_one_slot_and_a_store_out_of_reach_of_none() {
    let untold = |code| Untold::from(Error::new(code, "as the test has it"));
    assert!(matches!(untold(ErrorCode::Internal), Untold::Slot(_)));
    assert!(matches!(untold(ErrorCode::Unavailable), Untold::All(_)));
}

#[tokio::test]
async fn a_slot_that_ends_with_another_history_is_told_from_its_beginning() {
    let mut bench = Bench::new(1).await;
    let store = &bench.projects.node.shared().store;
    let rows = rows_after(store, slot(0), Stamp::ZERO, 10).await.unwrap();
    let (stamp, row) = rows[0].clone();
    for generation in [stamp.generation - 1, stamp.generation + 1] {
        let other = Stamp {
            generation,
            counter: 1_000,
            index: 0,
        };
        let message = message_of(slot(0), other, Stamp::ZERO, row.clone());
        bench.stream.tell_again(message);
        bench.relay = relay(&bench.projects.node, &bench.stream);
        bench.tell(0).await;
        let told = bench.stream.stamps();
        assert!(told.is_superset(&bench.committed(1).await), "{told:?}");
    }
}
