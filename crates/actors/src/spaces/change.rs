//! The change of an embedder, in the background: every entry is brought to the index that is to serve next, and then that
//! one serves.
//!
//! Owns the order of the steps, and that each can be done again after a crash: the walk over all entries, what was written
//! meanwhile, the note that the index is whole, and the switch. The same worker makes vectors that the serving index lacks,
//! and removes what nobody searches any more ([`former`]). It must not know where a vector comes from.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sillok_core::Error;
use sillok_core::decide::older_nodes;
use sillok_core::entry::{SpaceId, Status};
use sillok_core::membership::WireVersion;
use sillok_core::ports::VectorIndex as _;
use sillok_core::stamp::Stamp;
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn as _, key_range, keys};

use super::side::{Name, Noted, Side};
use super::{Former, Spaces};
use crate::commit::Shared;
use crate::errors::{engine_refusal, refusal};
use crate::protocol::{Protocol, Safeguard};

mod former;

/// Entries that are brought at once at most, where their vectors are at hand: not more than the indexer stores at once.
const ENTRIES_AT_ONCE: usize = 1_024;
/// The wait between two steps, in ms: agents go first.
const PAUSE_MS: u64 = 5;
/// The wait after a step that failed, in ms; it doubles with each.
const AGAIN_MS: u64 = 500;
const AGAIN_MS_MAX: u64 = 60_000;
/// Entries that may be left to be brought while the sides change: under load there are always some.
const LEFT_AT_SWITCH: usize = 16;
/// How often it is shown how much is left, in ms.
const SHOWN_EVERY_MS: u64 = 1_000;
/// How long the former index is kept for searches that are under way, in ms.
const FORMER_MS: u64 = 10_000;

/// A change of the embedder, under way or over since the node started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeStatus {
    /// The space that entries were searched by when the node started.
    pub from: SpaceId,
    /// The space that entries will be searched by.
    pub wanted: SpaceId,
    /// Whether they are searched by it now.
    pub is_over: bool,
    /// Entries that were looked at.
    pub done: u64,
    /// Entries that there are, about.
    pub total: u64,
    /// Why the last step failed, if it did.
    pub last_error: Option<String>,
}

/// What a step was.
enum Step {
    /// There may be more to do.
    Went,
    /// There is nothing to do.
    Idle,
}

/// Makes vectors that are lacking, and carries a change out, until the node ends.
pub(crate) async fn keep<S: Store, P: Protocol>(shared: Arc<Shared<S, P>>) {
    let (spaces, clock) = (&shared.spaces, &shared.ports.clock);
    let mut again_ms = AGAIN_MS;
    let mut worker = Worker::new(&shared);
    loop {
        let stepped = worker.step().await;
        worker.show_left(!matches!(stepped, Ok(Step::Went))).await;
        match stepped {
            Ok(step) => {
                again_ms = AGAIN_MS;
                *spaces.last_error.lock() = None;
                match step {
                    Step::Went => clock.sleep(PAUSE_MS).await,
                    Step::Idle => spaces.to_do.notified().await,
                }
            }
            Err(error) => {
                tracing::warn!(%error, "vectors were not made; it is tried again");
                *spaces.last_error.lock() = Some(error.to_string());
                if let Some(next) = spaces.next() {
                    // What it is told and cannot be brought would gather in memory.
                    next.set_offered(false);
                }
                tokio::select! {
                    biased;
                    () = spaces.erased.notified() => {}
                    () = clock.sleep(again_ms) => again_ms = (again_ms * 2).min(AGAIN_MS_MAX),
                }
            }
        }
    }
}

struct Worker<'a, S: Store, P: Protocol> {
    shared: &'a Shared<S, P>,
    spaces: &'a Spaces<S, P>,
    /// Entries that are brought at once.
    at_once: usize,
    /// Whether it was looked what an earlier run of the node left to be done.
    looked: bool,
    /// The rows that are to be looked through still for such as nobody searches any more; none before the first.
    to_sweep: Option<KeyRange>,
    /// Entries that were brought since the index was optimised.
    stored_since_optimised: u64,
    is_optimised: bool,
    /// The number of the name that was noted last when the next index began to be told of commits.
    offered_at: u64,
    /// When it was shown last how much is left, in ms.
    shown_ms: u64,
}

