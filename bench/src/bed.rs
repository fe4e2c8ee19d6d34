//! A large published store with its index, both written at once, and nodes on it under a clock that can be set ahead.
//!
//! Owns how the two are made: the store by the rules and the rows of a node, the tables by the index's own code, in one
//! pass over all entries. It must not know what is measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sillok_actors::{Node, NodeConfig, Ports};
use sillok_builtin::HashEmbedder;
use sillok_core::ports::{BoxFuture, Clock, Embedder as _, IndexDoc, IndexStats, VectorIndex};
use sillok_core::scope::Scope;
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_server::system::SystemClock;
use sillok_store::FjallStore;
use sillok_vectors_lance::{LanceConfig, LanceIndex, write_tables};

use crate::corpus::{Writer, Writes};
use crate::engines::{open_store, ports};
use crate::error::Error;
use crate::workload::now;

/// Entries that are written to the tables at once.
const ROWS_AT_ONCE: usize = 65_536;
/// Entries of a cohort that are written to the store before the index hears of them.
const ENTRIES_AT_ONCE: u32 = 8_192;
/// Lots of rows that the store is ahead of the tables.
const LOTS_AHEAD: usize = 1;
/// How long the tables on the disk are waited for, and how often they are looked at.
const PATIENCE: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(20);

/// Entries of one scope that were made at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cohort {
    pub(crate) writes: Writes,
    pub(crate) days_old: u64,
    pub(crate) entries: u32,
}

/// What a scope holds, the oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) scope: Scope,
    pub(crate) cohorts: Vec<Cohort>,
}

/// A store and its index on the disk.
pub(crate) struct Bed {
    folder: PathBuf,
    pub(crate) store: FjallStore,
}

/// A node on a bed.
pub(crate) struct Running {
    pub(crate) node: Node<FjallStore>,
    pub(crate) index: Arc<LanceIndex>,
}

impl Running {
    /// Waits until the tables on the disk have heard of everything: what the index holds then.
    ///
    /// # Errors
    /// What the index answered; that it never happened.
    pub(crate) async fn settled(&self) -> Result<IndexStats, Error> {
        let began = Instant::now();
        loop {
            let stats = self.index.stats().await?;
            if stats.pending == 0 {
                return Ok(stats);
            }
            if began.elapsed() > PATIENCE {
                return Err(wrong(format!("the tables never followed: {stats:?}")));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Bed {
    /// Makes it in an empty folder. `tap` sees every entry as the index does.
    ///
    /// # Errors
    /// What the rules, the store or the index answered.
    pub(crate) async fn make(
        folder: &Path,
        parts: &[Part],
        mut tap: impl FnMut(&[IndexDoc]),
    ) -> Result<Self, Error> {
        let bed = Self {
            folder: folder.into(),
            store: open_store(&folder.join("store"))?,
        };
        let (lots, written) = mpsc::sync_channel::<Vec<IndexDoc>>(LOTS_AHEAD);
        let vectors = bed.vectors();
        let writing = std::thread::spawn(move || {
            write_tables(vectors, config(), written.into_iter()).map_err(wrong)
        });
        let made = bed.write(parts, &mut tap, &lots).await;
        drop(lots);
        let tables = writing.join();
        made?;
        tables.map_err(|_| Error::Wrong("the tables were not written".to_owned()))??;
        Ok(bed)
    }

    async fn write(
        &self,
        parts: &[Part],
        tap: &mut impl FnMut(&[IndexDoc]),
        lots: &mpsc::SyncSender<Vec<IndexDoc>>,
    ) -> Result<(), Error> {
        // Whoever takes them says itself why it takes no more.
        let send = |lot: Vec<IndexDoc>| drop(lots.send(lot));
        let (today, mut first) = (now(), 0);
        let mut lot = Vec::with_capacity(ROWS_AT_ONCE);
        for part in parts {
            let mut writer = Writer::new(&part.scope, first, Writes::Varied);
            for cohort in &part.cohorts {
                writer.sort(cohort.writes);
                let at = today.minus_ms(cohort.days_old * DAY_MS);
                let mut left = cohort.entries;
                while left > 0 {
                    let some = left.min(ENTRIES_AT_ONCE);
                    let docs = writer.entries(&self.store, first, some, at).await?;
                    tap(&docs);
                    lot.extend(docs);
                    (first, left) = (first + some, left - some);
                    if lot.len() >= ROWS_AT_ONCE {
                        send(std::mem::take(&mut lot));
                    }
                }
            }
        }
        send(lot);
        Ok(())
    }

    /// Where the tables lie.
    pub(crate) fn vectors(&self) -> PathBuf {
        self.folder.join("vectors")
    }

    /// Where the store lies.
    pub(crate) fn stored(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Starts a node on it.
    ///
    /// # Errors
    /// What the node or the index answered; that the index holds another number of entries.
    pub(crate) async fn start(
        &self,
        clock: &Arc<SetClock>,
        entries: u64,
    ) -> Result<Running, Error> {
        let index = Arc::new(LanceIndex::open(self.vectors(), config()).map_err(wrong)?);
        let ports = Ports {
            clock: Arc::clone(clock) as Arc<dyn Clock>,
            ..ports(Arc::clone(&index) as Arc<dyn VectorIndex>)
        };
        let node = Node::start(self.store.clone(), ports, NodeConfig::default()).await?;
        let stored = index.stats().await?.stored;
        if stored != entries {
            let why = format!("{stored} entries are stored in the index, of {entries}");
            return Err(Error::Wrong(why));
        }
        Ok(Running { node, index })
    }
}

fn config() -> LanceConfig {
    LanceConfig::new(HashEmbedder.space(), HashEmbedder.dimensions())
}

fn wrong(error: impl std::fmt::Display) -> Error {
    Error::Wrong(error.to_string())
}

/// The clocks of this machine, with the calendar set ahead.
#[derive(Debug, Default)]
pub(crate) struct SetClock {
    ahead_ms: AtomicU64,
}

impl SetClock {
    /// Sets the calendar ahead by so many days more.
    pub(crate) fn pass(&self, days: u64) {
        self.ahead_ms.fetch_add(days * DAY_MS, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        SystemClock
            .now()
            .plus_ms(self.ahead_ms.load(Ordering::Relaxed))
    }

    fn monotonic_us(&self) -> u64 {
        SystemClock.monotonic_us()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        SystemClock.sleep(ms)
    }
}

/// Bytes of all files under a folder.
///
/// # Errors
/// What the file system answered.
pub(crate) fn bytes_under(folder: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    let mut left = vec![folder.to_path_buf()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left.push(entry.path());
            } else {
                bytes += entry.metadata()?.len();
            }
        }
    }
    Ok(bytes)
}
