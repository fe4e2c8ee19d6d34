//! Tests of a follower against a stream that forgets.

use std::collections::BTreeMap;

use sillok_bus::Message;

use super::*;
use crate::relay::message_of;
use crate::rows::{Place, write_outbox};
use crate::tests::harness::{TestStore, append, scope, store};
use crate::tests::projects::{Projects, slot, task};
use crate::tests::stream::MemoryStream;

/// A node with a task in each of some projects, a stream that is told by hand, and a follower.
struct Bench {
    projects: Projects,
    stream: Arc<MemoryStream>,
    log: Arc<MemoryStream>,
    /// What the log's stream was told last, whatever it lost.
    log_told: Stamp,
    follower: EventFollower<TestStore>,
    told: BTreeMap<Slot, Stamp>,
    heard: Vec<Told>,
}

impl Bench {
    async fn new(projects: usize) -> Self {
        let store = store();
        let stream = Arc::new(MemoryStream::default());
        let log = Arc::new(MemoryStream::of(Channel::Log));
        let streams = Streams::new(|channel| match channel {
            Channel::Events => Arc::clone(&stream) as _,
            Channel::Log => Arc::clone(&log) as _,
        });
        Self {
            projects: Projects::new(&store, projects).await,
            follower: EventFollower::new(store, &streams),
            log,
            log_told: Stamp::ZERO,
            stream,
            told: BTreeMap::new(),
            heard: Vec::new(),
        }
    }

    /// Commits once more in a project.
    async fn commit(&mut self, project: usize) {
        self.projects.open_another(project).await;
    }

    async fn rows(&self, project: usize) -> Vec<(Stamp, OutboxRow)> {
        let store = &self.projects.node.shared().store;
        let rows = rows_after(store, slot(project), Stamp::ZERO, 10_000).await;
        rows.unwrap()
    }

    /// Tells the stream what it was not told yet of a project.
    async fn tell(&mut self, project: usize) {
        let slot = slot(project);
        let told = self.told.get(&slot).copied().unwrap_or(Stamp::ZERO);
        let mut previous = told;
        for (stamp, row) in self.rows(project).await {
            if stamp <= told {
                continue;
            }
            self.stream
                .tell_again(message_of(slot, stamp, previous, row));
            previous = stamp;
        }
        self.told.insert(slot, previous);
    }

    /// Tells the log's stream the project's newest row.
    async fn tell_log(&mut self, project: usize) {
        let (stamp, row) = self.rows(project).await.pop().unwrap();
        let message = message_of(slot(project), stamp, self.log_told, row);
        self.log.tell_again(message);
        self.log_told = stamp;
    }

    async fn poll(&mut self) {
        self.follower.poll(&mut self.heard).await.unwrap();
    }

    /// Whether each commit of a project was heard once, in order, with its events.
    async fn heard_all(&self, project: usize) -> bool {
        let heard = self.heard.iter().filter(|told| told.slot == slot(project));
        let heard: Vec<_> = heard.cloned().collect();
        let rows = self.rows(project).await.into_iter();
        heard
            == rows
                .map(|(stamp, row)| Told {
                    channel: Channel::Events,
                    slot: slot(project),
                    stamp,
                    scope: row.scope,
                    first: row.first,
                    last: row.last,
                })
                .collect::<Vec<_>>()
    }
}

#[tokio::test]
async fn what_the_stream_tells_is_heard_once() {
    let mut bench = Bench::new(2).await;
    for project in [0, 1, 0] {
        bench.commit(project).await;
        bench.tell(project).await;
        bench.poll().await;
    }
    bench.poll().await;
    assert!(bench.heard_all(0).await && bench.heard_all(1).await);
    let metrics = bench.follower.metrics();
    // The last message that was read comes with each page, and shows that the stream is the same.
    assert_eq!((metrics.repeats, metrics.restarts), (3, 0));
    assert_eq!((metrics.from_store, metrics.aged_out), (0, 0));
}

