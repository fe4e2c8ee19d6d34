//! Commands from node to node, and what others send to a node.

use core::time::Duration;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_bus::subject::commands_to;
use sillok_bus::wire::{ClusterKey, Request, seal_request};
use sillok_bus_nats::{Client, NatsPeers, Server};
use sillok_core::command::{Answer, AnswerBody, Command, Submission};
use sillok_core::entry::Metadata;
use sillok_core::id::{Attempt, CommandId, Seq};
use sillok_core::ports::{Forwarded, PeerError, Peers};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};
use sillok_core::time::Timestamp;

use sillok_nats_server::NatsServer;

use super::{client_of, config_of};

const NODE: &str = "node-1";

fn submission(content: &str) -> Arc<Submission> {
    let record = NewRecord {
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: content.to_owned(),
        metadata: Metadata::parse("{}").expect("an object"),
        time: None,
    };
    let actor = Actor {
        kind: PrincipalKind::Agent,
        id: PrincipalId::parse("agent-1").expect("an id"),
    };
    Arc::new(Submission {
        scope: Scope::parse("org/acme/project/api/worktree/main/task/42").expect("a scope"),
        principal: Principal {
            actor,
            prefix: ScopePrefix::All,
        },
        id: CommandId::from_bytes([7; 16]),
        attempt: Attempt::FIRST,
        command: Command::Append {
            records: vec![record],
        },
    })
}

fn answered() -> Forwarded {
    Forwarded::Answered(Answer {
        seq: Seq::new(7),
        time: Timestamp::from_ms(9),
        result: AnswerBody::Done,
    })
}

fn key() -> ClusterKey {
    ClusterKey::new(&[1; 32])
}

/// A node that remembers what it was handed, answers, and never answers whoever says "hang".
struct Listening {
    server: Server,
    heard: Arc<Mutex<Vec<Arc<Submission>>>>,
}

async fn listen(nats: &NatsServer, peer_commands: usize) -> (Client, Listening) {
    let client = client_of(nats).await;
    let config = sillok_bus_nats::NatsConfig {
        peer_commands,
        ..config_of(nats)
    };
    let heard: Arc<Mutex<Vec<Arc<Submission>>>> = Arc::default();
    let hears = Arc::clone(&heard);
    let server = Server::new(
        client.clone(),
        &config,
        key(),
        Arc::new(move |given| {
            let hangs = given == submission("hang");
            hears.lock().push(given);
            Box::pin(async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                answered()
            })
        }),
    );
    tokio::spawn(server.clone().run(NODE));
    // The subscription is there once the server has answered behind it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.flush().await.expect("it answers");
    (client, Listening { server, heard })
}

async fn peers(nats: &NatsServer, wait_ms: u32) -> NatsPeers {
    let config = sillok_bus_nats::NatsConfig {
        peer_timeout_ms: wait_ms,
        ..config_of(nats)
    };
    NatsPeers::new(client_of(nats).await, &config, key())
}

#[tokio::test]
async fn a_command_of_any_size_comes_whole_and_its_answer_comes_back() {
    let nats = NatsServer::start().await;
    let (_client, listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 10_000).await;
    let large = "x".repeat(8 << 20);
    for content in ["short", &large] {
        let given = submission(content);
        assert_eq!(
            peers.forward(NODE, Arc::clone(&given)).await,
            Ok(answered())
        );
        assert_eq!(listening.heard.lock().pop(), Some(given));
    }
    assert_eq!(listening.server.metrics().served, 2);
}

#[tokio::test]
async fn nobody_of_that_name_and_nobody_in_time_are_told_apart() {
    let nats = NatsServer::start().await;
    let (_client, _listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 200).await;
    let given = submission("short");
    for nobody in ["node-2", "not a token", ""] {
        let refused = peers.forward(nobody, Arc::clone(&given)).await;
        assert_eq!(refused, Err(PeerError::NoResponders), "{nobody:?}");
    }
    assert_eq!(
        peers.forward(NODE, submission("hang")).await,
        Err(PeerError::Silent)
    );
}

