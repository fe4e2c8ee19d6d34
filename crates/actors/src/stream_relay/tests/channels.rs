//! Tests of two relays beside one another, each of which tells what belongs to its channel.

use sillok_core::command::Command;
use sillok_store::keys::relay::RelayRow;

use super::super::cursors::{self, Kept, kept};
use super::*;
use crate::protocol::Without;
use crate::tests::harness::TestStore;
use crate::tests::stream::MemoryStream;

/// A node with a task in each of some projects, and the streams of both channels with their relays.
struct Pair {
    projects: Projects,
    streams: [Arc<MemoryStream>; 2],
    relays: [Relay<TestStore, Without>; 2],
}

const EVENTS: usize = 0;
const LOG: usize = 1;

impl Pair {
    async fn new(projects: usize) -> Self {
        let projects = Projects::new(&store(), projects).await;
        let streams = Channel::ALL.map(|channel| Arc::new(MemoryStream::of(channel)));
        Self {
            relays: relays(&projects, &streams),
            projects,
            streams,
        }
    }

    /// Commits lines and further tasks in turn.
    async fn commit(&mut self, project: usize, count: usize) {
        for number in 0..count {
            if number % 3 == 2 {
                self.projects.open_another(project).await;
            } else {
                self.projects.give(project, append("line")).await;
            }
        }
    }

    /// Has a channel's relay tell all of it.
    async fn tell(&mut self, channel: usize) {
        for held in self.projects.node.ownership().held() {
            self.relays[channel].feed().mark(held);
        }
        assert!(whole(&mut self.relays[channel]).await);
        self.relays[channel].keep_reads().await;
    }

    async fn tell_both(&mut self) {
        self.tell(EVENTS).await;
        self.tell(LOG).await;
    }

    /// Another run of the node, which has the rows alone.
    fn begin_again(&mut self) {
        self.projects.node.shared().fresh_runs.forget();
        self.relays = relays(&self.projects, &self.streams);
    }

    /// The rows of a project that belong to a channel, or to any.
    async fn rows(&self, project: usize, channel: Option<Channel>) -> Vec<(Stamp, OutboxRow)> {
        let store = &self.projects.node.shared().store;
        let rows = rows_after(store, slot(project), Stamp::ZERO, 10_000).await;
        let mut of_channel = Vec::new();
        for (stamp, row) in rows.unwrap() {
            let found = channel_of(store, &row).await.unwrap();
            if channel.is_none_or(|channel| channel == found) {
                of_channel.push((stamp, row));
            }
        }
        of_channel
    }

    /// Whether a stream holds each row of its channel once, and no other, each behind the one before.
    async fn holds_all(&self, channel: usize, project: usize) -> bool {
        let messages = self.streams[channel].messages().into_iter();
        let told: Vec<_> = messages.filter(|held| held.slot == slot(project)).collect();
        let rows = self.rows(project, Some(Channel::ALL[channel])).await;
        let is_chained = told.windows(2).all(|two| two[1].previous == two[0].stamp);
        let told = told
            .into_iter()
            .map(|held| (held.stamp, held.first, held.last));
        is_chained
            && told.eq(rows
                .into_iter()
                .map(|(stamp, row)| (stamp, row.first, row.last)))
    }

    /// A version that knew of no log has told all of a project with the events.
    async fn told_by_an_older_version(&self, project: usize) {
        let slot = slot(project);
        let held = self.streams[EVENTS].messages();
        let mut previous = held.last().map_or(Stamp::ZERO, |held| held.stamp);
        for (stamp, row) in self.rows(project, None).await {
            if stamp <= previous {
                continue;
            }
            self.streams[EVENTS].tell_again(message_of(slot, stamp, previous, row));
            previous = stamp;
        }
        let seq = self.streams[EVENTS].messages().len() as u64;
        let row = RelayRow {
            created: 0,
            stamp: previous,
            seq,
        };
        let mut txn = self.projects.node.shared().store.begin().await.unwrap();
        cursors::write_told(&mut txn, slot, Channel::Events, &row);
        txn.commit().await.unwrap();
    }

