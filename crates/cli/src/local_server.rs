//! A server in this very process, for commands that need one for as long as they last.
//!
//! Owns its start and its end. Whoever uses it speaks HTTP to it, as to any other.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use sillok_server::{Config, Server};
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

/// How long a command waits for a data directory that another one has.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long it waits between two attempts.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

impl LocalServer {
    /// Opens the data directory and serves it at an address; port 0 stands for any free one. Waits
    /// a little while another command, which may be as short as this one, has the directory.
    ///
    /// # Errors
    /// [`Failure::Server`], such as when another process keeps the data directory.
    pub async fn start(global: &Global, data: &Path, address: SocketAddr) -> Result<Self, Failure> {
        let flags = [
            ("server.data", path_text(data)?),
            ("server.address", address.to_string()),
        ];
        let config = settings::load(global, &flags)?.config;
        let server = start_when_free(config).await?;
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

async fn start_when_free(config: Config) -> Result<Server, Failure> {
    let started = Instant::now();
    loop {
        match Box::pin(Server::start(config.clone())).await {
            Err(sillok_server::Error::Locked { .. }) if started.elapsed() < LOCK_WAIT => {
                tokio::time::sleep(LOCK_PAUSE).await;
            }
            ended => return Ok(ended?),
        }
    }
}