#[tokio::test]
async fn a_node_with_too_much_to_do_says_so() {
    let nats = NatsServer::start().await;
    let (_client, listening) = listen(&nats, 1).await;
    let peers = peers(&nats, 500).await;
    let hanging = tokio::spawn({
        let peers = peers.clone();
        async move { peers.forward(NODE, submission("hang")).await }
    });
    while listening.heard.lock().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    match peers.forward(NODE, submission("short")).await {
        Ok(Forwarded::Refused(error)) => assert_eq!(error.code.as_str(), "busy"),
        other => panic!("{other:?}"),
    }
    assert_eq!(listening.server.metrics().turned_away, 1);
    assert_eq!(hanging.await.unwrap(), Err(PeerError::Silent));
}

#[tokio::test]
async fn what_no_node_sent_is_counted_and_carried_out_by_nobody() {
    let nats = NatsServer::start().await;
    let (client, listening) = listen(&nats, 100).await;
    let subject = commands_to(NODE).unwrap();
    let request = Request {
        wait_ms: 500,
        submission: submission("forged"),
    };
    let call = [5; 16];
    let whole = |key: &ClusterKey| seal_request(key, &call, &request).0;
    let part = |whole: &[u8]| {
        sillok_bus::parts::split(&call, whole, 1 << 19)
            .unwrap()
            .remove(0)
    };
    let (forged, genuine) = (whole(&ClusterKey::new(&[2; 32])), whole(&key()));
    let mut later = genuine.clone();
    later[0] = 9;
    for sent in [&b"junk"[..], &part(&forged), &part(&later), &part(b"short")] {
        let asked = client.request(subject.clone(), sent.to_vec().into());
        let asked = tokio::time::timeout(Duration::from_millis(100), asked).await;
        asked.expect_err("nobody answers");
    }
    let metrics = listening.server.metrics();
    assert_eq!((metrics.malformed, metrics.unsealed), (1, 1));
    assert_eq!((metrics.of_later_version, metrics.served), (2, 0));
    assert!(listening.heard.lock().is_empty());
    // The same, from a node.
    let asked = client.request(subject, part(&genuine).into());
    asked.await.unwrap();
    assert_eq!(listening.heard.lock().len(), 1);
}

#[tokio::test]
async fn an_answer_of_somebody_else_counts_for_nothing() {
    let nats = NatsServer::start().await;
    let stranger = client_of(&nats).await;
    let subject = commands_to(NODE).unwrap();
    let mut asked = stranger.subscribe(subject).await.unwrap();
    stranger.flush().await.unwrap();
    let answering = tokio::spawn(async move {
        use futures::StreamExt as _;
        let request = asked.next().await.unwrap();
        let reply = request.reply.unwrap();
        stranger
            .publish(reply, "it is stored, believe me".into())
            .await
            .unwrap();
        stranger.flush().await.unwrap();
    });
    let peers = peers(&nats, 1_000).await;
    assert_eq!(
        peers.forward(NODE, submission("short")).await,
        Err(PeerError::Silent)
    );
    answering.await.unwrap();
}

#[tokio::test]
async fn without_nats_no_node_responds_and_with_it_again_they_do() {
    let mut nats = NatsServer::start().await;
    let (_client, _listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 1_000).await;
    nats.kill();
    let mut refused = peers.forward(NODE, submission("short")).await;
    // The very first may still be sent into a connection that is not known to be gone.
    if refused == Err(PeerError::Silent) {
        refused = peers.forward(NODE, submission("short")).await;
    }
    assert_eq!(refused, Err(PeerError::NoResponders));
    nats.resume().await;
    for _ in 0..1_000 {
        if peers.forward(NODE, submission("short")).await == Ok(answered()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the nodes do not find one another again");
}
