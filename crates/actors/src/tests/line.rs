//! The memory engine behind a line that may have faults: answers that are dropped, commits that linger,
//! one that comes late.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use sillok_store::keys::Family;
use sillok_store::{
    Committed, Error, KeyRange, MemoryConfig, MemoryStore, RangeOptions, Read, Store, Txn,
};

use self::life::Life;

mod life;

/// The first commits of a node are its own: it registers, and takes its slots in eight parts.
const SPARED: u64 = 9;
/// Turns of the runtime that a lingering commit takes.
const LINGERS_TURNS: usize = 64;

type MemoryTxn = <MemoryStore as Store>::Txn;

/// What happens to commits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Every third one happens, and nobody is told.
    CommitsUnheard,
    /// Every third one does not happen, and nobody is told.
    IsLost,
    /// Each takes its time, so that others begin before it happens.
    Lingers,
    /// Each happens as it should, unless something is asked for.
    Arrives,
}

/// A commit that is held back. Until the line is whole again, the store is out of reach.
#[derive(Default)]
enum Late {
    #[default]
    None,
    /// One will be, once so many have passed.
    After(usize),
    /// It is.
    Held(Box<MemoryTxn>),
}

/// The memory engine behind a line. A clone is the same line.
#[derive(Clone)]
pub(crate) struct Line {
    store: MemoryStore,
    /// Shared as a whole: handles and transactions of it lie in every future of a node.
    faults: Arc<Faults>,
}

/// What is wrong with a line, and what came of it.
struct Faults {
    fate: Fate,
    commits: AtomicU64,
    hit: AtomicU64,
    late: Mutex<Late>,
    is_whole: AtomicBool,
    conflicts: AtomicUsize,
    sets_max: AtomicUsize,
    gets_max: AtomicUsize,
    ranges_max: AtomicUsize,
    /// Rows that reads of ranges gave, by family.
    rows_read: Mutex<BTreeMap<Family, usize>>,
    /// Reads of one key, by family, whether it was there or not.
    keys_read: Mutex<BTreeMap<Family, usize>>,
    later: Mutex<VecDeque<MemoryStore>>,
    age: AtomicU64,
    turned_away: AtomicUsize,
    broken: Mutex<Option<(KeyRange, Error)>>,
    silent: Mutex<Option<KeyRange>>,
    panics: AtomicBool,
    life: Life,
}

impl fmt::Debug for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Line").finish_non_exhaustive()
    }
}

pub(crate) struct LineTxn {
    txn: Box<MemoryTxn>,
    sets: usize,
    gets: usize,
    ranges: usize,
    born: u64,
    faults: Arc<Faults>,
}

impl Line {
    /// A line without faults to a new store.
    pub(crate) fn sound(config: MemoryConfig) -> Self {
        Self::to(MemoryStore::new(config), Fate::Arrives)
    }

    /// Another line to the store of one that is there, with faults of its own.
    pub(crate) fn new(beside: &Self, fate: Fate) -> Self {
        Self::to(beside.store.clone(), fate)
    }

    fn to(store: MemoryStore, fate: Fate) -> Self {
        let faults = Faults {
            fate,
            commits: AtomicU64::new(0),
            hit: AtomicU64::new(0),
            late: Mutex::default(),
            is_whole: AtomicBool::new(true),
            conflicts: AtomicUsize::new(0),
            sets_max: AtomicUsize::new(usize::MAX),
            gets_max: AtomicUsize::new(usize::MAX),
            ranges_max: AtomicUsize::new(usize::MAX),
            rows_read: Mutex::default(),
            keys_read: Mutex::default(),
            later: Mutex::default(),
            age: AtomicU64::new(0),
            turned_away: AtomicUsize::new(0),
            broken: Mutex::default(),
            silent: Mutex::default(),
            panics: AtomicBool::new(false),
            life: Life::default(),
        };
        Self {
            store,
            faults: Arc::new(faults),
        }
    }

    /// The next commits meet another writer.
    pub(crate) fn conflict(&self, commits: usize) {
        self.faults.conflicts.store(commits, Ordering::Relaxed);
    }

    /// How many of them are left.
    pub(crate) fn conflicts(&self) -> usize {
        self.faults.conflicts.load(Ordering::Relaxed)
    }

    /// A transaction sets at most so many keys from now on.
    pub(crate) fn allow(&self, sets: usize) {
        self.faults.sets_max.store(sets, Ordering::Relaxed);
    }

    /// A transaction lives for so many reads of a key from now on.
    pub(crate) fn live(&self, gets: usize) {
        self.faults.gets_max.store(gets, Ordering::Relaxed);
    }

