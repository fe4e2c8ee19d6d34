//! Tests of reading a stream that changes between two requests.

use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_nats_server::NatsServer;

use super::*;

fn message(counter: u64) -> Message {
    let scope = Scope::parse("org/acme/project/api").unwrap();
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

/// A stream that was told this many messages of one slot.
async fn told(server: &NatsServer, messages: u64) -> NatsStream {
    let config = NatsConfig {
        servers: server.url(),
        ..NatsConfig::default()
    };
    let client = crate::connect(&config, "test").await.unwrap();
    client.flush().await.unwrap();
    let stream = NatsStream::new(client, &config, ClusterKey::new(&[1; 32]), Channel::Events);
    for counter in 1..=messages {
        let told = stream.append(message(counter), counter - 1).await;
        assert_eq!(told, Ok(counter));
    }
    stream
}

#[tokio::test]
async fn what_ages_while_it_is_read_is_no_hole() {
    let server = NatsServer::start().await;
    let stream = told(&server, 9).await;
    let (held, state) = stream.look().await.unwrap();
    held.purge().keep(2).await.unwrap();
    let page = stream.read(&held, state, 3, 64).await.unwrap();
    assert_eq!(page.holes, [hole(3, 7, None)]);
    let (_, later) = stream.look().await.unwrap();
    let page = without_aged(page, later);
    assert_eq!((page.stream.first, page.holes), (8, vec![]));
    assert_eq!(page.messages.len(), 2);
    // Whoever reads on is told that there is something to look for in the store.
    let mut follower = sillok_bus::Follower::default();
    let read = |seq: u64| Numbered {
        seq,
        stored_ns: seq,
        message: message(seq),
    };
    follower.read(&Page {
        stream: state,
        messages: (1..=3).map(read).collect(),
        holes: Vec::new(),
    });
    let page = stream.page(follower.from(), 64).await.unwrap();
    assert_eq!(
        follower.look(&page),
        sillok_bus::follower::Look::AgedOut,
        "{page:?}"
    );
}

#[tokio::test]
async fn what_was_read_of_another_stream_is_nothing() {
    let server = NatsServer::start().await;
    let stream = told(&server, 3).await;
    let (held, state) = stream.look().await.unwrap();
    let page = stream.read(&held, state, 0, 64).await.unwrap();
    stream.context.delete_stream(stream.name()).await.unwrap();
    let (_, later) = stream.look().await.unwrap();
    assert_ne!(state.created, later.created);
    let page = without_aged(page, later);
    assert_eq!((page.messages, page.stream.last), (vec![], 0));
}

#[tokio::test]
async fn numbers_where_nothing_lies_any_more_are_passed_at_once() {
    let server = NatsServer::start().await;
    let stream = told(&server, 1).await;
    let (held, _) = stream.look().await.unwrap();
    let slot = Slot::new(message(1).slot.number() ^ 1).unwrap();
    let mut last = 0;
    for counter in 1..=300 {
        let other = Message {
            slot,
            ..message(counter)
        };
        last = stream.append(other, last).await.unwrap();
    }
    held.purge()
        .filter(subject::of_slot(Channel::Events, slot))
        .await
        .unwrap();
    let page = stream.page(1, 2).await.unwrap();
    assert_eq!(page.messages.len(), 1);
    assert_eq!(page.holes, [hole(2, 301, None)]);
    assert_eq!(stream.append(message(2), 1).await, Ok(302));
    let page = stream.page(1, 2).await.unwrap();
    let numbers: Vec<u64> = page.messages.iter().map(|held| held.seq).collect();
    assert_eq!(
        (numbers, page.holes),
        (vec![1, 302], vec![hole(2, 301, None)])
    );
}

#[tokio::test]
async fn what_is_recognised_and_gone_is_told_all_the_same() {
    let server = NatsServer::start().await;
    let stream = told(&server, 2).await;
    let (held, _) = stream.look().await.unwrap();
    let subject = subject::of_slot(Channel::Events, message(1).slot);
    held.purge().filter(subject).await.unwrap();
    assert_eq!(stream.append(message(1), 0).await, Ok(3));
    assert_eq!(stream.append(message(2), 3).await, Ok(4));
}

#[tokio::test]
async fn what_no_node_wrote_there_is_counted_once_however_often_it_is_read() {
    let server = NatsServer::start().await;
    let counts = Counts::default();
    let stream = told(&server, 2).await.counting(counts.clone());
    let slot = message(1).slot;
    let other = Slot::new(slot.number() ^ 1).unwrap();
    let sealed =
        |key: u8, channel| seal_message(&ClusterKey::new(&[key; 32]), channel, &message(2));
    let forged = [
        (slot, b"junk".to_vec()),
        (slot, Vec::new()),
        (slot, sealed(2, Channel::Events)),
        (slot, sealed(1, Channel::Log)),
        // Genuine, but for the place.
        (other, sealed(1, Channel::Events)),
    ];
    for (slot, bytes) in forged {
        let subject = subject::of_slot(Channel::Events, slot);
        let told = stream.context.publish(subject, bytes.into()).await.unwrap();
        told.await.unwrap();
    }
    let foreign = || counts.foreign(What::Message(Channel::Events));
    for _ in 0..2 {
        assert_eq!(stream.end_of(slot).await.unwrap().last, None);
        assert_eq!(stream.end_of(other).await.unwrap().last, None);
        assert_eq!(foreign(), 2, "the ends of two slots");
    }
    for _ in 0..2 {
        let page = stream.page(1, 64).await.unwrap();
        assert_eq!((page.messages.len(), page.holes.len()), (2, 5));
        assert_eq!(foreign(), 5);
    }
    assert_eq!(counts.foreign(What::Message(Channel::Log)), 0);
    // A genuine one goes behind it.
    assert_eq!(stream.append(message(3), 6).await, Ok(8));
}

#[tokio::test]
async fn a_stream_of_somebody_else_is_named() {
    let server = NatsServer::start().await;
    let stream = told(&server, 1).await;
    stream.context.delete_stream(stream.name()).await.unwrap();
    let theirs = Config {
        name: stream.name().to_owned(),
        subjects: vec!["orders.>".to_owned()],
        ..Config::default()
    };
    stream.context.create_stream(theirs).await.unwrap();
    for refused in [
        stream.append(message(1), 0).await.unwrap_err(),
        stream.end_of(message(1).slot).await.unwrap_err(),
    ] {
        assert!(refused.to_string().contains("not Sillok's"), "{refused}");
    }
}

#[tokio::test]
async fn a_changed_configuration_reaches_the_stream_that_is_there() {
    let server = NatsServer::start().await;
    let stream = told(&server, 1).await;
    let (_, before) = stream.look().await.unwrap();
    let config = NatsConfig {
        stream_max_age_s: 3_600,
        stream_duplicate_window_s: 60,
        ..NatsConfig::default()
    };
    let again = NatsStream::new(
        stream.client.clone(),
        &config,
        ClusterKey::new(&[1; 32]),
        Channel::Events,
    );
    again.look().await.unwrap();
    let (held, after) = again.look().await.unwrap();
    assert_eq!((after.created, after.last), (before.created, before.last));
    assert_eq!(after.keeps_ms, 3_600_000);
    let window = held.cached_info().config.duplicate_window;
    assert_eq!(window, Duration::from_secs(60));
    // The other node has had its way once and gives way now.
    let (_, other) = stream.look().await.unwrap();
    assert_eq!(other.keeps_ms, 3_600_000);
}
