//! Tests of whom the indexer serves first, and what it leaves where something cannot be read.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use parking_lot::Mutex;
use sillok_core::id::Seq;
use sillok_core::ports::{BoxFuture, Clock};
use sillok_core::principal::PrincipalKind;
use sillok_core::slot::SLOTS;
use sillok_core::time::Timestamp;
use sillok_store::Txn as _;
use sillok_store::keys::{self, ScopeKey};
use tokio::sync::mpsc;

use super::requests::{CaughtUp, Unreadable};
use super::*;
use crate::cluster::tests::{Here, registered};
use crate::protocol::Without;
use crate::relay::rows_after;
use crate::rows::{Place, write_outbox};
use crate::tests::harness::{
    TestNode, TestStore, append, node, open_task, ports, scope, store, submission,
};
use crate::tests::index::put;
use crate::tests::line::{Fate, Line};

mod ahead;
mod known;
mod parts;
mod refill;
mod tidied;

fn project(number: u64) -> String {
    format!("org/acme/project/p{number}")
}

fn slot(number: u64) -> Slot {
    Slot::of(&scope(&project(number)))
}

/// The indexer of a node that has begun among others, on a line to a store in which two projects have
/// an entry each. Nothing is marked.
async fn indexer() -> (Line, Here, Indexer<TestStore, Without>) {
    indexer_behind(&[]).await
}

/// As [`indexer`], and each of some projects has so many lines, all older than the second's entry.
async fn indexer_behind(lines: &[(u64, usize)]) -> (Line, Here, Indexer<TestStore, Without>) {
    let store = store();
    let writer = node(&store).await;
    let give = |number, kind, scope: String, command| {
        let given = submission(number, kind, &scope, command);
        let writer = &writer;
        async move { writer.submit(given).await.unwrap() }
    };
    let entry = || put("the parser is greedy");
    give(0, PrincipalKind::Human, project(0), entry()).await;
    for (of, lines) in lines {
        let task = format!("{}/worktree/main/task/1", project(*of));
        give(1, PrincipalKind::Agent, task.clone(), open_task()).await;
        for number in 0..*lines as u64 {
            give(
                2 + number,
                PrincipalKind::Agent,
                task.clone(),
                append("line"),
            )
            .await;
        }
    }
    give(1, PrincipalKind::Human, project(1), entry()).await;
    writer.shutdown().await;
    let line = Line::new(&store, Fate::Arrives);
    let shared = registered(&line, "eve").await;
    let indexer = Indexer {
        shared: Arc::clone(&shared),
        floor: Stamp::ZERO,
        part: 1,
        stored_since_optimised: 0,
        has_changed: false,
        optimised_at_ms: 0,
        rows_since_stored: 0,
        is_stuck: false,
        is_refilling: false,
        unreadable: BTreeSet::new(),
    };
    (line, shared, indexer)
}

/// The indexer, where a test says what the index has.
#[derive(Default)]
pub(crate) struct ByHand(Waiting);

impl ByHand {
    /// A pass over these slots, for whoever has asked by now: how many those were.
    pub(crate) async fn read(&mut self, requests: &IndexRequests, slots: &[Slot]) -> usize {
        let mut asked = requests.receiver.lock().await;
        while let Ok(request) = asked.try_recv() {
            self.0.0.push(request);
        }
        let waiting = self.0.0.len();
        self.0.tell(&Passed {
            read: slots.iter().copied().collect(),
            ..Passed::default()
        });
        waiting
    }
}

/// Where somebody hears how far the index is.
type Answers = mpsc::UnboundedReceiver<CaughtUp>;

fn request(slots: &[Slot]) -> (Request, Answers) {
    let (reply, answers) = mpsc::unbounded_channel();
    let slots = slots.iter().copied().collect();
    (Request { slots, reply }, answers)
}

/// What somebody was told who is told no more.
fn told(answers: &mut Answers) -> CaughtUp {
    let (mut ready, mut unreadable) = CaughtUp::default();
    while let Ok((more, broken)) = answers.try_recv() {
        ready.extend(more);
        unreadable.extend(broken);
    }
    assert!(answers.is_closed(), "there is more to come");
    (ready, unreadable)
}

