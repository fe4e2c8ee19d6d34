//! The embedded engine: one fjall database in a directory that one process owns.
//!
//! Owns opening, the order of visibility and durability, and the end of the process on an I/O
//! error. Must not know what the pairs mean.
//!
//! A store that opens holds every commit that was acknowledged, or it refuses: the journals are
//! checked before fjall replays them, since fjall takes damage for the torn end of a journal.
//!
//! Readers never see a batch that a crash could erase. fjall applies a batch after its fsync, but
//! its flush and compaction threads move the newest visible sequence number on their own, so a
//! snapshot that is taken while a batch is being applied could see it half, or see it appear
//! later. Therefore nobody but the commit thread takes snapshots: after each batch, while none is
//! in flight, it takes one and publishes it together with the commit counter, and `begin` shares
//! what was published last.

mod acknowledged;
mod commit_thread;
mod config;
mod header;
mod journal;
mod recovery;

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use ::fjall::compaction::Leveled;
use ::fjall::config::PinningPolicy;
use ::fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, Readable,
    Snapshot,
};
use bytes::Bytes;
use fs4::TryLockError;
use parking_lot::RwLock;
use tokio::sync::oneshot;

use crate::buffered::{BufferedTxn, Engine, View};
use crate::committer::{Base, Committer, Request};
use crate::{Committed, Error, KeyRange, Store};
use acknowledged::Acknowledged;
use commit_thread::{CommitThread, Inbox};
pub use config::{FjallConfig, OnFatal};
use header::Header;

const LOCK_FILE: &str = "LOCK";
const DATABASE_FOLDER: &str = "fjall";
const KEYSPACE: &str = "sillok";
/// Bytes of a value from which on it is stored apart from the tree of keys.
pub(crate) const SEPARATED_BYTES_MIN: u32 = 256;
/// Bytes of a table of the tree, of which the first level holds four times as many. A memory table whose values are stored
/// apart leaves a few megabytes of keys: a first level that is much larger is written anew for each few of them, and commits
/// wait while that goes on, where one thread does both. A store keeps what it was made with.
const TABLE_BYTES: u64 = 4 << 20;

/// A store in a directory. A clone is another handle; with the last handle and transaction the
/// commit thread ends and the directory is unlocked.
#[derive(Clone)]
pub struct FjallStore {
    shared: Arc<Shared>,
}

struct Shared {
    generation: u32,
    published: Arc<Published>,
    inbox: Arc<Inbox>,
    // Dropped in this order: the thread ends before the lock goes.
    _thread: CommitThread,
    _lock: File,
}

/// The newest moment that readers may see.
struct Published(RwLock<Arc<Moment>>);

/// A moment of the store that readers share: every commit up to one counter, and none after it.
pub struct Moment {
    snapshot: Snapshot,
    keyspace: Keyspace,
    counter: u64,
}

