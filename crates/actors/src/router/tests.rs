//! Tests of what becomes of a command that another node was given before this one.

use sillok_core::command::Command;
use sillok_core::id::Epoch;
use sillok_core::membership::{OwnerRow, WireVersion};
use sillok_core::ports::{BoxFuture, PeerError, Peers};
use sillok_core::principal::PrincipalKind;
use sillok_core::stamp::Stamp;
use sillok_store::{KeyRange, Txn as _, keys};

use super::tried::OFF_BUS_MS_MAX;
use super::*;
use crate::NodeConfig;
use crate::claims;
use crate::cluster::tests::until;
use crate::indexer::{CATCH_UP_MS_MAX, Indexer};
use crate::protocol::Without;
use crate::tests::harness::{
    AS_MEANT, TASK, TestStore, open_task, ports, scope, store, submission,
};
use crate::tests::line::{Fate, Line};
use crate::tests::world::failure;

/// The other nodes: whoever is asked lets the slot go, as far as this node knows, if it knows anything.
struct Leaving {
    answer: PeerError,
    here: Mutex<Option<Arc<Shared<TestStore, Without>>>>,
}

impl Peers for Leaving {
    fn is_connected(&self) -> bool {
        true
    }

    fn forward<'a>(
        &'a self,
        _: &'a str,
        _: Arc<Submission>,
        _: Option<TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        if let Some(here) = &*self.here.lock() {
            let ownership = &here.ownership;
            ownership.take(Slot::of(&scope(TASK)), Epoch(1), ownership.incarnation());
        }
        Box::pin(core::future::ready(Err(self.answer)))
    }

    fn announce<'a>(&'a self, _: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(core::future::ready(()))
    }
}

/// A node among others on a line, with its indexer, that believes the task at another's.
async fn among_others(line: &Line, answer: PeerError) -> Router<TestStore, Without> {
    let mut ports = ports();
    let here = Mutex::default();
    ports.peers = Some(Arc::new(Leaving { answer, here }));
    let config = NodeConfig {
        name: "ada".to_owned(),
        ..NodeConfig::default()
    };
    let shared = Arc::new(Shared::new(line.clone(), ports, config, AS_MEANT));
    cluster::register(&shared).await.unwrap();
    let indexer = Indexer::start(Arc::clone(&shared)).await.unwrap();
    tokio::spawn(async move {
        let (_never, stop) = tokio::sync::watch::channel(false);
        indexer.run(stop).await;
    });
    let router = Router::new(shared);
    router.expect_at(Slot::of(&scope(TASK)), "bob");
    router
}

fn open() -> Submission {
    submission(0, PrincipalKind::Agent, TASK, open_task())
}

