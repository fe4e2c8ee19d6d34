//! A cluster: nodes that are processes of their own, on one store, with a real nats-server between them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use sillok_foundationdb_server::FoundationDb;
use sillok_nats_server::NatsServer;
use sillok_test_way::Way;
use tempfile::TempDir;

use crate::binary;
use crate::process::{Launch, Server};

/// The key that the nodes know one another by.
const KEY: &str = "7bd0e25ed3bba8f6c1d8b9a07c5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e";
/// The administrator's token, and the key that secrets of others are derived from.
const TOKEN: &str = "slk_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const TOKEN_KEY: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
/// The longest that the store may take to be served.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running cluster. Its processes end with it.
pub struct Cluster {
    nodes: BTreeMap<String, Option<Server>>,
    nats: NatsServer,
    /// The way of each node to NATS, where there are any.
    ways: BTreeMap<String, Way>,
    /// The way of each node to the store at a socket, where there are any.
    store_ways: BTreeMap<String, Way>,
    store: Store,
    /// Variables of every node beyond those that all clusters have.
    settings: Vec<(&'static str, &'static str)>,
    folder: TempDir,
}

/// What the nodes share.
enum Store {
    /// The embedded store, served at a socket by a process that is there unless it was killed.
    Socket(Option<Child>),
    /// A real FoundationDB, of which each cluster has its own, and the binary that was built with it.
    FoundationDb(FoundationDb, PathBuf),
}

impl Cluster {
    /// A cluster of nodes with these names, whose files lie in a folder of its own, with variables of the
    /// environment.
    ///
    /// # Panics
    /// If any of it does not come up.
    pub async fn start_in(
        folder: TempDir,
        names: &[&str],
        settings: &[(&'static str, &'static str)],
    ) -> Self {
        let cluster = Self::without_nodes(folder, settings).await;
        cluster.with_nodes(names).await
    }

    /// As [`start_in`](Self::start_in), where each node has ways of its own to NATS and to the store at a
    /// socket that can be cut.
    ///
    /// # Panics
    /// If any of it does not come up.
    pub async fn start_over_ways(
        folder: TempDir,
        names: &[&str],
        settings: &[(&'static str, &'static str)],
    ) -> Self {
        let mut cluster = Self::without_nodes(folder, settings).await;
        for name in names {
            let way = Way::to(cluster.nats.port()).await;
            cluster.ways.insert((*name).to_owned(), way);
            if let Store::Socket(_) = cluster.store {
                let from = cluster.path(&format!("way-{name}"));
                let way = Way::between(&from, &socket(cluster.folder.path()));
                cluster.store_ways.insert((*name).to_owned(), way);
            }
        }
        cluster.with_nodes(names).await
    }

    async fn without_nodes(folder: TempDir, settings: &[(&'static str, &'static str)]) -> Self {
        for (name, text) in [("key", KEY), ("token", TOKEN), ("token.key", TOKEN_KEY)] {
            std::fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let store = match binary::with_foundationdb() {
            Some(binary) => Store::FoundationDb(FoundationDb::start(), binary),
            None => Store::Socket(Some(serve_store(folder.path()).await)),
        };
        Self {
            nodes: BTreeMap::new(),
            nats: NatsServer::start().await,
            ways: BTreeMap::new(),
            store_ways: BTreeMap::new(),
            store,
            settings: settings.to_vec(),
            folder,
        }
    }

    async fn with_nodes(mut self, names: &[&str]) -> Self {
        for name in names {
            self.start_node(name).await;
        }
        self
    }

    /// A path in the folder of the cluster.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file with the key that the nodes know one another by.
    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.path("key")
    }