impl FjallStore {
    /// Opens the store in `config.path`, and makes it first where there is none.
    ///
    /// # Errors
    /// `Locked` at once when another process owns the directory, `NewerFormat` without a change,
    /// `LayoutMismatch`, `Corrupt`, `Unavailable`.
    pub fn open(config: &FjallConfig) -> Result<Self, Error> {
        let io = |error| Error::unavailable("making the data directory", error);
        fs::create_dir_all(&config.path).map_err(io)?;
        let lock = lock(&config.path)?;
        header::check_format_file(&config.path)?;
        let acknowledged = acknowledged::read(&config.path)?;
        let journaled = recovery::check(&config.path.join(DATABASE_FOLDER), acknowledged)?;
        if journaled.is_none() && acknowledged.is_none() {
            recovery::discard_unfinished(&config.path.join(DATABASE_FOLDER))?;
        }
        let engine = |error| Error::unavailable("opening the database", error);
        let database = Database::builder(config.path.join(DATABASE_FOLDER))
            .cache_size(config.cache_bytes)
            .max_journaling_size(config.journal_bytes_max.max(FjallConfig::JOURNAL_BYTES_MIN))
            .worker_threads(config.worker_threads.max(1))
            // Replay compares with a compression of its own, which another build may do otherwise.
            .journal_compression(CompressionType::None)
            .open()
            .map_err(engine)?;
        // Most bytes are events, written once: apart from the tree, compaction moves their keys alone.
        let apart = KvSeparationOptions::default()
            .separation_threshold(SEPARATED_BYTES_MIN)
            .compression(CompressionType::None);
        let leveled = Leveled::default().with_table_target_size(TABLE_BYTES);
        // The index and filter of a table stay in memory while it is open; what is not kept, a lookup asks the cache of blocks
        // for. All levels are named, since a table that is written and one that is opened again count them differently: in a
        // tree of few levels the one has the lowest for the second, the other for the seventh. From the fourth of a tall tree
        // on, where most tables are, both are written in parts, and of those the list alone is kept. A store keeps what it
        // was made with.
        let options = KeyspaceCreateOptions::default()
            .max_memtable_size(config.memtable_bytes_max)
            .compaction_strategy(Arc::new(leveled))
            .index_block_pinning_policy(PinningPolicy::all(true))
            .filter_block_pinning_policy(PinningPolicy::all(true))
            .with_kv_separation(Some(apart));
        let keyspace = database.keyspace(KEYSPACE, || options).map_err(engine)?;
        let header = Header::load_or_create(&database, &keyspace, config)?;
        header.check_holds(journaled.max(acknowledged))?;
        let acknowledged = Acknowledged::open(&config.path, header.counter)?;
        let moment = Moment::take(&database, &keyspace, header.counter);
        let published = Arc::new(Published(RwLock::new(Arc::new(moment))));
        let inbox = Arc::new(Inbox::default());
        let committer = Committer::new(config.committer, header.generation, header.counter);
        let thread = CommitThread::spawn(commit_thread::Writer {
            committer,
            database,
            keyspace,
            acknowledged,
            sealed_memtables_max: config.sealed_memtables_max,
            inbox: Arc::clone(&inbox),
            published: Arc::clone(&published),
            on_fatal: Arc::clone(&config.on_fatal),
        })?;
        let generation = header.generation;
        let shared = Shared {
            generation,
            published,
            inbox,
            _thread: thread,
            _lock: lock,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }
}

fn lock(path: &Path) -> Result<File, Error> {
    let io = |error| Error::unavailable("locking the data directory", error);
    let file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(path.join(LOCK_FILE))
        .map_err(io)?;
    match fs4::FileExt::try_lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

impl Store for FjallStore {
    type Txn = BufferedTxn<Self>;

    async fn begin(&self) -> Result<Self::Txn, Error> {
        if self.shared.inbox.is_closed() {
            return Err(Error::Closed);
        }
        let moment = self.shared.published.get();
        let counter = moment.counter;
        Ok(BufferedTxn::new(self.clone(), moment, counter))
    }

    fn generation(&self) -> u32 {
        self.shared.generation
    }
}

impl Engine for FjallStore {
    type View = Arc<Moment>;

    async fn submit(&self, request: Request) -> Result<Committed, Error> {
        let (ticket, answer) = oneshot::channel();
        self.shared.inbox.push(request, ticket)?;
        // The thread answers whatever it took, unless it died with it.
        answer.await.unwrap_or(Err(Error::OutcomeUnknown))
    }

    fn generation(&self) -> u32 {
        self.shared.generation
    }
}

impl Published {
    fn get(&self) -> Arc<Moment> {
        Arc::clone(&self.0.read())
    }

    fn set(&self, moment: Moment) {
        let moment = Arc::new(moment);
        // The replaced moment is dropped after the lock: it may be the last user of a snapshot.
        let _replaced = std::mem::replace(&mut *self.0.write(), moment);
    }
}

impl Moment {
    /// Only while no batch is in flight: see the head of this file.
    fn take(database: &Database, keyspace: &Keyspace, counter: u64) -> Self {
        Self {
            snapshot: database.snapshot(),
            keyspace: keyspace.clone(),
            counter,
        }
    }
}

impl View for Arc<Moment> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Base::get(self.as_ref(), key)
    }

    fn scan<R>(
        &self,
        range: &KeyRange,
        reverse: bool,
        scan: impl FnOnce(&mut dyn Iterator<Item = Result<(Bytes, Bytes), Error>>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut pairs = self
            .snapshot
            .range(&self.keyspace, range.begin.as_ref()..range.end.as_ref())
            .map(|pair| {
                let (key, value) = pair.into_inner().map_err(read_error)?;
                Ok((key.into(), value.into()))
            });
        if reverse {
            scan(&mut pairs.rev())
        } else {
            scan(&mut pairs)
        }
    }
}

impl Base for Moment {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self
            .snapshot
            .get(&self.keyspace, key)
            .map_err(read_error)?
            .map(Bytes::from))
    }

    fn keys(&self, range: &KeyRange) -> Result<Vec<Bytes>, Error> {
        self.snapshot
            .range(&self.keyspace, range.begin.as_ref()..range.end.as_ref())
            .map(|pair| Ok(pair.key().map_err(read_error)?.into()))
            .collect()
    }
}

fn read_error(error: ::fjall::Error) -> Error {
    Error::unavailable("reading", error)
}

#[cfg(test)]
mod tests;
