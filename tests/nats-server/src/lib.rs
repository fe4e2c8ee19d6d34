//! For tests: a nats-server of a test's own, on a free port of 127.0.0.1.
//!
//! Owns its process and its data: both end with it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// How long a server may take to come up, in ms.
const STARTS_MS: u64 = 20_000;

/// A running server.
pub struct NatsServer {
    process: Option<Child>,
    port: u16,
    data: TempDir,
    /// What it is configured with besides.
    settings: String,
}

impl NatsServer {
    /// A server with an empty JetStream.
    ///
    /// # Panics
    /// If it is not installed, or does not come up.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// As [`start`](Self::start), with settings in the form of its configuration file, such as who is let in.
    ///
    /// # Panics
    /// If it is not installed, or does not come up.
    pub async fn start_with(settings: &str) -> Self {
        let data = tempfile::tempdir().expect("a directory of its own");
        let mut server = Self {
            process: None,
            port: 0,
            data,
            settings: settings.to_owned(),
        };
        server.resume().await;
        server
    }

    /// Starts it again, on the port that it had.
    ///
    /// # Panics
    /// If it runs, or does not come up.
    pub async fn resume(&mut self) {
        assert!(self.process.is_none(), "it runs");
        let folder = tempfile::tempdir().expect("a directory of its own");
        let (ports, settings) = (folder.path().join("ports"), folder.path().join("settings"));
        std::fs::create_dir(&ports).expect("it is ours");
        std::fs::write(&settings, &self.settings).expect("it is ours");
        let said = folder.path().join("said");
        let log = std::fs::File::create(&said).expect("it is ours");
        let port = if self.port == 0 {
            "-1".to_owned()
        } else {
            self.port.to_string()
        };
        let process = Command::new("nats-server")
            .args(["-js", "-a", "127.0.0.1", "-p", &port, "-sd"])
            .arg(self.data.path())
            .arg("--ports_file_dir")
            .arg(&ports)
            .arg("-c")
            .arg(&settings)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("nats-server is installed: `make setup`");
        self.process = Some(process);
        for _ in 0..STARTS_MS / 20 {
            if let Some(port) = port_in(&ports) {
                self.port = port;
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        panic!("nats-server does not come up: {said}");
    }

    /// Kills it, as a crash does.
    ///
    /// # Panics
    /// If the system does not do it.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it ran");
            process.wait().expect("it was started here");
        }
    }

    /// Kills it, and takes all that it held.
    ///
    /// # Panics
    /// If the system does not do it.
    pub fn wipe(&mut self) {
        self.kill();
        for held in std::fs::read_dir(self.data.path()).expect("it is there") {
            std::fs::remove_dir_all(held.expect("it is there").path()).expect("it is ours");
        }
    }

    /// The port where it listens, also when it is started again.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The port that a server says it listens on, once it does.
fn port_in(directory: &Path) -> Option<u16> {
    let file = std::fs::read_dir(directory).ok()?.next()?.ok()?;
    let said: Value = serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()?;
    let url = said["nats"][0].as_str()?;
    url.rsplit(':').next()?.parse().ok()
}
