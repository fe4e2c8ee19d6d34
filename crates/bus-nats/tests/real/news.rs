//! News from node to node, and what others say that it is.

use core::time::Duration;
use std::sync::Arc;

use sillok_bus::subject::NEWS;
use sillok_bus::wire::{ClusterKey, News, seal_news};
use sillok_bus_nats::{Client, Counts, NatsPeers, Server, What};
use sillok_core::ports::{Forwarded, Peers as _};
use sillok_core::slot::Slot;
use sillok_nats_server::NatsServer;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{client_of, config_of};

/// The longest that news may take.
const PATIENCE: Duration = Duration::from_secs(10);

fn key(byte: u8) -> ClusterKey {
    ClusterKey::new(&[byte; 32])
}

fn slots(numbers: &[u16]) -> Vec<Slot> {
    numbers
        .iter()
        .map(|number| Slot::new(*number).expect("it is one"))
        .collect()
}

/// A node that tells others, and hears them.
struct Node {
    client: Client,
    peers: NatsPeers,
    server: Server,
    counts: Counts,
    heard: UnboundedReceiver<Vec<Slot>>,
}

async fn node(nats: &NatsServer) -> Node {
    let client = client_of(nats).await;
    let peers = NatsPeers::new(client.clone(), &config_of(nats), key(1));
    let nothing = Arc::new(
        |_, _| -> sillok_core::ports::BoxFuture<'static, Forwarded> {
            Box::pin(async { Forwarded::NotOwner })
        },
    );
    let counts = Counts::default();
    let server = Server::new(client.clone(), &config_of(nats), key(1), nothing);
    let server = server.counting(counts.clone());
    let (sender, heard) = unbounded_channel();
    let (hearing, own) = (server.clone(), peers.run());
    tokio::spawn(async move {
        let hears = |slots: &[Slot]| drop(sender.send(slots.to_vec()));
        let _ = hearing.hear(own, hears).await;
    });
    // The subscription is there once the server has answered behind it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.flush().await.expect("it answers");
    Node {
        client,
        peers,
        server,
        counts,
        heard,
    }
}

impl Node {
    async fn hears(&mut self) -> Vec<Slot> {
        let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await;
        heard.expect("it comes in time").expect("it listens")
    }
}

#[tokio::test]
async fn what_one_node_tells_all_others_hear_and_it_does_not() {
    let nats = NatsServer::start().await;
    let (mut ada, mut bob, mut eve) = (node(&nats).await, node(&nats).await, node(&nats).await);
    ada.peers.announce(&slots(&[7, 4_095])).await;
    assert_eq!(bob.hears().await, slots(&[7, 4_095]));
    assert_eq!(eve.hears().await, slots(&[7, 4_095]));
    // What ada hears first is bob's: its own was passed over.
    bob.peers.announce(&slots(&[3])).await;
    assert_eq!(ada.hears().await, slots(&[3]));
    assert_eq!(ada.server.metrics().news, 1);
}

#[tokio::test]
async fn news_that_no_node_sealed_is_counted_and_heard_by_nobody() {
    let nats = NatsServer::start().await;
    let mut bob = node(&nats).await;
    let ada = node(&nats).await;
    let news = News {
        run: [9; 16],
        slots: slots(&[1]),
    };
    let mut later = seal_news(&key(1), &news);
    later[0] += 1;
    for forged in [seal_news(&key(2), &news), later, Vec::new()] {
        let sent = ada.client.publish(NEWS, forged.into()).await;
        sent.expect("it is sent");
    }
    ada.peers.announce(&slots(&[5])).await;
    assert_eq!(bob.hears().await, slots(&[5]), "the first that counts");
    let metrics = bob.server.metrics();
    assert_eq!(
        (
            metrics.unsealed,
            metrics.of_later_version,
            metrics.malformed
        ),
        (1, 1, 1)
    );
    let counted = (
        bob.counts.foreign(What::News),
        bob.counts.foreign(What::Request),
    );
    assert_eq!(counted, (3, 0));
}

#[tokio::test]
async fn news_while_nats_is_down_keeps_nobody_waiting_and_is_not_told_later() {
    let mut nats = NatsServer::start().await;
    let (ada, mut bob) = (node(&nats).await, node(&nats).await);
    nats.kill();
    let gone = async {
        while ada.client.connection_state() == async_nats::connection::State::Connected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        ada.peers.announce(&slots(&[1])).await;
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("it waits for nobody");
    nats.resume().await;
    let told = async {
        loop {
            ada.peers.announce(&slots(&[2])).await;
            if let Ok(slots) = bob.heard.try_recv() {
                return slots;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let first = tokio::time::timeout(PATIENCE, told).await;
    assert_eq!(first.expect("it comes back"), slots(&[2]));
}
