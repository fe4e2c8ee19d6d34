//! A server in this very process, for commands that need one for as long as they last.
//!
//! Owns its start and its end. Whoever uses it speaks HTTP to it, as to any other.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use sillok_server::Server;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::args::Global;
use crate::failure::Failure;
use crate::settings::{self, path_text};

/// A running server.
#[derive(Debug)]
pub struct LocalServer {
    url: String,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), sillok_server::Error>>,
}

/// The setting of a server that carries out no run of maintenance but those that it is asked for: it is there for one
/// command, which may be one that only reads.
pub const NO_NIGHTS: (&str, &str) = ("maintenance.schedule", "");

/// The setting of a server that follows no work tree: to read one takes longer than such a command is there.
pub const NO_WORK_TREES: (&str, &str) = ("graph.enabled", "false");

/// How long a command waits for a data directory that another one has: it may be as short.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long it waits between two attempts.
pub const LOCK_PAUSE: Duration = Duration::from_millis(20);

impl LocalServer {
    /// Opens the data directory and serves it at an address, with further settings; port 0 stands for any free one.
    ///
    /// # Errors
    /// [`Failure::Server`], such as when another process has the data directory.
    pub async fn start_with(
        global: &Global,
        data: &Path,
        address: SocketAddr,
        more: &[(&str, &str)],
    ) -> Result<Self, Failure> {
        let mut flags = vec![
            ("server.data", path_text(data)?),
            ("server.address", address.to_string()),
        ];
        flags.extend(more.iter().map(|(key, value)| (*key, (*value).to_owned())));
        let config = settings::load(global, &flags)?.config;
        let server = Box::pin(Server::start(config)).await?;
        let url = server.url();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            // A sender that is gone means the same as one that has spoken.
            let _ = stopped.await;
        };
        Ok(Self {
            url,
            stop,
            running: tokio::spawn(Box::pin(server.run(shutdown))),
        })
    }

    /// As [`start_with`](Self::start_with), right after another server of this process has stopped: what that one
    /// still has under way may keep the data directory for a moment.
    ///
    /// # Errors
    /// As [`start_with`](Self::start_with).
    pub async fn start_again(
        global: &Global,
        data: &Path,
        address: SocketAddr,
        more: &[(&str, &str)],
    ) -> Result<Self, Failure> {
        let started = Instant::now();
        loop {
            match Self::start_with(global, data, address, more).await {
                Err(failure) if failure.is_locked() && started.elapsed() < LOCK_WAIT => {
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                ended => return ended,
            }
        }
    }

    /// The base of its URLs.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops it: what is under way is finished, and the data directory is free again.
    ///
    /// # Errors
    /// What went wrong while it served.
    pub async fn stop(self) -> Result<(), Failure> {
        // A server that ended by itself hears nothing, and its error comes with the next line.
        let _ = self.stop.send(());
        let ended = self.running.await;
        ended
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
            .map_err(Failure::Server)
    }
}
