//! The load on a cluster: clients that give each command, under one id, until some node answers it. Most append to
//! a log, some publish an entry, and now and then a task is verified, so that both streams and the jobs of
//! promotions go through whatever happens to the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_bus_nats::NatsConfig;
use sillok_core::channel::Channel;
use tokio::task::{JoinHandle, JoinSet};

use parking_lot::Mutex;

use crate::harness::listener::LOOK_EVERY;
use crate::harness::{Chance, Client, Cluster, Listener, command_id, world};

/// Clients.
const CLIENTS: usize = 12;
/// Of so many commands of a client one publishes an entry, and one verifies its task.
const ENTRY_EVERY: usize = 5;
const VERIFICATION_EVERY: usize = 24;
/// Commands of a client after which it publishes and verifies more seldom, by so much, and rests after each: a node reads
/// all that is published when it starts, and a long run is not about how long that takes.
const DENSE_MAX: usize = 1_000;
const THINNER: usize = 10;
const REST: Duration = Duration::from_millis(15);
/// More nodes than there are.
const NODES_MAX: usize = 1 << 16;
/// The wait before a command is given again.
const AGAIN: Duration = Duration::from_millis(40);
/// The longest that one command may take until some node answers it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where each node is reached, for as long as it is there.
type Nodes = Arc<Mutex<BTreeMap<String, Client>>>;

/// A load under way.
pub(crate) struct Running {
    nodes: Nodes,
    stop: Arc<AtomicBool>,
    /// Commands of each client that were acknowledged by now.
    counts: Arc<[AtomicUsize; CLIENTS]>,
    clients: JoinSet<Vec<Acked>>,
    listening: JoinHandle<Listener>,
    nats: NatsConfig,
}

/// A command.
#[derive(Debug)]
struct Write {
    route: &'static str,
    scope: String,
    body: Value,
    /// The event that it leads to, and the text by which that is known.
    kind: &'static str,
    text: String,
}

/// A command that was acknowledged.
#[derive(Debug)]
struct Acked {
    command: String,
    write: Write,
    answer: Value,
}

/// What became of a load.
pub(crate) struct Load {
    acked: Vec<Acked>,
    listener: Listener,
    nats: NatsConfig,
}

/// The numbers of events, by scope.
type Numbers = BTreeMap<String, BTreeSet<u64>>;

impl Load {
    /// Lets the clients write through all of these nodes.
    pub(crate) async fn start(cluster: &Cluster, names: &[&str]) -> Running {
        let node = |name: &&str| ((*name).to_owned(), cluster.admin(name));
        let nodes: Nodes = Arc::new(Mutex::new(names.iter().map(node).collect()));
        let stop = Arc::new(AtomicBool::new(false));
        let nats = NatsConfig {
            servers: cluster.nats_url(),
            key_file: cluster.key_file(),
            ..NatsConfig::default()
        };
        let listener = Listener::new(&nats).await;
        let mut clients = JoinSet::new();
        let mut chance = Chance::of_test("cluster");
        let counts = Arc::new([const { AtomicUsize::new(0) }; CLIENTS]);
        for number in 0..CLIENTS {
            // A project each, so that every node has some of them.
            let project = format!("org/acme/project/p{number}");
            let task = format!("{project}/worktree/w/task/t");
            world::open(&cluster.admin(names[number % names.len()]), &task).await;
            let writer = Writer {
                number,
                nodes: Arc::clone(&nodes),
                counts: Arc::clone(&counts),
                chance: chance.split(),
                project,
                task,
            };
            clients.spawn(writer.write_until(Arc::clone(&stop)));
        }
        let listening = tokio::spawn(listen(listener, Arc::clone(&stop)));
        Running {
            nodes,
            stop,
            counts,
            clients,
            listening,
            nats,
        }
    }