#[tokio::test]
async fn both_streams_together_tell_of_everything_once() {
    let mut bench = Bench::new(1).await;
    bench.tell(0).await;
    for number in 0..4 {
        bench.projects.give(0, append("line")).await;
        bench.tell_log(0).await;
        if number == 1 {
            bench.log.lose(1);
            // What lies in the gap of the log and is none of it is heard on its own stream.
            bench.commit(0).await;
            let (stamp, row) = bench.rows(0).await.pop().unwrap();
            bench.stream.tell_again(Message {
                slot: slot(0),
                stamp,
                previous: bench.stream.messages()[0].stamp,
                scope: row.scope,
                first: row.first,
                last: row.last,
            });
        }
        bench.poll().await;
    }
    // The newest of the log comes before what was told of earlier on the other stream.
    bench.commit(0).await;
    let events = bench.rows(0).await.pop().unwrap();
    bench.projects.give(0, append("line")).await;
    bench.log.set_down(true);
    bench.stream.tell_again(Message {
        slot: slot(0),
        stamp: events.0,
        previous: bench.stream.messages()[1].stamp,
        scope: events.1.scope,
        first: events.1.first,
        last: events.1.last,
    });
    bench.follower.poll(&mut bench.heard).await.unwrap_err();
    assert_eq!(
        bench.heard.last().unwrap().stamp,
        events.0,
        "one stream is down"
    );
    bench.log.set_down(false);
    bench.tell_log(0).await;
    bench.poll().await;
    let heard = bench.heard.iter().map(|told| (told.stamp, told.channel));
    let heard: BTreeMap<Stamp, Channel> = heard.collect();
    assert_eq!(heard.len(), bench.heard.len(), "each once");
    let rows = bench.rows(0).await;
    assert!(rows.iter().map(|(stamp, _)| stamp).eq(heard.keys()));
    use Channel::{Events, Log};
    let channels: Vec<Channel> = heard.into_values().collect();
    assert_eq!(channels, [Events, Log, Log, Events, Log, Log, Events, Log]);
    assert_eq!(
        bench.follower.metrics().from_store,
        2,
        "the gap of the log, and the next one"
    );
}

#[tokio::test]
async fn what_the_stream_lacks_is_heard_from_the_store_up_to_what_was_told() {
    let mut bench = Bench::new(2).await;
    bench.tell(0).await;
    bench.poll().await;
    bench.commit(0).await;
    bench.tell(0).await;
    bench.stream.lose(1);
    bench.commit(0).await;
    bench.tell(0).await;
    bench.commit(0).await;
    bench.poll().await;
    let heard = bench.heard.len();
    assert_eq!(heard, 3, "the last commit was not told yet");
    assert_eq!(bench.follower.metrics().from_store, 2);
    bench.tell(0).await;
    bench.poll().await;
    assert!(bench.heard_all(0).await);
}

#[tokio::test]
async fn a_gap_of_many_pages_is_heard_from_the_store() {
    let mut bench = Bench::new(1).await;
    bench.tell(0).await;
    bench.poll().await;
    for _ in 0..(2 * ROWS) {
        bench.commit(0).await;
    }
    // The stream holds the first commit and the last one.
    let rows = bench.rows(0).await;
    bench.told.insert(slot(0), rows[rows.len() - 2].0);
    bench.tell(0).await;
    bench.poll().await;
    assert!(bench.heard_all(0).await);
    assert_eq!(bench.follower.metrics().from_store, 2 * ROWS as u64);
}

#[tokio::test]
async fn many_pages_that_aged_are_heard_from_the_store() {
    let mut bench = Bench::new(2).await;
    for project in 0..2 {
        for _ in 0..ROWS {
            bench.commit(project).await;
        }
        bench.tell(project).await;
    }
    bench.stream.keep(0);
    bench.poll().await;
    bench.poll().await;
    assert!(bench.heard_all(0).await && bench.heard_all(1).await);
    assert_eq!(bench.follower.metrics().aged_out, 1);
}

