//! For tests: a FoundationDB of a test's own, one process on a free port of 127.0.0.1.
//!
//! Owns its process and its data: both end with it. `fdbserver` and `fdbcli` have to be on the path.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// How often a cluster is asked whether it answers, and the wait between, in ms.
const ASKED_MAX: usize = 120;
const WAIT_MS: u64 = 250;

/// A running server.
pub struct FoundationDb {
    process: Option<Child>,
    port: u16,
    data: TempDir,
}

impl FoundationDb {
    /// A server with an empty database.
    ///
    /// # Panics
    /// If it is not installed, or does not come up.
    #[must_use]
    pub fn start() -> Self {
        // It wants to know its port before it listens. Whoever takes it in between makes the test fail.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let data = tempfile::tempdir().expect("a directory of its own");
        let mut server = Self {
            process: None,
            port,
            data,
        };
        let names_it = format!("test:test@127.0.0.1:{port}");
        std::fs::write(server.cluster_file(), names_it).expect("it can be written");
        server.spawn();
        server.until("configure new single ssd", |said| {
            said.contains("Database created") || said.contains("Database already exists")
        });
        server.until_it_answers();
        server
    }

    /// Starts it again, with all that it held.
    ///
    /// # Panics
    /// If it runs, or does not come up.
    pub fn resume(&mut self) {
        self.spawn();
        self.until_it_answers();
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

    /// The file that names it.
    #[must_use]
    pub fn cluster_file(&self) -> PathBuf {
        self.data.path().join("fdb.cluster")
    }

    fn spawn(&mut self) {
        assert!(self.process.is_none(), "it runs");
        let folder = self.data.path();
        let process = Command::new("fdbserver")
            .arg("--cluster-file")
            .arg(self.cluster_file())
            .arg("--public-address")
            .arg(format!("127.0.0.1:{}", self.port))
            .arg("--datadir")
            .arg(folder.join("data"))
            .arg("--logdir")
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.process = Some(process.expect("fdbserver is on the path"));
    }

    fn until_it_answers(&self) {
        self.until("get none", |said| said.contains("not found"));
    }

    /// Runs a command of `fdbcli` until it says what is wanted.
    fn until(&self, command: &str, is_wanted: impl Fn(&str) -> bool) {
        let mut said = String::new();
        for _ in 0..ASKED_MAX {
            let output = Command::new("fdbcli")
                .arg("-C")
                .arg(self.cluster_file())
                .args(["--timeout", "5", "--exec", command])
                .stdin(Stdio::null())
                .output()
                .expect("fdbcli is on the path");
            said = String::from_utf8_lossy(&output.stdout).into_owned();
            if is_wanted(&said) {
                return;
            }
            std::thread::sleep(Duration::from_millis(WAIT_MS));
        }
        panic!("fdbcli {command}: {said}");
    }
}

impl Drop for FoundationDb {
    fn drop(&mut self) {
        self.kill();
    }
}