    /// How many commands were acknowledged.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acked.len()
    }

    /// The numbers of a scope's events that were heard of.
    pub(crate) fn heard_of(&self, scope: &str) -> BTreeSet<u64> {
        self.listener.of(scope, None)
    }

    /// Every command that was acknowledged is stored once, nothing else is, each verification is promoted once, and
    /// what is stored was heard of on the streams, each event once.
    pub(crate) async fn check(mut self, client: &Client) {
        self.check_all(client).await;
    }

    /// As [`check`](Self::check), and whoever begins to listen only now hears all of it as well.
    pub(crate) async fn check_with_a_late_listener(mut self, client: &Client) {
        let events = self.check_all(client).await;
        let mut late = Listener::new(&self.nats).await;
        late.check(&events).await;
    }

    async fn check_all(&mut self, client: &Client) -> Numbers {
        self.check_promotions(client).await;
        let events = self.check_stored(client).await;
        self.listener.check(&events).await;
        let told = |scope: &String| self.listener.of(scope, Some(Channel::Events)).len();
        let told: usize = events.keys().map(told).sum();
        assert!(
            told > CLIENTS * 6,
            "EVT told of hardly more than the tasks: {told}"
        );
        events
    }

    /// What was acknowledged is what is stored. The numbers of all events.
    async fn check_stored(&self, client: &Client) -> Numbers {
        let mut events = Numbers::new();
        let mut stored = BTreeMap::new();
        for number in 0..CLIENTS {
            let project = format!("org/acme/project/p{number}");
            let task = format!("{project}/worktree/w/task/t");
            for scope in [&project, &task] {
                for (event, seq) in client.all("/v1/events", scope).await.iter().zip(1u64..) {
                    assert_eq!(event["seq"], seq, "{scope} has a gap");
                    events.entry(scope.clone()).or_default().insert(seq);
                    // What promotions publish in a project is theirs.
                    let is_ours = event["actor"]["kind"] == "human";
                    let Some(text) = text_of(event).filter(|_| is_ours) else {
                        continue;
                    };
                    let command = event["command"].as_str().expect("an event has a command");
                    let twice = stored.insert(command.to_owned(), (scope.clone(), text));
                    assert_eq!(twice, None, "applied twice: {command}");
                }
            }
        }
        let acked = |acked: &Acked| {
            let Write {
                scope, kind, text, ..
            } = &acked.write;
            let told = ((*kind).to_owned(), text.clone());
            (acked.command.clone(), (scope.clone(), told))
        };
        let acked: BTreeMap<_, _> = self.acked.iter().map(acked).collect();
        assert!(acked.len() > CLIENTS * 20, "there was hardly any load");
        assert_eq!(acked, stored);
        events
    }

    /// Each verification that was acknowledged is published once, and noted once in its task's log.
    async fn check_promotions(&self, client: &Client) {
        let verifications = self.acked.iter().filter_map(|acked| {
            let id = acked.answer["verification"].as_str()?;
            Some((&acked.write.scope, id))
        });
        let mut expected: BTreeMap<&String, BTreeMap<String, usize>> = BTreeMap::new();
        for (task, id) in verifications {
            world::promoted(client, task, id).await;
            expected.entry(task).or_default().insert(id.to_owned(), 1);
        }
        assert!(!expected.is_empty(), "nothing was verified");
        for (task, once) in expected {
            let (project, _) = task.split_once("/worktree").expect("it lies in one");
            for (scope, kind) in [(task.as_str(), "PROMOTED"), (project, "PUBLISHED")] {
                let mut times: BTreeMap<String, usize> = BTreeMap::new();
                for event in client.all("/v1/events", scope).await {
                    if event["kind"] == kind {
                        let id = event["body"]["verification"].as_str();
                        let id = id.expect("it names what it is of").to_owned();
                        *times.entry(id).or_default() += 1;
                    }
                }
                assert_eq!(times, once, "{kind} in {scope}");
            }
        }
    }
}

/// The kind of an event and the text that a command of the load gave to it; none of what follows from commands.
fn text_of(event: &Value) -> Option<(String, String)> {
    let kind = event["kind"].as_str().expect("an event has a kind");
    let field = match kind {
        "RECORD_APPENDED" | "ENTRY_CREATED" => "content",
        "VERIFICATION_RECORDED" => "run",
        _ => return None,
    };
    let text = event["body"][field].as_str().expect("it is short");
    Some((kind.to_owned(), text.to_owned()))
}

impl Running {
    /// A node is reached elsewhere than before.
    pub(crate) fn moved(&self, cluster: &Cluster, name: &str) {
        let client = cluster.admin(name);
        self.nodes.lock().insert(name.to_owned(), client);
    }

