//! A node that ends, or is gone: what it was given is answered, and nobody waits for what it cannot answer.

use std::time::Duration;

use async_nats::Subscriber;
use async_nats::connection::State;
use futures::StreamExt as _;
use sillok_bus::subject::commands_to;
use sillok_bus_nats::{Client, NatsConfig, NatsPeers};
use sillok_core::ports::{Forwarded, PeerError, Peers as _};
use sillok_nats_server::NatsServer;
use tokio::task::JoinHandle;

use crate::peers::{Listening, NODE, answered, listen, listen_with, peers, submission};
use crate::{client_of, config_of};

/// A command that is under way to a node, which has begun it.
async fn begun(
    peers: &NatsPeers,
    listening: &Listening,
    content: &str,
) -> JoinHandle<Result<Forwarded, PeerError>> {
    let before = listening.heard.lock().len();
    let (peers, given) = (peers.clone(), submission(content));
    let under_way = tokio::spawn(async move { peers.forward(NODE, given, None).await });
    while listening.heard.lock().len() == before {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    under_way
}

/// Longer than any test waits, and what is over by then.
const FOR_EVER_MS: u32 = 60_000;
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_node_that_ends_answers_what_it_was_given_and_takes_nothing_more() {
    let nats = NatsServer::start().await;
    let (_client, listening) = listen(&nats, 100).await;
    let peers = peers(&nats, FOR_EVER_MS).await;
    let under_way = begun(&peers, &listening, "slow").await;
    listening.ends.send(()).expect("it listens");
    assert_eq!(listening.run.await.expect("it ends"), Ok(()));
    assert_eq!(under_way.await.expect("it ends"), Ok(answered()));
    // The first is sent to where somebody was; that nobody listens is not believed of it.
    for error in [PeerError::Silent, PeerError::NoResponders] {
        let refused = peers.forward(NODE, submission("short"), None).await;
        assert_eq!(refused, Err(error));
    }
    assert_eq!(listening.heard.lock().len(), 1);
}

#[tokio::test]
async fn a_node_that_was_killed_keeps_nobody_waiting_for_its_answers() {
    let nats = NatsServer::start().await;
    let peers = peers(&nats, FOR_EVER_MS).await;
    for is_replaced in [false, true] {
        let (client, listening) = listen(&nats, 100).await;
        let mut under_way = Vec::new();
        for _ in 0..3 {
            under_way.push(begun(&peers, &listening, "hang").await);
        }
        // It is there, and waited for.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(under_way.iter().all(|under_way| !under_way.is_finished()));
        // Another run listens in its place, and is asked whether it is the same, or nobody does.
        let after = if is_replaced {
            Some(listen(&nats, 100).await)
        } else {
            None
        };
        listening.run.abort();
        drop(client);
        for under_way in under_way {
            let ended = tokio::time::timeout(SOON, under_way)
                .await
                .expect("it ends");
            assert_eq!(ended.expect("it ends well"), Err(PeerError::Silent));
        }
        drop(after);
    }
}

#[tokio::test]
async fn a_node_that_ends_waits_no_longer_for_its_answers_than_they_are_waited_for() {
    let nats = NatsServer::start().await;
    let config = NatsConfig {
        peer_timeout_ms: 200,
        ..config_of(&nats)
    };
    let (_client, listening) = listen_with(&nats, &config).await;
    let peers = peers(&nats, FOR_EVER_MS).await;
    let under_way = begun(&peers, &listening, "hang").await;
    listening.ends.send(()).expect("it listens");
    let ended = tokio::time::timeout(SOON, listening.run)
        .await
        .expect("it ends");
    assert_eq!(ended.expect("it ends well"), Ok(()));
    let given_up = tokio::time::timeout(SOON, under_way)
        .await
        .expect("it ends");
    assert_eq!(given_up.expect("it ends well"), Err(PeerError::Silent));
}

/// Hears what a node is asked and answers nothing, until it is dropped.
async fn deaf(nats: &NatsServer) -> (Client, Subscriber) {
    let client = client_of(nats).await;
    let subject = commands_to(NODE).expect("it is there");
    let asked = client.subscribe(subject).await.expect("it is there");
    client.flush().await.expect("it answers");
    (client, asked)
}

#[tokio::test]
async fn a_node_that_goes_as_it_is_asked_for_its_moment_keeps_nobody_waiting() {
    for is_replaced in [false, true] {
        let nats = NatsServer::start().await;
        let (client, mut asked) = deaf(&nats).await;
        let peers = peers(&nats, FOR_EVER_MS).await;
        let given = submission("short");
        let under_way = tokio::spawn(async move { peers.forward(NODE, given, None).await });
        asked.next().await.expect("it is asked");
        let after = if is_replaced {
            Some(listen(&nats, 100).await)
        } else {
            None
        };
        drop((client, asked));
        let ended = tokio::time::timeout(SOON, under_way)
            .await
            .expect("it ends");
        let expected = match is_replaced {
            true => Ok(answered()),
            false => Err(PeerError::NoResponders),
        };
        assert_eq!(ended.expect("it ends well"), expected);
        drop(after);
    }
}

#[tokio::test]
async fn a_node_ends_at_once_without_nats() {
    let mut nats = NatsServer::start().await;
    let config = NatsConfig {
        peer_timeout_ms: FOR_EVER_MS,
        ..config_of(&nats)
    };
    let (client, listening) = listen_with(&nats, &config).await;
    nats.kill();
    while client.connection_state() == State::Connected {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    listening.ends.send(()).expect("it listens");
    let ended = tokio::time::timeout(SOON, listening.run)
        .await
        .expect("it ends");
    assert_eq!(ended.expect("it ends well"), Ok(()));
}
