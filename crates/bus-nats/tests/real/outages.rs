//! A stream whose server is down, comes back, and comes back empty.

use sillok_bus::stream::StreamError;
use sillok_bus::wire::ClusterKey;
use sillok_bus::{EventStream, Message};
use sillok_bus_nats::{NatsStream, connect};
use sillok_core::channel::Channel;
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

use sillok_nats_server::NatsServer;

use super::{client_of, config_of};

fn message(counter: u64) -> Message {
    let scope = Scope::parse("org/acme/project/api").expect("a scope");
    let stamp = |counter| Stamp {
        generation: 1,
        counter,
        index: 0,
    };
    Message {
        slot: Slot::of(&scope),
        stamp: stamp(counter),
        previous: stamp(counter - 1),
        scope,
        first: Seq::new(counter),
        last: Seq::new(counter),
    }
}

/// Asks until the server is found to be back.
async fn last_of(stream: &NatsStream, slot: Slot) -> Option<Message> {
    for _ in 0..1_000 {
        match stream.end_of(slot).await {
            Ok(end) => return end.last.map(|last| last.message),
            Err(StreamError::Unexpected) => panic!("nothing was expected"),
            Err(_) => tokio::time::sleep(core::time::Duration::from_millis(20)).await,
        }
    }
    panic!("the server is not found again");
}

#[tokio::test]
async fn a_server_that_is_down_is_said_to_be_and_is_found_again_with_all_that_it_held() {
    let mut server = NatsServer::start().await;
    let config = config_of(&server);
    let key = ClusterKey::new(&[1; 32]);
    let stream = NatsStream::new(client_of(&server).await, &config, key, Channel::Events);
    let slot = message(1).slot;
    assert_eq!(stream.end_of(slot).await.unwrap().last, None);
    assert_eq!(stream.append(message(1), 0).await, Ok(1));
    server.kill();
    let refused = stream.append(message(2), 1).await.unwrap_err();
    assert_ne!(refused, StreamError::Unexpected);
    stream.end_of(slot).await.unwrap_err();
    stream.page(1, 10).await.unwrap_err();
    server.resume().await;
    let held = last_of(&stream, slot).await.unwrap();
    // The append that was refused may have been carried out once the server was back.
    let counter = held.stamp.counter;
    assert!((1..=2).contains(&counter), "{held:?}");
    let next = message(counter + 1);
    assert_eq!(stream.append(next, counter).await, Ok(counter + 1));
}

#[tokio::test]
async fn a_stream_is_made_anew_where_all_was_lost() {
    let mut server = NatsServer::start().await;
    let config = config_of(&server);
    let key = ClusterKey::new(&[1; 32]);
    let stream = NatsStream::new(client_of(&server).await, &config, key, Channel::Events);
    let slot = message(1).slot;
    let before = stream.end_of(slot).await.unwrap().stream;
    assert_eq!(stream.append(message(1), 0).await, Ok(1));
    server.wipe();
    server.resume().await;
    assert_eq!(last_of(&stream, slot).await, None);
    let after = stream.end_of(slot).await.unwrap().stream;
    assert_ne!(after.created, before.created);
    assert_eq!(stream.append(message(1), 0).await, Ok(1));
}

#[tokio::test]
async fn a_node_begins_without_a_server_and_finds_it_later() {
    let mut server = NatsServer::start().await;
    let config = config_of(&server);
    server.kill();
    let client = connect(&config, "test").await.unwrap();
    let stream = NatsStream::new(client, &config, ClusterKey::new(&[1; 32]), Channel::Log);
    let slot = message(1).slot;
    assert_eq!(stream.end_of(slot).await, Err(StreamError::NoResponders));
    server.resume().await;
    assert_eq!(last_of(&stream, slot).await, None);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let config = sillok_bus_nats::NatsConfig {
        servers: "nats://127.0.0.1:1".into(),
        nkey_seed_file: "no/such/seed".into(),
        ..Default::default()
    };
    let error = connect(&config, "test").await.unwrap_err();
    assert!(error.to_string().starts_with("no/such/seed: "), "{error}");
}