/// These are ready, and nothing that cannot be read was among them.
fn ready(slots: &[Slot]) -> CaughtUp {
    (slots.iter().copied().collect(), Unreadable::new())
}

#[tokio::test]
async fn a_pass_of_a_node_among_others_reads_the_first_of_its_slots() {
    let (_line, _shared, mut indexer) = indexer().await;
    let backwards: Vec<Slot> = (0..SLOTS).rev().filter_map(Slot::new).collect();
    let last = backwards[0];
    let passed = indexer.pass(backwards.clone()).await.unwrap();
    assert!(passed.read.contains(&last));
    assert!(passed.read.len() <= SLOTS_AT_ONCE && passed.unread.is_empty());
    // The store is slow.
    indexer.part = PART_LEAST;
    let passed = indexer.pass(backwards).await.unwrap();
    assert_eq!(passed.read.len(), SLOTS_AT_ONCE / PART_LEAST);
}

#[tokio::test]
async fn a_pass_of_a_node_among_others_ends_at_so_many_entries() {
    const EACH: usize = 400;
    let (_line, shared, mut indexer) = indexer().await;
    let mut txn = shared.store.begin().await.unwrap();
    for number in [0, 1] {
        let place = Place::of(&scope(&project(number)));
        // No entry has these names: the index is told of nothing.
        for row in 10..15_u64 {
            let id = |entry: u64| {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&(row * 1_000 + entry).to_be_bytes());
                EntryId::from_bytes(bytes)
            };
            let (seq, ids) = (Seq::new(row), (0..EACH as u64).map(id));
            write_outbox(&mut txn, &place, seq, seq, ids.collect());
        }
    }
    txn.commit().await.unwrap();
    let (mut left, mut passes) = (vec![slot(0), slot(1)], 0);
    while !left.is_empty() {
        let cursors = || shared.index_requests.cursors.lock().clone();
        let before = cursors();
        let passed = indexer.pass(left.clone()).await.unwrap();
        assert_ne!(cursors(), before, "each pass goes on");
        left.retain(|slot| !passed.read.contains(slot) || passed.unread.contains(slot));
        passes += 1;
    }
    // Three rows of some hundreds bring a pass over its bound.
    assert_eq!(
        passes,
        (2 * 5_usize).div_ceil(ENTRIES_AT_ONCE.div_ceil(EACH))
    );
    for number in [0, 1] {
        let rows = rows_after(&shared.store, slot(number), Stamp::ZERO, 100).await;
        let (last, _) = rows.unwrap().pop().unwrap();
        let cursors = shared.index_requests.cursors.lock();
        assert_eq!(cursors[&slot(number)], last, "to the end");
    }
}

#[tokio::test]
async fn a_slot_that_a_smaller_part_cuts_short_is_not_ready() {
    let (_line, shared, mut indexer) = indexer().await;
    let mut txn = shared.store.begin().await.unwrap();
    let place = Place::of(&scope(&project(0)));
    let rows = u64::try_from(SLOT_ROWS / PART_LEAST).unwrap() + 1;
    for row in 0..rows {
        let seq = Seq::new(10 + row);
        write_outbox(&mut txn, &place, seq, seq, Vec::new());
    }
    txn.commit().await.unwrap();
    indexer.part = PART_LEAST;
    let passed = indexer.pass(vec![slot(0)]).await.unwrap();
    assert!(passed.unread.contains(&slot(0)), "rows of it are unread");
    let passed = indexer.pass(vec![slot(0)]).await.unwrap();
    assert!(passed.read.contains(&slot(0)) && passed.unread.is_empty());
}