    /// A node is not to be spoken to any more, as a load balancer learns before a drain.
    pub(crate) fn leaves(&self, name: &str) {
        self.nodes.lock().remove(name);
    }

    /// How many commands of each client were acknowledged by now.
    pub(crate) fn counts(&self) -> [usize; CLIENTS] {
        self.counts
            .each_ref()
            .map(|count| count.load(Ordering::SeqCst))
    }

    /// Waits until every client has had a command acknowledged since it was counted.
    pub(crate) async fn goes_on_since(&self, before: &[usize; CLIENTS]) {
        let begun = Instant::now();
        loop {
            let now = self.counts();
            let stood = (0..CLIENTS).filter(|number| now[*number] == before[*number]);
            let stood: Vec<usize> = stood.collect();
            if stood.is_empty() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "these stand still: {stood:?}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Ends the load: each client sees its last command through.
    pub(crate) async fn stop(mut self) -> Load {
        self.stop.store(true, Ordering::SeqCst);
        let mut acked = Vec::new();
        while let Some(ended) = self.clients.join_next().await {
            acked.extend(ended.expect("a client does not panic"));
        }
        let listener = self.listening.await.expect("a listener does not panic");
        Load {
            acked,
            listener,
            nats: self.nats,
        }
    }
}

async fn listen(mut listener: Listener, stop: Arc<AtomicBool>) -> Listener {
    while !stop.load(Ordering::SeqCst) {
        listener.poll().await;
        tokio::time::sleep(LOOK_EVERY).await;
    }
    listener
}

struct Writer {
    number: usize,
    nodes: Nodes,
    counts: Arc<[AtomicUsize; CLIENTS]>,
    chance: Chance,
    project: String,
    task: String,
}

impl Writer {
    async fn write_until(mut self, stop: Arc<AtomicBool>) -> Vec<Acked> {
        let mut acked = Vec::new();
        while !stop.load(Ordering::SeqCst) {
            let write = self.draw(acked.len());
            let command = command_id();
            let answered = tokio::time::timeout(PATIENCE, self.see_through(&command, &write)).await;
            let answer =
                answered.unwrap_or_else(|_| panic!("{} is answered by nobody", write.scope));
            acked.push(Acked {
                command,
                write,
                answer,
            });
            self.counts[self.number].fetch_add(1, Ordering::SeqCst);
            if acked.len() > DENSE_MAX {
                tokio::time::sleep(REST).await;
            }
        }
        acked
    }

    /// The next command, after so many.
    fn draw(&mut self, written: usize) -> Write {
        let text = format!("{written} {}", self.chance.words(6));
        let thinner = if written > DENSE_MAX { THINNER } else { 1 };
        if written % (thinner * VERIFICATION_EVERY) == VERIFICATION_EVERY / 2 {
            return Write {
                route: "/v1/verifications",
                scope: self.task.clone(),
                body: json!({
                    "scope": self.task, "outcome": "passed", "source": "tests_passed", "run": text,
                }),
                kind: "VERIFICATION_RECORDED",
                text,
            };
        }
        if written % (thinner * ENTRY_EVERY) == 1 {
            return Write {
                route: "/v1/entries",
                scope: self.project.clone(),
                body: json!({ "scope": self.project, "content": text }),
                kind: "ENTRY_CREATED",
                text,
            };
        }
        Write {
            route: "/v1/logs",
            scope: self.task.clone(),
            body: json!({
                "scope": self.task,
                "records": [{ "level": "thought", "content": text }],
            }),
            kind: "RECORD_APPENDED",
            text,
        }
    }

    /// Gives a command to one node after the other until it is answered: the answer.
    async fn see_through(&mut self, command: &str, write: &Write) -> Value {
        // One node after the other, beginning with any.
        for turn in self.chance.below(NODES_MAX).. {
            let sent = self
                .node(turn)
                .attempt(write.route, command, &write.body)
                .await;
            if let Ok(reply) = sent {
                match reply.status {
                    // What passes by itself: busy, unavailable, or nobody knows.
                    429 | 503 | 504 => {}
                    _ => return reply.ok(),
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
        unreachable!("there is no last turn")
    }

    fn node(&self, turn: usize) -> Client {
        let nodes = self.nodes.lock();
        let node = nodes.values().nth(turn % nodes.len());
        node.expect("a node is there").clone()
    }
}
