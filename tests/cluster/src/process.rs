//! A real server process: `sillok serve`, or a node on the shared store.
//!
//! Owns how it is started, found, asked to stop and killed. What it is asked over HTTP is its caller's
//! matter, but for whether it takes requests.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::binary;

/// The longest that a server may take to start, or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a server is to be started.
pub struct Launch {
    command: Command,
    data: PathBuf,
    token: PathBuf,
}

/// A running server. It is killed when it is dropped.
pub struct Server {
    child: Child,
    base: String,
    data: PathBuf,
    token: PathBuf,
    log: PathBuf,
}

impl Launch {
    /// On this data directory, at any free port.
    ///
    /// # Panics
    /// If the binary is not there.
    #[must_use]
    pub fn new(data: &Path) -> Self {
        Self::by(Command::new(binary::sillok()), data)
    }

    /// By a shell that first runs `script`. The server takes the shell's place.
    ///
    /// # Panics
    /// If the binary is not there.
    #[must_use]
    pub fn after(script: &str, data: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("{script}; exec \"$@\""))
            .arg("sh")
            .arg(binary::sillok());
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

    /// By a command line of its own, with an administrator's token that lies in a file.
    ///
    /// # Panics
    /// If the binary is not there.
    #[must_use]
    pub fn by_line(words: &[String], data: &Path, token: &Path) -> Self {
        let server = Command::new(binary::sillok());
        let mut command = binary::isolated(server, &beside(data, "home"));
        command.args(words);
        Self::among_others(command, data, token)
    }

    /// By a `sillok-test-node`, as a node of a cluster on the store at `socket`, whose administrator's token
    /// lies in a file.
    #[must_use]
    pub fn node(binary: &Path, data: &Path, socket: &Path, token: &Path) -> Self {
        let mut command = binary::isolated(Command::new(binary), &beside(data, "home"));
        command.arg(socket);
        Self::among_others(command, data, token)
    }

    /// As [`node`](Self::node), on the FoundationDB that a file names, by a binary that was built with it.
    #[must_use]
    pub fn node_on_foundationdb(
        binary: &Path,
        data: &Path,
        cluster_file: &Path,
        token: &Path,
    ) -> Self {
        let mut command = binary::isolated(Command::new(binary), &beside(data, "home"));
        command.arg("serve");
        Self::among_others(command, data, token)
            .env("SILLOK__STORE__ENGINE", "foundationdb")
            .env("SILLOK__FOUNDATIONDB__CLUSTER_FILE", cluster_file)
    }

    fn among_others(command: Command, data: &Path, token: &Path) -> Self {
        let launch = Self {
            command,
            data: data.to_owned(),
            token: token.to_owned(),
        };
        launch
            .env("SILLOK__SERVER__ADDRESS", "127.0.0.1:0")
            .env("SILLOK__SERVER__DATA", data)
            .env("SILLOK__SERVER__ADMIN_TOKEN_FILE", token)
    }

    /// On another data directory.
    #[must_use]
    pub fn at(mut self, data: &Path) -> Self {
        data.clone_into(&mut self.data);
        self.env("SILLOK__SERVER__DATA", data)
    }

    /// With a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With one more word on its command line.
    #[must_use]
    pub fn arg(mut self, word: &str) -> Self {
        self.command.arg(word);
        self
    }

    /// Starts it and waits until it takes requests.
    ///
    /// # Panics
    /// If it ends, or does not take any in time.
    pub async fn start(self) -> Server {
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
    ///
    /// # Panics
    /// If it goes on.
    #[must_use]
    pub fn start_in_vain(self, patience: Duration) -> (ExitStatus, String) {
        let mut server = self.spawn();
        let ended = server.ends_within(patience);
        let status = ended.unwrap_or_else(|| panic!("it goes on: {}", server.said()));
        (status, server.said())
    }

    /// Starts it and kills it after a moment, whatever it is doing.
    ///
    /// # Panics
    /// If it cannot be started.
    pub async fn start_for(self, moment: Duration) {
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
    pub async fn start(data: &Path) -> Self {
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
        let asked = tokio::time::timeout(PATIENCE, status_of(self.address(), "/readyz"));
        asked
            .await
            .is_ok_and(|status| matches!(status, Ok(200..=299)))
    }

    /// The administrator's token.
    ///
    /// # Panics
    /// If its file is gone.
    #[must_use]
    pub fn token(&self) -> String {
        let token = std::fs::read_to_string(&self.token);
        let token = token.expect("the first start makes an administrator's token");
        token.trim().to_owned()
    }

    /// The base of its URLs.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Where it listens: host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    #[must_use]
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The file that holds what it says.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// SIGKILL, and waits until the process is gone.
    ///
    /// # Panics
    /// If the system does not do it.
    pub fn kill(mut self) {
        self.child.kill().expect("a running server can be killed");
        self.child.wait().expect("a killed process ends");
    }

    /// Asks it to stop, and checks that it does so in order.
    ///
    /// # Panics
    /// If it does not.
    pub fn stop(self) {
        self.signal("INT");
        self.stopped();
    }

    /// Checks that a server that was asked to stop does so in order.
    ///
    /// # Panics
    /// If it does not.
    pub fn stopped(mut self) {
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
    ///
    /// # Panics
    /// If the process is gone.
    pub fn signal(&self, name: &str) {
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
    pub fn ends_within(&mut self, patience: Duration) -> Option<ExitStatus> {
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

/// The status that a server answers with.
async fn status_of(address: &str, path: &str) -> io::Result<u16> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::Error::other("it answered no HTTP"))
}
