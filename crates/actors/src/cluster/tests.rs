//! Tests of a node's life among others: its beats, what it takes, and what it leaves.

use sillok_core::channel::Channel;
use sillok_core::command::Answer;
use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::OwnerRow;
use sillok_core::ports::{BoxFuture, Forwarded, PeerError, Peers};
use sillok_core::principal::PrincipalKind;
use sillok_store::{Txn as _, keys};

use super::*;
use crate::protocol::Without;
use crate::tests::harness::{
    AS_MEANT, TASK, TestNode, TestStore, open_task, ports, scope, store, submission,
};
use crate::tests::line::{Fate, Line};
use crate::{NodeConfig, Ports};

pub(crate) type Here = Arc<Shared<TestStore, Without>>;

/// Turns of the runtime within which everything has to have happened.
const TURNS: usize = 100_000;

/// Other nodes that nobody reaches.
struct Nobody;

impl Peers for Nobody {
    fn is_connected(&self) -> bool {
        true
    }

    fn forward<'a>(
        &'a self,
        _: &'a str,
        _: Arc<sillok_core::command::Submission>,
        _: Option<sillok_core::trace::TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        Box::pin(async { Err(PeerError::NoResponders) })
    }

    fn announce<'a>(&'a self, _: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(core::future::ready(()))
    }
}

/// What the parts of a node among others share. Nothing runs.
pub(crate) fn among_others(store: &TestStore, name: &str) -> Here {
    let mut ports = ports();
    ports.peers = Some(Arc::new(Nobody));
    let config = NodeConfig {
        name: name.to_owned(),
        ..NodeConfig::default()
    };
    Arc::new(Shared::new(store.clone(), ports, config, AS_MEANT))
}

/// As [`among_others`], with a run that has begun.
pub(crate) async fn registered(store: &TestStore, name: &str) -> Here {
    let shared = among_others(store, name);
    register(&shared).await.unwrap();
    shared
}

async fn row_of(store: &TestStore, name: &str) -> NodeRow {
    claims::owners(store).await.unwrap().nodes[name].clone()
}

/// Another node finds a run silent.
async fn fence(store: &TestStore, name: &str) {
    let row = row_of(store, name).await;
    let suspect = Suspect {
        node: name.to_owned(),
        incarnation: row.incarnation,
        beat: row.beat,
    };
    assert!(claims::fence(store, &suspect).await.unwrap());
}

/// Lets a task go on until something holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..TURNS {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{what} never came");
}

pub(crate) async fn own(store: &TestStore, slot: Slot, node: &str, incarnation: u64) {
    let row = OwnerRow {
        node: node.to_owned(),
        incarnation: Incarnation(incarnation),
        epoch: Epoch(1),
    };
    let mut txn = store.begin().await.unwrap();
    txn.set(keys::owner::key(slot), keys::owner::encode(&row));
    txn.commit().await.unwrap();
}

/// Slots that belong on a node of these.
pub(crate) fn slots_at<'a>(name: &'a str, nodes: &'a [&'a str]) -> impl Iterator<Item = Slot> + 'a {
    let all = (0..SLOTS).filter_map(Slot::new);
    all.filter(move |slot| home(*slot, nodes.iter().copied()) == Some(name))
}

#[tokio::test]
async fn a_process_whose_name_another_one_has_taken_ends() {
    let store = store();
    let former = registered(&store, "ada").await;
    let slot = Slot::new(7).unwrap();
    let run = former.ownership.incarnation();
    assert!(former.ownership.take(slot, Epoch(1), run));
    assert!(!former.members.is_replaced());
    let other = registered(&store, "ada").await;
    // It ends by itself.
    beat(Arc::clone(&former)).await;
    assert!(former.members.is_replaced());
    assert_eq!(former.ownership.epoch(slot), None);
    assert!(!other.members.is_replaced());
}

#[tokio::test]
async fn a_fenced_run_gives_everything_up_and_another_one_begins() {
    let store = store();
    let shared = registered(&store, "ada").await;
    let (slot, run) = (Slot::new(7).unwrap(), shared.ownership.incarnation());
    assert!(shared.ownership.take(slot, Epoch(1), run));
    let beating = tokio::spawn(beat(Arc::clone(&shared)));
    let beats = || shared.counters.beats.get();
    until("a beat", || beats() > 0).await;
    fence(&store, "ada").await;
    until("another run", || shared.ownership.incarnation() != run).await;
    assert_eq!(shared.ownership.epoch(slot), None);
    let before = beats();
    until("a beat of it", || beats() > before).await;
    let row = row_of(&store, "ada").await;
    assert_eq!(
        (row.incarnation, row.fenced),
        (Incarnation(run.0 + 1), false)
    );
    beating.abort();
}

