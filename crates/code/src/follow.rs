//! Following work trees: an index that is kept up while people work in them.
//!
//! Owns the thread that looks, one look at a time, and when the cache is stored. It must not know what is asked of the
//! index: whoever asks reads it beside the looks, and waits only while something is put in.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use parking_lot::RwLock;

use crate::code_index::{self, CodeIndex};
use crate::debounce::{Batch, DebounceOptions};
use crate::limits::{BATCHES_MAX, CACHE_IDLE_MS};
use crate::walk::WalkOptions;
use crate::watch::{self, Watch};

/// What is followed, and how.
#[derive(Clone, Debug, Default)]
pub struct FollowOptions {
    /// Each work tree's name and root.
    pub trees: Vec<(String, PathBuf)>,
    /// What of them is read.
    pub walk: WalkOptions,
    /// How long changes are gathered.
    pub debounce: DebounceOptions,
    /// The folder of the cache; none where nothing is stored.
    pub cache: Option<PathBuf>,
}

/// Work trees that are followed, until this is dropped.
#[derive(Debug)]
pub struct Follower {
    index: Arc<RwLock<CodeIndex>>,
    watches: Vec<Watch>,
    sender: Option<SyncSender<(String, Batch)>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Begins: the trees are watched from now on, and looked at as soon as there is a turn. Until then nothing is known of
    /// them. A cache that cannot be read is made anew.
    ///
    /// # Errors
    /// [`watch::Error`]
    pub fn start(options: FollowOptions) -> Result<Self, watch::Error> {
        let (sender, receiver) = sync_channel::<(String, Batch)>(BATCHES_MAX);
        let loaded = options.cache.as_deref().map(CodeIndex::load);
        let mut index = match loaded {
            Some(Ok(loaded)) => loaded.into_index(),
            Some(Err(error)) => {
                tracing::warn!(%error, "the cache of the code index is not read");
                CodeIndex::new()
            }
            None => CodeIndex::new(),
        };
        let mut watches = Vec::new();
        let mut firsts = Vec::new();
        for (name, root) in options.trees {
            let told = (sender.clone(), name.clone());
            let watch = Watch::start(
                &root,
                options.walk.clone(),
                options.debounce,
                move |batch| {
                    // Nobody looks any more where the other end is gone.
                    let _gone = told.0.send((told.1.clone(), batch));
                },
            )?;
            watches.push(watch);
            index.add_tree(&name, &root, options.walk.clone());
            firsts.push(name);
        }
        let index = Arc::new(RwLock::new(index));
        let ends = Arc::new(AtomicBool::new(false));
        let looks = Looks {
            index: Arc::clone(&index),
            receiver,
            ends: Arc::clone(&ends),
            cache: options.cache,
            is_stored: true,
        };
        let thread = std::thread::Builder::new()
            .name("code-index".to_owned())
            .spawn(move || looks.run(firsts))
            .map_err(watch::Error::Thread)?;
        Ok(Self {
            index,
            watches,
            sender: Some(sender),
            ends,
            thread: Some(thread),
        })
    }

    /// Reads the index.
    pub fn read<T>(&self, read: impl FnOnce(&CodeIndex) -> T) -> T {
        read(&self.index.read())
    }

    /// Whether some folders are not watched (see [`Watch::is_partial`]).
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.watches.iter().any(Watch::is_partial)
    }

    /// Has a work tree looked at as a whole, such as from time to time where it is not watched whole.
    pub fn look_again(&self, name: &str) {
        if let Some(sender) = &self.sender {
            // With so many looks waiting, one of them is it.
            let _full = sender.try_send((name.to_owned(), Batch::Everything));
        }
    }
}

impl Drop for Follower {
    /// Waits for the look that is being taken, and for no other one: a restart looks at everything.
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Each of them holds a sender.
        self.sender = None;
        self.watches.clear();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// What the thread has.
struct Looks {
    index: Arc<RwLock<CodeIndex>>,
    receiver: Receiver<(String, Batch)>,
    ends: Arc<AtomicBool>,
    cache: Option<PathBuf>,
    is_stored: bool,
}

impl Looks {
    fn run(mut self, firsts: Vec<String>) {
        for name in firsts {
            self.look(&name, Batch::Everything);
        }
        // What the cache knew and no tree has is of no use any more.
        if !self.ends.load(Ordering::Relaxed) {
            self.index.write().prune();
        }
        loop {
            match self
                .receiver
                .recv_timeout(Duration::from_millis(CACHE_IDLE_MS))
            {
                Ok((name, batch)) => self.look(&name, batch),
                Err(RecvTimeoutError::Timeout) => self.store(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.store();
    }

    fn look(&mut self, name: &str, batch: Batch) {
        if self.ends.load(Ordering::Relaxed) {
            return;
        }
        let Some(plan) = self.index.read().plan(name) else {
            return;
        };
        let scanned = match plan.look(batch.into_only(), SystemTime::now()) {
            Ok(scanned) => scanned,
            Err(error) => {
                tracing::warn!(%error, tree = name, "a work tree is not looked at");
                return;
            }
        };
        let applied = self.index.write().apply(scanned);
        match applied {
            Ok(changes) => self.is_stored &= changes.parsed == 0,
            // Only this thread puts looks in.
            Err(error @ (code_index::Error::NoTree(_) | code_index::Error::Stale(_))) => {
                tracing::warn!(%error, "a look is not put in");
            }
        }
    }

    fn store(&mut self) {
        let Some(folder) = self.cache.as_deref().filter(|_| !self.is_stored) else {
            return;
        };
        if let Err(error) = self.index.read().save(folder) {
            tracing::warn!(%error, "the code index is not stored");
        }
        // It is tried again when something is new.
        self.is_stored = true;
    }
}
