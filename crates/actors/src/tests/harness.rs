//! What the tests of a node share: the one type of node that they run, a clock and randomness that
//! depend on nothing, short ways to say who gives which command.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sillok_builtin::CommitGraph;
use sillok_builtin::cognifier::RuleCognifier;
use sillok_builtin::embedder::HashEmbedder;
use sillok_builtin::index::ExactIndex;
use sillok_core::Error;
use sillok_core::command::{Answer, AnswerBody, Command, Submission};
use sillok_core::entry::Metadata;
use sillok_core::id::{Attempt, CommandId};
use sillok_core::ports::{BoxFuture, Clock, Rng};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_store::MemoryConfig;

use super::line::Line;
use crate::protocol::Without;
use crate::{Node, NodeConfig, Ports};

pub(crate) const PROJECT: &str = "org/acme/project/api";
pub(crate) const TASK: &str = "org/acme/project/api/worktree/main/task/42";

/// The store of every test, whether it has faults or not.
pub(crate) type TestStore = Line;

/// The node of every test, whether a bug is planted in it or not: of one type, so that all of its code is compiled once.
pub(crate) type TestNode = Node<TestStore, Without>;

/// The protocol as it is meant, of the type of those with a planted bug.
pub(crate) const AS_MEANT: Without = Without(None);

impl TestNode {
    /// As [`Node::start_as`], under the protocol as it is meant.
    pub(crate) async fn start(
        store: TestStore,
        ports: Ports,
        config: NodeConfig,
    ) -> Result<Self, Error> {
        Self::start_as(store, ports, config, AS_MEANT).await
    }
}

/// Time that moves on when it is looked at, and when somebody waits for it.
#[derive(Debug)]
pub(crate) struct CountingClock(AtomicU64);

impl CountingClock {
    const START_MS: u64 = 1_790_000_000_000;
}

impl Clock for CountingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(Self::START_MS + self.monotonic_ms())
    }

    fn monotonic_us(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) * 1_000 / 16
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.0.fetch_add(ms * 16, Ordering::Relaxed);
        Box::pin(async {
            for _ in 0..64 {
                tokio::task::yield_now().await;
            }
        })
    }
}

/// Numbers that depend on the order of calls alone.
pub(crate) struct CountingRng(u64);

impl CountingRng {
    pub(crate) const fn new() -> Self {
        Self(7)
    }

    /// Generators of which no two draw the same.
    fn several() -> impl Fn() -> Box<dyn Rng> + Send + Sync {
        let next = AtomicU64::new(7);
        move || Box::new(Self(next.fetch_add(1, Ordering::Relaxed)))
    }
}

impl Rng for CountingRng {
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = self.0.to_be_bytes()[0];
        }
    }
}

pub(crate) fn ports() -> Ports {
    Ports {
        clock: Arc::new(CountingClock(AtomicU64::new(0))),
        rng: Arc::new(CountingRng::several()),
        index: Arc::new(ExactIndex::new()),
        embedder: Arc::new(HashEmbedder),
        next: None,
        cognifier: Arc::new(RuleCognifier),
        git: Arc::new(CommitGraph::default()),
        peers: None,
        streams: None,
        calendar: None,
        checkpoints: None,
        tracer: None,
        beats: None,
    }
}

/// A new store that has no faults.
pub(crate) fn store() -> TestStore {
    Line::sound(MemoryConfig::default())
}

pub(crate) async fn node(store: &TestStore) -> TestNode {
    TestNode::start(store.clone(), ports(), NodeConfig::default())
        .await
        .unwrap()
}

/// A clock that begins so late, for a store on which another node ran before.
pub(crate) fn clock_at(ms: u64) -> Arc<dyn Clock> {
    Arc::new(CountingClock(AtomicU64::new(16 * ms)))
}

/// A node whose clock goes on a day later, for a store on which another node ran before.
pub(crate) async fn later_node(store: &TestStore) -> TestNode {
    let ports = Ports {
        clock: clock_at(DAY_MS),
        ..ports()
    };
    TestNode::start(store.clone(), ports, NodeConfig::default())
        .await
        .unwrap()
}

pub(crate) fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

pub(crate) fn principal(kind: PrincipalKind, prefix: &str) -> Principal {
    let id = PrincipalId::parse(kind.as_str()).unwrap();
    Principal {
        actor: Actor { kind, id },
        prefix: prefix.parse().unwrap(),
    }
}

/// A command id of the clock's time, told apart by `number`.
pub(crate) fn command_id(number: u64) -> CommandId {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.to_be_bytes());
    CommandId::from_parts(Timestamp::from_ms(CountingClock::START_MS), random)
}

/// The organisation of a scope.
fn organisation(path: &str) -> &str {
    let behind = path.match_indices('/').nth(1);
    behind.map_or(path, |(at, _)| &path[..at])
}

pub(crate) fn submission(
    number: u64,
    kind: PrincipalKind,
    path: &str,
    command: Command,
) -> Submission {
    Submission {
        scope: scope(path),
        principal: principal(kind, organisation(path)),
        id: command_id(number),
        attempt: Attempt::FIRST,
        command,
    }
}

pub(crate) fn open_task() -> Command {
    Command::OpenTask {
        title: "Fix the parser".into(),
        description: "It loses the last line.".into(),
    }
}

pub(crate) fn append(text: &str) -> Command {
    let level = LogLevel::Info;
    append_as(RecordKind::Log { level }, text)
}

/// An append of one record of this kind.
pub(crate) fn append_as(kind: RecordKind, text: &str) -> Command {
    Command::Append {
        records: vec![NewRecord {
            kind,
            content: text.into(),
            metadata: Metadata::default(),
            time: None,
        }],
    }
}

/// A node with the task opened by command 0.
pub(crate) async fn node_with_task(store: &TestStore) -> TestNode {
    let node = node(store).await;
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    node
}

pub(crate) fn first_seq(answer: &Result<Answer, Error>) -> u64 {
    match &answer.as_ref().unwrap().result {
        AnswerBody::Appended { first, .. } => first.get(),
        other => panic!("an append was answered with {other:?}"),
    }
}

/// What comes within some thousand turns of the runtime.
pub(crate) async fn in_time<T>(comes: impl Future<Output = T>) -> T {
    let late = async {
        for _ in 0..100_000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        came = comes => came,
        () = late => panic!("it does not come"),
    }
}
