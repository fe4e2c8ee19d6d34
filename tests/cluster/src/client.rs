//! The client: a [`Store`] whose transactions each have a connection.
//!
//! Owns the connections that wait to be used again. An answer that does not come leaves the outcome of
//! a commit unknown, and nothing else in doubt.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use sillok_store::{Committed, Error, KeyRange, RangeOptions, Read, Store, Txn};
use tokio::net::UnixStream;

use crate::wire::{Answer, Ask, Mode, Write, receive, send};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A store behind a socket. A clone is another handle to the same one.
#[derive(Clone, Debug)]
pub struct SocketStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    socket: PathBuf,
    generation: u32,
    idle: Mutex<Vec<UnixStream>>,
}

/// A transaction over a connection of its own.
#[derive(Debug)]
pub struct SocketTxn {
    shared: Arc<Shared>,
    /// Nothing is on its way over it, unless a call was dropped half-way: then it is gone.
    stream: Option<UnixStream>,
    writes: Vec<Write>,
}

impl SocketStore {
    /// The store at a socket.
    ///
    /// # Errors
    /// `Unavailable` when nobody serves it.
    pub async fn connect(socket: &Path) -> Result<Self, Error> {
        let mut stream = UnixStream::connect(socket).await.map_err(unavailable)?;
        let answer = ask(&mut stream, &Ask::Generation).await;
        let Answer::Generation(generation) = answer.map_err(unavailable)? else {
            return Err(unavailable(io::Error::other("it answered something else")));
        };
        Ok(Self {
            shared: Arc::new(Shared {
                socket: socket.to_owned(),
                generation,
                idle: Mutex::new(vec![stream]),
            }),
        })
    }
}

impl Store for SocketStore {
    type Txn = SocketTxn;

    async fn begin(&self) -> Result<SocketTxn, Error> {
        // A connection that waited may be one to a server that has ended since.
        loop {
            let waiting = self.shared.idle.lock().pop();
            let is_new = waiting.is_none();
            let mut stream = match waiting {
                Some(stream) => stream,
                None => UnixStream::connect(&self.shared.socket)
                    .await
                    .map_err(unavailable)?,
            };
            match ask(&mut stream, &Ask::Begin).await {
                Ok(Answer::Begun) => {
                    return Ok(SocketTxn {
                        shared: Arc::clone(&self.shared),
                        stream: Some(stream),
                        writes: Vec::new(),
                    });
                }
                Ok(answer) => return Err(failure(answer)),
                Err(error) if is_new => return Err(unavailable(error)),
                Err(_) => {}
            }
        }
    }

    fn generation(&self) -> u32 {
        self.shared.generation
    }
}

impl SocketTxn {
    async fn ask(&mut self, asked: &Ask) -> io::Result<Answer> {
        let gone = || io::Error::other("the connection is gone");
        let mut stream = self.stream.take().ok_or_else(gone)?;
        let answer = ask(&mut stream, asked).await?;
        self.stream = Some(stream);
        Ok(answer)
    }

    fn writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }
}

impl Drop for SocketTxn {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.shared.idle.lock().push(stream);
        }
    }
}

impl Txn for SocketTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        let asked = Ask::Get(self.writes(), Bytes::copy_from_slice(key), read.into());
        match self.ask(&asked).await.map_err(unavailable)? {
            Answer::Value(value) => Ok(value),
            answer => Err(failure(answer)),
        }
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let asked = Ask::Range(
            self.writes(),
            range.begin.clone(),
            range.end.clone(),
            options.limit as u64,
            options.reverse,
            Mode::from(options.read),
        );
        match self.ask(&asked).await.map_err(unavailable)? {
            Answer::Pairs(pairs) => Ok(pairs),
            answer => Err(failure(answer)),
        }
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.writes.push(Write::Set(key.into(), value.into()));
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        self.writes.push(Write::Clear(key.into()));
    }

    fn clear_range(&mut self, range: &KeyRange) {
        let (begin, end) = (range.begin.clone(), range.end.clone());
        self.writes.push(Write::ClearRange(begin, end));
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        self.writes.push(Write::Add(key.into(), delta));
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.writes
            .push(Write::SetStamped(prefix.into(), value.into()));
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        let (begin, end) = (range.begin.clone(), range.end.clone());
        self.writes.push(Write::ConflictOn(begin, end));
    }

    async fn commit(mut self) -> Result<Committed, Error> {
        let asked = Ask::Commit(self.writes());
        match self.ask(&asked).await {
            Ok(Answer::Committed(stamp)) => Ok(Committed { stamp }),
            Ok(answer) => Err(failure(answer)),
            Err(_) => Err(Error::OutcomeUnknown),
        }
    }
}

async fn ask(stream: &mut UnixStream, asked: &Ask) -> io::Result<Answer> {
    let answering = async {
        send(stream, asked).await?;
        receive(stream).await
    };
    let answer = tokio::time::timeout(PATIENCE, answering).await;
    answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn failure(answer: Answer) -> Error {
    match answer {
        Answer::Failed(failure) => failure.into(),
        _ => unavailable(io::Error::other("it answered something else")),
    }
}

fn unavailable(source: io::Error) -> Error {
    Error::unavailable("asking the server of the store", source)
}

#[cfg(test)]
mod tests {
    use sillok_store::{FjallConfig, FjallStore, Layout};

    use super::*;

    /// A store that is served from a folder, which goes with the answer.
    async fn served() -> (SocketStore, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder of its own");
        let layout = Layout {
            generation_at_creation: 1,
            slot_count: 1,
            slot_hash: "none".to_owned(),
        };
        let fatal = |reason: &str| panic!("the store failed: {reason}");
        let config = FjallConfig::new(folder.path().join("store"), layout, Arc::new(fatal));
        let store = FjallStore::open(&config).expect("it can be opened");
        let socket = folder.path().join("socket");
        let at = socket.clone();
        tokio::spawn(async move { crate::serve(store, &at).await });
        while !socket.exists() {
            tokio::task::yield_now().await;
        }
        let client = SocketStore::connect(&socket).await;
        (client.expect("it is served"), folder)
    }

    sillok_store::conformance_suite!(conformance, served());

    #[tokio::test]
    async fn a_server_that_is_gone_is_told_at_once_and_a_later_one_is_found() {
        let (store, folder) = served().await;
        let mut before = store.begin().await.expect("it is served");
        drop(before.get(b"a", Read::Snapshot).await);
        drop(before);
        let socket = folder.path().join("socket");
        std::fs::rename(&socket, folder.path().join("away")).expect("it can be moved");
        // Connections that are open go on; others find nobody.
        let kept = store.begin().await.expect("a connection waits");
        let refused = store.begin().await.expect_err("nobody listens there");
        assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
        std::fs::rename(folder.path().join("away"), &socket).expect("it can be moved");
        store.begin().await.expect("it is there again");
        drop(kept);
    }
}
