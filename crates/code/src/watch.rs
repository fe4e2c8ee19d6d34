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

use crate::debounce::{Batch, Change, Debounce, DebounceOptions, backoff};
use crate::ignored::RULES_NAME;
use crate::limits::{EVENTS_MAX, LOOK_AGAIN_MS, WATCH_WALKS_MAX, WATCHED_MAX};
use crate::walk::{self, WalkOptions, canonical, walk};

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

/// How a work tree is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long changes are gathered.
    pub debounce: DebounceOptions,
    /// How often everything is told to have changed where not all folders are watched.
    pub again: Duration,
    /// Folders that are watched, at most.
    pub folders_max: usize,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            debounce: DebounceOptions::default(),
            again: Duration::from_millis(LOOK_AGAIN_MS),
            folders_max: WATCHED_MAX,
        }
    }
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
    /// what is in them is told, so that whoever looks at a batch misses nothing that happens later. A root that goes away
    /// is told once, and once more when there is one again. One that is not there at first, or that the system does not watch,
    /// is looked for in the same way.
    ///
    /// # Errors
    /// [`Error::Walk`] where the options cannot be kept to, and [`Error::Thread`].
    pub fn start(
        root: &Path,
        walk: WalkOptions,
        options: WatchOptions,
        tell: impl FnMut(Batch) + Send + 'static,
    ) -> Result<Self, Error> {
        walk.check()?;
        let root = canonical(root).unwrap_or_else(|_away| root.to_owned());
        let (sender, receiver) = sync_channel(EVENTS_MAX);
        let lost = Arc::new(AtomicBool::new(false));
        let is_partial = Arc::new(AtomicBool::new(false));
        let mut folders = Folders {
            root,
            options: walk,
            folders_max: options.folders_max,
            told: (sender.clone(), Arc::clone(&lost)),
            watcher: None,
            watched: BTreeSet::new(),
            is_lacking: false,
            is_partial: Arc::clone(&is_partial),
        };
        let failures = folders.watch(None).err().map_or(0, |error| {
            not_watched(&error);
            1
        });
        let again = match failures {
            0 => folders.is_lacking.then_some(options.again),
            _ => Some(backoff(failures)),
        };
        let ends = Arc::new(AtomicBool::new(false));
        let gather = Gather {
            receiver,
            lost,
            ends: Arc::clone(&ends),
            debounce: Debounce::new(options.debounce),
            options,
            folders,
            again,
            failures,
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

    /// Whether some folders are not watched, since the system watches no more, or the root is away: what changes there is
    /// only found when everything is looked at, which is told from time to time.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_partial.load(Ordering::Relaxed)
    }

    /// Whether nothing is told any more, since the thread broke down.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
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
    folders_max: usize,
    /// Where a watcher hands on what it is told.
    told: (SyncSender<Told>, Arc<AtomicBool>),
    /// None until the system has one for it.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Whether some are not watched, and what is told of that.
    is_lacking: bool,
    is_partial: Arc<AtomicBool>,
}

impl Folders {
    /// Watches the folders at these paths and below, or all of them.
    fn watch(&mut self, only: Option<&BTreeSet<PathBuf>>) -> Result<(), Error> {
        self.forget(only);
        self.is_lacking &= only.is_some();
        let watched = self.watch_found(only);
        self.is_lacking |= watched.is_err();
        self.is_partial.store(self.is_lacking, Ordering::Relaxed);
        watched
    }

    fn watch_found(&mut self, only: Option<&BTreeSet<PathBuf>>) -> Result<(), Error> {
        for _ in 0..WATCH_WALKS_MAX {
            let mut folders = walk(&self.root, &self.options, only)?.folders;
            folders.retain(|folder| !self.watched.contains(folder));
            let room = self.folders_max.saturating_sub(self.watched.len());
            self.is_lacking |= folders.len() > room;
            folders.truncate(room);
            if !self.add(&folders)? {
                return Ok(());
            }
            // What came into a folder between the walk and its watch is told by nobody: it is looked for once more.
        }
        self.is_lacking = true;
        Ok(())
    }

