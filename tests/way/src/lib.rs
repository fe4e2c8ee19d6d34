//! For tests: a way to a server that can be cut. What is on it waits, and neither end is told.
//!
//! Owns where it begins, and what passes through it.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A way that is there until it is dropped.
pub struct Way {
    begins: PathBuf,
    is_cut: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Way {
    /// A way to a port of 127.0.0.1, from another one.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let begins = listener.local_addr().expect("it is bound").to_string();
        let (is_cut, cut) = watch::channel(false);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", server));
                tokio::spawn(join(client, server, cut.clone()));
            }
        });
        Self {
            begins: begins.into(),
            is_cut,
            accepting,
        }
    }

    /// A way from a Unix socket, which is made, to another one.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn between(from: &Path, server: &Path) -> Self {
        let listener = UnixListener::bind(from).expect("the socket can be made");
        let server = server.to_owned();
        let (is_cut, cut) = watch::channel(false);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(server.clone());
                tokio::spawn(join(client, server, cut.clone()));
            }
        });
        Self {
            begins: from.to_owned(),
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

    /// Where it begins: an address with its port, or the path of a socket.
    #[must_use]
    pub fn begins(&self) -> &Path {
        &self.begins
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Passes bytes between a client and a server, once it is reached, until one of them has enough.
async fn join<C, S>(
    client: C,
    server: impl Future<Output = io::Result<S>>,
    cut: watch::Receiver<bool>,
) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite,
    S: AsyncRead + AsyncWrite,
{
    open(&mut cut.clone()).await;
    let server = server.await?;
    let (from_client, to_client) = tokio::io::split(client);
    let (from_server, to_server) = tokio::io::split(server);
    tokio::select! {
        passed = pass(from_client, to_server, cut.clone()) => passed,
        passed = pass(from_server, to_client, cut) => passed,
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
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
