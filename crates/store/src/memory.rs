//! The engine in memory: a multi-version ordered map, for tests and for the simulation.
//!
//! Commits are applied inside the call, without threads, so the same calls give the same bytes.
//! Must not know durability: everything is gone with the last handle.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::buffered::{BufferedTxn, Engine, View};
use crate::committer::{Committer, CommitterConfig, Outcome, Request};
use crate::versions::Versions;
use crate::{Committed, Error, KeyRange, Store};

/// What a memory store may be tuned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Generation of the store's stamps.
    pub generation: u32,
    /// The commit that the store's first one follows.
    pub counter: u64,
    /// Groups and the window of remembered writes; views older than the window are `TooOld`.
    pub committer: CommitterConfig,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            generation: 1,
            counter: 0,
            committer: CommitterConfig::default(),
        }
    }
}

/// A store in memory. A clone is another handle on the same pairs.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    generation: u32,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    pairs: Versions,
    committer: Committer<()>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(config: MemoryConfig) -> Self {
        let committer = Committer::new(config.committer, config.generation, config.counter);
        let state = State {
            pairs: Versions::empty_at(config.counter),
            committer,
        };
        Self {
            generation: config.generation,
            state: Arc::new(Mutex::new(state)),
        }
    }
}

impl Store for MemoryStore {
    type Txn = BufferedTxn<Self>;

    async fn begin(&self) -> Result<Self::Txn, Error> {
        let version = self.state.lock().pairs.last();
        let view = MemoryView {
            state: Arc::clone(&self.state),
            version,
        };
        Ok(BufferedTxn::new(self.clone(), view, version))
    }

    fn generation(&self) -> u32 {
        self.generation
    }
}

impl Engine for MemoryStore {
    type View = MemoryView;

    async fn submit(&self, request: Request) -> Result<Committed, Error> {
        let mut state = self.state.lock();
        let State { pairs, committer } = &mut *state;
        committer.enqueue(request, ()).map_err(|_| Error::Closed)?;
        let group = committer
            .next_group(pairs)?
            .expect("a transaction was just queued");
        let floor = committer.floor();
        pairs.apply(group, floor);
        let mut replies = committer.complete(Outcome::Durable);
        assert!(replies.len() == 1, "each transaction is a group of its own");
        replies.pop().map_or(Err(Error::Closed), |(_, reply)| reply)
    }

    fn generation(&self) -> u32 {
        self.generation
    }
}

/// The pairs of a memory store as of one commit.
#[derive(Debug)]
pub struct MemoryView {
    state: Arc<Mutex<State>>,
    version: u64,
}

impl View for MemoryView {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let state = self.state.lock();
        state.pairs.get(key, self.version)
    }

    fn scan<R>(
        &self,
        range: &KeyRange,
        reverse: bool,
        scan: impl FnOnce(&mut dyn Iterator<Item = Result<(Bytes, Bytes), Error>>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let state = self.state.lock();
        state.pairs.scan(range, reverse, self.version, scan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Read, Txn};

    fn tiny_window() -> MemoryStore {
        let committer = CommitterConfig {
            window_bytes_max: 2_000,
            ..CommitterConfig::default()
        };
        MemoryStore::new(MemoryConfig {
            committer,
            ..MemoryConfig::default()
        })
    }

    async fn write(store: &MemoryStore, key: &str, value: Option<&'static str>) {
        let mut txn = store.begin().await.unwrap();
        match value {
            Some(value) => txn.set(key.to_owned(), value),
            None => txn.clear(key.to_owned()),
        }
        txn.commit().await.unwrap();
    }

    #[tokio::test]
    async fn a_transaction_older_than_the_window_is_refused() {
        let store = tiny_window();
        write(&store, "seen", Some("1")).await;
        let mut reader = store.begin().await.unwrap();
        let mut writer = store.begin().await.unwrap();
        assert!(writer.get(b"seen", Read::Conflict).await.unwrap().is_some());
        writer.set("mine", "1");
        for round in 0..50 {
            write(&store, &format!("other {round}"), Some("1")).await;
        }
        assert!(matches!(
            reader.get(b"seen", Read::Snapshot).await,
            Err(Error::TooOld)
        ));
        assert!(matches!(writer.commit().await, Err(Error::TooOld)));
        let mut blind = store.begin().await.unwrap();
        blind.set("blind", "1");
        write(&store, "last", Some("1")).await;
        assert!(blind.commit().await.is_ok());
    }

    #[tokio::test]
    async fn versions_and_removals_behind_the_window_are_dropped() {
        let store = tiny_window();
        for round in 0..200 {
            write(&store, "hot", Some("value")).await;
            write(&store, &format!("gone {round}"), Some("value")).await;
            write(&store, &format!("gone {round}"), None).await;
        }
        let state = store.state.lock();
        assert!(
            state.pairs.versions_by_key.len() < 20,
            "{}",
            state.pairs.versions_by_key.len()
        );
        assert!(state.pairs.written.len() < 20);
        assert!(state.pairs.versions_by_key[b"hot".as_slice()].len() < 20);
    }

    async fn fresh() -> (MemoryStore, ()) {
        (MemoryStore::new(MemoryConfig::default()), ())
    }

    crate::conformance_suite!(conformance, fresh());
}