    async fn kept(&self, project: usize, channel: Channel) -> Kept {
        let mut txn = self.projects.node.shared().store.begin().await.unwrap();
        kept(&mut txn, slot(project), channel).await.unwrap()
    }

    async fn kept_of_log(&self, project: usize) -> Kept {
        self.kept(project, Channel::Log).await
    }

    async fn told_through(&self, project: usize, channel: Channel) -> Stamp {
        self.kept(project, channel).await.told_through()
    }
}

fn relays(projects: &Projects, streams: &[Arc<MemoryStream>; 2]) -> [Relay<TestStore, Without>; 2] {
    let [events, log] = streams;
    [
        relay_of(Channel::Events, &projects.node, events),
        relay_of(Channel::Log, &projects.node, log),
    ]
}

#[tokio::test]
async fn each_row_is_told_once_on_its_own_stream() {
    let mut pair = Pair::new(2).await;
    for _ in 0..3 {
        pair.commit(0, 7).await;
        pair.commit(1, 2).await;
        pair.tell_both().await;
        pair.begin_again();
    }
    for channel in [EVENTS, LOG] {
        assert!(pair.holds_all(channel, 0).await && pair.holds_all(channel, 1).await);
    }
    let told = pair
        .streams
        .each_ref()
        .map(|stream| stream.messages().len());
    let rows = pair.rows(0, None).await.len() + pair.rows(1, None).await.len();
    assert_eq!(told[EVENTS] + told[LOG], rows);
}

#[tokio::test]
async fn a_log_whose_stream_comes_late_is_told_from_its_beginning() {
    let mut pair = Pair::new(1).await;
    pair.commit(0, 9).await;
    pair.tell(EVENTS).await;
    pair.commit(0, 3).await;
    pair.tell_both().await;
    assert!(pair.holds_all(LOG, 0).await && pair.holds_all(EVENTS, 0).await);
}

#[tokio::test]
async fn what_an_older_version_told_with_the_events_is_not_told_on_the_log() {
    for order in [[EVENTS, LOG], [LOG, EVENTS]] {
        let mut pair = Pair::new(1).await;
        pair.commit(0, 9).await;
        pair.told_by_an_older_version(0).await;
        let before = pair.rows(0, None).await.pop().unwrap().0;
        let held = pair.streams[EVENTS].messages().len();
        pair.tell(order[0]).await;
        pair.commit(0, 6).await;
        for channel in order {
            pair.tell(channel).await;
        }
        let newer = |rows: Vec<(Stamp, OutboxRow)>| {
            let rows = rows.into_iter().map(|(stamp, _)| stamp);
            rows.filter(|stamp| *stamp > before).collect::<Vec<_>>()
        };
        let log = pair.streams[LOG].messages().into_iter();
        assert_eq!(
            log.map(|held| held.stamp).collect::<Vec<_>>(),
            newer(pair.rows(0, Some(Channel::Log)).await),
            "{order:?}"
        );
        let events = pair.streams[EVENTS].messages();
        let events = events.into_iter().skip(held);
        assert_eq!(
            events.map(|held| held.stamp).collect::<Vec<_>>(),
            newer(pair.rows(0, Some(Channel::Events)).await),
            "{order:?}"
        );
    }
}

/// What it told last is a record: it is not told again as what may have aged.
#[tokio::test]
async fn a_log_that_only_an_older_version_told_begins_behind_the_last_record() {
    let mut pair = Pair::new(1).await;
    pair.commit(0, 4).await;
    pair.told_by_an_older_version(0).await;
    let last = pair.rows(0, Some(Channel::Log)).await.pop().unwrap().0;
    assert_eq!(pair.rows(0, None).await.pop().unwrap().0, last);
    pair.tell(EVENTS).await;
    let start = RelayRow {
        created: 0,
        stamp: last,
        seq: 0,
    };
    assert_eq!(pair.kept_of_log(0).await.told, Some(start.clone()));
    for is_lost in [false, true] {
        if is_lost {
            pair.streams[LOG].create_anew();
        }
        pair.begin_again();
        pair.tell(LOG).await;
        assert_eq!(pair.streams[LOG].messages(), []);
    }
    assert_eq!(pair.kept_of_log(0).await.told, Some(start));
    pair.commit(0, 1).await;
    pair.tell(LOG).await;
    let told = pair.streams[LOG].messages();
    assert_eq!((told.len(), told[0].previous), (1, last));
    assert!(pair.kept_of_log(0).await.told.unwrap().seq > 0);
}

