//! The server of the shared store: each connection has one transaction at a time.

use std::io;
use std::path::Path;

use sillok_store::{FjallStore, KeyRange, Store as _, Txn as _};
use tokio::net::{UnixListener, UnixStream};

use crate::wire::{Answer, Ask, Failure, Write, options, receive, send};

/// Serves a store at a socket, until the process ends.
///
/// # Errors
/// If the socket cannot be made.
pub async fn serve(store: FjallStore, socket: &Path) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let mut connection = Connection {
            store: store.clone(),
            stream,
            txn: None,
        };
        // It ends when the client goes.
        tokio::spawn(async move { while connection.one().await.is_ok() {} });
    }
}

struct Connection {
    store: FjallStore,
    stream: UnixStream,
    txn: Option<<FjallStore as sillok_store::Store>::Txn>,
}

impl Connection {
    async fn one(&mut self) -> io::Result<()> {
        let ask = receive(&mut self.stream).await?;
        let answer = self.answer(ask).await;
        let answer = answer.unwrap_or_else(|error| Answer::Failed(Failure::from(error)));
        send(&mut self.stream, &answer).await
    }

    async fn answer(&mut self, ask: Ask) -> Result<Answer, sillok_store::Error> {
        match ask {
            Ask::Generation => Ok(Answer::Generation(self.store.generation())),
            Ask::Begin => {
                self.txn = Some(self.store.begin().await?);
                Ok(Answer::Begun)
            }
            Ask::Get(writes, key, mode) => {
                let txn = self.written(writes)?;
                Ok(Answer::Value(txn.get(&key, mode.into()).await?))
            }
            Ask::Range(writes, begin, end, limit, reverse, mode) => {
                let txn = self.written(writes)?;
                let range = KeyRange { begin, end };
                let pairs = txn.range(&range, options(limit, reverse, mode)).await?;
                Ok(Answer::Pairs(pairs))
            }
            Ask::Commit(writes) => {
                self.written(writes)?;
                let txn = self.txn.take().ok_or(sillok_store::Error::Closed)?;
                Ok(Answer::Committed(txn.commit().await?.stamp))
            }
        }
    }

    /// The transaction, with more writes.
    fn written(
        &mut self,
        writes: Vec<Write>,
    ) -> Result<&mut <FjallStore as sillok_store::Store>::Txn, sillok_store::Error> {
        let txn = self.txn.as_mut().ok_or(sillok_store::Error::Closed)?;
        for write in writes {
            write.apply(txn);
        }
        Ok(txn)
    }
}