#[tokio::test]
async fn the_older_version_is_written_for_as_long_as_an_older_node_lives() {
    let (first, newest) = (WireVersion::FIRST, WireVersion::NEWEST);
    let store = store();
    let shared = registered(&store, "ada").await;
    let spoken = || shared.members.spoken();
    assert_eq!(spoken(), first, "nobody was seen yet");
    claims::register(&store, "bob", first).await.unwrap();
    let beating = tokio::spawn(beat(Arc::clone(&shared)));
    until("a beat", || shared.counters.beats.get() > 1).await;
    assert_eq!(spoken(), first);
    assert_eq!(row_of(&store, "ada").await.reads, newest);
    fence(&store, "bob").await;
    until("the newest version", || spoken() == newest).await;
    claims::register(&store, "bob", first).await.unwrap();
    until("the first version again", || spoken() == first).await;
    claims::register(&store, "bob", newest).await.unwrap();
    until("the newest version again", || spoken() == newest).await;
    beating.abort();
}

#[tokio::test]
async fn a_node_whose_name_is_one_too_many_is_told_so() {
    let store = store();
    let shared = registered(&store, "ada").await;
    let row = row_of(&store, "ada").await;
    let mut txn = store.begin().await.unwrap();
    for number in 1..claims::NODES_MAX {
        let name = format!("gone-{number}");
        txn.set(keys::node::key(&name), keys::node::encode(&row));
    }
    txn.commit().await.unwrap();
    let refused = register(&among_others(&store, "zoe")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidState);
    let message = &refused.message;
    assert!(
        message.contains("4096 names of nodes, and \"zoe\""),
        "{message}"
    );
    // Whoever is known begins as many runs as it wants.
    register(&shared).await.unwrap();
}

#[tokio::test]
async fn a_node_that_ends_begins_no_further_run() {
    let store = store();
    let shared = registered(&store, "ada").await;
    shared.members.ends.store(true, Ordering::Release);
    fence(&store, "ada").await;
    // It ends by itself.
    beat(Arc::clone(&shared)).await;
    let row = row_of(&store, "ada").await;
    assert_eq!((row.incarnation, row.fenced), (Incarnation(1), true));
    // One that was asked to end while its next run began says that this one is over.
    begin_again(&shared).await;
    let row = row_of(&store, "ada").await;
    assert_eq!((row.incarnation, row.fenced), (Incarnation(2), true));
}

#[tokio::test]
async fn a_node_beats_though_nothing_else_of_it_gets_to_run() {
    let beats = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let ports = Ports {
        peers: Some(Arc::new(Nobody)),
        beats: Some(beats.handle().clone()),
        ..ports()
    };
    let node = TestNode::start(store(), ports, NodeConfig::default());
    let node = node.await.unwrap();
    let before = node.metrics().beats;
    // This is the only thread of everything else, and it is not given back.
    let is_beating = (0..1 << 24).any(|_| {
        std::thread::yield_now();
        node.metrics().beats > before + 3
    });
    assert!(is_beating);
    node.shutdown().await;
    beats.shutdown_background();
}

#[tokio::test]
async fn slots_are_looked_at_when_a_node_comes_goes_or_begins_anew_and_not_at_each_beat() {
    let members = Members::default();
    let row = |incarnation, beat, fenced| NodeRow {
        incarnation: Incarnation(incarnation),
        beat,
        fenced,
        reaches_bus: true,
        is_behind: false,
        reads: WireVersion::FIRST,
    };
    let looks = |row: Option<NodeRow>| {
        let nodes: Nodes = row.map(|row| ("bob".to_owned(), row)).into_iter().collect();
        members.saw(nodes, Vec::new());
        // What was notified once is there at the first poll.
        futures::FutureExt::now_or_never(members.changed.notified()).is_some()
    };
    assert!(!looks(None));
    assert!(looks(Some(row(1, 1, false))));
    assert!(!looks(Some(row(1, 2, false))), "a beat changes nothing");
    assert!(looks(Some(row(1, 2, true))));
    assert!(looks(Some(row(2, 1, false))));
    assert!(looks(None));
    let suspect = Suspect {
        node: "bob".to_owned(),
        incarnation: Incarnation(2),
        beat: 1,
    };
    members.saw(Nodes::new(), vec![suspect.clone()]);
    assert_eq!(*members.suspects.lock(), [suspect]);
    assert!(futures::FutureExt::now_or_never(members.suspected.notified()).is_some());
}

