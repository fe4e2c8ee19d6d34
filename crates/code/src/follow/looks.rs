//! The looks at work trees that are followed.
//!
//! Owns their thread: one look at a time, what is done about one that fails, when there is room again, and when the cache is
//! stored. It must not know how changes are noticed, nor who asks what is known.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use super::{LookState, Shown};
use crate::code_index::CodeIndex;
use crate::debounce::{Batch, backoff};
use crate::limits::{BATCHES_MAX, CACHE_IDLE_MS, RETRY_MS_MAX, ROOM_MS};
use crate::scan::{Plan, Scanned};
use crate::walk;

const CACHE_IDLE: Duration = Duration::from_millis(CACHE_IDLE_MS);
const RETRY_MAX: Duration = Duration::from_millis(RETRY_MS_MAX);
const ROOM: Duration = Duration::from_millis(ROOM_MS);

/// What is said of a look that panicked. What the panic said may hold text of a file, and is only in the log.
const BROKEN: &str = "the look broke down";

/// What the thread has.
pub(super) struct Looks {
    index: CodeIndex,
    trees: BTreeMap<String, Looked>,
    receiver: Receiver<(String, Batch)>,
    ends: Arc<AtomicBool>,
    cache: Option<PathBuf>,
    is_stored: bool,
    /// When nothing was looked at for a while.
    idle_at: Option<Instant>,
    /// When files are looked at for which there was no room.
    room_at: Option<Instant>,
    /// The most memory that what is known took since room was looked for.
    bytes_most: usize,
}

/// A work tree.
struct Looked {
    shown: Arc<Shown>,
    /// Where it is to be looked at.
    waits: Option<Batch>,
    /// When it may be looked at again, where looks failed.
    after: Option<Instant>,
    failures: u32,
    /// Files that were parsed by the looks that are put in, while what they import is not all known.
    settles: Option<usize>,
}

impl Looked {
    fn note(&mut self, batch: Batch) {
        self.waits = Some(match self.waits.take() {
            Some(waits) => waits.and(batch),
            None => batch,
        });
    }

    fn is_due(&self, now: Instant) -> bool {
        self.waits.is_some() && self.after.is_none_or(|after| after <= now)
    }

    fn put_in(&mut self, parsed: usize) {
        (self.after, self.failures) = (None, 0);
        self.settles = Some(self.settles.unwrap_or_default() + parsed);
    }

    /// All of what was put in is known. Where a look failed since, that stays what is told.
    fn settled(&mut self) {
        let parsed = self.settles.take().unwrap_or_default();
        let mut status = self.shown.status.lock();
        if self.failures == 0 {
            status.state = LookState::Done;
        }
        status.parsed = parsed;
        status.parsed_total += parsed;
        status.looks += 1;
    }

    /// What it was to look at is not known, and neither is what comes before the next look.
    fn failed(&mut self, why: &str, now: Instant) {
        self.note(Batch::Everything);
        self.failures = self.failures.saturating_add(1);
        self.after = Some(now + backoff(self.failures));
        self.shown.status.lock().state = LookState::Failed(why.into());
    }
}

impl Looks {
    /// Looks that are to be taken at all work trees of an index: each is shown where its name says.
    pub(super) fn new(
        index: CodeIndex,
        shown: BTreeMap<String, Arc<Shown>>,
        receiver: Receiver<(String, Batch)>,
        ends: Arc<AtomicBool>,
        cache: Option<PathBuf>,
    ) -> Self {
        let looked = |(name, shown): (String, Arc<Shown>)| {
            *shown.tree.write() = index.snapshot(&name);
            let looked = Looked {
                shown,
                waits: Some(Batch::Everything),
                after: None,
                failures: 0,
                settles: None,
            };
            (name, looked)
        };
        Self {
            trees: shown.into_iter().map(looked).collect(),
            index,
            receiver,
            ends,
            cache,
            is_stored: true,
            idle_at: None,
            room_at: None,
            bytes_most: 0,
        }
    }

