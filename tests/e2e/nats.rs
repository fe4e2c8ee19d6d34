//! Events over a real nats-server: heard if and only if committed, whatever becomes of the server.

use std::collections::BTreeSet;
use std::time::Duration;

use sillok_bus::follower::{Judged, Look};
use sillok_bus::{EventStream as _, Follower};
use sillok_bus_nats::{NatsConfig, NatsStream, cluster_key, connect};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_nats_server::NatsServer;

use crate::harness::world::log;
use crate::harness::{Launch, World};

/// A cluster's key.
const KEY: &str = "7bd0e25ed3bba8f6c1d8b9a07c5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e";
/// The longest that anything may take to be heard.
const PATIENCE: Duration = Duration::from_secs(60);
/// The wait between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Somebody who hears what a server says over NATS.
struct Listener {
    stream: NatsStream,
    follower: Follower,
    /// The events that were heard of, by scope and number.
    heard: BTreeSet<(String, u64)>,
}

impl Listener {
    async fn new(config: &NatsConfig) -> Self {
        let client = connect(config, "listener").await.expect("it can be used");
        let key = cluster_key(config).await.expect("it is a key");
        Self {
            stream: NatsStream::new(client, config, key),
            follower: Follower::default(),
            heard: BTreeSet::new(),
        }
    }

    /// Hears what there is. A stream that was made anew leaves gaps, which the store would fill.
    async fn poll(&mut self) {
        let Ok(page) = self.stream.page(self.follower.from(), 64).await else {
            return;
        };
        if self.follower.look(&page) == Look::Restarts {
            return self.follower.restart();
        }
        for numbered in &page.messages {
            let message = &numbered.message;
            match self.follower.judge(message) {
                Judged::Repeat => {}
                Judged::Next | Judged::Gap(_) => {
                    self.follower.hear(message.slot, message.stamp);
                    for seq in message.first.get()..=message.last.get() {
                        let is_new = self.heard.insert((message.scope.to_string(), seq));
                        assert!(is_new, "heard twice: {} {seq}", message.scope);
                    }
                }
            }
        }
        self.follower.read(&page);
    }

    /// Listens until an event was heard of.
    async fn hears(&mut self, scope: &str, seq: u64) {
        let listening = async {
            while !self.heard.contains(&(scope.to_owned(), seq)) {
                self.poll().await;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let heard = tokio::time::timeout(PATIENCE, listening).await;
        heard.unwrap_or_else(|_| panic!("{scope} {seq} was never heard of"));
    }
}

struct Bed {
    nats: NatsServer,
    world: World,
    listener: Listener,
    _folder: tempfile::TempDir,
}

impl Bed {
    async fn new() -> Self {
        let nats = NatsServer::start().await;
        let folder = tempfile::tempdir().expect("a directory of its own");
        let key_file = folder.path().join("key");
        std::fs::write(&key_file, KEY).expect("it can be written");
        let config = NatsConfig {
            servers: nats.url(),
            key_file,
            ..NatsConfig::default()
        };
        let world = World::start_with(|launch| with_nats(launch, &config)).await;
        let listener = Listener::new(&config).await;
        Self {
            nats,
            world,
            listener,
            _folder: folder,
        }
    }

    /// Appends a record to a task: its number.
    async fn append(&self, task: &str, content: &str) -> u64 {
        let id = log(&self.world.admin(), task, content).await;
        let (_, seq) = id.rsplit_once('#').expect("an id holds a number");
        seq.parse().expect("a number")
    }

    async fn metric(&self, name: &str) -> f64 {
        let text = self.world.admin().get("/metrics", &[]).await.text;
        let line = text.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        let value = line.rsplit(' ').next().expect("a metric has a value");
        value.parse().expect("a number")
    }
}

fn with_nats(launch: Launch, config: &NatsConfig) -> Launch {
    launch
        .env("SILLOK__NATS__SERVERS", &config.servers)
        .env("SILLOK__NATS__KEY_FILE", &config.key_file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_while_nats_is_down_and_are_heard_of_in_order_once() {
    let mut bed = Bed::new().await;
    let task = bed.world.task().await;
    for number in 1..=5 {
        let seq = bed.append(&task, &format!("line {number}")).await;
        bed.listener.hears(&task, seq).await;
    }
    bed.nats.kill();
    let mut last = 0;
    for number in 6..=20 {
        last = bed.append(&task, &format!("line {number}")).await;
    }
    bed.nats.resume().await;
    bed.listener.hears(&task, last).await;
    let of_task: BTreeSet<u64> = bed
        .listener
        .heard
        .iter()
        .filter(|(scope, _)| *scope == task)
        .map(|(_, seq)| *seq)
        .collect();
    assert_eq!(of_task, (1..=last).collect(), "all of it, and nothing else");
    assert!(bed.metric("sillok_streamed_total").await >= 20.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_lost_everything_is_filled_again() {
    let mut bed = Bed::new().await;
    let task = bed.world.task().await;
    let told = bed.append(&task, "before").await;
    bed.listener.hears(&task, told).await;
    bed.nats.wipe();
    let while_gone = bed.append(&task, "while it was gone").await;
    bed.nats.resume().await;
    bed.listener.hears(&task, while_gone).await;
    let after = bed.append(&task, "after").await;
    bed.listener.hears(&task, after).await;
    let slot = Slot::of(&Scope::parse(&task).expect("a scope"));
    let end = bed.listener.stream.end_of(slot).await.expect("it answers");
    assert_eq!(end.last.expect("it was told").message.last.get(), after);
}

#[tokio::test]
async fn a_server_starts_without_nats_and_refuses_what_cannot_be_used() {
    let folder = tempfile::tempdir().expect("a directory of its own");
    let key_file = folder.path().join("key");
    std::fs::write(&key_file, KEY).expect("it can be written");
    let mut config = NatsConfig {
        // Nobody listens there.
        servers: "nats://127.0.0.1:1".to_owned(),
        key_file,
        ..NatsConfig::default()
    };
    let world = World::start_with(|launch| with_nats(launch, &config)).await;
    let task = world.task().await;
    log(&world.admin(), &task, "nobody hears of it yet").await;
    let refused = |config: &NatsConfig| {
        let launch = Launch::new(&folder.path().join("data"));
        let (status, said) = with_nats(launch, config).start_in_vain(PATIENCE);
        assert!(!status.success(), "{said}");
        said
    };
    std::fs::write(&config.key_file, "no key").expect("it can be written");
    let said = refused(&config);
    assert!(said.contains("a key has 64 hexadecimal digits"), "{said}");
    config.key_file = "no/such/file".into();
    let said = refused(&config);
    assert!(said.contains("no/such/file"), "{said}");
    config.key_file = std::path::PathBuf::new();
    let said = refused(&config);
    assert!(said.contains("nats.key_file: "), "{said}");
    world.admin().get("/v1/status", &[]).await.ok();
}