#[tokio::test]
async fn what_a_dead_node_had_is_taken_where_it_belongs_and_from_nobody_else() {
    let store = store();
    let here = registered(&store, "ada").await;
    let _living = registered(&store, "bob").await;
    let _dead = registered(&store, "eve").await;
    fence(&store, "eve").await;
    let nodes = ["ada", "bob"];
    let mut ours = slots_at("ada", &nodes);
    let (dead, living, free) = (
        ours.next().unwrap(),
        ours.next().unwrap(),
        ours.next().unwrap(),
    );
    let elsewhere = slots_at("bob", &nodes).next().unwrap();
    own(&store, dead, "eve", 1).await;
    own(&store, living, "bob", 1).await;
    own(&store, elsewhere, "eve", 1).await;
    // Nobody answers for the index: what was claimed is held once it does.
    let error = adopt(&here).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(here.ownership.held().is_empty());
    let owners = claims::owners(&store).await.unwrap().slots;
    let owner = |slot| owners.get(&slot).map(|row| row.node.as_str());
    assert_eq!(owner(dead), Some("ada"));
    assert_eq!(owner(living), Some("bob"));
    assert_eq!(owner(elsewhere), Some("eve"));
    assert_eq!(owner(free), None, "nobody ever wrote there");
}

#[tokio::test]
async fn a_slot_that_is_taken_is_told_of_again() {
    let shared = among_others(&store(), "ada");
    let slot = Slot::new(9).unwrap();
    shared.mark_for_relays(slot);
    assert!(shared.bus_feed.peek().contains(&slot));
    for channel in Channel::ALL {
        let marked = shared.stream_feeds.of(channel).peek();
        assert!(marked.is_empty(), "there is no stream");
    }
}

#[tokio::test]
async fn a_slot_is_held_for_certain_under_a_lease_until_somebody_was_offered_it() {
    let store = store();
    let here = registered(&store, "ada").await;
    let lease_ms = here.config.beat.lease_ms;
    let (slot, run, epoch) = (
        Slot::new(7).unwrap(),
        here.ownership.incarnation(),
        Epoch(3),
    );
    let is_certain = || here.holds_for_certain(slot, epoch);
    let beats = || {
        here.ownership
            .beat_committed(here.ports.clock.monotonic_ms())
    };
    assert!(!is_certain());
    assert!(here.ownership.take(slot, epoch, run));
    assert!(is_certain());
    assert!(
        !here.holds_for_certain(slot, Epoch(2)),
        "of an earlier epoch"
    );
    // No beat has committed for longer than a lease lasts.
    here.ports.clock.sleep(lease_ms).await;
    assert!(!is_certain());
    beats();
    assert!(is_certain());
    assert!(here.ownership.start_leaving(slot, epoch));
    assert!(!is_certain());
    here.ownership.stay(slot);
    assert!(is_certain());
    // Whether it was handed over is not known: not even when it stays for good.
    assert!(here.ownership.start_leaving(slot, epoch));
    here.ownership.stay_in_doubt(slot);
    assert!(!here.ownership.is_leaving(slot) && !is_certain());
    assert!(here.ownership.take(slot, Epoch(4), run));
    assert!(here.holds_for_certain(slot, Epoch(4)));
    // Once the run ends, others may take the slot at any moment.
    here.members.ends.store(true, Ordering::Release);
    beats();
    assert!(!here.holds_for_certain(slot, Epoch(4)));
}

/// What the node that owns the slot answers to each question, by how many came before.
type Answers = Box<dyn Fn(usize) -> BoxFuture<'static, Result<Forwarded, PeerError>> + Send + Sync>;

/// The other nodes, all of one kind.
struct Scripted {
    asked: std::sync::atomic::AtomicUsize,
    answers: Answers,
    is_connected: bool,
}

impl Peers for Scripted {
    fn is_connected(&self) -> bool {
        self.is_connected
    }

    fn forward<'a>(
        &'a self,
        _: &'a str,
        _: Arc<sillok_core::command::Submission>,
        _: Option<sillok_core::trace::TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        (self.answers)(self.asked.fetch_add(1, Ordering::Relaxed))
    }

    fn announce<'a>(&'a self, _: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(core::future::ready(()))
    }
}

fn refused(code: ErrorCode) -> Result<Forwarded, PeerError> {
    Ok(Forwarded::Refused(Error::new(code, "as the test has it")))
}

/// What becomes of a command for a slot that bob owns, and how often he is asked.
async fn given_to_bob(line: &Line, answers: Answers) -> (Result<Answer, Error>, usize) {
    given_over(line, answers, true).await
}

