//! The memory engine behind a line that has faults: answers that are dropped, commits that linger,
//! one that comes late.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use sillok_store::{Committed, Error, KeyRange, MemoryStore, RangeOptions, Read, Store, Txn};

/// The first commits of a node are its own: it registers, and takes its slots in eight parts.
const SPARED: u64 = 9;
/// Turns of the runtime that a lingering commit takes.
const LINGERS_TURNS: usize = 64;

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
    Held(Box<<MemoryStore as Store>::Txn>),
}

/// The memory engine behind a line.
#[derive(Clone)]
pub(crate) struct Line {
    store: MemoryStore,
    fate: Fate,
    commits: Arc<AtomicU64>,
    hit: Arc<AtomicU64>,
    late: Arc<Mutex<Late>>,
    is_whole: Arc<AtomicBool>,
    conflicts: Arc<AtomicUsize>,
    sets_max: Arc<AtomicUsize>,
    gets_max: Arc<AtomicUsize>,
    ranges_max: Arc<AtomicUsize>,
    later: Arc<Mutex<VecDeque<MemoryStore>>>,
    age: Arc<AtomicU64>,
    turned_away: Arc<AtomicUsize>,
    broken: Arc<Mutex<Option<(KeyRange, Error)>>>,
    silent: Arc<Mutex<Option<KeyRange>>>,
    panics: Arc<AtomicBool>,
}

pub(crate) struct LineTxn {
    txn: <MemoryStore as Store>::Txn,
    sets: usize,
    gets: usize,
    ranges: usize,
    born: u64,
    line: Line,
}

impl Line {
    pub(crate) fn new(store: &MemoryStore, fate: Fate) -> Self {
        Self {
            store: store.clone(),
            fate,
            commits: Arc::default(),
            hit: Arc::default(),
            late: Arc::default(),
            is_whole: Arc::new(AtomicBool::new(true)),
            conflicts: Arc::default(),
            sets_max: Arc::new(AtomicUsize::new(usize::MAX)),
            gets_max: Arc::new(AtomicUsize::new(usize::MAX)),
            ranges_max: Arc::new(AtomicUsize::new(usize::MAX)),
            later: Arc::default(),
            age: Arc::default(),
            turned_away: Arc::default(),
            broken: Arc::default(),
            silent: Arc::default(),
            panics: Arc::default(),
        }
    }

    /// The next commits meet another writer.
    pub(crate) fn conflict(&self, commits: usize) {
        self.conflicts.store(commits, Ordering::Relaxed);
    }

