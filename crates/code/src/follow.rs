//! Following work trees: an index that is kept up while people work in them.
//!
//! Owns what is followed, and what is told of each tree: what is known, and whether the looks at it succeed. It must not know
//! what is asked of a tree: whoever asks has it as it was then, and holds up no look. While something is put in, it is waited for
//! a little, and no longer.

mod looks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use self::looks::Looks;
use crate::code_index::CodeIndex;
use crate::limits::{ASK_WAIT_MS, BATCHES_MAX, INDEX_BYTES_MAX};
use crate::walk::{WalkOptions, canonical};
use crate::watch::{self, Watch, WatchOptions};
use crate::work_tree::WorkTree;

/// What is followed, and how.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// Each work tree's name and root.
    pub trees: Vec<(String, PathBuf)>,
    /// What of them is read.
    pub walk: WalkOptions,
    /// How they are watched.
    pub watch: WatchOptions,
    /// The folder of the cache; none where nothing is stored.
    pub cache: Option<PathBuf>,
    /// Bytes of memory that what is known of all of them may take, about.
    pub bytes_max: usize,
}

impl Default for FollowOptions {
    fn default() -> Self {
        Self {
            trees: Vec::new(),
            walk: WalkOptions::default(),
            watch: WatchOptions::default(),
            cache: None,
            bytes_max: INDEX_BYTES_MAX,
        }
    }
}

/// How far a work tree is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LookState {
    /// No look at it has come to an end yet.
    #[default]
    Waiting,
    /// The last look is in what is known.
    Done,
    /// The last look failed, and why. What was known before it still is. It is taken again, ever less often.
    Failed(Arc<str>),
    /// What follows it broke down: there are no more looks, and what is known stays as it is.
    Ended,
}

/// What is told of a work tree that is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeStatus {
    /// How far it is known.
    pub state: LookState,
    /// Whether some folders are not watched (see [`Watch::is_partial`]).
    pub is_partial: bool,
    /// Files that the last look parsed.
    pub parsed: usize,
    /// Files that all looks parsed.
    pub parsed_total: usize,
    /// Looks that succeeded.
    pub looks: u64,
}

/// Work trees that are followed, until this is dropped.
#[derive(Debug)]
pub struct Follower {
    trees: BTreeMap<String, Followed>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One of them.
#[derive(Debug)]
struct Followed {
    watch: Watch,
    shown: Arc<Shown>,
}

/// What the thread that looks shows of a work tree.
#[derive(Debug, Default)]
struct Shown {
    /// None for whoever puts something in.
    tree: RwLock<Option<Arc<WorkTree>>>,
    status: Mutex<TreeStatus>,
}

impl Shown {
    /// What is shown; none where something is put in for longer than is waited for.
    fn tree(&self) -> Option<Arc<WorkTree>> {
        let tree = self.tree.try_read_for(Duration::from_millis(ASK_WAIT_MS))?;
        tree.clone()
    }

    /// Whether a look was put in.
    fn is_known(&self) -> bool {
        let tree = self.tree.read();
        tree.as_ref().is_some_and(|tree| tree.generation() > 0)
    }
}

impl Follower {
    /// Begins: the trees are watched from now on, and looked at as soon as there is a turn. Until then nothing is known of
    /// them. One that is not there, or cannot be watched, holds nothing up: it is told, and tried again. A cache that cannot be
    /// read is made anew.
    ///
    /// # Errors
    /// As [`Watch::start`]
    pub fn start(options: FollowOptions) -> Result<Self, watch::Error> {
        let mut index = stored(options.cache.as_deref());
        index.set_bytes_max(options.bytes_max);
        let (sender, receiver) = sync_channel(BATCHES_MAX);
        let mut trees = BTreeMap::new();
        for (name, root) in options.trees {
            // A link may lead elsewhere by and by: what is watched and what is read must be one folder.
            let root = canonical(&root).unwrap_or(root);
            let told = (sender.clone(), name.clone());
            let tell = move |batch| {
                // Nobody looks any more where the other end is gone.
                let _gone = told.0.send((told.1.clone(), batch));
            };
            let watch = Watch::start(&root, options.walk.clone(), options.watch, tell)?;
            index.add_tree(&name, &root, options.walk.clone());
            let shown = Arc::default();
            trees.insert(name, Followed { watch, shown });
        }
        let ends = Arc::new(AtomicBool::new(false));
        let shown = trees
            .iter()
            .map(|(name, followed)| (name.clone(), Arc::clone(&followed.shown)));
        let looks = Looks::new(
            index,
            shown.collect(),
            receiver,
            Arc::clone(&ends),
            options.cache,
        );
        let thread = std::thread::Builder::new()
            .name("code-index".to_owned())
            .spawn(move || looks.run())
            .map_err(watch::Error::Thread)?;
        Ok(Self {
            trees,
            ends,
            thread: Some(thread),
        })
    }

    /// What is known of a work tree, as it is now: it stays so for whoever has it. None where it is not followed, and where it
    /// takes longer than is waited for to put in what is new: there is something soon then.
    #[must_use]
    pub fn tree(&self, name: &str) -> Option<Arc<WorkTree>> {
        self.trees.get(name)?.shown.tree()
    }

    /// What is told of a work tree; none where it is not followed.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<TreeStatus> {
        let Followed { watch, shown } = self.trees.get(name)?;
        let mut status = shown.status.lock().clone();
        status.is_partial = watch.is_partial();
        let is_over = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        if is_over || watch.has_ended() {
            status.state = LookState::Ended;
        }
        Some(status)
    }
}

impl Drop for Follower {
    /// Waits for the look that is being taken, and for no other one: a restart looks at everything.
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Each watch holds a sender: without them there is nothing to wait for.
        self.trees.clear();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The index to begin with.
fn stored(cache: Option<&Path>) -> CodeIndex {
    match cache.map(CodeIndex::load) {
        Some(Ok(loaded)) => loaded.into_index(),
        Some(Err(error)) => {
            tracing::warn!(%error, "the cache of the code index is not read");
            CodeIndex::new()
        }
        None => CodeIndex::new(),
    }
}
