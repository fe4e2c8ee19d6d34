//! The load on a cluster: clients that give each command, under one id, until some node answers it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sillok_bus_nats::NatsConfig;
use tokio::task::{JoinHandle, JoinSet};

use parking_lot::Mutex;

use crate::harness::listener::LOOK_EVERY;
use crate::harness::{Chance, Client, Cluster, Listener, command_id, world};

/// Clients.
const CLIENTS: usize = 12;
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
    clients: JoinSet<Vec<Acked>>,
    listening: JoinHandle<Listener>,
}

/// A record that was acknowledged.
#[derive(Debug)]
struct Acked {
    command: String,
    scope: String,
    content: String,
}

/// What became of a load.
pub(crate) struct Load {
    acked: Vec<Acked>,
    listener: Listener,
}

impl Load {
    /// Lets the clients write through all of these nodes.
    pub(crate) async fn start(cluster: &Cluster, names: &[&str]) -> Running {
        let node = |name: &&str| ((*name).to_owned(), cluster.admin(name));
        let nodes: Nodes = Arc::new(Mutex::new(names.iter().map(node).collect()));
        let stop = Arc::new(AtomicBool::new(false));
        let config = NatsConfig {
            servers: cluster.nats_url(),
            key_file: cluster.key_file(),
            ..NatsConfig::default()
        };
        let listener = Listener::new(&config).await;
        let mut clients = JoinSet::new();
        let mut chance = Chance::of_test("cluster");
        for number in 0..CLIENTS {
            // A project each, so that every node has some of them.
            let scope = format!("org/acme/project/p{number}/worktree/w/task/t");
            world::open(&cluster.admin(names[number % names.len()]), &scope).await;
            let writer = Writer {
                nodes: Arc::clone(&nodes),
                chance: chance.split(),
                scope,
            };
            clients.spawn(writer.write_until(Arc::clone(&stop)));
        }
        let listening = tokio::spawn(listen(listener, Arc::clone(&stop)));
        Running {
            nodes,
            stop,
            clients,
            listening,
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

    /// Every command that was acknowledged is stored once, nothing else is, and what is stored was heard of
    /// on the streams, each event once.
    pub(crate) async fn check(mut self, client: &Client) {
        let scopes: BTreeSet<&String> = self.acked.iter().map(|acked| &acked.scope).collect();
        let mut events: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        let mut stored: BTreeMap<String, (String, String)> = BTreeMap::new();
        for scope in scopes {
            for (event, seq) in client.all("/v1/events", scope).await.iter().zip(1u64..) {
                assert_eq!(event["seq"], seq, "{scope} has a gap");
                events.entry(scope.clone()).or_default().insert(seq);
                if event["kind"] != "RECORD_APPENDED" {
                    continue;
                }
                let command = event["command"].as_str().expect("an event has a command");
                let content = event["body"]["content"].as_str().expect("it is short");
                let one = (scope.clone(), content.to_owned());
                let twice = stored.insert(command.to_owned(), one);
                assert_eq!(twice, None, "applied twice: {command}");
            }
        }
        let acked = |acked: &Acked| {
            let one = (acked.scope.clone(), acked.content.clone());
            (acked.command.clone(), one)
        };
        let acked: BTreeMap<_, _> = self.acked.iter().map(acked).collect();
        assert!(acked.len() > CLIENTS * 20, "there was hardly any load");
        assert_eq!(acked, stored);
        self.listener.check(&events).await;
    }
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

    /// Ends the load: each client sees its last command through.
    pub(crate) async fn stop(mut self) -> Load {
        self.stop.store(true, Ordering::SeqCst);
        let mut acked = Vec::new();
        while let Some(ended) = self.clients.join_next().await {
            acked.extend(ended.expect("a client does not panic"));
        }
        let listener = self.listening.await.expect("a listener does not panic");
        Load { acked, listener }
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
    nodes: Nodes,
    chance: Chance,
    scope: String,
}

impl Writer {
    async fn write_until(mut self, stop: Arc<AtomicBool>) -> Vec<Acked> {
        let mut acked = Vec::new();
        while !stop.load(Ordering::SeqCst) {
            let content = format!("{} {}", acked.len(), self.chance.words(6));
            let command = command_id();
            let body = json!({
                "scope": self.scope,
                "records": [{ "level": "thought", "content": content }],
            });
            let answered = tokio::time::timeout(PATIENCE, self.see_through(&command, &body)).await;
            answered.unwrap_or_else(|_| panic!("{} is answered by nobody", self.scope));
            acked.push(Acked {
                command,
                scope: self.scope.clone(),
                content,
            });
        }
        acked
    }

    /// Gives a command to one node after the other until it is answered.
    async fn see_through(&mut self, command: &str, body: &Value) {
        loop {
            if let Ok(reply) = self.node().attempt("/v1/logs", command, body).await {
                match reply.status {
                    // What passes by itself: busy, unavailable, or nobody knows.
                    429 | 503 | 504 => {}
                    _ => {
                        reply.ok();
                        return;
                    }
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn node(&mut self) -> Client {
        let nodes = self.nodes.lock();
        let number = self.chance.below(nodes.len());
        nodes.values().nth(number).expect("a node is there").clone()
    }
}
