//! Somebody who reaches NATS and has no key: what is sent to nodes and streams is refused and counted, and
//! keeps nobody from writing or hearing.

use std::time::Duration;

use async_nats::{Client, jetstream};
use futures::StreamExt as _;
use sillok_bus::Message;
use sillok_bus::subject::{NEWS, commands_to, of_slot, stream_of};
use sillok_bus::wire::{ClusterKey, News, seal_message, seal_news};
use sillok_bus_nats::{NatsConfig, connect};
use sillok_core::channel::Channel;
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

use super::load::Load;
use super::{CALM, NODES, PATIENCE, check};
use crate::harness::listener::LOOK_EVERY;
use crate::harness::{Cluster, world};

/// How often everything is sent.
const ROUNDS: u64 = 20;
/// The wait between two rounds.
const EVERY: Duration = Duration::from_millis(150);
/// What is never there.
const FORGED: &str = "org/acme/project/p0/worktree/w/task/forged";

/// What came to a node and no node wrote.
async fn foreign(cluster: &Cluster, node: &str, what: &str) -> u64 {
    let name = format!("sillok_bus_foreign_total{{what=\"{what}\"}}");
    cluster.admin(node).metric(&name).await
}

/// The same, of all nodes.
async fn foreign_to_all(cluster: &Cluster, what: &str) -> u64 {
    let mut all = 0;
    for node in NODES {
        all += foreign(cluster, node, what).await;
    }
    all
}

/// Word of events that nobody committed.
fn forged_message() -> Message {
    let scope = Scope::parse(FORGED).expect("a scope");
    let stamp = |counter| Stamp {
        generation: 1,
        counter,
        index: 0,
    };
    Message {
        slot: Slot::of(&scope),
        stamp: stamp(u64::MAX),
        previous: stamp(0),
        scope,
        first: Seq::new(1),
        last: Seq::new(3),
    }
}

/// A stranger among the nodes.
struct Stranger {
    client: Client,
    key: ClusterKey,
}

impl Stranger {
    async fn send(&self, subject: String, bytes: Vec<u8>) {
        let sent = self.client.publish(subject, bytes.into()).await;
        sent.expect("NATS lets it");
    }

    /// Sends one of each kind to the nodes: three requests to ada, and two pieces of news to all.
    async fn pester_nodes(&self) {
        let ada = commands_to("ada").expect("a name");
        for bytes in [b"junk".to_vec(), vec![0; 4_096], Vec::new()] {
            self.send(ada.clone(), bytes).await;
        }
        let news = News {
            run: [7; 16],
            slots: vec![Slot::new(1).expect("a slot")],
        };
        for bytes in [b"junk".to_vec(), seal_news(&self.key, &news)] {
            self.send(NEWS.to_owned(), bytes).await;
        }
    }

    /// Puts a message behind the last one of each slot that the load writes to, and where no slot is.
    async fn pester_streams(&self, round: u64) {
        let jetstream = jetstream::new(self.client.clone());
        for channel in Channel::ALL {
            let stream = jetstream.get_stream(stream_of(channel)).await;
            let stream = stream.expect("it is there");
            let genuine = stream.get_raw_message(round + 1).await;
            let genuine = genuine
                .map(|held| held.payload.to_vec())
                .unwrap_or_default();
            for project in 0..12 {
                let scope = format!("org/acme/project/p{project}");
                let slot = Slot::of(&Scope::parse(&scope).expect("a scope"));
                let bytes = match (project + round) % 3 {
                    0 => b"junk".to_vec(),
                    1 => seal_message(&self.key, channel, &forged_message()),
                    // As a node wrote it, for another slot or an earlier place.
                    _ => genuine.clone(),
                };
                self.send(of_slot(channel, slot), bytes).await;
            }
            let name = of_slot(channel, Slot::new(0).expect("a slot"));
            let nowhere = name.replace(".0.0", ".none.none");
            self.send(nowhere, b"junk".to_vec()).await;
        }
    }
}

/// Answers whatever nodes ask one another, before they do.
async fn answer_all(client: Client) {
    let asked = client.subscribe("sillok.node.*").await;
    let mut asked = asked.expect("NATS lets it");
    while let Some(request) = asked.next().await {
        if let Some(reply) = request.reply {
            // Should NATS be gone, there is nothing to answer.
            let _ = client.publish(reply, "junk".into()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stranger_sends_is_counted_and_keeps_nobody_from_writing_or_hearing() {
    let cluster = Cluster::start(&NODES).await;
    let config = NatsConfig {
        servers: cluster.nats_url(),
        ..NatsConfig::default()
    };
    let client = connect(&config, "stranger").await.expect("it can be used");
    client.flush().await.expect("NATS answers");
    for what in ["request", "news", "reply", "EVT", "LOG"] {
        assert_eq!(foreign_to_all(&cluster, what).await, 0, "{what}");
    }
    let load = Load::start(&cluster, &NODES).await;
    tokio::time::sleep(CALM).await;
    let answering = tokio::spawn(answer_all(client.clone()));
    let stranger = Stranger {
        client,
        key: ClusterKey::new(&[9; 32]),
    };
    for round in 0..ROUNDS {
        stranger.pester_nodes().await;
        stranger.pester_streams(round).await;
        // What changes in each project is told behind that.
        for project in 0..12 {
            let task = format!("org/acme/project/p{project}/worktree/w/task/r{round}");
            let node = NODES[project % NODES.len()];
            world::open(&cluster.admin(node), &task).await;
        }
        tokio::time::sleep(EVERY).await;
    }
    stranger.client.flush().await.expect("NATS answers");
    // Each of those that came to a node is counted there, and those in the streams as they are come upon.
    let counted = async {
        while foreign(&cluster, "ada", "request").await < 3 * ROUNDS {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        for node in NODES {
            while foreign(&cluster, node, "news").await < 2 * ROUNDS {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        for what in ["reply", "EVT", "LOG"] {
            while foreign_to_all(&cluster, what).await < ROUNDS {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    };
    let counted = tokio::time::timeout(PATIENCE, counted).await;
    counted.expect("all of it is counted");
    assert_eq!(foreign_to_all(&cluster, "request").await, 3 * ROUNDS);
    assert_eq!(foreign_to_all(&cluster, "news").await, 6 * ROUNDS);
    tokio::time::sleep(CALM).await;
    answering.abort();
    let load = load.stop().await;
    assert!(load.heard_of(FORGED).is_empty(), "nobody committed it");
    check(&cluster, load, "eve").await;
}
