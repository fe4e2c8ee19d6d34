//! Tests of what nodes on one store hear of one another.

use futures::FutureExt as _;
use parking_lot::Mutex;
use sillok_builtin::index::ExactIndex;
use sillok_bus::in_process::{Heard, Listener};
use sillok_core::command::{AnswerBody, Submission};
use sillok_core::ports::{BoxFuture, Clock, Forwarded, PeerError, Peers};
use sillok_core::principal::PrincipalKind;
use sillok_core::time::Timestamp;

use super::*;
use crate::NodeConfig;
use crate::tests::harness::{
    PROJECT, TestNode, TestStore, in_time, ports, scope, store, submission,
};
use crate::tests::index::put;

/// A span for which nobody waits in vain.
const NEVER_MS: u64 = 3_600_000;
/// Turns of the runtime within which something would have been heard.
const TURNS: usize = 50_000;

/// The clock of the tests, on which some spans never end.
struct Patient(Arc<dyn Clock>);

impl Clock for Patient {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn monotonic_us(&self) -> u64 {
        self.0.monotonic_us()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        if ms == NEVER_MS {
            return Box::pin(core::future::pending());
        }
        self.0.sleep(ms)
    }
}

/// A node with its name.
type Named = (String, TestNode);

/// The nodes, as they reach one another.
#[derive(Clone, Default)]
struct Wired {
    nodes: Arc<Mutex<Vec<Named>>>,
    loses_news: bool,
}

impl Peers for Wired {
    fn is_connected(&self) -> bool {
        true
    }

    fn forward<'a>(
        &'a self,
        node: &'a str,
        submission: Arc<Submission>,
        _: Option<sillok_core::trace::TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        Box::pin(async move {
            let named = |(name, _): &&Named| name == node;
            let asked = self.nodes.lock().iter().find(named).cloned();
            let (_, asked) = asked.ok_or(PeerError::NoResponders)?;
            Ok(asked.serve(submission, None).await)
        })
    }

    fn announce<'a>(&'a self, slots: &'a [Slot]) -> BoxFuture<'a, ()> {
        if !self.loses_news {
            let nodes = self.nodes.lock().clone();
            nodes.iter().for_each(|(_, node)| node.hear(slots));
        }
        Box::pin(core::future::ready(()))
    }
}

/// A node, and what it shows.
struct Here {
    node: TestNode,
    index: Arc<ExactIndex>,
    listener: Listener,
}

async fn start(store: &TestStore, name: &str, wired: &Wired, sweep_every_ms: u64) -> Here {
    let index = Arc::new(ExactIndex::new());
    let mut ports = ports();
    ports.clock = Arc::new(Patient(ports.clock));
    ports.peers = Some(Arc::new(wired.clone()));
    ports.index = Arc::clone(&index) as _;
    let mut config = NodeConfig {
        name: name.to_owned(),
        ..NodeConfig::default()
    };
    config.news.sweep_every_ms = sweep_every_ms;
    let node = TestNode::start(store.clone(), ports, config).await.unwrap();
    let listener = node.bus().listen();
    wired.nodes.lock().push((name.to_owned(), node.clone()));
    Here {
        node,
        index,
        listener,
    }
}

/// The node that published an entry, the other one, and whether that one came to hear of it.
async fn published_at_ada(loses_news: bool, sweep_every_ms: u64) -> (Here, Here, bool) {
    let (store, nodes) = (store(), Arc::default());
    let wired = Wired { nodes, loses_news };
    let bob = start(&store, "bob", &wired, sweep_every_ms).await;
    let ada = start(&store, "ada", &wired, sweep_every_ms).await;
    // The first sweep of each is over.
    in_time(async {
        while [&ada, &bob]
            .iter()
            .any(|here| here.node.metrics().sweeps == 0)
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let given = submission(
        0,
        PrincipalKind::Human,
        PROJECT,
        put("the parser is greedy"),
    );
    let answer = ada.node.submit(given).await.unwrap();
    let AnswerBody::Entry { id: entry, .. } = answer.result else {
        panic!("an entry was put, and answered with {:?}", answer.result);
    };
    // Whoever has the slot was handed the command.
    let holds = |here: &Here| here.node.ownership().epoch(Slot::of(&scope(PROJECT)));
    let (owner, mut other) = if holds(&ada).is_some() {
        (ada, bob)
    } else {
        (bob, ada)
    };
    let mut is_heard = false;
    for _ in 0..TURNS {
        if let Some(Heard::Message(message)) = other.listener.next().now_or_never() {
            assert_eq!(message.scope, scope(PROJECT));
            is_heard = true;
        }
        if is_heard && other.index.get(&scope(PROJECT), entry).is_some() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let is_shown = other.index.get(&scope(PROJECT), entry).is_some();
    assert_eq!(is_heard, is_shown, "listeners and the index hear the same");
    (owner, other, is_heard)
}

#[tokio::test]
async fn what_one_node_commits_is_heard_by_the_others_at_once() {
    let (owner, other, is_heard) = published_at_ada(false, NEVER_MS).await;
    assert!(is_heard);
    assert!(owner.node.metrics().announced_slots >= 1);
    assert!(other.node.metrics().heard_slots >= 1);
}

#[tokio::test]
async fn what_nobody_was_told_of_is_found_by_the_next_sweep() {
    let (_, other, is_heard) = published_at_ada(true, 30_000).await;
    assert!(is_heard);
    assert_eq!(other.node.metrics().heard_slots, 0);
}

#[tokio::test]
async fn without_news_and_sweeps_nothing_is_heard() {
    let (_, other, is_heard) = published_at_ada(true, NEVER_MS).await;
    assert!(!is_heard);
    assert_eq!(other.node.metrics().sweeps, 1);
}
