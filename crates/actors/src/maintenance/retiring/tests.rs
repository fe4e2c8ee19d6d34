//! Tests of what becomes of a run's commands where another node carries some of them out, and where some are refused.

use core::future::ready;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::command::{Answer, Submission};
use sillok_core::id::{Epoch, Incarnation, Seq};
use sillok_core::membership::WireVersion;
use sillok_core::ports::{BoxFuture, Forwarded, PeerError, Peers};
use sillok_core::retention::pace::{RETIRED_BESIDE, Writers};
use sillok_core::retention::plan::ScopePlan;
use sillok_core::time::Timestamp;
use sillok_core::trace::TraceContext;
use tokio::sync::watch;

use super::super::tests::taken_over;
use super::super::{LEASE, TRIES_MAX};
use super::*;
use crate::admission::{Permit, Wanted};
use crate::claims::lease;
use crate::cluster::tests::{Here, own, registered, until};
use crate::commit::Shared;
use crate::protocol::Without;
use crate::tests::harness::{AS_MEANT, PROJECT, TestStore, ports, scope, store};
use crate::{NodeConfig, Ports, cluster};

/// A project of bob's. The other one, [`PROJECT`], is ada's.
const BOBS: &str = "org/acme/project/web";

type Reply = Result<Forwarded, PeerError>;

/// What bob makes of the entries that a command names, by how many commands came before.
type Makes = Box<dyn Fn(usize, Vec<(EntryId, u64)>) -> BoxFuture<'static, Reply> + Send + Sync>;

/// The node that has bob's project.
struct Bob {
    /// How many entries each command names that he was given.
    named: Mutex<Vec<usize>>,
    makes: Makes,
}

impl Peers for Bob {
    fn is_connected(&self) -> bool {
        true
    }

    fn forward<'a>(
        &'a self,
        _: &'a str,
        submission: Arc<Submission>,
        _: Option<TraceContext>,
    ) -> BoxFuture<'a, Reply> {
        let Command::Retire { entries, .. } = &submission.command else {
            panic!("{submission:?}");
        };
        let mut named = self.named.lock();
        named.push(entries.len());
        (self.makes)(named.len() - 1, entries.clone())
    }

    fn announce<'a>(&'a self, _: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }
}

/// All of these went.
fn took(entries: usize) -> Reply {
    Ok(Forwarded::Answered(Answer {
        seq: Seq::ZERO,
        time: Timestamp::EPOCH,
        result: AnswerBody::Retired {
            retired: u32::try_from(entries).unwrap(),
            left: 0,
        },
    }))
}

fn refused(code: ErrorCode) -> Reply {
    Ok(Forwarded::Refused(Error::new(code, "as the test has it")))
}

/// Ada, who has her project and runs maintenance, and bob.
struct Stage {
    shared: Here,
    router: Router<TestStore, Without>,
    bob: Arc<Bob>,
}

impl Stage {
    async fn beside(makes: Makes) -> Self {
        let store = store();
        let _bob = registered(&store, "bob").await;
        let bob = Arc::new(Bob {
            named: Mutex::default(),
            makes,
        });
        let ports = Ports {
            peers: Some(Arc::clone(&bob) as Arc<dyn Peers>),
            ..ports()
        };
        let config = NodeConfig {
            name: "ada".to_owned(),
            ..NodeConfig::default()
        };
        let shared = Arc::new(Shared::new(store.clone(), ports, config, AS_MEANT));
        cluster::register(&shared).await.unwrap();
        // Commands of maintenance are given once a beat has seen that all nodes read them.
        let beating = tokio::spawn(cluster::beat(Arc::clone(&shared)));
        let is_spoken = || shared.spoken() == WireVersion::NEWEST;
        until("the newest version", is_spoken).await;
        beating.abort();
        let (hers, his) = (Slot::of(&scope(PROJECT)), Slot::of(&scope(BOBS)));
        assert_ne!(hers, his);
        let run = shared.ownership.incarnation();
        own(&store, hers, "ada", run.0).await;
        own(&store, his, "bob", 1).await;
        assert!(shared.ownership.take(hers, Epoch(1), run));
        let router = Router::new(Arc::clone(&shared));
        Self {
            shared,
            router,
            bob,
        }
    }

    /// A command of somebody that waits at ada's until it is dropped.
    fn writes(&self) -> Permit {
        let wanted = Wanted {
            scope: &scope(PROJECT),
            bytes: 1,
            is_own: false,
            is_metered: true,
            now_ms: self.shared.ports.clock.monotonic_ms(),
        };
        let admission = self.router.admission();
        admission.admit(&Arc::default(), wanted).unwrap()
    }

