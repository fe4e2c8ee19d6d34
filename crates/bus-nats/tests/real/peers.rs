//! Commands from node to node, and what others send to a node.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::{FutureExt as _, StreamExt as _};
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use sillok_bus::parts::split;
use sillok_bus::subject::commands_to;
use sillok_bus::wire::{
    Call, ClusterKey, Handover, Moment, Reply, Request, VERSION, open_reply, seal_request,
};
use sillok_bus_nats::server::ListenError;
use sillok_bus_nats::{Client, Counts, NatsConfig, NatsPeers, Server, What};
use sillok_core::command::{Answer, AnswerBody, Command, Submission};
use sillok_core::entry::Metadata;
use sillok_core::id::{Attempt, CommandId, Seq};
use sillok_core::ports::{Forwarded, PeerError, Peers};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};
use sillok_core::time::Timestamp;

use sillok_nats_server::NatsServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{client_of, config_of};

pub(crate) const NODE: &str = "node-1";

pub(crate) fn submission(content: &str) -> Arc<Submission> {
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

pub(crate) fn answered() -> Forwarded {
    Forwarded::Answered(Answer {
        seq: Seq::new(7),
        time: Timestamp::from_ms(9),
        result: AnswerBody::Done,
    })
}

pub(crate) fn key() -> ClusterKey {
    ClusterKey::new(&[1; 32])
}

/// A node that remembers what it was handed, answers, takes its time if somebody says "slow", does not own
/// what says "elsewhere", and never answers whoever says "hang".
pub(crate) struct Listening {
    server: Server,
    counts: Counts,
    pub(crate) heard: Arc<Mutex<Vec<Arc<Submission>>>>,
    pub(crate) run: JoinHandle<Result<(), ListenError>>,
    pub(crate) ends: oneshot::Sender<()>,
}

pub(crate) async fn listen(nats: &NatsServer, peer_commands: usize) -> (Client, Listening) {
    let config = NatsConfig {
        peer_commands,
        ..config_of(nats)
    };
    listen_with(nats, &config).await
}

pub(crate) async fn listen_with(nats: &NatsServer, config: &NatsConfig) -> (Client, Listening) {
    let client = client_of(nats).await;
    let heard: Arc<Mutex<Vec<Arc<Submission>>>> = Arc::default();
    let hears = Arc::clone(&heard);
    let server = Server::new(
        client.clone(),
        config,
        key(),
        Arc::new(move |given, _| {
            let hangs = given == submission("hang");
            let is_slow = given == submission("slow");
            let is_elsewhere = given == submission("elsewhere");
            hears.lock().push(given);
            Box::pin(async move {
                if is_slow {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                if hangs {
                    std::future::pending::<()>().await;
                }
                if is_elsewhere {
                    return Forwarded::NotOwner;
                }
                answered()
            })
        }),
    );
    let counts = Counts::default();
    let server = server.counting(counts.clone());
    let (ends, ended) = oneshot::channel();
    let run = server.clone().run(NODE, ended.map(drop));
    let run = tokio::spawn(run);
    // The subscription is there once the server has answered behind it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.flush().await.expect("it answers");
    let listening = Listening {
        server,
        counts,
        heard,
        run,
        ends,
    };
    (client, listening)
}

/// A request, as it goes over the bus.
fn message_of(key: &ClusterKey, call: &Call, request: &Request) -> Vec<u8> {
    let whole = seal_request(key, call, request, None, VERSION).0;
    split(key, call, &whole, 1 << 19)
        .expect("it is there")
        .remove(0)
}

/// What a node answers, should it answer soon.
async fn answer_to(client: &Client, message: Vec<u8>) -> Option<Vec<u8>> {
    let asked = client.request(commands_to(NODE).expect("it is there"), message.into());
    let answer = tokio::time::timeout(Duration::from_millis(100), asked).await;
    Some(answer.ok()?.expect("somebody listens").payload.to_vec())
}

/// What a node replies to a request.
async fn reply_to(client: &Client, call: &Call, request: &Request) -> Option<Reply> {
    let seal = seal_request(&key(), call, request, None, VERSION).1;
    let answer = answer_to(client, message_of(&key(), call, request)).await?;
    Some(open_reply(&key(), &seal, &answer).expect("it is there"))
}

/// The moment that it is at a node.
async fn moment(client: &Client) -> Moment {
    let reply = reply_to(client, &[1; 16], &Request::Moment)
        .await
        .expect("it is there");
    assert_eq!(reply.forwarded, None);
    reply.now
}

fn command(at: Moment, wait_ms: u32) -> Request {
    Request::Command(Handover {
        at,
        wait_ms,
        submission: submission("short"),
    })
}

pub(crate) async fn peers(nats: &NatsServer, wait_ms: u32) -> NatsPeers {
    let config = NatsConfig {
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
            peers.forward(NODE, Arc::clone(&given), None).await,
            Ok(answered())
        );
        assert_eq!(listening.heard.lock().pop(), Some(given));
    }
    assert_eq!(listening.server.metrics().served, 2);
}

#[tokio::test]
async fn a_command_that_came_to_another_node_than_the_owner_is_counted_as_that() {
    let nats = NatsServer::start().await;
    let (_client, listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 10_000).await;
    for (content, answer) in [
        ("elsewhere", Forwarded::NotOwner),
        ("short", answered()),
        ("elsewhere", Forwarded::NotOwner),
    ] {
        let replied = peers.forward(NODE, submission(content), None).await;
        assert_eq!(replied, Ok(answer));
    }
    let metrics = listening.server.metrics();
    assert_eq!((metrics.served, metrics.not_owner), (1, 2));
    let mut registry = Registry::default();
    listening.server.register_metrics(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    let counted = "bus_requests_total{outcome=\"not_owner\"} 2";
    assert!(text.contains(counted), "{text}");
}

#[tokio::test]
async fn nobody_of_that_name_and_nobody_in_time_are_told_apart() {
    let nats = NatsServer::start().await;
    let (_client, _listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 200).await;
    let given = submission("short");
    for nobody in ["node-2", "not a token", ""] {
        let refused = peers.forward(nobody, Arc::clone(&given), None).await;
        assert_eq!(refused, Err(PeerError::NoResponders), "{nobody:?}");
    }
    assert_eq!(
        peers.forward(NODE, submission("hang"), None).await,
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
        async move { peers.forward(NODE, submission("hang"), None).await }
    });
    while listening.heard.lock().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    match peers.forward(NODE, submission("short"), None).await {
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
    let call = [5; 16];
    let request = command(moment(&client).await, 500);
    let (stranger, whole) = (
        ClusterKey::new(&[2; 32]),
        seal_request(&key(), &call, &request, None, VERSION).0,
    );
    let sealed_by =
        |key: &ClusterKey, whole: &[u8]| split(key, &call, whole, 1 << 19).unwrap().remove(0);
    let mut later = whole.clone();
    later[0] = VERSION + 1;
    for sent in [
        b"junk".to_vec(),
        message_of(&stranger, &call, &request),
        sealed_by(&stranger, &whole),
        sealed_by(&key(), &later),
        sealed_by(&key(), b"short"),
    ] {
        assert_eq!(answer_to(&client, sent).await, None);
    }
    let metrics = listening.server.metrics();
    assert_eq!((metrics.malformed, metrics.unsealed), (1, 2));
    assert_eq!((metrics.of_later_version, metrics.served), (2, 0));
    // What a node wrote in a later version is no stranger's.
    assert_eq!(listening.counts.foreign(What::Request), 3);
    assert!(listening.heard.lock().is_empty());
    // The same, from a node.
    let reply = reply_to(&client, &call, &request).await.unwrap();
    assert_eq!(reply.forwarded, Some(answered()));
    assert_eq!(listening.heard.lock().len(), 1);
}

#[tokio::test]
async fn what_is_sent_again_is_not_begun_again() {
    let nats = NatsServer::start().await;
    let (client, listening) = listen(&nats, 100).await;
    let at = moment(&client).await;
    let recorded = message_of(&key(), &[5; 16], &command(at, 500));
    assert!(answer_to(&client, recorded.clone()).await.is_some());
    for _ in 0..3 {
        assert_eq!(answer_to(&client, recorded.clone()).await, None);
    }
    assert_eq!(listening.heard.lock().len(), 1);
    assert_eq!(listening.server.metrics().repeated, 3);
    // Nor is it once the call is forgotten: by then it is late.
    tokio::time::sleep(Duration::from_millis(1_600)).await;
    assert!(answer_to(&client, recorded).await.is_some());
    assert_eq!(listening.heard.lock().len(), 1);
    assert_eq!(listening.server.metrics().late, 1);
}

#[tokio::test]
async fn what_comes_after_its_caller_gave_up_is_not_begun() {
    let nats = NatsServer::start().await;
    let (client, listening) = listen(&nats, 100).await;
    let now = moment(&client).await;
    let other_run = Moment {
        run: [9; 16],
        ..now
    };
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for (number, at) in [(6, now), (7, other_run)] {
        let reply = reply_to(&client, &[number; 16], &command(at, 50)).await;
        let reply = reply.expect("it is told the moment");
        assert_eq!((reply.now.run, reply.forwarded), (now.run, None));
    }
    assert!(listening.heard.lock().is_empty());
    assert_eq!(listening.server.metrics().late, 2);
    let reply = reply_to(&client, &[8; 16], &command(moment(&client).await, 50)).await;
    assert_eq!(reply.unwrap().forwarded, Some(answered()));
}

#[tokio::test]
async fn a_node_that_starts_anew_is_handed_commands_at_once() {
    let nats = NatsServer::start().await;
    let (_client, before) = listen(&nats, 100).await;
    let peers = peers(&nats, 1_000).await;
    let given = submission("short");
    assert_eq!(
        peers.forward(NODE, Arc::clone(&given), None).await,
        Ok(answered())
    );
    before.run.abort();
    let (_other, after) = listen(&nats, 100).await;
    assert_eq!(peers.forward(NODE, given, None).await, Ok(answered()));
    assert_eq!(
        (before.heard.lock().len(), after.heard.lock().len()),
        (1, 1)
    );
    assert_eq!(after.server.metrics().late, 1);
}

#[tokio::test]
async fn a_command_that_is_too_large_is_refused_as_that() {
    let nats = NatsServer::start().await;
    let (_client, listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 5_000).await;
    let large = submission(&"x".repeat(25 << 20));
    match peers.forward(NODE, large, None).await {
        Ok(Forwarded::Refused(error)) => assert_eq!(error.code.as_str(), "too_large"),
        other => panic!("{other:?}"),
    }
    assert!(listening.heard.lock().is_empty());
}

/// Answers whatever a node is asked, before the node does, with these bytes on the wire.
async fn forge(nats: &NatsServer, answer: impl Fn(&str) -> String + Send + 'static) {
    let stranger = client_of(nats).await;
    let mut asked = stranger
        .subscribe(commands_to(NODE).expect("it is there"))
        .await
        .expect("it is there");
    stranger.flush().await.expect("it is there");
    let address = nats.url().replace("nats://", "");
    let mut wire = TcpStream::connect(address).await.expect("it is there");
    let hello = b"CONNECT {\"headers\":true,\"no_responders\":true}\r\n";
    wire.write_all(hello).await.expect("it is there");
    let mut said = String::new();
    while !said.contains("+OK") {
        let mut bytes = [0; 1_024];
        let read = wire.read(&mut bytes).await.expect("it is there");
        said.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    tokio::spawn(async move {
        while let Some(request) = asked.next().await {
            if let Some(reply) = request.reply {
                wire.write_all(answer(&reply).as_bytes())
                    .await
                    .expect("it is there");
            }
        }
    });
}

#[tokio::test]
async fn what_somebody_else_answers_is_passed_over() {
    let nats = NatsServer::start().await;
    let (_client, _listening) = listen(&nats, 100).await;
    forge(&nats, |reply| format!("PUB {reply} 4\r\njunk\r\n")).await;
    let counts = Counts::default();
    let peers = peers(&nats, 5_000).await.counting(counts.clone());
    for content in ["slow", "short", "slow"] {
        assert_eq!(
            peers.forward(NODE, submission(content), None).await,
            Ok(answered())
        );
    }
    // A genuine answer to the others may have come first. The slow ones are also looked at meanwhile.
    let foreign = counts.foreign(What::Reply);
    assert!((2..=16).contains(&foreign), "{foreign}");
}

#[tokio::test]
async fn that_nobody_listens_is_not_believed_of_a_command_that_was_sent() {
    let nats = NatsServer::start().await;
    let (_client, listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 5_000).await;
    assert_eq!(
        peers.forward(NODE, submission("short"), None).await,
        Ok(answered())
    );
    let status = "NATS/1.0 503\r\n\r\n";
    let forged = move |reply: &str| {
        let bytes = status.len();
        format!("HPUB {reply} {bytes} {bytes}\r\n{status}\r\n")
    };
    forge(&nats, forged).await;
    assert_eq!(
        peers.forward(NODE, submission("slow"), None).await,
        Err(PeerError::Silent)
    );
    // It is carried out.
    while listening.heard.lock().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A way to a server that can be blocked: what is sent then stays with the sender.
async fn blockable(nats: &NatsServer, is_blocked: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it is there");
    let url = format!("nats://{}", listener.local_addr().expect("it is there"));
    let server = nats.url().replace("nats://", "");
    tokio::spawn(async move {
        let (near, _) = listener.accept().await.expect("it is there");
        let far = TcpStream::connect(server).await.expect("it is there");
        let (mut from_near, mut to_near) = near.into_split();
        let (mut from_far, mut to_far) = far.into_split();
        tokio::spawn(async move {
            let _ = tokio::io::copy(&mut from_far, &mut to_near).await;
        });
        let mut bytes = vec![0; 1 << 16];
        loop {
            while is_blocked.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let read = from_near.read(&mut bytes).await.unwrap_or(0);
            if read == 0 || to_far.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    });
    url
}

#[tokio::test]
async fn a_connection_that_takes_nothing_more_keeps_nobody_waiting_longer() {
    let nats = NatsServer::start().await;
    let (_client, listening) = listen(&nats, 100).await;
    let is_blocked = Arc::new(AtomicBool::new(false));
    let url = blockable(&nats, Arc::clone(&is_blocked)).await;
    let options = async_nats::ConnectOptions::new().client_capacity(1);
    let client = options.connect(url).await.unwrap();
    let config = NatsConfig {
        peer_timeout_ms: 500,
        ..config_of(&nats)
    };
    let peers = NatsPeers::new(client, &config, key());
    assert_eq!(
        peers.forward(NODE, submission("short"), None).await,
        Ok(answered())
    );
    is_blocked.store(true, Ordering::Relaxed);
    let begun = std::time::Instant::now();
    let large = submission(&"x".repeat(20 << 20));
    let asked =
        tokio::time::timeout(Duration::from_secs(5), peers.forward(NODE, large, None)).await;
    // Not all of it was sent, so nothing can have been carried out.
    assert_eq!(asked.expect("it ends"), Err(PeerError::NoResponders));
    assert!(begun.elapsed() < Duration::from_secs(2), "{begun:?}");
    assert_eq!(listening.heard.lock().len(), 1);
}

#[tokio::test]
async fn without_nats_no_node_responds_and_with_it_again_they_do() {
    let mut nats = NatsServer::start().await;
    let (_client, _listening) = listen(&nats, 100).await;
    let peers = peers(&nats, 1_000).await;
    nats.kill();
    let mut refused = peers.forward(NODE, submission("short"), None).await;
    // The very first may still be sent into a connection that is not known to be gone.
    if refused == Err(PeerError::Silent) {
        refused = peers.forward(NODE, submission("short"), None).await;
    }
    assert_eq!(refused, Err(PeerError::NoResponders));
    nats.resume().await;
    for _ in 0..1_000 {
        if peers.forward(NODE, submission("short"), None).await == Ok(answered()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the nodes do not find one another again");
}
