//! A node's beats have a thread of their own: however busy all the rest of its process is, nobody takes it for dead.

use std::path::Path;
use std::time::Duration;

use sillok_nats_server::NatsServer;
use sillok_server::{Config, Server};
use sillok_store::{AnyStore, MemoryConfig, MemoryStore};

/// For how long everything else stands still: several beats, and less than it takes to be found silent.
const STILL: Duration = Duration::from_millis(3_500);
const FIRST_BEAT_LOOKS: usize = 100;

fn config(folder: &Path, nats: &NatsServer) -> Config {
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    let mut config = Config::default();
    config.node.name = "ada".to_owned();
    config.server.address = "127.0.0.1:0".parse().expect("an address");
    config.server.data = folder.join("data");
    let token = format!("slk_{}", "0123456789abcdef".repeat(4));
    config.server.admin_token_file = file("token", &token);
    config.server.token_key_file = file("token.key", &"0f1e2d3c".repeat(8));
    config.nats.servers = nats.url();
    config.nats.key_file = file("key", &"7bd0e25e".repeat(8));
    config
}

#[tokio::test(flavor = "current_thread")]
async fn a_node_beats_while_everything_else_of_its_process_stands_still() {
    let folder = tempfile::tempdir().expect("there is room for a temporary folder");
    let nats = NatsServer::start().await;
    let store = AnyStore::new(MemoryStore::new(MemoryConfig::default()));
    let server = Server::start_shared(config(folder.path(), &nats), store).await;
    let server = server.expect("it has all that it needs");
    let beats = || server.node().metrics().beats;
    for _ in 0..FIRST_BEAT_LOOKS {
        if beats() > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = beats();
    assert!(before > 0, "it beats at all");
    // The one thread of this runtime, on which the whole node runs but for its beats.
    std::thread::sleep(STILL);
    let meanwhile = beats() - before;
    assert!(meanwhile >= 2, "{meanwhile} beats in {STILL:?}");
}