#[tokio::test]
async fn who_comes_in_the_middle_of_a_round_does_not_wait_for_its_end() {
    let (_line, shared, mut indexer) = indexer().await;
    for slot in (0..SLOTS).filter_map(Slot::new) {
        shared.index_feed.mark(slot);
    }
    let last = Slot::new(SLOTS - 1).unwrap();
    let (asked, mut answer) = request(&[last]);
    let (mut asked, mut passes, mut answered_at) = (Some(asked), 0, None);
    let mut waiting = Waiting::default();
    let next = || {
        // Asked once before each pass, and once more where there was a request.
        passes += 1;
        if answered_at.is_none() && answer.try_recv().is_ok() {
            answered_at = Some(passes);
        }
        asked.take_if(|_| passes == 3)
    };
    indexer.drain(&mut waiting, next).await.unwrap();
    assert_eq!(answered_at, Some(5), "at the next pass");
    assert!(passes > 16, "there is much else to read");
}

#[tokio::test]
async fn who_waits_for_nothing_is_answered_all_the_same() {
    let (_line, _shared, mut indexer) = indexer().await;
    let (asked, mut answer) = request(&[]);
    let mut waiting = Waiting(vec![asked]);
    indexer.drain(&mut waiting, || None).await.unwrap();
    assert_eq!(told(&mut answer), ready(&[]));
}

#[tokio::test]
async fn who_waits_for_several_is_told_of_each_as_soon_as_the_index_has_it() {
    let (_line, _shared, mut indexer) = indexer_behind(&[(0, SLOT_ROWS)]).await;
    let (asked, mut answer) = request(&[slot(0), slot(1)]);
    let mut waiting = Waiting(vec![asked]);
    let passed = indexer.pass(vec![slot(1), slot(0)]).await.unwrap();
    waiting.tell(&passed);
    assert_eq!(answer.try_recv().unwrap(), ready(&[slot(1)]));
    indexer.drain(&mut waiting, || None).await.unwrap();
    assert_eq!(told(&mut answer), ready(&[slot(0)]));
}

#[tokio::test]
async fn what_cannot_be_read_is_said_to_whom_it_concerns_and_indexed_once_it_can() {
    let (broken, whole) = (slot(0), slot(1));
    let head = keys::head::range_of_scope(&ScopeKey::of(&scope(&project(0))));
    for range in [keys::outbox::range_after(broken, Stamp::ZERO), head] {
        let (line, shared, mut indexer) = indexer().await;
        line.break_range(range);
        let (one, mut of_broken) = request(&[broken]);
        let (other, mut of_whole) = request(&[whole]);
        let mut waiting = Waiting(vec![one, other]);
        indexer.drain(&mut waiting, || None).await.unwrap();
        assert_eq!(told(&mut of_whole), ready(&[whole]));
        let (none, unreadable) = told(&mut of_broken);
        assert!(none.is_empty());
        assert_eq!(unreadable.keys().collect::<Vec<_>>(), [&broken]);
        assert_eq!(shared.counters.indexed.get(), 1);
        line.repair();
        let (again, mut answer) = request(&[broken]);
        indexer
            .drain(&mut Waiting(vec![again]), || None)
            .await
            .unwrap();
        assert_eq!(told(&mut answer), ready(&[broken]));
        assert_eq!(shared.counters.indexed.get(), 2);
    }
}

#[tokio::test]
async fn a_store_out_of_reach_answers_nobody_and_skips_nothing() {
    let (line, shared, mut indexer) = indexer().await;
    line.lose_range(keys::outbox::range_after(slot(0), Stamp::ZERO));
    let (asked, mut answer) = request(&[slot(0)]);
    let mut waiting = Waiting(vec![asked]);
    assert!(indexer.drain(&mut waiting, || None).await.is_err());
    assert!(answer.try_recv().is_err());
    assert!(
        shared.index_feed.peek().contains(&slot(0)),
        "it is read again"
    );
    assert_eq!(indexer.part, 2, "in smaller parts");
    // What is read again, in vain again, is no way on.
    let steps = shared.index_requests.steps();
    assert!(indexer.drain(&mut waiting, || None).await.is_err());
    assert_eq!(shared.index_requests.steps(), steps);
    line.repair();
    indexer.drain(&mut waiting, || None).await.unwrap();
    assert_eq!(indexer.part, 2, "and in larger ones again");
    assert!(shared.index_requests.steps() > steps);
    assert_eq!(told(&mut answer), ready(&[slot(0)]));
    assert_eq!(shared.counters.indexed.get(), 1);
}