    /// Watches folders. Whether others may be watched that came meanwhile.
    fn add(&mut self, folders: &[PathBuf]) -> Result<bool, Error> {
        let mut is_any = false;
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => {
                let (sender, lost) = &self.told;
                let watcher = notify::recommended_watcher(handler(&self.root, sender, lost))?;
                none.insert(watcher)
            }
        };
        let mut paths = watcher.paths_mut();
        for folder in folders {
            match paths.add(&self.root.join(folder), RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.clone());
                    is_any = true;
                }
                // It is gone again.
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) => {
                    self.is_lacking = true;
                    if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) {
                        is_any = false;
                        break;
                    }
                }
            }
        }
        paths.commit()?;
        Ok(is_any)
    }

    /// A folder that is told to have changed may be another one by now, of which the system tells nothing yet. Where it is
    /// not told what changed, each may be.
    fn forget(&mut self, only: Option<&BTreeSet<PathBuf>>) {
        let Some(only) = only else {
            for folder in core::mem::take(&mut self.watched) {
                self.unwatch(&folder);
            }
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
                self.unwatch(&folder);
                self.watched.remove(&folder);
            }
        }
    }

    fn unwatch(&mut self, folder: &Path) {
        if let Some(watcher) = &mut self.watcher {
            let _gone = watcher.unwatch(&self.root.join(folder));
        }
    }
}

fn not_watched(error: &Error) {
    tracing::warn!(%error, "a work tree is not watched until it is there again");
}

/// What the thread has.
struct Gather {
    receiver: Receiver<Told>,
    lost: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    debounce: Debounce,
    options: WatchOptions,
    folders: Folders,
    /// When all folders are to be watched anew, since some are not.
    again: Option<Duration>,
    /// How often in a row no folder could be watched.
    failures: u32,
}

impl Gather {
    fn run(mut self, mut tell: impl FnMut(Batch)) {
        let begun = Instant::now();
        while !self.ends.load(Ordering::Relaxed) {
            let now = begun.elapsed();
            let due = self.debounce.due().into_iter().chain(self.again).min();
            let longest = self.options.debounce.longest;
            let wait = due.map_or(longest, |due| due.saturating_sub(now));
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
            let changed = self.debounce.take(now);
            let batch = if self.again.is_some_and(|again| again <= now) {
                Some(Batch::Everything)
            } else {
                // Where nothing is watched, everything is told as soon as something is.
                changed.filter(|_| self.failures == 0)
            };
            if let Some(batch) = batch {
                self.tell(batch, &begun, &mut tell);
            }
        }
    }

    fn tell(&mut self, batch: Batch, begun: &Instant, tell: &mut impl FnMut(Batch)) {
        let only = match &batch {
            Batch::Paths(paths) => Some(paths),
            Batch::Everything => None,
        };
        let is_kept = only.is_some();
        match self.folders.watch(only) {
            Ok(()) => {
                self.failures = 0;
                tell(batch);
                // It is counted from when whoever looks took what was told.
                let next = begun.elapsed() + self.options.again;
                let kept = self.again.filter(|_| is_kept);
                self.again = self.folders.is_lacking.then(|| kept.unwrap_or(next));
            }
            Err(error) => {
                if self.failures == 0 {
                    not_watched(&error);
                }
                // What lies there without being watched may be other than it was.
                if self.failures == 0 || matches!(error, Error::Watch(_)) {
                    tell(batch);
                }
                self.failures = self.failures.saturating_add(1);
                self.again = Some(begun.elapsed() + backoff(self.failures));
            }
        }
    }
}

/// The thread waits at least so long, whatever is due.
const TURN_MIN: Duration = Duration::from_millis(1);