#[tokio::test]
async fn a_log_begins_there_too_while_the_relay_of_the_events_has_not_said_so() {
    let mut pair = Pair::new(1).await;
    pair.commit(0, 4).await;
    pair.told_by_an_older_version(0).await;
    pair.projects.open_another(0).await;
    for _ in 0..2 {
        pair.tell(LOG).await;
        assert!(pair.kept_of_log(0).await.void.is_some(), "one row was read");
        assert_eq!(pair.streams[LOG].messages(), []);
        pair.begin_again();
    }
    pair.commit(0, 1).await;
    pair.tell_both().await;
    assert_eq!(pair.streams[LOG].messages().len(), 1);
}

/// It tells log records with the events; the log has them too, or whoever follows it alone would miss
/// them.
#[tokio::test]
async fn what_an_older_version_told_in_between_is_told_on_the_log_too() {
    let mut pair = Pair::new(1).await;
    pair.commit(0, 5).await;
    pair.tell_both().await;
    pair.commit(0, 5).await;
    pair.told_by_an_older_version(0).await;
    let held = pair.streams[EVENTS].messages().len();
    pair.begin_again();
    pair.commit(0, 5).await;
    pair.tell_both().await;
    assert!(pair.holds_all(LOG, 0).await);
    let events = pair.streams[EVENTS].messages().len();
    let newer = pair.rows(0, Some(Channel::Events)).await;
    assert_eq!(events - held, 1, "the last of {}", newer.len());
}

#[tokio::test]
async fn what_holds_nothing_for_a_stream_is_read_once() {
    let mut pair = Pair::new(1).await;
    for _ in 0..SKIPPED_MAX {
        pair.projects.give(0, append("line")).await;
    }
    pair.tell_both().await;
    let last = pair.rows(0, None).await.pop().unwrap().0;
    assert_eq!(pair.told_through(0, Channel::Events).await, last);
    // Neither another run nor the loss of the stream has it read again.
    for is_lost in [false, true] {
        if is_lost {
            pair.streams[EVENTS].create_anew();
        }
        pair.begin_again();
        pair.relays[EVENTS].feed().mark(slot(0));
        assert!(whole(&mut pair.relays[EVENTS]).await);
        let cursor = pair.relays[EVENTS].cursors[&slot(0)];
        assert_eq!((cursor.read, cursor.skipped), (last, 0));
    }
    assert_eq!(
        pair.streams[EVENTS].messages().len(),
        1,
        "the last one is told again"
    );
    pair.projects.open_another(0).await;
    pair.tell(EVENTS).await;
    assert_eq!(pair.streams[EVENTS].messages().len(), 2);
}

/// A batch that holds both has a row for each run of its events.
#[tokio::test]
async fn a_batch_is_parted_by_channel() {
    let mut pair = Pair::new(1).await;
    let stuck = |reason: &str| Command::MarkStuck {
        reason: reason.into(),
    };
    pair.projects
        .give_together(0, vec![append("a"), stuck("b"), append("c"), append("d")])
        .await;
    pair.tell_both().await;
    let told = |channel: usize| {
        let messages = pair.streams[channel].messages().into_iter();
        let runs = messages.map(|held| (held.first.get(), held.last.get()));
        runs.collect::<Vec<_>>()
    };
    assert_eq!(told(EVENTS), [(1, 1), (3, 3)]);
    assert_eq!(told(LOG), [(2, 2), (4, 5)]);
    let counters = |channel: usize| {
        let messages = pair.streams[channel].messages();
        messages.last().map(|held| held.stamp.counter)
    };
    assert_eq!(counters(EVENTS), counters(LOG), "they are of one commit");
}
