//! Versions of what nodes ask of one another: what is written, what is read, and the trace that goes along.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sillok_bus_nats::{NatsConfig, NatsPeers, Server};
use sillok_core::membership::WireVersion;
use sillok_core::ports::{PeerError, Peers as _};
use sillok_core::trace::TraceContext;
use sillok_nats_server::NatsServer;

use crate::peers::{NODE, answered, key, submission};
use crate::{client_of, config_of};

type Traces = Arc<Mutex<Vec<Option<TraceContext>>>>;

/// A node that reads up to a version, and keeps the traces that it was handed.
async fn listen(nats: &NatsServer, reads: WireVersion) -> (Server, Traces) {
    let traces = Traces::default();
    let keeping = Arc::clone(&traces);
    let client = client_of(nats).await;
    let handler = move |_, trace| {
        keeping.lock().push(trace);
        Box::pin(async { answered() }) as _
    };
    let server = Server::new(client.clone(), &config_of(nats), key(), Arc::new(handler));
    let server = server.reading(reads);
    let run = server.clone().run(NODE, std::future::pending());
    tokio::spawn(async {
        let _ = run.await;
    });
    // The subscription is there once the server has answered behind it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.flush().await.expect("it answers");
    (server, traces)
}

async fn peers(nats: &NatsServer) -> NatsPeers {
    let config = NatsConfig {
        peer_timeout_ms: 1_000,
        ..config_of(nats)
    };
    NatsPeers::new(client_of(nats).await, &config, key())
}

fn trace() -> Option<TraceContext> {
    TraceContext::new([0xa; 16], [0xb; 8], true)
}

#[tokio::test]
async fn a_trace_goes_along_once_the_second_version_is_spoken() {
    let nats = NatsServer::start().await;
    let (_server, traces) = listen(&nats, WireVersion::NEWEST).await;
    let peers = peers(&nats).await;
    // Before anybody says which version the others read, it is the first.
    for (version, expected) in [
        (None, None),
        (Some(WireVersion::NEWEST), trace()),
        (Some(WireVersion::FIRST), None),
    ] {
        if let Some(version) = version {
            peers.speak(version);
        }
        let forwarded = peers.forward(NODE, submission("short"), trace()).await;
        assert_eq!(forwarded, Ok(answered()));
        assert_eq!(traces.lock().pop(), Some(expected), "{version:?}");
    }
    peers.speak(WireVersion::NEWEST);
    let large = submission(&"x".repeat(4 << 20));
    assert_eq!(peers.forward(NODE, large, trace()).await, Ok(answered()));
    assert_eq!(traces.lock().pop(), Some(trace()), "in parts as well");
}

#[tokio::test]
async fn a_node_reads_no_later_version_than_it_says() {
    let nats = NatsServer::start().await;
    let (server, traces) = listen(&nats, WireVersion::FIRST).await;
    let peers = peers(&nats).await;
    peers.speak(WireVersion::NEWEST);
    let unread = peers.forward(NODE, submission("short"), trace()).await;
    assert_eq!(
        unread,
        Err(PeerError::NoResponders),
        "it is asked the moment first"
    );
    assert!(server.metrics().of_later_version > 1, "again and again");
    assert!(traces.lock().is_empty());
    peers.speak(WireVersion::FIRST);
    let forwarded = peers.forward(NODE, submission("short"), trace()).await;
    assert_eq!(forwarded, Ok(answered()));
    assert_eq!(traces.lock().pop(), Some(None));
}