#[tokio::test]
async fn a_slot_that_is_far_behind_holds_up_nobody_who_waits_for_another() {
    let (_line, _shared, mut indexer) = indexer_behind(&[(0, SLOT_ROWS)]).await;
    let passed = indexer.pass(vec![slot(1), slot(0)]).await.unwrap();
    assert_eq!(passed.read, BTreeSet::from([slot(0), slot(1)]));
    assert_eq!(passed.unread, BTreeSet::from([slot(0)]));
}

#[tokio::test]
async fn a_slot_that_is_far_behind_and_cannot_be_indexed_ends_no_round_in_vain() {
    let (line, shared, mut indexer) = indexer_behind(&[(0, SLOT_ROWS)]).await;
    line.break_range(keys::head::range_of_scope(&ScopeKey::of(&scope(&project(
        0,
    )))));
    let (one, mut of_broken) = request(&[slot(0)]);
    let (other, mut of_whole) = request(&[slot(1)]);
    let mut waiting = Waiting(vec![one, other]);
    indexer.drain(&mut waiting, || None).await.unwrap();
    assert_eq!(told(&mut of_whole), ready(&[slot(1)]));
    assert!(told(&mut of_broken).1.contains_key(&slot(0)));
    line.repair();
    let (again, mut answer) = request(&[slot(0)]);
    let mut waiting = Waiting(vec![again]);
    indexer.drain(&mut waiting, || None).await.unwrap();
    assert_eq!(told(&mut answer), ready(&[slot(0)]));
    assert_eq!(shared.counters.indexed.get(), 2);
}

#[tokio::test]
async fn however_many_ask_a_round_ends() {
    let (_line, shared, mut indexer) = indexer().await;
    shared.index_feed.mark(slot(0));
    let (mut asked, mut answers) = (0, Vec::new());
    let next = || {
        asked += 1;
        assert!(asked < 10, "the round goes on and on");
        // One at each look.
        (asked % 2 == 1).then(|| {
            let (asked, answer) = request(&[slot(1)]);
            answers.push(answer);
            asked
        })
    };
    let mut waiting = Waiting::default();
    indexer.drain(&mut waiting, next).await.unwrap();
    let is_answered = |answer: &mut Answers| answer.try_recv().is_ok();
    assert!(answers.iter_mut().all(is_answered));
}

#[tokio::test]
async fn who_came_too_late_for_a_round_is_served_in_the_next_which_begins_at_once() {
    let (_line, shared, mut indexer) = indexer_behind(&[(0, SLOT_ROWS)]).await;
    shared.index_feed.mark(slot(1));
    shared.index_feed.changed().await;
    let (late, mut answer) = request(&[slot(0)]);
    let (mut late, mut looks) = (Some(late), 0);
    let next = || {
        looks += 1;
        late.take_if(|_| looks == 2)
    };
    let mut waiting = Waiting::default();
    indexer.drain(&mut waiting, next).await.unwrap();
    assert!(answer.try_recv().is_err(), "there is more to read");
    assert!(shared.index_feed.changed().now_or_never().is_some());
    indexer.drain(&mut waiting, || None).await.unwrap();
    assert_eq!(told(&mut answer), ready(&[slot(0)]));
}

#[tokio::test]
async fn those_that_are_far_behind_take_their_turn_behind_one_that_is_not() {
    // The second project's slot comes last of all.
    let lower = (2..).filter(|number| slot(*number) < slot(1));
    let far: Vec<u64> = lower.take(4).collect();
    let lines: Vec<_> = far.iter().map(|number| (*number, 2 * SLOT_ROWS)).collect();
    let (_line, _shared, mut indexer) = indexer_behind(&lines).await;
    let far: Vec<Slot> = far.into_iter().map(slot).collect();
    let (of_far, mut answer_of_far) = request(&far);
    let (of_one, mut answer) = request(&[slot(1)]);
    let (mut looks, mut answered_at) = (0, None);
    let next = || {
        looks += 1;
        if answered_at.is_none() && answer.try_recv().is_ok() {
            answered_at = Some(looks);
        }
        None
    };
    let mut waiting = Waiting(vec![of_far, of_one]);
    indexer.drain(&mut waiting, next).await.unwrap();
    // A look at the start, one before each pass; the first two passes are full with two each.
    assert_eq!(answered_at, Some(5), "at the third pass");
    assert_eq!(told(&mut answer_of_far), ready(&far));
}