    /// How many of them are left.
    pub(crate) fn conflicts(&self) -> usize {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// A transaction sets at most so many keys from now on.
    pub(crate) fn allow(&self, sets: usize) {
        self.sets_max.store(sets, Ordering::Relaxed);
    }

    /// A transaction lives for so many reads of a key from now on.
    pub(crate) fn live(&self, gets: usize) {
        self.gets_max.store(gets, Ordering::Relaxed);
    }

    /// A transaction lives for so many reads of a range from now on.
    pub(crate) fn live_for_ranges(&self, ranges: usize) {
        self.ranges_max.store(ranges, Ordering::Relaxed);
    }

    /// The next transactions see these stores, one after the other, and those behind them the line's own.
    pub(crate) fn go_through(&self, moments: impl IntoIterator<Item = MemoryStore>) {
        *self.later.lock() = moments.into_iter().collect();
    }

    /// All transactions that have begun are too old from now on.
    pub(crate) fn outlive(&self) {
        self.age.fetch_add(1, Ordering::Relaxed);
    }

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

    /// Holds the next commit back, which nobody hears of, and breaks behind it.
    pub(crate) fn hold_next(&self) {
        self.hold_after(0);
    }

    /// As [`hold_next`](Self::hold_next), once so many commits have passed.
    pub(crate) fn hold_after(&self, commits: usize) {
        *self.late.lock() = Late::After(commits);
    }

    /// What lies in a range is not to be read.
    pub(crate) fn break_range(&self, range: KeyRange) {
        let reason = "it is broken";
        *self.broken.lock() = Some((range, Error::InvalidKey { reason }));
    }

    /// What lies in a range is out of reach.
    pub(crate) fn lose_range(&self, range: KeyRange) {
        let error = Error::unavailable("reading", io::Error::from(io::ErrorKind::NotConnected));
        *self.broken.lock() = Some((range, error));
    }

    /// Nobody hears what lies in a range until everything is to be read again.
    pub(crate) fn silence_range(&self, range: KeyRange) {
        *self.silent.lock() = Some(range);
    }

    /// Everything is to be read again.
    pub(crate) fn repair(&self) {
        *self.broken.lock() = None;
        *self.silent.lock() = None;
    }

    fn is_silent(&self, key: &[u8]) -> bool {
        let silent = self.silent.lock();
        silent.as_ref().is_some_and(|range| range.contains(key))
    }

    /// The next reading of a range meets a defect.
    pub(crate) fn panic_next_range(&self) {
        self.panics.store(true, Ordering::Relaxed);
    }

    fn check_read(&self, key: &[u8]) -> Result<(), Error> {
        match &*self.broken.lock() {
            Some((range, error)) if range.contains(key) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Commits that found the line cut.
    pub(crate) fn turned_away(&self) -> usize {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// No commit reaches the store until the line is mended.
    pub(crate) fn cut(&self) {
        self.is_whole.store(false, Ordering::Relaxed);
    }

    /// The store is within reach again.
    pub(crate) fn mend(&self) {
        self.is_whole.store(true, Ordering::Relaxed);
    }

    /// The commit that was held back arrives.
    pub(crate) async fn land(&self) -> Result<Committed, Error> {
        let late = std::mem::take(&mut *self.late.lock());
        match late {
            Late::Held(txn) => txn.commit().await,
            Late::None | Late::After(_) => panic!("no commit was held back"),
        }
    }

    /// What the line makes of a commit: nothing, or a failure.
    fn hold(&self, txn: <MemoryStore as Store>::Txn) -> Result<<MemoryStore as Store>::Txn, Error> {
        let mut late = self.late.lock();
        match &mut *late {
            Late::After(0) => {
                *late = Late::Held(Box::new(txn));
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

    /// Commits whose answer was dropped, or that were too large.
    pub(crate) fn hit(&self) -> u64 {
        self.hit.load(Ordering::Relaxed)
    }
}

impl Store for Line {
    type Txn = LineTxn;

    async fn begin(&self) -> Result<LineTxn, Error> {
        let moment = self.later.lock().pop_front();
        let store = moment.unwrap_or_else(|| self.store.clone());
        Ok(LineTxn {
            txn: store.begin().await?,
            sets: 0,
            gets: 0,
            ranges: 0,
            born: self.age.load(Ordering::Relaxed),
            line: self.clone(),
        })
    }

    fn generation(&self) -> u32 {
        self.store.generation()
    }
}

impl Txn for LineTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        self.gets += 1;
        let is_old = self.born != self.line.age.load(Ordering::Relaxed);
        if is_old || self.gets > self.line.gets_max.load(Ordering::Relaxed) {
            self.line.hit.fetch_add(1, Ordering::Relaxed);
            return Err(Error::TooOld);
        }
        self.line.check_read(key)?;
        self.txn.get(key, read).await
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let panics = self.line.panics.swap(false, Ordering::Relaxed);
        assert!(!panics, "the planted defect");
        self.ranges += 1;
        if self.ranges > self.line.ranges_max.load(Ordering::Relaxed) {
            self.line.hit.fetch_add(1, Ordering::Relaxed);
            return Err(Error::TooOld);
        }
        while self.line.is_silent(&range.begin) {
            tokio::task::yield_now().await;
        }
        self.line.check_read(&range.begin)?;
        self.txn.range(range, options).await
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
        if self.line.fate == Fate::Arrives {
            self.line.check(self.sets)?;
            return self.line.hold(self.txn)?.commit().await;
        }
        let number = self.line.commits.fetch_add(1, Ordering::Relaxed);
        if self.line.fate == Fate::Lingers {
            for _ in 0..LINGERS_TURNS {
                tokio::task::yield_now().await;
            }
            return self.txn.commit().await;
        }
        if number < SPARED || number % 3 != 2 {
            return self.txn.commit().await;
        }
        self.line.hit.fetch_add(1, Ordering::Relaxed);
        if self.line.fate == Fate::CommitsUnheard {
            self.txn.commit().await?;
        }
        Err(Error::OutcomeUnknown)
    }
}
