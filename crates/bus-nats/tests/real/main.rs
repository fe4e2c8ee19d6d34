//! The bus against a real nats-server.

mod conformance;
mod dropped;
mod ends;
mod news;
mod outages;
mod peers;
mod secured;
mod versions;

use sillok_bus_nats::{Client, NatsConfig, connect};
use sillok_nats_server::NatsServer;

/// How to reach a server.
fn config_of(server: &NatsServer) -> NatsConfig {
    NatsConfig {
        servers: server.url(),
        ..NatsConfig::default()
    }
}

/// A connection that is there.
async fn client_of(server: &NatsServer) -> Client {
    let client = connect(&config_of(server), "test").await;
    let client = client.expect("it can be used");
    client.flush().await.expect("it answers");
    client
}