/// A clock with which whoever sleeps so many times gets something done at each of them.
struct AtEachSleep<F>(Arc<F>, Arc<AtomicUsize>);

impl<F: Fn(usize) + Send + Sync + 'static> AtEachSleep<F> {
    fn new(done: F) -> Self {
        Self(Arc::new(done), Arc::default())
    }

    fn sleeps(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl<F: Fn(usize) + Send + Sync + 'static> Clock for AtEachSleep<F> {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH
    }

    fn monotonic_us(&self) -> u64 {
        0
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        assert_eq!(ms, CATCH_UP_MS_MAX);
        let (done, sleeps) = (Arc::clone(&self.0), Arc::clone(&self.1));
        Box::pin(async move { done(sleeps.fetch_add(1, Ordering::Relaxed) + 1) })
    }
}

#[tokio::test]
async fn who_can_wait_does_so_as_long_as_the_index_gets_on() {
    let requests = Arc::new(IndexRequests::default());
    let indexer = Arc::clone(&requests);
    let clock = AtEachSleep::new(move |sleep| {
        if sleep < 4 {
            indexer.got_on();
        }
    });
    let late = requests.catch_up([slot(0)].into(), &clock).await;
    assert_eq!(late.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(clock.sleeps(), 4, "once more than it got on");
}

#[tokio::test]
async fn what_comes_late_is_waited_for_once_and_not_asked_for_anew() {
    let requests = Arc::new(IndexRequests::default());
    let indexer = Arc::clone(&requests);
    let waiting = Mutex::new(Waiting::default());
    let clock = AtEachSleep::new(move |sleep| {
        indexer.got_on();
        let mut waiting = waiting.lock();
        let mut requests = indexer.receiver.try_lock().unwrap();
        while let Ok(request) = requests.try_recv() {
            waiting.0.push(request);
        }
        assert_eq!(waiting.0.len(), 1);
        let mut passed = Passed::default();
        match sleep {
            1 => drop(passed.read.insert(slot(0))),
            2 => passed.note_unreadable(slot(1), Error::new(ErrorCode::Internal, "damaged")),
            _ => drop(passed.read.insert(slot(2))),
        }
        passed.read.extend(passed.unreadable.keys());
        waiting.tell(&passed);
    });
    let caught_up = requests.catch_up([slot(0), slot(1), slot(2)].into(), &clock);
    assert_eq!(caught_up.await.unwrap(), 1, "is damaged");
    assert_eq!(clock.sleeps(), 3);
}

/// What is stored in parts is read in parts too, and each is a step.
#[tokio::test]
async fn an_index_that_is_new_is_filled_in_parts() {
    const ENTRIES: u64 = 7;
    let store = store();
    let writer = node(&store).await;
    for number in 0..ENTRIES {
        let entry = put(&format!("entry {number}"));
        let given = submission(number, PrincipalKind::Human, &project(0), entry);
        writer.submit(given).await.unwrap();
    }
    writer.shutdown().await;
    let mut config = crate::NodeConfig::default();
    config.indexer.batch_entries = 2;
    let reader = TestNode::start(store, ports(), config).await.unwrap();
    let shared = reader.shared();
    let stats = shared.ports.index.stats().await.unwrap();
    assert_eq!(stats.stored, ENTRIES);
    assert_eq!(shared.counters.indexed.get(), ENTRIES);
    assert!(shared.index_requests.steps() >= ENTRIES.div_ceil(2));
}