    /// A transaction lives for so many reads of a range from now on.
    pub(crate) fn live_for_ranges(&self, ranges: usize) {
        self.faults.ranges_max.store(ranges, Ordering::Relaxed);
    }

    /// How many rows of a family reads of ranges have given.
    pub(crate) fn rows_read(&self, family: Family) -> usize {
        let rows_read = self.faults.rows_read.lock();
        rows_read.get(&family).copied().unwrap_or_default()
    }

    /// How many keys of a family were read by themselves.
    pub(crate) fn keys_read(&self, family: Family) -> usize {
        let keys_read = self.faults.keys_read.lock();
        keys_read.get(&family).copied().unwrap_or_default()
    }

    /// The next transactions see these stores, one after the other, and those behind them the line's own.
    pub(crate) fn go_through(&self, moments: impl IntoIterator<Item = Self>) {
        *self.faults.later.lock() = moments.into_iter().map(|line| line.store).collect();
    }

    /// All transactions that have begun are too old from now on.
    pub(crate) fn outlive(&self) {
        self.faults.age.fetch_add(1, Ordering::Relaxed);
    }

    /// Holds the next commit back, which nobody hears of, and breaks behind it.
    pub(crate) fn hold_next(&self) {
        self.hold_after(0);
    }

    /// As [`hold_next`](Self::hold_next), once so many commits have passed.
    pub(crate) fn hold_after(&self, commits: usize) {
        *self.faults.late.lock() = Late::After(commits);
    }

    /// What lies in a range is not to be read.
    pub(crate) fn break_range(&self, range: KeyRange) {
        let reason = "it is broken";
        *self.faults.broken.lock() = Some((range, Error::InvalidKey { reason }));
    }

    /// What lies in a range is out of reach.
    pub(crate) fn lose_range(&self, range: KeyRange) {
        let error = Error::unavailable("reading", io::Error::from(io::ErrorKind::NotConnected));
        *self.faults.broken.lock() = Some((range, error));
    }

    /// Nobody hears what lies in a range until everything is to be read again.
    pub(crate) fn silence_range(&self, range: KeyRange) {
        *self.faults.silent.lock() = Some(range);
    }

    /// Everything is to be read again.
    pub(crate) fn repair(&self) {
        *self.faults.broken.lock() = None;
        *self.faults.silent.lock() = None;
    }

    /// The next reading of a range meets a defect.
    pub(crate) fn panic_next_range(&self) {
        self.faults.panics.store(true, Ordering::Relaxed);
    }

    /// The process on this side of the line ends at its call with this number from now on, from 0, which still reaches the
    /// store or does not. No later one does.
    pub(crate) fn end_at(&self, call: u64, reaches: bool) {
        self.faults.life.end_at(call, reaches);
    }

    /// Commits that found the line cut.
    pub(crate) fn turned_away(&self) -> usize {
        self.faults.turned_away.load(Ordering::Relaxed)
    }

    /// No commit reaches the store until the line is mended.
    pub(crate) fn cut(&self) {
        self.faults.is_whole.store(false, Ordering::Relaxed);
    }

    /// The store is within reach again.
    pub(crate) fn mend(&self) {
        self.faults.is_whole.store(true, Ordering::Relaxed);
    }

    /// The commit that was held back arrives.
    pub(crate) async fn land(&self) -> Result<Committed, Error> {
        let late = std::mem::take(&mut *self.faults.late.lock());
        match late {
            Late::Held(txn) => txn.commit().await,
            Late::None | Late::After(_) => panic!("no commit was held back"),
        }
    }

    /// Commits whose answer was dropped, or that were too large.
    pub(crate) fn hit(&self) -> u64 {
        self.faults.hit.load(Ordering::Relaxed)
    }
}

impl Faults {
    /// What is wrong with a commit that sets so many keys, if anything is.
    fn check(&self, sets: usize) -> Result<(), Error> {
        let limit = self.sets_max.load(Ordering::Relaxed);
        if sets > limit {
            self.hit.fetch_add(1, Ordering::Relaxed);
            return Err(Error::TooLarge {
                what: "transaction",
                limit,
                got: sets,
            });
        }
        let left = self.conflicts.load(Ordering::Relaxed);
        if left > 0 {
            self.conflicts.store(left - 1, Ordering::Relaxed);
            return Err(Error::Conflict);
        }
        Ok(())
    }

