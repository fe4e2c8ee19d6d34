//! Events and log records over a real nats-server: heard if and only if committed, whatever becomes of
//! the server.

mod consumers;
mod decided;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use sillok_bus_nats::{NatsConfig, cluster_key, connect};
use sillok_core::channel::Channel;
use sillok_nats_server::NatsServer;

use crate::harness::listener::LOOK_EVERY;
use crate::harness::world::log;
use crate::harness::{Launch, Listener, World};

/// A cluster's key.
const KEY: &str = "7bd0e25ed3bba8f6c1d8b9a07c5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e";
/// The longest that anything may take to be heard.
const PATIENCE: Duration = Duration::from_secs(60);

/// How far the relays are behind, in seconds.
const LAGS: [&str; 2] = [
    "sillok_stream_lag_seconds{stream=\"EVT\"}",
    "sillok_stream_lag_seconds{stream=\"LOG\"}",
];

struct Bed {
    nats: NatsServer,
    world: World,
    listener: Listener,
    config: NatsConfig,
    _folder: tempfile::TempDir,
}

impl Bed {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: fn(&mut NatsConfig)) -> Self {
        let nats = NatsServer::start().await;
        let folder = tempfile::tempdir().expect("a directory of its own");
        let key_file = folder.path().join("key");
        std::fs::write(&key_file, KEY).expect("it can be written");
        let mut config = NatsConfig {
            servers: nats.url(),
            key_file,
            ..NatsConfig::default()
        };
        change(&mut config);
        let world = World::start_with(|launch| with_nats(launch, &config)).await;
        let listener = Listener::new(&config).await;
        Self {
            nats,
            world,
            listener,
            config,
            _folder: folder,
        }
    }

    /// Appends a record to a task: its number.
    async fn append(&self, task: &str, content: &str) -> u64 {
        let id = log(&self.world.admin(), task, content).await;
        let (_, seq) = id.rsplit_once('#').expect("an id holds a number");
        seq.parse().expect("a number")
    }

    /// The numbers of a task's events or records that are stored.
    async fn stored(&self, listing: &str, task: &str) -> BTreeSet<u64> {
        let stored = self.world.admin().all(listing, task).await;
        let seqs = stored.iter().map(|item| item["seq"].as_u64());
        seqs.map(|seq| seq.expect("each has a number")).collect()
    }

    /// What was heard of a task is what is stored of it, and its records are those that were acknowledged.
    async fn is_heard_if_stored(&self, task: &str, acknowledged: &BTreeSet<u64>) {
        let events = self.stored("/v1/events", task).await;
        assert_eq!(self.listener.of(task, None), events, "all of it, once");
        let records = self.stored("/v1/records", task).await;
        assert_eq!(&records, acknowledged);
        assert_eq!(self.listener.of(task, Some(Channel::Log)), records);
    }
}

fn with_nats(launch: Launch, config: &NatsConfig) -> Launch {
    let ack_wait_s = config.consumer_ack_wait_s.to_string();
    launch
        .env("SILLOK__NATS__CONSUMERS", &config.consumers)
        .env("SILLOK__NATS__CONSUMER_ACK_WAIT_S", &ack_wait_s)
        .env("SILLOK__NATS__SERVERS", &config.servers)
        .env("SILLOK__NATS__KEY_FILE", &config.key_file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_while_nats_is_down_and_are_heard_of_in_order_once() {
    let mut bed = Bed::new().await;
    let task = bed.world.task().await;
    let mut acknowledged = BTreeSet::new();
    for number in 1..=5 {
        let seq = bed.append(&task, &format!("line {number}")).await;
        bed.listener.hears(&task, seq).await;
        acknowledged.insert(seq);
    }
    bed.nats.kill();
    let mut last = 0;
    for number in 6..=20 {
        last = bed.append(&task, &format!("line {number}")).await;
        acknowledged.insert(last);
    }
    let admin = bed.world.admin();
    let stuck = json!({ "scope": task, "reason": "the stream is down" });
    admin.post("/v1/tasks/stuck", &stuck).await.ok();
    last += 1;
    for lag in LAGS {
        let begun = std::time::Instant::now();
        while admin.metric::<f64>(lag).await < 0.5 {
            assert!(begun.elapsed() < PATIENCE, "{lag} does not grow");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    bed.nats.resume().await;
    // The last record and what came behind it lie on two streams: one may be heard before the other.
    bed.listener.hears(&task, last - 1).await;
    bed.listener.hears(&task, last).await;
    for lag in LAGS {
        let begun = std::time::Instant::now();
        while admin.metric::<f64>(lag).await > 0.0 {
            assert!(begun.elapsed() < PATIENCE, "{lag} does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let of_task = |channel| bed.listener.of(&task, channel);
    assert_eq!(of_task(None), (1..=last).collect(), "all of it, once");
    // That the task was opened, and is stuck, are no log records.
    assert_eq!(of_task(Some(Channel::Events)), [1, last].into());
    assert_eq!(of_task(Some(Channel::Log)), (2..last).collect());
    bed.is_heard_if_stored(&task, &acknowledged).await;
    assert!(admin.metric::<u64>("sillok_streamed_total").await >= 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_lost_everything_is_filled_again() {
    let mut bed = Bed::new().await;
    let task = bed.world.task().await;
    let mut acknowledged = BTreeSet::new();
    for number in 1..=9 {
        let told = bed.append(&task, &format!("before {number}")).await;
        bed.listener.hears(&task, told).await;
        acknowledged.insert(told);
    }
    bed.nats.wipe();
    let while_gone = bed.append(&task, "while it was gone").await;
    let stuck = json!({ "scope": task, "reason": "the stream is gone" });
    bed.world.admin().post("/v1/tasks/stuck", &stuck).await.ok();
    bed.nats.resume().await;
    bed.listener.hears(&task, while_gone).await;
    bed.listener.hears(&task, while_gone + 1).await;
    let after = bed.append(&task, "after").await;
    bed.listener.hears(&task, after).await;
    let heard = bed.listener.of(&task, None);
    assert_eq!(heard, (1..=after).collect(), "all of it, once");
    acknowledged.extend([while_gone, after]);
    bed.is_heard_if_stored(&task, &acknowledged).await;
    // Somebody who comes only now hears all of it as well: the task's opening among it.
    let mut late = Listener::new(&bed.config).await;
    late.hears(&task, after).await;
    late.hears(&task, after - 1).await;
    assert_eq!(
        late.of(&task, None),
        (1..=after).collect(),
        "all of it, once"
    );
    let events = late.of(&task, Some(Channel::Events));
    assert_eq!(events, [1, while_gone + 1].into());
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
    config.consumers = "EVENTS:notifier".to_owned();
    let said = refused(&config);
    assert!(said.contains("nats.consumers: \"EVENTS\" in"), "{said}");
    config.consumers = String::new();
    config.key_file = std::path::PathBuf::new();
    let said = refused(&config);
    assert!(said.contains("nats.key_file: "), "{said}");
    world.admin().get("/v1/status", &[]).await.ok();
}
