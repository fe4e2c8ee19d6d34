//! Messages that come faster than they are taken.

use core::time::Duration;
use std::time::Instant;

use futures::StreamExt as _;
use sillok_bus_nats::{Counts, connect_counting};
use sillok_nats_server::NatsServer;

use super::secured::Log;
use super::{client_of, config_of};

/// Messages that wait for one listener.
const WAITING: usize = 1_024;
/// Messages too many. NATS' client keeps word of 128 at once.
const TOO_MANY: usize = 50;
/// The longest that they may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn what_is_dropped_for_a_listener_that_takes_nothing_is_counted_and_said_once() {
    let log = Log::begin();
    let nats = NatsServer::start().await;
    let counts = Counts::default();
    let client = connect_counting(&config_of(&nats), "test", &counts).await;
    let client = client.expect("it can be used");
    let mut heard = client.subscribe("a.subject").await.expect("it is open");
    client.flush().await.expect("it answers");
    let other = client_of(&nats).await;
    for number in 0..WAITING + TOO_MANY {
        let word = number.to_string();
        let sent = other.publish("a.subject", word.into()).await;
        sent.expect("it is open");
    }
    other.flush().await.expect("it answers");
    let begun = Instant::now();
    while counts.dropped() < TOO_MANY as u64 {
        assert!(begun.elapsed() < PATIENCE, "{}", counts.dropped());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(counts.dropped(), TOO_MANY as u64);
    let said = log.text();
    assert_eq!(said.matches("are dropped").count(), 1, "{said}");
    // What had come before is there, and what comes later is heard.
    for number in 0..WAITING {
        let word = heard.next().await.expect("it stays open");
        assert_eq!(word.payload, number.to_string());
    }
    other.publish("a.subject", "later".into()).await.unwrap();
    let word = tokio::time::timeout(PATIENCE, heard.next()).await;
    assert_eq!(word.expect("it comes").unwrap().payload, "later");
}