/// Of the next commits on a line to come, the first is one that nobody hears of.
async fn until_one_is_unheard(line: &Line) {
    for number in 1..=10_u8 {
        let mut txn = line.begin().await.unwrap();
        txn.set(vec![b'x', number], "other");
        txn.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_claim_that_nobody_heard_of_costs_the_command_nothing() {
    let line = Line::new(&store(), Fate::CommitsUnheard);
    let router = among_others(&line, PeerError::NoResponders).await;
    until_one_is_unheard(&line).await;
    router.submit(open(), None).await.unwrap();
    assert_eq!(line.hit(), 1);
    // Who handed a command over is told that nothing was written, and gives it again.
    let line = Line::new(&store(), Fate::CommitsUnheard);
    let router = among_others(&line, PeerError::NoResponders).await;
    until_one_is_unheard(&line).await;
    let reply = router.serve(Arc::new(open()), None).await;
    let Forwarded::Refused(refused) = reply else {
        panic!("the claim is not heard of: {reply:?}");
    };
    assert_eq!((refused.code, line.hit()), (ErrorCode::Unavailable, 1));
    let reply = router.serve(Arc::new(open()), None).await;
    assert!(matches!(reply, Forwarded::Answered(_)), "{reply:?}");
}

#[tokio::test]
async fn a_slot_that_cannot_be_read_is_said_at_once_unless_a_node_was_sent_the_command() {
    for (answer, expected) in [
        (PeerError::Silent, ErrorCode::OutcomeUnknown),
        (PeerError::NoResponders, ErrorCode::Internal),
    ] {
        let line = Line::new(&store(), Fate::Arrives);
        let router = among_others(&line, answer).await;
        let slot = Slot::of(&scope(TASK));
        line.break_range(keys::outbox::range_after(slot, Stamp::ZERO));
        let clock = Arc::clone(&router.shared.ports.clock);
        let begun_ms = clock.monotonic_ms();
        let refused = router.submit(open(), None).await.unwrap_err();
        assert_eq!(refused.code, expected);
        assert_eq!(router.shared.ownership.epoch(slot), None);
        // Each look at the slot moves this clock by the longest time that the index may take.
        let looks = (clock.monotonic_ms() - begun_ms) / CATCH_UP_MS_MAX;
        let is_tried_again = answer == PeerError::Silent;
        assert_eq!(looks > 1, is_tried_again, "{looks}");
        // However often it is looked at, the caller is answered in time.
        let looks_max = ROUTE_MS_MAX / CATCH_UP_MS_MAX + 1;
        assert!((1..=looks_max).contains(&looks), "{looks}");
    }
}

#[tokio::test]
async fn a_store_out_of_reach_is_said_at_once_unless_a_node_was_asked_before() {
    for was_asked in [false, true] {
        let line = Line::new(&store(), Fate::Arrives);
        let router = among_others(&line, PeerError::NoResponders).await;
        let slot = Slot::of(&scope(TASK));
        if !was_asked {
            router.owners_elsewhere.lock().remove(&slot);
        }
        line.lose_range(KeyRange::key(&keys::owner::key(slot)));
        let clock = Arc::clone(&router.shared.ports.clock);
        let begun_ms = clock.monotonic_ms();
        let refused = router.submit(open(), None).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        let waited_ms = clock.monotonic_ms() - begun_ms;
        assert_eq!(waited_ms > 0, was_asked, "{waited_ms}");
    }
}

/// What a caller hears of a command that comes here, where there is no room, after another node was
/// asked.
async fn turned_away_after(answer: PeerError, by: ErrorCode) -> ErrorCode {
    let peers = Arc::new(Leaving {
        answer,
        here: Mutex::default(),
    });
    let mut ports = ports();
    ports.peers = Some(Arc::clone(&peers) as Arc<dyn Peers>);
    let mut config = NodeConfig {
        name: "ada".to_owned(),
        ..NodeConfig::default()
    };
    if by == ErrorCode::Busy {
        config.admission.node_bytes = 1;
    } else {
        config.quotas.writes_per_s = 1;
        config.quotas.burst_ms = 1;
    }
    let shared = Arc::new(Shared::new(store(), ports, config, AS_MEANT));
    *peers.here.lock() = Some(Arc::clone(&shared));
    let router = Router::new(Arc::clone(&shared));
    router.expect_at(Slot::of(&scope(TASK)), "bob");
    let wanted = Wanted {
        scope: &scope(TASK),
        bytes: 1,
        is_own: false,
        is_metered: true,
        now_ms: shared.ports.clock.monotonic_ms(),
    };
    let _all_there_is = router.admission.admit(&Arc::default(), wanted).unwrap();
    let refused = router.submit(open(), None).await.unwrap_err();
    // Each holds the other.
    *peers.here.lock() = None;
    refused.code
}

#[tokio::test]
async fn a_node_without_room_says_nothing_of_a_command_that_another_was_sent() {
    for by in [ErrorCode::Busy, ErrorCode::QuotaExceeded] {
        let silent = turned_away_after(PeerError::Silent, by).await;
        assert_eq!(silent, ErrorCode::OutcomeUnknown);
        let nobody = turned_away_after(PeerError::NoResponders, by).await;
        assert_eq!(nobody, by);
    }
}

/// Other nodes that are out of reach, and what is seen of bob's beats when somebody is sent to one.
struct OffBus {
    line: Line,
    bob_beats: bool,
    /// How often somebody was sent to one.
    asked: AtomicUsize,
    here: Mutex<Option<Arc<Shared<TestStore, Without>>>>,
}

impl Peers for OffBus {
    fn is_connected(&self) -> bool {
        false
    }

    fn forward<'a>(
        &'a self,
        _: &'a str,
        _: Arc<Submission>,
        _: Option<TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let here = self.here.lock().clone().expect("it is there by now");
            let now_ms = here.ports.clock.monotonic_ms();
            let mut nodes = claims::owners(&self.line).await.unwrap().nodes;
            if self.bob_beats {
                let bob = nodes.get_mut("bob").expect("he is registered");
                bob.beat = now_ms;
            }
            here.members.hear("ada", &nodes, now_ms);
            Err(PeerError::NoResponders)
        })
    }

    fn announce<'a>(&'a self, _: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(core::future::ready(()))
    }
}

/// What ada says, off the bus, of a command for a slot that `owner` has, and after how many ms. Beside her and bob
/// there are `others`.
async fn said_off_the_bus(
    owner: Option<&str>,
    bob_beats: bool,
    others: &[&str],
) -> (Result<Answer, Error>, u64) {
    let (said, after_ms, _) = said_by_ada(owner, (bob_beats, false), others).await;
    (said, after_ms)
}