    pub(super) fn run(mut self) {
        self.turn(Instant::now());
        // What the cache knew and no tree has took room that others need.
        if self.find_room() {
            self.room_at = Some(Instant::now());
        }
        while !self.ends.load(Ordering::Relaxed) {
            let now = Instant::now();
            let wait = self.next(now).saturating_duration_since(now);
            match self.receiver.recv_timeout(wait) {
                Ok(told) => self.note(told),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.turn(Instant::now());
            self.rest(Instant::now());
        }
        self.store();
    }

    /// Notes what is told, and what else was told by now: a tree is looked at once for all of it.
    fn note(&mut self, told: (String, Batch)) {
        let more = self.receiver.try_iter().take(BATCHES_MAX);
        for (name, batch) in std::iter::once(told).chain(more) {
            if let Some(tree) = self.trees.get_mut(&name) {
                tree.note(batch);
            }
        }
    }

    /// When something is to be done, whatever is told until then.
    fn next(&self, now: Instant) -> Instant {
        if self.trees.values().any(|tree| tree.settles.is_some()) {
            return now;
        }
        let waiting = self.trees.values().filter(|tree| tree.waits.is_some());
        let retries = waiting.map(|tree| tree.after.unwrap_or(now));
        let others = self.idle_at.into_iter().chain(self.room_at);
        let next = retries.chain(others).min();
        next.unwrap_or(now + RETRY_MAX)
    }

    /// Takes the looks that are due, and a step to the end of each that was taken.
    fn turn(&mut self, now: Instant) {
        if self.room_at.is_some_and(|at| at <= now) {
            self.room_at = None;
            for name in self.index.short_of_room() {
                if let Some(tree) = self.trees.get_mut(&*name) {
                    tree.note(Batch::Everything);
                }
            }
        }
        let due = self.trees.iter().filter(|(_, tree)| tree.is_due(now));
        let due: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        for name in due {
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
            self.look(&name, |plan, only| plan.look(only, SystemTime::now()));
        }
        let settling = self.trees.iter().filter(|(_, tree)| tree.settles.is_some());
        let settling: Vec<String> = settling.map(|(name, _)| name.clone()).collect();
        for name in settling {
            if self.ends.load(Ordering::Relaxed) {
                return;
            }
            self.settle(&name);
        }
    }

    fn look(
        &mut self,
        name: &str,
        look: impl FnOnce(Plan, Option<BTreeSet<PathBuf>>) -> Result<Scanned, walk::Error>,
    ) {
        let waits = self.trees.get_mut(name).and_then(|tree| tree.waits.take());
        let (Some(batch), Some(plan)) = (waits, self.index.plan(name)) else {
            return;
        };
        let taken = catch_unwind(AssertUnwindSafe(|| look(plan, batch.into_only())));
        let put_in = match taken {
            Ok(Ok(scanned)) => self.change(name, |index| index.put_in(scanned)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_panic) => Err(BROKEN.to_owned()),
        };
        let put_in = put_in.and_then(|put_in| put_in.map_err(|error| error.to_string()));
        self.idle_at = Some(Instant::now() + CACHE_IDLE);
        match put_in {
            Ok(changes) => {
                self.is_stored &= changes.parsed == 0;
                if let Some(tree) = self.trees.get_mut(name) {
                    tree.put_in(changes.parsed);
                }
            }
            Err(why) => self.failed(name, &why),
        }
    }

    /// Resolves some imports that wait. It is done before it is put in: whoever asks need not wait for it.
    fn settle(&mut self, name: &str) {
        let index = &self.index;
        let resolved = catch_unwind(AssertUnwindSafe(|| index.resolve(name)));
        let put_in = match resolved {
            Ok(Some(resolved)) => self.change(name, |index| index.put_resolved(name, resolved)),
            Ok(None) => self.change(name, |_| ()),
            Err(_panic) => {
                self.reset(name);
                Err(BROKEN.to_owned())
            }
        };
        self.idle_at = Some(Instant::now() + CACHE_IDLE);
        self.bytes_most = self.bytes_most.max(self.index.content_bytes());
        if let Err(why) = put_in {
            self.failed(name, &why);
        } else if self.index.is_settled(name)
            && let Some(tree) = self.trees.get_mut(name)
        {
            tree.settled();
        }
    }

    fn failed(&mut self, name: &str, why: &str) {
        let Some(tree) = self.trees.get_mut(name) else {
            return;
        };
        if tree.failures == 0 {
            tracing::warn!(%why, tree = name, "a work tree is not looked at");
        }
        tree.failed(why, Instant::now());
    }

    /// Begins a work tree anew, where something came to no end that must.
    fn reset(&mut self, name: &str) {
        self.index.reset_tree(name);
        if let Some(tree) = self.trees.get_mut(name) {
            tree.settles = None;
        }
    }

    /// Changes what is known of a work tree. Of one of which nothing was known yet, nothing is shown until all is.
    fn change<T>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut CodeIndex) -> T,
    ) -> Result<T, String> {
        let shown = self.trees.get(name).map(|tree| Arc::clone(&tree.shown));
        let mut shown = shown
            .as_ref()
            .filter(|shown| shown.is_known())
            .map(|shown| {
                let mut shown = shown.tree.write();
                // It is let go, so that nothing is copied where nobody asks.
                *shown = None;
                shown
            });
        let index = &mut self.index;
        let changed = catch_unwind(AssertUnwindSafe(|| change(index)));
        if changed.is_err() {
            self.reset(name);
        }
        if let Some(shown) = &mut shown {
            **shown = self.index.snapshot(name);
        } else if self.index.is_settled(name)
            && let Some(tree) = self.trees.get(name)
        {
            *tree.shown.tree.write() = self.index.snapshot(name);
        }
        changed.map_err(|_panic| BROKEN.to_owned())
    }

    /// Does what waits until nothing was looked at for a while.
    fn rest(&mut self, now: Instant) {
        if self.idle_at.is_none_or(|at| at > now) {
            return;
        }
        self.idle_at = None;
        if self.find_room() {
            self.room_at.get_or_insert(now + ROOM);
        }
        self.store();
        if !self.is_stored && self.cache.is_some() {
            self.idle_at = Some(now + RETRY_MAX);
        }
    }

    /// Forgets what no tree has any more. Whether there is more room than before.
    fn find_room(&mut self) -> bool {
        self.bytes_most = self.bytes_most.max(self.index.content_bytes());
        self.index.prune();
        let bytes = self.index.content_bytes();
        core::mem::replace(&mut self.bytes_most, bytes) > bytes
    }

    fn store(&mut self) {
        let Some(folder) = self.cache.as_deref().filter(|_| !self.is_stored) else {
            return;
        };
        match self.index.save(folder) {
            Ok(()) => self.is_stored = true,
            Err(error) => tracing::warn!(%error, "the code index is not stored"),
        }
    }
}

#[cfg(test)]
mod tests;