    async fn take_out(&self, scopes: &mut [ScopeMaintained]) {
        let turn = self.shared.maintenance.begin().unwrap();
        take_out_all(&self.held().await, &self.router, scopes, &turn).await;
    }

    /// A run of ada's that has taken the lease.
    async fn held(&self) -> Held<'_, TestStore, Without> {
        let run = self.shared.ownership.incarnation();
        let taken = lease::take(&self.shared.store, LEASE, "ada", run).await;
        Held::new(&self.shared, taken.unwrap().unwrap())
    }

    fn named(&self) -> Vec<usize> {
        self.bob.named.lock().clone()
    }
}

fn entry(number: usize) -> EntryId {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&(number as u64).to_be_bytes());
    EntryId::from_bytes(bytes)
}

/// A scope of which so many entries are due. Nobody knows them: at ada's they count as changed.
fn due(path: &str, entries: usize) -> ScopeMaintained {
    ScopeMaintained {
        scope: scope(path),
        plan: ScopePlan {
            aged: (0..entries).map(|number| (entry(number), 1)).collect(),
            ..ScopePlan::default()
        },
        retired: 0,
        left: 0,
        unreadable: 0,
        asks: false,
        error: None,
    }
}

/// Bob answers nothing before he is let, but for what is refused to commands by how many came before.
fn silent_until(let_go: watch::Receiver<bool>, refuses: fn(usize) -> Option<ErrorCode>) -> Makes {
    Box::new(move |before: usize, entries: Vec<(EntryId, u64)>| {
        let mut let_go = let_go.clone();
        Box::pin(async move {
            if let Some(code) = refuses(before) {
                return refused(code);
            }
            let_go.wait_for(|answers| *answers).await.map(drop).unwrap();
            took(entries.len())
        })
    })
}

/// A run beside a writer at ada's, over two commands for bob, who is silent until all that is ada's is done with.
async fn goes_on_beside_bob(stage: &Stage, answers: &watch::Sender<bool>) {
    // More than are under way at a time: some come behind bob's, whichever scope begins.
    let hers = 3 * COMMANDS_AT_ONCE * RETIRED_BESIDE;
    let mut scopes = [due(BOBS, 2 * RETIRED_BESIDE), due(PROJECT, hers)];
    let _writer = stage.writes();
    let hers_first = async {
        let is_done = || {
            let progress = stage.shared.maintenance.progress();
            progress.is_some_and(|progress| progress.retired == hers as u64)
        };
        until("the end of what is ada's", is_done).await;
        answers.send(true).unwrap();
    };
    tokio::join!(stage.take_out(&mut scopes), hers_first);
    let counts = |scope: &ScopeMaintained| (scope.retired, scope.left, scope.error.clone());
    let his = (2 * RETIRED_BESIDE) as u64;
    assert_eq!(counts(&scopes[0]), (his, 0, None));
    assert_eq!(counts(&scopes[1]), (0, hers as u64, None));
}

#[tokio::test]
async fn commands_for_a_silent_node_go_beside_those_of_this_one_and_hold_no_turn() {
    let (answers, let_go) = watch::channel(false);
    let stage = Stage::beside(silent_until(let_go, |_| None)).await;
    goes_on_beside_bob(&stage, &answers).await;
    assert_eq!(stage.named(), [RETIRED_BESIDE; 2]);
}

#[tokio::test]
async fn commands_that_wait_while_their_slot_goes_to_a_silent_node_hold_no_turn_in_any_try() {
    let (answers, let_go) = watch::channel(false);
    let is_busy = |before: usize| (before == 0).then_some(ErrorCode::Busy);
    let stage = Stage::beside(silent_until(let_go, is_busy)).await;
    // Ada takes bob's project for hers until its first command finds out, which is to be tried again.
    let run = stage.shared.ownership.incarnation();
    let his = Slot::of(&scope(BOBS));
    assert!(stage.shared.ownership.take(his, Epoch(1), run));
    goes_on_beside_bob(&stage, &answers).await;
    assert_eq!(stage.shared.ownership.epoch(his), None);
    assert_eq!(stage.named(), [RETIRED_BESIDE; 3]);
}

