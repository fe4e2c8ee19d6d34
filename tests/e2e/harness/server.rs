//! A real `sillok serve` process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sillok_power_loss::Power;

use super::binary;
use super::http::Client;

/// The longest that a server may take to start, or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a server is to be started.
pub(crate) struct Launch {
    command: Command,
    data: PathBuf,
    token: PathBuf,
}

/// A running server. It is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    base: String,
    data: PathBuf,
    token: PathBuf,
    log: PathBuf,
}

impl Launch {
    /// On this data directory, at any free port.
    pub(crate) fn new(data: &Path) -> Self {
        Self::by(Command::new(binary::path()), data)
    }

    /// By a shell that first runs `script`. The server takes the shell's place.
    pub(crate) fn after(script: &str, data: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("{script}; exec \"$@\""))
            .arg("sh")
            .arg(binary::path());
        Self::by(shell, data)
    }

    fn by(command: Command, data: &Path) -> Self {
        let mut command = binary::isolated(command, &beside(data, "home"));
        command
            .args(["serve", "--address", "127.0.0.1:0", "--data"])
            .arg(data);
        Self {
            command,
            data: data.to_owned(),
            token: data.join("admin.token"),
        }
    }

    /// As a node of a cluster on the store at `socket`, whose administrator's token lies in a file.
    pub(crate) fn node(data: &Path, socket: &Path, token: &Path) -> Self {
        let node = Command::new(binary::of_tests("sillok-test-node"));
        let mut command = binary::isolated(node, &beside(data, "home"));
        command.arg(socket);
        Self::among_others(command, data, token)
    }

    /// As [`node`](Self::node), on the FoundationDB that a file names, by a binary that was built with it.
    pub(crate) fn node_on_foundationdb(
        binary: &Path,
        data: &Path,
        cluster_file: &Path,
        token: &Path,
    ) -> Self {
        let mut command = binary::isolated(Command::new(binary), &beside(data, "home"));
        command.arg("serve");
        Self::among_others(command, data, token)
            .env("SILLOK__STORE__ENGINE", "foundationdb")
            .env(
                "SILLOK__FOUNDATIONDB__CLUSTER_FILE",
                &cluster_file.to_string_lossy(),
            )
    }

    fn among_others(command: Command, data: &Path, token: &Path) -> Self {
        let launch = Self {
            command,
            data: data.to_owned(),
            token: token.to_owned(),
        };
        launch
            .env("SILLOK__SERVER__ADDRESS", "127.0.0.1:0")
            .env("SILLOK__SERVER__DATA", &data.to_string_lossy())
            .env("SILLOK__SERVER__ADMIN_TOKEN_FILE", &token.to_string_lossy())
    }

    /// On another data directory.
    pub(crate) fn at(mut self, data: &Path) -> Self {
        data.clone_into(&mut self.data);
        self.env("SILLOK__SERVER__DATA", &data.to_string_lossy())
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// On a disk that can lose its power, with tables so small that many are written out.
    pub(crate) fn on(mut self, power: &Power) -> Self {
        let shim = sillok_power_loss::library().expect("the shim lies beside this test");
        self.command.env("LD_PRELOAD", shim);
        self.command.envs(power.environment());
        self.env("SILLOK__STORE__MEMTABLE_BYTES_MAX", "1048576")
    }

    /// Starts it and waits until it takes requests.
    pub(crate) async fn start(self) -> Server {
        let mut server = self.spawn();
        let started = Instant::now();
        loop {
            if let Some(status) = server.child.try_wait().expect("a child can be waited for") {
                panic!("the server ended with {status}: {}", server.said());
            }
            if server.finds_itself() && server.is_ready().await {
                return server;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "no server within {PATIENCE:?}: {}",
                server.said()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Starts it and waits for its end: the status, and what it said.
    pub(crate) fn start_in_vain(self, patience: Duration) -> (ExitStatus, String) {
        let mut server = self.spawn();
        let ended = server.ends_within(patience);
        let status = ended.unwrap_or_else(|| panic!("it goes on: {}", server.said()));
        (status, server.said())
    }

    /// Starts it and kills it after a moment, whatever it is doing.
    pub(crate) async fn start_for(self, moment: Duration) {
        let server = self.spawn();
        tokio::time::sleep(moment).await;
        server.kill();
    }

    fn spawn(mut self) -> Server {
        let log = beside(&self.data, "log");
        let file = File::create(&log).expect("a log can be made beside the data directory");
        let copy = file.try_clone().expect("a file can be opened twice");
        self.command.stdin(Stdio::null()).stdout(copy).stderr(file);
        let child = self.command.spawn().expect("the server can be started");
        Server {
            child,
            base: String::new(),
            data: self.data,
            token: self.token,
            log,
        }
    }
}

impl Server {
    /// Starts one on this data directory.
    pub(crate) async fn start(data: &Path) -> Self {
        Launch::new(data).start().await
    }

    /// The address of the server whose announcement stands in the data directory, if it is this one.
    fn finds_itself(&mut self) -> bool {
        let text = std::fs::read(self.data.join("server.json")).unwrap_or_default();
        let Ok(file) = serde_json::from_slice::<Value>(&text) else {
            return false;
        };
        if file["pid"] != self.child.id() {
            return false;
        }
        file["url"]
            .as_str()
            .expect("the announcement names the address")
            .clone_into(&mut self.base);
        true
    }

    async fn is_ready(&self) -> bool {
        let reply = reqwest::get(format!("{}/readyz", self.base)).await;
        reply.is_ok_and(|reply| reply.status().is_success())
    }

    /// A client with the administrator's token.
    pub(crate) fn admin(&self) -> Client {
        let token = std::fs::read_to_string(&self.token);
        let token = token.expect("the first start makes an administrator's token");
        Client::new(&self.base, Some(token.trim()))
    }

    /// The base of its URLs.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// SIGKILL, and waits until the process is gone.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a running server can be killed");
        self.child.wait().expect("a killed process ends");
    }

    /// Asks it to stop, and checks that it does so in order.
    pub(crate) fn stop(self) {
        self.signal("INT");
        self.stopped();
    }

    /// Checks that a server that was asked to stop does so in order.
    pub(crate) fn stopped(mut self) {
        let status = self.ends_within(PATIENCE);
        let status = status.unwrap_or_else(|| panic!("it does not stop: {}", self.said()));
        assert!(
            status.success(),
            "it stopped with {status}: {}",
            self.said()
        );
        assert!(
            !self.data.join("server.json").exists(),
            "the announcement is taken back"
        );
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status();
        assert!(
            sent.expect("kill can be run").success(),
            "the server has ended: {}",
            self.said()
        );
    }

    /// Waits for its end; none when it goes on.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        binary::wait(&mut self.child, patience)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Nothing is left to do when even that fails.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A path beside the data directory.
fn beside(data: &Path, name: &str) -> PathBuf {
    let parent = data
        .parent()
        .expect("a data directory lies in a folder of the test");
    let stem = data.file_name().expect("it has a name").to_string_lossy();
    parent.join(format!("{stem}.{name}"))
}