    /// The administrator's token.
    #[must_use]
    pub const fn token(&self) -> &'static str {
        TOKEN
    }

    /// Starts the store that all nodes share again.
    ///
    /// # Panics
    /// If it is served, or does not come up.
    pub async fn start_store(&mut self) {
        match &mut self.store {
            Store::FoundationDb(server, _) => server.resume(),
            Store::Socket(served) => {
                assert!(served.is_none(), "it is served already");
                *served = Some(serve_store(self.folder.path()).await);
            }
        }
    }

    /// Kills the store's process: what it acknowledged lies on the disk.
    ///
    /// # Panics
    /// If it is not served.
    pub fn kill_store(&mut self) {
        match &mut self.store {
            Store::FoundationDb(server, _) => server.kill(),
            Store::Socket(served) => end(served.take().expect("it is served")),
        }
    }

    /// The nats-server.
    pub const fn nats(&mut self) -> &mut NatsServer {
        &mut self.nats
    }

    /// Where NATS listens, past all ways.
    #[must_use]
    pub fn nats_url(&self) -> String {
        self.nats.url()
    }

    /// The way of a node to NATS.
    ///
    /// # Panics
    /// If it has none of its own.
    #[must_use]
    pub fn way(&self, name: &str) -> &Way {
        &self.ways[name]
    }

    /// The way of a node to the store; none where that is FoundationDB, whose clients keep to the address that
    /// the server names.
    #[must_use]
    pub fn store_way(&self, name: &str) -> Option<&Way> {
        self.store_ways.get(name)
    }

    /// Starts a node, on the data directory that it had.
    ///
    /// # Panics
    /// If it runs, or does not come up.
    pub async fn start_node(&mut self, name: &str) {
        Box::pin(self.start_node_with(name, &[])).await;
    }

    /// As [`start_node`](Self::start_node), with variables of the environment over those of all nodes.
    ///
    /// # Panics
    /// As [`start_node`](Self::start_node).
    pub async fn start_node_with(&mut self, name: &str, settings: &[(&str, &str)]) {
        let launch = self.launch(name);
        let launch = settings
            .iter()
            .fold(launch, |launch, (name, value)| launch.env(name, value));
        self.start_as(name, launch).await;
    }

    /// As [`start_node`](Self::start_node), by another binary than the others, such as that of another release.
    ///
    /// # Panics
    /// As [`start_node`](Self::start_node).
    pub async fn start_node_by(&mut self, name: &str, binary: &Path) {
        let launch = self.launch_by(name, Some(binary));
        self.start_as(name, launch).await;
    }

    async fn start_as(&mut self, name: &str, launch: Launch) {
        let node = launch.start().await;
        let before = self.nodes.insert(name.to_owned(), Some(node));
        assert!(before.flatten().is_none(), "it runs already");
    }

    /// How a node is started.
    #[must_use]
    pub fn launch(&self, name: &str) -> Launch {
        self.launch_by(name, None)
    }

    fn launch_by(&self, name: &str, binary: Option<&Path>) -> Launch {
        let data = self.path(&format!("data-{name}"));
        let token = self.path("token");
        let over = |way: &Way| format!("nats://{}", way.begins().display());
        let nats = self.ways.get(name).map_or_else(|| self.nats.url(), over);
        let launch = match &self.store {
            Store::Socket(_) => {
                let own = self.store_way(name).map(|way| way.begins().to_owned());
                let socket = own.unwrap_or_else(|| socket(self.folder.path()));
                let ours = || binary::of_tests("sillok-test-node");
                let binary = binary.map_or_else(ours, Path::to_owned);
                Launch::node(&binary, &data, &socket, &token)
            }
            Store::FoundationDb(server, ours) => {
                let (binary, named_by) = (binary.unwrap_or(ours), server.cluster_file());
                Launch::node_on_foundationdb(binary, &data, &named_by, &token)
            }
        };
        // Unless a test sets it: most are not about the index, and start sooner without its tables.
        let launch = launch.env("SILLOK__INDEX__ENGINE", "exact");
        let settings = self.settings.iter();
        settings
            .fold(launch, |launch, (name, value)| launch.env(name, value))
            .env("SILLOK__NODE__NAME", name)
            .env("SILLOK__NATS__SERVERS", nats)
            .env("SILLOK__NATS__KEY_FILE", self.key_file())
            .env("SILLOK__SERVER__TOKEN_KEY_FILE", self.path("token.key"))
    }

    /// A node, which must be running.
    ///
    /// # Panics
    /// If it was stopped.
    #[must_use]
    pub fn node(&self, name: &str) -> &Server {
        let node = self.nodes[name].as_ref();
        node.expect("nobody has stopped it")
    }

    /// Kills a node.
    ///
    /// # Panics
    /// If it was stopped before.
    pub fn kill(&mut self, name: &str) {
        self.take(name).kill();
    }

    /// Asks a node to stop, and waits until it has done so in order.
    ///
    /// # Panics
    /// If it does not.
    pub fn stop(&mut self, name: &str) {
        let node = self.take(name);
        node.signal("TERM");
        node.stopped();
    }

    /// Waits for the end of a node that ends by itself: its status, and what it said.
    ///
    /// # Panics
    /// If it goes on.
    pub fn ended(&mut self, name: &str) -> (ExitStatus, String) {
        let mut node = self.take(name);
        let status = node.ends_within(PATIENCE);
        let status = status.unwrap_or_else(|| panic!("it goes on: {}", node.said()));
        (status, node.said())
    }

    /// A node that must be running, for whoever stops it.
    ///
    /// # Panics
    /// If it was stopped.
    #[must_use]
    pub fn take(&mut self, name: &str) -> Server {
        let node = self.nodes.get_mut(name).and_then(Option::take);
        node.expect("nobody has stopped it")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nodes first: a node without its store would only wait.
        self.nodes.clear();
        if let Store::Socket(served) = &mut self.store
            && let Some(served) = served.take()
        {
            end(served);
        }
    }
}

/// Where the store of a folder is served.
fn socket(folder: &Path) -> PathBuf {
    folder.join("socket")
}

/// Starts the process that serves the embedded store of a folder.
async fn serve_store(folder: &Path) -> Child {
    let socket = socket(folder);
    let child = Command::new(binary::of_tests("sillok-test-store"))
        .arg(folder.join("store"))
        .arg(&socket)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let child = child.expect("the store can be started");
    let started = Instant::now();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(started.elapsed() < PATIENCE, "nobody serves the store");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child
}

fn end(mut child: Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}
