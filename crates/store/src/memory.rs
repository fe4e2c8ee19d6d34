//! The engine in memory: a multi-version ordered map, for tests and for the simulation.
//!
//! Commits are applied inside the call, without threads, so the same calls give the same bytes.
//! Must not know durability: everything is gone with the last handle.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::buffered::{BufferedTxn, Engine, View};
use crate::committer::{Base, Committer, CommitterConfig, Group, Outcome, Request};
use crate::{Committed, Error, KeyRange, Store};

/// What a memory store may be tuned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Generation of the store's stamps.
    pub generation: u32,
    /// Groups and the window of remembered writes; views older than the window are `TooOld`.
    pub committer: CommitterConfig,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            generation: 1,
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
    pairs: Pairs,
    committer: Committer<()>,
}

/// Versions of each key in rising order, the newest last.
#[derive(Debug, Default)]
struct Pairs {
    versions_by_key: BTreeMap<Bytes, Vec<(u64, Option<Bytes>)>>,
    written: VecDeque<(u64, Bytes)>,
    last: u64,
    floor: u64,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(config: MemoryConfig) -> Self {
        let committer = Committer::new(config.committer, config.generation, 0);
        let state = State {
            pairs: Pairs::default(),
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
        let version = self.state.lock().pairs.last;
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
        state.pairs.readable(self.version)?;
        Ok(state.pairs.get_at(key, self.version))
    }

    fn scan<R>(
        &self,
        range: &KeyRange,
        reverse: bool,
        scan: impl FnOnce(&mut dyn Iterator<Item = Result<(Bytes, Bytes), Error>>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let state = self.state.lock();
        state.pairs.readable(self.version)?;
        let mut pairs = state
            .pairs
            .versions_by_key
            .range::<Bytes, _>(&range.begin..&range.end)
            .filter_map(|(key, versions)| {
                Some(Ok((key.clone(), value_at(versions, self.version)?)))
            });
        if reverse {
            scan(&mut pairs.rev())
        } else {
            scan(&mut pairs)
        }
    }
}

impl Pairs {
    fn readable(&self, version: u64) -> Result<(), Error> {
        assert!(version <= self.last, "a view cannot be of the future");
        if version < self.floor {
            Err(Error::TooOld)
        } else {
            Ok(())
        }
    }

    fn get_at(&self, key: &[u8], version: u64) -> Option<Bytes> {
        value_at(self.versions_by_key.get(key)?, version)
    }

    /// Makes `group` the newest version, and drops what no view at or above `floor` can see.
    fn apply(&mut self, group: Group, floor: u64) {
        assert!(group.counter >= self.last, "commits rise");
        self.last = group.counter;
        for (key, value) in group.writes {
            self.written.push_back((group.counter, key.clone()));
            self.versions_by_key
                .entry(key)
                .or_default()
                .push((group.counter, value));
        }
        self.floor = self.floor.max(floor);
        while let Some((_, key)) = self
            .written
            .pop_front_if(|(version, _)| *version <= self.floor)
        {
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &Bytes) {
        let floor = self.floor;
        let Some(versions) = self.versions_by_key.get_mut(key) else {
            return;
        };
        let newest_old = versions.iter().rposition(|(version, _)| *version <= floor);
        versions.drain(..newest_old.unwrap_or(0));
        // A removal that every view sees is the same as no key at all.
        if matches!(versions.as_slice(), [(version, None)] if *version <= floor) {
            self.versions_by_key.remove(key);
        }
    }
}

fn value_at(versions: &[(u64, Option<Bytes>)], version: u64) -> Option<Bytes> {
    versions
        .iter()
        .rev()
        .find(|(written, _)| *written <= version)?
        .1
        .clone()
}

impl Base for Pairs {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.get_at(key, self.last))
    }

    fn keys(&self, range: &KeyRange) -> Result<Vec<Bytes>, Error> {
        let living = self
            .versions_by_key
            .range::<Bytes, _>(&range.begin..&range.end)
            .filter(|(_, versions)| versions.last().is_some_and(|(_, value)| value.is_some()))
            .map(|(key, _)| key.clone());
        Ok(living.collect())
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