/// The same, over a bus that the node reaches or does not.
async fn given_over(
    line: &Line,
    answers: Answers,
    is_connected: bool,
) -> (Result<Answer, Error>, usize) {
    let _bob = registered(line, "bob").await;
    own(line, Slot::of(&scope(TASK)), "bob", 1).await;
    let peers = Arc::new(Scripted {
        asked: Default::default(),
        answers,
        is_connected,
    });
    let mut ports = ports();
    ports.peers = Some(Arc::clone(&peers) as Arc<dyn Peers>);
    let config = NodeConfig {
        name: "ada".to_owned(),
        ..NodeConfig::default()
    };
    let node = TestNode::start(line.clone(), ports, config).await.unwrap();
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    let result = node.submit(open).await;
    (result, peers.asked.load(Ordering::Relaxed))
}

/// Bob answers the same to each question, and another node finds him silent at the first, if he
/// `is_fenced`.
fn always(line: &Line, is_fenced: bool, answer: Result<Forwarded, PeerError>) -> Answers {
    let line = line.clone();
    Box::new(move |before| {
        let (line, answer) = (line.clone(), answer.clone());
        Box::pin(async move {
            if before == 0 && is_fenced {
                fence(&line, "bob").await;
            }
            answer
        })
    })
}

fn new_line() -> Line {
    Line::new(&store(), Fate::Arrives)
}

#[tokio::test]
async fn a_command_for_a_node_without_a_store_goes_where_its_slot_went() {
    let line = new_line();
    let answers = always(&line, true, refused(ErrorCode::Unavailable));
    let (result, asked) = given_to_bob(&line, answers).await;
    result.unwrap();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_node_without_a_store_that_owns_the_slot_still_has_the_last_word() {
    let line = new_line();
    let answers = always(&line, false, refused(ErrorCode::Unavailable));
    let (result, asked) = given_to_bob(&line, answers).await;
    assert_eq!(result.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(asked, 2);
}

#[tokio::test]
async fn without_the_bus_the_owner_is_named_unless_it_was_sent_the_command() {
    let nobody = Err(PeerError::NoResponders);
    for is_connected in [false, true] {
        let line = new_line();
        let answers = always(&line, false, nobody.clone());
        let (result, _) = given_over(&line, answers, is_connected).await;
        let refused = result.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert_eq!(refused.message.contains("ask bob"), !is_connected);
    }
    let line = new_line();
    let answers = always(&line, false, Err(PeerError::Silent));
    let (result, _) = given_over(&line, answers, false).await;
    assert_eq!(result.unwrap_err().code, ErrorCode::OutcomeUnknown);
}

#[tokio::test]
async fn once_a_command_was_sent_a_store_that_is_gone_leaves_its_outcome_unknown() {
    for (first, expected) in [
        (PeerError::Silent, ErrorCode::OutcomeUnknown),
        (PeerError::NoResponders, ErrorCode::Unavailable),
    ] {
        let line = new_line();
        let behind = line.clone();
        let answers: Answers = Box::new(move |before| {
            let (line, first) = (behind.clone(), first);
            Box::pin(async move {
                if before == 0 {
                    return Err(first);
                }
                line.lose_range(sillok_store::KeyRange::all());
                Ok(Forwarded::NotOwner)
            })
        });
        let (result, asked) = given_to_bob(&line, answers).await;
        assert_eq!((result.unwrap_err().code, asked), (expected, 2));
    }
}

#[tokio::test]
async fn who_is_busy_or_cannot_take_the_slot_says_nothing_of_a_command_that_another_was_sent() {
    for then in [ErrorCode::Busy, ErrorCode::Internal] {
        for (first, expected) in [
            (PeerError::Silent, ErrorCode::OutcomeUnknown),
            (PeerError::NoResponders, then),
        ] {
            let answers: Answers = Box::new(move |before| {
                let answer = match before {
                    0 => Err(first),
                    _ => refused(then),
                };
                Box::pin(core::future::ready(answer))
            });
            let (result, asked) = given_to_bob(&new_line(), answers).await;
            assert_eq!(result.unwrap_err().code, expected);
            assert!(asked > 1, "{asked}");
        }
    }
}

#[tokio::test]
async fn a_refusal_of_who_has_looked_is_the_answer_whoever_was_sent_the_command_before() {
    for first in [PeerError::Silent, PeerError::NoResponders] {
        let answers: Answers = Box::new(move |before| {
            let answer = match before {
                0 => Err(first),
                _ => refused(ErrorCode::InvalidState),
            };
            Box::pin(core::future::ready(answer))
        });
        let (result, asked) = given_to_bob(&new_line(), answers).await;
        assert_eq!(
            (result.unwrap_err().code, asked),
            (ErrorCode::InvalidState, 2)
        );
    }
}