impl<'a, S: Store, P: Protocol> Worker<'a, S, P> {
    fn new(shared: &'a Shared<S, P>) -> Self {
        let worker = Self {
            shared,
            spaces: &shared.spaces,
            at_once: shared.config.indexer.batch_entries.min(ENTRIES_AT_ONCE),
            looked: false,
            to_sweep: None,
            stored_since_optimised: 0,
            is_optimised: false,
            offered_at: 0,
            shown_ms: 0,
        };
        if let Some(next) = worker.spaces.next() {
            // Of one that met a defect it is not known any more what was noted before it was told at once.
            worker.hold_back(&next);
        }
        worker
    }

    async fn step(&mut self) -> Result<Step, Error> {
        // Whatever else fails: it is told of nothing any more, erasures neither.
        self.remove_former().await;
        let next = self.spaces.next();
        if let Some(next) = &next {
            self.mend(next).await?;
            if next.walk().empties {
                self.empty(next).await?;
                return Ok(Step::Went);
            }
        }
        let side = next.clone().unwrap_or_else(|| self.spaces.serving());
        // What was erased waits for no embedder, and for no other node: nothing is written to the store for it.
        if self.bring(&side, side.erased(self.at_once)).await? {
            return Ok(Step::Went);
        }
        if next.is_some() && !self.shared.speaks(WireVersion::WITH_SPACES) {
            return Err(older_nodes());
        }
        let noted = side.noted(self.at_once);
        let mut went = self.bring(&side, noted).await?;
        // What was erased meanwhile waits for what is asked of the embedder just then, and for nothing else.
        if side.erased(1).is_empty() {
            went |= self.walk(&side).await?;
        }
        if !side.erased(1).is_empty() {
            return Ok(Step::Went);
        }
        self.optimise_if_due(&side).await;
        let Some(next) = next else {
            return if went {
                Ok(Step::Went)
            } else {
                self.settle(&side).await
            };
        };
        let is_over = next.walk().is_over();
        if !is_over || next.lacks() > LEFT_AT_SWITCH || next.lacks_of_before(self.offered_at) {
            return Ok(Step::Went);
        }
        if !self.is_optimised {
            let optimised = next.index.optimise().await;
            optimised.map_err(|error| engine_refusal(&error))?;
            (self.stored_since_optimised, self.is_optimised) = (0, true);
        } else if next.is_offered() {
            self.switch(next).await?;
        } else {
            // From now on it is told at once what is committed. What was noted before is brought first.
            let _nobody_is_telling = self.spaces.sides.write();
            next.set_offered(true);
            self.offered_at = next.noted_last();
        }
        Ok(Step::Went)
    }

    /// Has the next index told no more at once what is committed.
    fn hold_back(&self, next: &Side) {
        let _nobody_is_telling = self.spaces.sides.write();
        next.set_offered(false);
    }

    /// Begins anew with what is to serve next, where its index is damaged.
    async fn mend(&mut self, next: &Side) -> Result<(), Error> {
        if !next.index.must_begin() {
            return Ok(());
        }
        self.hold_back(next);
        let now_ms = self.shared.ports.clock.monotonic_ms();
        let began = next.index.begin_anew(now_ms).await;
        began.map_err(|error| engine_refusal(&error))?;
        next.walk_anew();
        (self.stored_since_optimised, self.is_optimised) = (0, false);
        Ok(())
    }

    /// Empties an index that is to be filled. What an earlier run of the node brought may have been erased since, and of
    /// that nobody tells again; the vectors that were made are kept in the store.
    async fn empty(&mut self, next: &Side) -> Result<(), Error> {
        let mut walk = next.walk();
        self.hold_back(next);
        let emptied = next.index.clear().await;
        emptied.map_err(|error| engine_refusal(&error))?;
        walk.empties = false;
        next.walked(walk);
        (self.stored_since_optimised, self.is_optimised) = (0, false);
        Ok(())
    }

    /// Shows how much is left, now and then, and whenever nothing goes on.
    async fn show_left(&mut self, rests: bool) {
        let now_ms = self.shared.ports.clock.monotonic_ms();
        if rests || now_ms >= self.shown_ms + SHOWN_EVERY_MS {
            self.shown_ms = now_ms;
            self.spaces.note_left().await;
        }
    }

    /// Brings what was noted. Whether there was anything.
    async fn bring(&mut self, side: &Side, noted: Vec<Noted>) -> Result<bool, Error> {
        if noted.is_empty() {
            return Ok(false);
        }
        let names: Vec<Name> = noted.iter().map(|(name, _)| name.clone()).collect();
        let brought = self.spaces.bring(side, &names).await;
        side.brought(&noted[..brought.count]);
        self.stored_since_optimised += brought.count as u64;
        brought.failed.map_or(Ok(true), Err)
    }