#[tokio::test]
async fn what_aged_in_any_slot_is_heard_from_the_store_once() {
    let mut bench = Bench::new(3).await;
    for project in [0, 1, 2, 1] {
        bench.commit(project).await;
        bench.tell(project).await;
    }
    bench.poll().await;
    for project in [0, 2, 2] {
        bench.commit(project).await;
        bench.tell(project).await;
    }
    bench.stream.keep(0);
    for _ in 0..3 {
        bench.poll().await;
    }
    for project in 0..3 {
        assert!(bench.heard_all(project).await);
    }
    let metrics = bench.follower.metrics();
    assert_eq!((metrics.aged_out, metrics.from_store), (1, 3));
}

#[tokio::test]
async fn a_stream_that_was_created_anew_is_read_from_its_beginning() {
    let mut bench = Bench::new(2).await;
    bench.tell(0).await;
    bench.tell(1).await;
    bench.poll().await;
    bench.stream.create_anew();
    for project in [1, 0] {
        bench.commit(project).await;
        bench.tell(project).await;
    }
    bench.poll().await;
    bench.poll().await;
    assert!(bench.heard_all(0).await && bench.heard_all(1).await);
    assert_eq!(bench.follower.metrics().restarts, 1);
}

#[tokio::test]
async fn a_stream_that_does_not_answer_is_asked_again() {
    let mut bench = Bench::new(1).await;
    bench.tell(0).await;
    bench.stream.set_down(true);
    let mut heard = Vec::new();
    let refused = bench.follower.poll(&mut heard).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    bench.stream.set_down(false);
    bench.poll().await;
    assert!(bench.heard_all(0).await);
}

#[tokio::test]
async fn what_aged_is_heard_a_bounded_number_at_a_time() {
    const MANY: usize = 2 * POLL_ROWS_MAX;
    let mut bench = Bench::new(2).await;
    let place = Place::of(&scope(&task(0)));
    for part in 0..MANY / ROWS {
        let mut txn = bench.projects.node.shared().store.begin().await.unwrap();
        for row in 0..ROWS {
            let seq = Seq::new((part * ROWS + row + 2) as u64);
            write_outbox(&mut txn, &place, seq, seq, Vec::new());
        }
        txn.commit().await.unwrap();
    }
    for project in [0, 1] {
        bench.tell(project).await;
    }
    bench.stream.keep(0);
    let mut polls = 0;
    let mut heard = 0;
    while bench.heard.len() < MANY {
        bench.poll().await;
        assert!(bench.heard.len() - heard < POLL_ROWS_MAX + ROWS);
        heard = bench.heard.len();
        polls += 1;
        // What is told of slots that were read already ages as well.
        for project in [0, 1] {
            bench.commit(project).await;
            bench.tell(project).await;
        }
        bench.stream.keep(0);
    }
    bench.poll().await;
    bench.poll().await;
    assert!(polls >= 2);
    assert!(bench.heard_all(0).await && bench.heard_all(1).await);
    assert_eq!(bench.follower.metrics().aged_out, 1);
}

#[tokio::test]
async fn what_was_told_before_a_restore_is_not_heard() {
    let mut bench = Bench::new(1).await;
    let (stamp, row) = bench.rows(0).await.remove(0);
    for generation in [stamp.generation - 1, stamp.generation + 1] {
        bench.stream.tell_again(Message {
            slot: slot(0),
            stamp: Stamp {
                generation,
                counter: 1_000,
                index: 0,
            },
            previous: Stamp::ZERO,
            scope: row.scope.clone(),
            first: row.first,
            last: Seq::new(1_000),
        });
    }
    bench.tell(0).await;
    bench.poll().await;
    assert!(bench.heard_all(0).await, "and nothing else");
    assert_eq!(bench.follower.metrics().of_other_history, 2);
}
