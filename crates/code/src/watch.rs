//! Noticing changes of a work tree.
//!
//! Owns the thread that gathers what the system tells, the clock of it, and which folders are watched: those that a
//! walk goes to, so that what git ignores costs nothing. It must not know what is done about a change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::debounce::{Batch, Change, Debounce, DebounceOptions};
use crate::ignored::RULES_NAME;
use crate::limits::{EVENTS_MAX, WATCHED_MAX};
use crate::walk::{self, WalkOptions, walk};

/// Why a work tree is not watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be walked.
    #[error(transparent)]
    Walk(#[from] walk::Error),
    /// The system does not watch it.
    #[error("the work tree cannot be watched: {0}")]
    Watch(#[from] notify::Error),
    /// There is no thread for it.
    #[error("there is no thread to watch with: {0}")]
    Thread(#[source] std::io::Error),
}

/// A work tree that is watched, until this is dropped.
#[derive(Debug)]
pub struct Watch {
    ends: Arc<AtomicBool>,
    sender: SyncSender<Told>,
    thread: Option<JoinHandle<()>>,
    is_partial: Arc<AtomicBool>,
}

/// What the gathering thread is told.
enum Told {
    Change(Change),
    End,
}

impl Watch {
    /// Watches the work tree at `root`, and calls `tell` on a thread of its own with what changed. Folders are watched before
    /// what is in them is told, so that whoever looks at a batch misses nothing that happens later.
    ///
    /// # Errors
    /// [`Error`]
    pub fn start(
        root: &Path,
        options: WalkOptions,
        debounce: DebounceOptions,
        tell: impl FnMut(Batch) + Send + 'static,
    ) -> Result<Self, Error> {
        let root = root.canonicalize().map_err(|source| walk::Error::Root {
            root: root.to_owned(),
            source,
        })?;
        let (sender, receiver) = sync_channel(EVENTS_MAX);
        let lost = Arc::new(AtomicBool::new(false));
        let watcher = notify::recommended_watcher(handler(&root, &sender, &lost))?;
        let is_partial = Arc::new(AtomicBool::new(false));
        let mut folders = Folders {
            root,
            options,
            watcher,
            watched: BTreeSet::new(),
            is_partial: Arc::clone(&is_partial),
        };
        folders.watch(None)?;
        let ends = Arc::new(AtomicBool::new(false));
        let gather = Gather {
            receiver,
            lost,
            ends: Arc::clone(&ends),
            debounce: Debounce::new(debounce),
            longest: debounce.longest,
            folders,
        };
        let thread = std::thread::Builder::new()
            .name("code-watch".to_owned())
            .spawn(move || gather.run(tell))
            .map_err(Error::Thread)?;
        Ok(Self {
            ends,
            sender,
            thread: Some(thread),
            is_partial,
        })
    }

    /// Whether some folders are not watched, since the system watches no more: what changes there is not noticed, and
    /// only found by a look at everything.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_partial.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Where no place is free, the thread looks soon anyway.
        let _full = self.sender.try_send(Told::End);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// Hands on what the system tells, without ever waiting: what there is no place for is told as lost.
fn handler(
    root: &Path,
    sender: &SyncSender<Told>,
    lost: &Arc<AtomicBool>,
) -> impl Fn(notify::Result<Event>) + Send + use<> {
    let (root, sender, lost) = (root.to_owned(), sender.clone(), Arc::clone(lost));
    move |event| {
        for change in changes(&root, event) {
            if sender.try_send(Told::Change(change)).is_err() {
                lost.store(true, Ordering::Relaxed);
            }
        }
    }
}

fn changes(root: &Path, event: notify::Result<Event>) -> Vec<Change> {
    let Ok(event) = event else {
        return vec![Change::Anything];
    };
    if event.need_rescan() {
        return vec![Change::Anything];
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => {}
        EventKind::Access(_) => return Vec::new(),
    }
    let paths = event
        .paths
        .iter()
        .filter_map(|path| path.strip_prefix(root).ok());
    paths
        .filter(|path| path.iter().all(|part| part != ".git"))
        .map(|path| {
            // Where rules change, all that lies beside them may be watched, or not, by now.
            let is_rule = path.file_name().is_some_and(|name| name == RULES_NAME);
            let folder = path.parent().filter(|_| is_rule);
            Change::Path(folder.unwrap_or(path).to_owned())
        })
        .collect()
}

/// The folders that are watched.
struct Folders {
    root: PathBuf,
    options: WalkOptions,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    is_partial: Arc<AtomicBool>,
}

impl Folders {
    /// Watches the folders at these paths and below, or all of them.
    fn watch(&mut self, only: Option<&BTreeSet<PathBuf>>) -> Result<(), Error> {
        let found = walk(&self.root, &self.options, only)?;
        self.forget(only);
        let mut new = Vec::new();
        for folder in found.folders {
            if self.watched.len() + new.len() >= WATCHED_MAX {
                self.is_partial.store(true, Ordering::Relaxed);
                break;
            }
            if !self.watched.contains(&folder) {
                new.push(folder);
            }
        }
        let mut paths = self.watcher.paths_mut();
        for folder in new {
            // A folder may be gone again. With no watch left to give, the others are still watched.
            match paths.add(&self.root.join(&folder), RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder);
                }
                Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                    self.is_partial.store(true, Ordering::Relaxed);
                    break;
                }
                Err(_) => {}
            }
        }
        paths.commit()?;
        Ok(())
    }

    /// A folder that is told to have changed may be another one by now, of which the system tells nothing yet.
    fn forget(&mut self, only: Option<&BTreeSet<PathBuf>>) {
        let Some(only) = only else {
            self.watched
                .retain(|folder| self.root.join(folder).is_dir());
            return;
        };
        for path in only {
            let below: Vec<PathBuf> = self
                .watched
                .range::<PathBuf, _>(path..)
                .take_while(|folder| folder.starts_with(path))
                .cloned()
                .collect();
            for folder in below {
                let _gone = self.watcher.unwatch(&self.root.join(&folder));
                self.watched.remove(&folder);
            }
        }
    }
}

/// What the thread has.
struct Gather {
    receiver: Receiver<Told>,
    lost: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    debounce: Debounce,
    longest: Duration,
    folders: Folders,
}

impl Gather {
    fn run(mut self, mut tell: impl FnMut(Batch)) {
        let begun = Instant::now();
        while !self.ends.load(Ordering::Relaxed) {
            let now = begun.elapsed();
            let due = self.debounce.due();
            let wait = due.map_or(self.longest, |due| due.saturating_sub(now));
            let told = self.receiver.recv_timeout(wait.max(TURN_MIN));
            let now = begun.elapsed();
            match told {
                Ok(Told::Change(change)) => self.debounce.note(change, now),
                Ok(Told::End) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.lost.swap(false, Ordering::Relaxed) {
                self.debounce.note(Change::Anything, now);
            }
            if let Some(batch) = self.debounce.take(now) {
                self.tell(batch, now, &mut tell);
            }
        }
    }

    fn tell(&mut self, batch: Batch, now: Duration, tell: &mut impl FnMut(Batch)) {
        let only = match &batch {
            Batch::Paths(paths) => Some(paths),
            Batch::Everything => None,
        };
        if let Err(error) = self.folders.watch(only) {
            tracing::warn!(%error, "folders of a work tree are not watched");
            self.folders.is_partial.store(true, Ordering::Relaxed);
            self.debounce.note(Change::Anything, now);
        }
        tell(batch);
    }
}

/// The thread waits at least so long, whatever is due.
const TURN_MIN: Duration = Duration::from_millis(1);