    /// Walks on over some entries. Whether there were any.
    async fn walk(&mut self, side: &Side) -> Result<bool, Error> {
        let mut walk = side.walk();
        // One that was begun anew just now begins with the next step.
        let Some(mut range) = walk.left.take().filter(|_| !walk.empties) else {
            return Ok(walk.empties);
        };
        if self.spaces.next().is_some() && !self.spaces.protocol.keeps(Safeguard::WalksToTheEnd) {
            // Planted bug: what is to serve next counts as walked over at once.
            side.walked(walk);
            return Ok(false);
        }
        let rows = {
            let mut txn = self.spaces.begin().await?;
            let page = RangeOptions::first(self.at_once, Read::Snapshot);
            let rows = txn.range(&range, page).await;
            rows.map_err(|error| refusal(&error))?
        };
        // Those to be brought, and where each stands in the page.
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for (place, (key, value)) in rows.iter().enumerate() {
            match keys::head::decode(key, value) {
                Ok(head) if head.status == Status::Archived => {}
                Ok(head) => {
                    names.push((head.scope, head.id));
                    places.push(place);
                }
                Err(error) => {
                    tracing::warn!(%error, "an entry cannot be read, and gets no vector");
                }
            }
        }
        let brought = self.spaces.bring(side, &names).await;
        self.stored_since_optimised += brought.count as u64;
        // Up to the first that was not brought.
        let passed = places.get(brought.count).copied().unwrap_or(rows.len());
        if passed < rows.len() || rows.len() == self.at_once {
            if let Some((last, _)) = rows[..passed].last() {
                range.begin = key_range::successor(last);
            }
            walk.left = Some(range);
        }
        walk.done += passed as u64;
        side.walked(walk);
        brought.failed.map_or(Ok(true), Err)
    }

    /// Optimises an index to which much was brought: each batch leaves a version and files behind.
    async fn optimise_if_due(&mut self, side: &Side) {
        let much = self.shared.config.indexer.optimise_after_entries.max(1);
        if self.stored_since_optimised < much {
            return;
        }
        // Where it fails, too: what cannot be optimised is not asked again after every step.
        self.stored_since_optimised = 0;
        if let Err(error) = side.index.optimise().await {
            let again = "once as many entries were brought to it again, or before it serves";
            tracing::warn!(%error, again, entries = much, "the index was not optimised; it is tried again");
        }
    }

    /// The index that was filled serves from now on.
    async fn switch(&mut self, next: Arc<Side>) -> Result<(), Error> {
        let spaces = self.spaces;
        let former = spaces.serving();
        // All entries were walked since it began anew, if it did.
        next.index.is_filled();
        let engine = |error| engine_refusal(&error);
        // All of that was noted before the former index had it, and is brought, or on its way and held back by name.
        let through = former.index.watermark().await.map_err(engine)?;
        let through = through.filter(|_| next.lacks() == 0).unwrap_or(Stamp::ZERO);
        next.index
            .apply(Vec::new(), through)
            .await
            .map_err(engine)?;
        // Before the index is whole: whoever finds it so looks for nothing else.
        spaces.note_reached(&next.space).await?;
        next.index.note_whole().await.map_err(engine)?;
        let until_ms = self.shared.ports.clock.monotonic_ms() + FORMER_MS;
        {
            let mut sides = spaces.sides.write();
            next.serves();
            sides.serving = next;
            sides.next = None;
            let side = former;
            *spaces.former.lock() = Some(Former { side, until_ms });
        }
        tracing::info!(space = %spaces.serving().space, "the embedder is changed: its index serves");
        Ok(())
    }
}

impl<S: Store, P: Protocol> Spaces<S, P> {
    /// The change that is under way, or has come to its end since the node started.
    pub(crate) async fn status(&self) -> Option<ChangeStatus> {
        let (from, wanted) = self.change.clone()?;
        let next = self.next();
        let stats = self.serving().index.stats().await;
        let stored = stats.map_or(0, |stats| stats.stored);
        let done = next.as_ref().map_or(stored, |next| next.walk().done);
        Some(ChangeStatus {
            from,
            wanted,
            is_over: next.is_none(),
            done,
            total: stored.max(done),
            last_error: self.last_error.lock().clone(),
        })
    }

    async fn note_left(&self) {
        let left = match self.status().await {
            Some(change) if !change.is_over => change.total - change.done,
            _ => self.serving().lacks() as u64,
        };
        self.left
            .inner()
            .store(left.try_into().unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