#[tokio::test]
async fn halves_name_few_entries_once_somebody_writes_whatever_the_command_before_them_named() {
    let makes = |_: usize, entries: Vec<(EntryId, u64)>| -> BoxFuture<'static, Reply> {
        let is_damaged = entries.contains(&(entry(7), 1));
        Box::pin(ready(if is_damaged {
            refused(ErrorCode::Internal)
        } else {
            took(entries.len())
        }))
    };
    let stage = Stage::beside(Box::new(makes)).await;
    // Somebody comes while the first command is under way.
    let writers = || Writers {
        under_way: usize::from(!stage.bob.named.lock().is_empty()),
        last_ms: None,
    };
    let is_here = |_: Slot| true;
    let (turn, held) = (
        stage.shared.maintenance.begin().unwrap(),
        stage.held().await,
    );
    let retiring = Retiring {
        held: &held,
        router: &stage.router,
        pace: Pace::new(stage.shared.ports.clock.as_ref(), &writers, &is_here),
        turn: &turn,
    };
    let mut scope = due(BOBS, RETIRED_AT_ONCE);
    retiring.take_out(&mut scope).await.unwrap();
    let gone = RETIRED_AT_ONCE as u64 - 1;
    assert_eq!((scope.retired, scope.unreadable), (gone, 1));
    let named = stage.named();
    assert_eq!(named[0], RETIRED_AT_ONCE);
    let halves = &named[1..];
    assert!(
        halves.iter().all(|entries| *entries <= RETIRED_BESIDE),
        "{halves:?}"
    );
}

#[tokio::test]
async fn a_run_whose_lease_is_taken_waits_for_what_is_under_way_and_gives_no_further_command() {
    let (answers, let_go) = watch::channel(false);
    let stage = Stage::beside(silent_until(let_go, |_| None)).await;
    let mut scopes = [due(BOBS, 3 * COMMANDS_AT_ONCE * RETIRED_BESIDE)];
    let bobs_run = async {
        let are_under_way = || stage.named().len() == COMMANDS_AT_ONCE;
        until("all that is under way at a time", are_under_way).await;
        // Ada was held for dead.
        taken_over(&stage.shared.store, "bob", Incarnation(1)).await;
        answers.send(true).unwrap();
    };
    tokio::join!(stage.take_out(&mut scopes), bobs_run);
    assert_eq!(stage.named().len(), COMMANDS_AT_ONCE);
    let gone = (COMMANDS_AT_ONCE * RETIRED_BESIDE) as u64;
    assert_eq!(scopes[0].retired, gone);
    let error = scopes[0].error.take().unwrap();
    assert_eq!(error.code, ErrorCode::Fenced);
}

/// What is noted of a scope of as many commands as are under way at a time, which bob refuses by how many came before, and
/// how often he is given one.
async fn refused_by_bob(refuses: fn(usize) -> ErrorCode) -> (ErrorCode, usize) {
    let makes = move |before: usize, _: Vec<(EntryId, u64)>| -> BoxFuture<'static, Reply> {
        Box::pin(ready(refused(refuses(before))))
    };
    let stage = Stage::beside(Box::new(makes)).await;
    let mut scopes = [due(BOBS, COMMANDS_AT_ONCE * RETIRED_BESIDE)];
    stage.take_out(&mut scopes).await;
    let error = scopes[0].error.take().unwrap();
    (error.code, stage.named().len())
}

#[tokio::test]
async fn what_is_to_go_by_halves_is_tried_on_after_what_lasts_and_not_while_its_node_is_away() {
    // Each command is set apart, and the first half of the first one is refused as often as it may be.
    let away = refused_by_bob(|before| match before {
        0..COMMANDS_AT_ONCE => ErrorCode::Internal,
        _ => ErrorCode::Busy,
    });
    let given = COMMANDS_AT_ONCE + TRIES_MAX as usize;
    assert_eq!(away.await, (ErrorCode::Busy, given));
    // One command is set apart, and all others are refused meanwhile.
    let away = refused_by_bob(|before| match before {
        0 => ErrorCode::Internal,
        _ => ErrorCode::Busy,
    });
    let given = 1 + (COMMANDS_AT_ONCE - 1) * TRIES_MAX as usize;
    assert_eq!(away.await, (ErrorCode::Busy, given));
    // What is refused for good says nothing of the next.
    let lasts = refused_by_bob(|before| match before {
        0..COMMANDS_AT_ONCE => ErrorCode::Internal,
        _ => ErrorCode::Forbidden,
    });
    assert_eq!(lasts.await, (ErrorCode::Forbidden, 2 * COMMANDS_AT_ONCE));
}
