//! A cluster: nodes that are processes of their own, on one store, with a real nats-server between them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use sillok_foundationdb_server::FoundationDb;
use sillok_nats_server::{NatsServer, Way};
use tempfile::TempDir;

use super::binary::{self, Invocation, Ran};
use super::http::Client;
use super::server::{Launch, Server};

/// The key that the nodes know one another by.
const KEY: &str = "7bd0e25ed3bba8f6c1d8b9a07c5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e";
/// The administrator's token, and the key that secrets of others are derived from.
const TOKEN: &str = "slk_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const TOKEN_KEY: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
/// The longest that the store may take to be served.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running cluster. Its processes end with it.
pub(crate) struct Cluster {
    nodes: BTreeMap<String, Option<Server>>,
    nats: NatsServer,
    /// The way of each node to NATS.
    ways: BTreeMap<String, Way>,
    store: Store,
    /// Variables of every node beyond those that all clusters have.
    settings: Vec<(&'static str, &'static str)>,
    folder: TempDir,
}

/// What the nodes share.
enum Store {
    /// The embedded store, served at a socket by a process that is there unless it was killed.
    Socket(Option<Child>),
    /// A real FoundationDB, of which each test has its own, and the binary that was built with it.
    FoundationDb(FoundationDb, PathBuf),
}

impl Cluster {
    /// A cluster of nodes with these names.
    pub(crate) async fn start(names: &[&str]) -> Self {
        Self::start_with(names, &[]).await
    }

    /// As [`start`](Self::start), with variables of the environment.
    pub(crate) async fn start_with(
        names: &[&str],
        settings: &[(&'static str, &'static str)],
    ) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        for (name, text) in [("key", KEY), ("token", TOKEN), ("token.key", TOKEN_KEY)] {
            std::fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let store = match binary::with_foundationdb() {
            Some(binary) => Store::FoundationDb(FoundationDb::start(), binary),
            None => Store::Socket(Some(serve_store(folder.path()).await)),
        };
        let nats = NatsServer::start().await;
        let mut ways = BTreeMap::new();
        for name in names {
            ways.insert((*name).to_owned(), nats.way().await);
        }
        let mut cluster = Self {
            nodes: names
                .iter()
                .map(|name| ((*name).to_owned(), None))
                .collect(),
            nats,
            ways,
            store,
            settings: settings.to_vec(),
            folder,
        };
        for name in names {
            cluster.start_node(name).await;
        }
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the store that all nodes share again.
    pub(crate) async fn start_store(&mut self) {
        match &mut self.store {
            Store::FoundationDb(server, _) => server.resume(),
            Store::Socket(served) => {
                assert!(served.is_none(), "it is served already");
                *served = Some(serve_store(self.folder.path()).await);
            }
        }
    }

    /// Kills the store's process: what it acknowledged lies on the disk.
    pub(crate) fn kill_store(&mut self) {
        match &mut self.store {
            Store::FoundationDb(server, _) => server.kill(),
            Store::Socket(served) => end(served.take().expect("it is served")),
        }
    }

    /// The nats-server.
    pub(crate) fn nats(&mut self) -> &mut NatsServer {
        &mut self.nats
    }

    /// The way of a node to NATS.
    pub(crate) fn way(&self, name: &str) -> &Way {
        &self.ways[name]
    }

    /// Starts a node, on the data directory that it had.
    pub(crate) async fn start_node(&mut self, name: &str) {
        let launch = self.launch(name);
        let node = launch.start().await;
        let before = self.nodes.insert(name.to_owned(), Some(node));
        assert!(before.flatten().is_none(), "it runs already");
    }

    /// How a node is started.
    pub(crate) fn launch(&self, name: &str) -> Launch {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let data = self.path(&format!("data-{name}"));
        let token = self.path("token");
        let nats = self
            .ways
            .get(name)
            .map_or_else(|| self.nats.url(), Way::url);
        let launch = match &self.store {
            Store::Socket(_) => Launch::node(&data, &socket(self.folder.path()), &token),
            Store::FoundationDb(server, binary) => {
                let named_by = server.cluster_file();
                Launch::node_on_foundationdb(binary, &data, &named_by, &token)
            }
        };
        let settings = self.settings.iter();
        settings
            .fold(launch, |launch, (name, value)| launch.env(name, value))
            .env("SILLOK__NODE__NAME", name)
            .env("SILLOK__INDEX__ENGINE", "exact")
            .env("SILLOK__NATS__SERVERS", &nats)
            .env("SILLOK__NATS__KEY_FILE", &text(&self.path("key")))
            .env(
                "SILLOK__SERVER__TOKEN_KEY_FILE",
                &text(&self.path("token.key")),
            )
    }

    /// A node, which must be running.
    pub(crate) fn node(&self, name: &str) -> &Server {
        let node = self.nodes[name].as_ref();
        node.expect("the test has not stopped it")
    }

    /// A client of a node with the administrator's token.
    pub(crate) fn admin(&self, name: &str) -> Client {
        self.node(name).admin()
    }

    /// Runs the binary, with the administrator's token, against a node. Nothing in the line is quoted.
    pub(crate) fn sillok(&self, name: &str, line: &str) -> Ran {
        Invocation::new(&self.path("home"), binary::words(line))
            .env("SILLOK_URL", self.node(name).base())
            .env("SILLOK_TOKEN", TOKEN)
            .run()
    }

    /// Kills a node.
    pub(crate) fn kill(&mut self, name: &str) {
        self.take(name).kill();
    }

    /// Asks a node to stop, and waits until it has done so in order.
    pub(crate) fn stop(&mut self, name: &str) {
        let node = self.take(name);
        node.signal("TERM");
        node.stopped();
    }

    /// Waits for the end of a node that ends by itself: its status, and what it said.
    pub(crate) fn ended(&mut self, name: &str) -> (ExitStatus, String) {
        let mut node = self.take(name);
        let status = node.ends_within(PATIENCE);
        let status = status.unwrap_or_else(|| panic!("it goes on: {}", node.said()));
        (status, node.said())
    }

    fn take(&mut self, name: &str) -> Server {
        let node = self.nodes.get_mut(name).and_then(Option::take);
        node.expect("the test has not stopped it")
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