/// The same where she may know that she alone is cut off, and how often another node was asked.
async fn said_by_ada(
    owner: Option<&str>,
    (bob_beats, is_cut_off): (bool, bool),
    others: &[&str],
) -> (Result<Answer, Error>, u64, usize) {
    let line = Line::new(&store(), Fate::Arrives);
    let peers = Arc::new(OffBus {
        line: line.clone(),
        bob_beats,
        asked: AtomicUsize::new(0),
        here: Mutex::default(),
    });
    let mut ports = ports();
    ports.peers = Some(Arc::clone(&peers) as Arc<dyn Peers>);
    let config = NodeConfig {
        name: "ada".to_owned(),
        ..NodeConfig::default()
    };
    let shared = Arc::new(Shared::new(line.clone(), ports, config, AS_MEANT));
    cluster::register(&shared).await.unwrap();
    *peers.here.lock() = Some(Arc::clone(&shared));
    let first = WireVersion::FIRST;
    let indexer = Indexer::start(Arc::clone(&shared)).await.unwrap();
    tokio::spawn(async move {
        let (_never, stop) = tokio::sync::watch::channel(false);
        indexer.run(stop).await;
    });
    let bob = claims::register(&line, "bob", first).await.unwrap();
    for other in others {
        claims::register(&line, other, first).await.unwrap();
    }
    if let Some(owner) = owner {
        let row = OwnerRow {
            node: owner.to_owned(),
            incarnation: bob.expect("there is room for him").0,
            epoch: Epoch(1),
        };
        let mut txn = line.begin().await.unwrap();
        let key = keys::owner::key(Slot::of(&scope(TASK)));
        txn.set(key, keys::owner::encode(&row));
        txn.commit().await.unwrap();
    }
    shared.members.note_cut_off(is_cut_off);
    let router = Router::new(Arc::clone(&shared));
    let clock = Arc::clone(&shared.ports.clock);
    let begun_ms = clock.monotonic_ms();
    let said = router.submit(open(), None).await;
    // Each holds the other.
    *peers.here.lock() = None;
    let asked = peers.asked.load(Ordering::Relaxed);
    (said, clock.monotonic_ms() - begun_ms, asked)
}

#[tokio::test]
async fn off_the_bus_an_owner_that_beats_is_named_soon_and_one_that_may_be_dead_is_waited_for() {
    let fence_after_ms = NodeConfig::default().beat.fence_after_ms;
    let (said, after_ms) = said_off_the_bus(Some("bob"), true, &[]).await;
    let refused = said.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("ask bob"), "{refused}");
    let soon = OFF_BUS_MS_MAX..fence_after_ms;
    assert!(soon.contains(&after_ms), "{after_ms}");
    // Its row says that it lives: so it is, until somebody finds it silent.
    let (said, after_ms) = said_off_the_bus(Some("bob"), false, &[]).await;
    let refused = said.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("ask bob"), "{refused}");
    assert!(after_ms > 2 * fence_after_ms, "{after_ms}");
}

#[tokio::test]
async fn off_the_bus_a_node_takes_what_nobody_has_however_many_belong_before_it() {
    let many: Vec<String> = (0..40).map(|number| format!("node-{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    // A node that is gone, and no owner at all.
    for owner in [Some("eve"), None] {
        for others in [&[][..], &["carol"], &many] {
            let (said, _, asked) = said_by_ada(owner, (true, false), others).await;
            said.unwrap();
            assert!(asked <= 1, "{asked} with {} more", others.len());
        }
    }
}

#[tokio::test]
async fn a_node_that_alone_is_off_the_bus_takes_nothing_and_sends_whoever_asks_elsewhere() {
    for owner in [Some("eve"), None] {
        let (said, after_ms, _) = said_by_ada(owner, (true, true), &["carol"]).await;
        let refused = said.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!(after_ms < OFF_BUS_MS_MAX, "{after_ms}");
        assert!(refused.message.contains("ask another node"), "{refused}");
    }
}

/// Other nodes that note what they are given, and refuse it.
#[derive(Default)]
struct Noting(Mutex<Vec<Command>>);

impl Peers for Noting {
    fn is_connected(&self) -> bool {
        true
    }

    fn forward<'a>(
        &'a self,
        _: &'a str,
        submission: Arc<Submission>,
        _: Option<TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        self.0.lock().push(submission.command.clone());
        let refused = Error::new(ErrorCode::InvalidArgument, "it is noted");
        Box::pin(core::future::ready(Ok(Forwarded::Refused(refused))))
    }

    fn announce<'a>(&'a self, _: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(core::future::ready(()))
    }
}

#[tokio::test]
async fn a_failure_is_handed_over_as_its_verification_until_all_nodes_read_more_of_it() {
    let peers = Arc::new(Noting::default());
    let mut ports = ports();
    ports.peers = Some(Arc::clone(&peers) as Arc<dyn Peers>);
    let config = NodeConfig {
        name: "ada".to_owned(),
        ..NodeConfig::default()
    };
    let shared = Arc::new(Shared::new(store(), ports, config, AS_MEANT));
    cluster::register(&shared).await.unwrap();
    let router = Router::new(Arc::clone(&shared));
    router.expect_at(Slot::of(&scope(TASK)), "bob");
    let command = failure("run");
    let alone = command.read_by(WireVersion::FIRST);
    let alone = alone.expect("older nodes read it otherwise");
    let give = async || {
        let given = submission(1, PrincipalKind::Orchestrator, TASK, command.clone());
        let refused = router.submit(given, None).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{refused}");
    };
    // Nobody has seen yet that all nodes are new.
    assert_eq!(shared.spoken(), WireVersion::FIRST);
    give().await;
    let beating = tokio::spawn(cluster::beat(Arc::clone(&shared)));
    let is_spoken = || shared.spoken() == WireVersion::NEWEST;
    until("the newest version", is_spoken).await;
    beating.abort();
    give().await;
    assert_eq!(*peers.0.lock(), [alone, command]);
}