    fn check_read(&self, key: &[u8]) -> Result<(), Error> {
        match &*self.broken.lock() {
            Some((range, error)) if range.contains(key) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Waits for what lies at a key while nobody hears of it.
    async fn hear(&self, key: &[u8]) -> Result<(), Error> {
        while self.is_silent(key) {
            tokio::task::yield_now().await;
        }
        self.check_read(key)
    }

    fn is_silent(&self, key: &[u8]) -> bool {
        let silent = self.silent.lock();
        silent.as_ref().is_some_and(|range| range.contains(key))
    }

    /// What the line makes of a commit: nothing, or a failure.
    fn hold(&self, txn: Box<MemoryTxn>) -> Result<Box<MemoryTxn>, Error> {
        let mut late = self.late.lock();
        match &mut *late {
            Late::After(0) => {
                *late = Late::Held(txn);
                self.is_whole.store(false, Ordering::Relaxed);
                return Err(Error::OutcomeUnknown);
            }
            Late::After(commits) => *commits -= 1,
            Late::None | Late::Held(_) => {}
        }
        if self.is_whole.load(Ordering::Relaxed) {
            return Ok(txn);
        }
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        Err(Error::unavailable(
            "committing",
            io::Error::from(io::ErrorKind::NotConnected),
        ))
    }

    /// Whether the answer to this commit is dropped.
    fn is_dropped(&self) -> bool {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let is_dropped = number >= SPARED && number % 3 == 2;
        self.hit.fetch_add(u64::from(is_dropped), Ordering::Relaxed);
        is_dropped
    }

    /// Commits what has set so many keys, as its fate has it.
    async fn commit(&self, mut txn: Box<MemoryTxn>, sets: usize) -> Result<Committed, Error> {
        let mut is_heard = true;
        match self.fate {
            Fate::Arrives => {
                self.check(sets)?;
                txn = self.hold(txn)?;
            }
            Fate::Lingers => {
                for _ in 0..LINGERS_TURNS {
                    tokio::task::yield_now().await;
                }
            }
            Fate::CommitsUnheard => is_heard = !self.is_dropped(),
            Fate::IsLost if self.is_dropped() => return Err(Error::OutcomeUnknown),
            Fate::IsLost => {}
        }
        let committed = txn.commit().await?;
        if is_heard {
            Ok(committed)
        } else {
            Err(Error::OutcomeUnknown)
        }
    }
}

impl Store for Line {
    type Txn = LineTxn;

    async fn begin(&self) -> Result<LineTxn, Error> {
        let moment = self.faults.later.lock().pop_front();
        let store = moment.unwrap_or_else(|| self.store.clone());
        Ok(LineTxn {
            txn: Box::new(self.faults.life.call(store.begin()).await?),
            sets: 0,
            gets: 0,
            ranges: 0,
            born: self.faults.age.load(Ordering::Relaxed),
            faults: Arc::clone(&self.faults),
        })
    }

    fn generation(&self) -> u32 {
        self.store.generation()
    }
}

impl Txn for LineTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        self.gets += 1;
        let is_old = self.born != self.faults.age.load(Ordering::Relaxed);
        if is_old || self.gets > self.faults.gets_max.load(Ordering::Relaxed) {
            self.faults.hit.fetch_add(1, Ordering::Relaxed);
            return Err(Error::TooOld);
        }
        self.faults.hear(key).await?;
        let value = self.faults.life.call(self.txn.get(key, read)).await?;
        if let Some(family) = Family::of(key) {
            *self.faults.keys_read.lock().entry(family).or_default() += 1;
        }
        Ok(value)
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let panics = self.faults.panics.swap(false, Ordering::Relaxed);
        assert!(!panics, "the planted defect");
        self.ranges += 1;
        if self.ranges > self.faults.ranges_max.load(Ordering::Relaxed) {
            self.faults.hit.fetch_add(1, Ordering::Relaxed);
            return Err(Error::TooOld);
        }
        self.faults.hear(&range.begin).await?;
        let rows = self
            .faults
            .life
            .call(self.txn.range(range, options))
            .await?;
        if let Some(family) = Family::of(&range.begin) {
            *self.faults.rows_read.lock().entry(family).or_default() += rows.len();
        }
        Ok(rows)
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.sets += 1;
        self.txn.set(key, value);
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        self.txn.clear(key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.txn.clear_range(range);
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        self.txn.add(key, delta);
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.txn.set_stamped(prefix, value);
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        self.txn.conflict_on(range);
    }

    async fn commit(self) -> Result<Committed, Error> {
        // In a box, as it lies in every future that commits.
        let commit = Box::pin(self.faults.commit(self.txn, self.sets));
        self.faults.life.call(commit).await
    }
}
