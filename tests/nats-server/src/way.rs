//! A way to a server that can be cut: what is on it waits, and neither end is told.
//!
//! Owns a port of 127.0.0.1 and what passes through it.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A way that is there until it is dropped.
pub struct Way {
    port: u16,
    is_cut: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Way {
    /// A way to a port of 127.0.0.1.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (is_cut, cut) = watch::channel(false);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(join(client, server, cut.clone()));
            }
        });
        Self {
            port,
            is_cut,
            accepting,
        }
    }

    /// Cuts it, in both directions.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Mends it.
    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }

    /// Where it begins.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Passes bytes between a client and a server until one of them has enough.
async fn join(client: TcpStream, server: u16, cut: watch::Receiver<bool>) -> io::Result<()> {
    open(&mut cut.clone()).await;
    let server = TcpStream::connect(("127.0.0.1", server)).await?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        passed = pass(from_client, to_server, cut.clone()) => passed,
        passed = pass(from_server, to_client, cut) => passed,
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut cut: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut bytes).await?;
        open(&mut cut).await;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..count]).await?;
    }
}

/// Waits until the way is open.
async fn open(cut: &mut watch::Receiver<bool>) {
    // The sender is gone only when the way is.
    let _ = cut.wait_for(|is_cut| !is_cut).await;
}
