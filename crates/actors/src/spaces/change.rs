//! The change of an embedder, in the background: every entry is brought to the index that is to serve next, and then that
//! one serves.
//!
//! Owns the order of the steps, and that each can be done again after a crash: the walk over all entries, what was written
//! meanwhile, the note that the index is whole, the switch, and the removal of what nobody searches any more. The same
//! worker makes vectors that the serving index lacks. It must not know where a vector comes from.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sillok_core::decide::older_nodes;
use sillok_core::entry::{SpaceId, Status};
use sillok_core::membership::WireVersion;
use sillok_core::ports::VectorIndex as _;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::space::{self, OF_ENTRIES};
use sillok_store::keys::vector::SpaceKey;
use sillok_store::keys::{self, Family};
use sillok_store::{KeyRange, RangeOptions, Read, Store, Txn, key_range};

use super::Spaces;
use super::side::{Name, Side, Walk};
use crate::commit::Shared;
use crate::errors::{engine_refusal, refusal};
use crate::protocol::{Protocol, Safeguard};

/// Entries that are brought at once.
const ENTRIES_AT_ONCE: usize = 32;
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
/// Rows that are looked through at once for such as nobody searches any more.
const ROWS_AT_ONCE: usize = 64;
/// The row that says that they have to be.
const TO_SWEEP: &str = "to sweep";

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
    let mut worker = Worker {
        shared: &shared,
        spaces,
        former: None,
        looked: false,
        is_optimised: false,
        offered_at: 0,
        shown_ms: 0,
    };
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
    /// What served before, and until when it is kept, in ms.
    former: Option<(Arc<Side>, u64)>,
    /// Whether it was looked what an earlier run of the node left to be done.
    looked: bool,
    is_optimised: bool,
    /// The number of the name that was noted last when the next index began to be told of commits.
    offered_at: u64,
    /// When it was shown last how much is left, in ms.
    shown_ms: u64,
}

impl<S: Store, P: Protocol> Worker<'_, S, P> {
    async fn step(&mut self) -> Result<Step, Error> {
        // Whatever else fails: it is told of nothing any more, erasures neither.
        self.remove_former().await;
        let next = self.spaces.next();
        if next.is_some() && !self.shared.speaks(WireVersion::WITH_SPACES) {
            return Err(older_nodes());
        }
        if let Some(next) = &next {
            self.mend(next).await?;
        }
        if let Some(next) = next.as_ref().filter(|next| next.walk().empties) {
            self.empty(next).await?;
            return Ok(Step::Went);
        }
        let side = next.clone().unwrap_or_else(|| self.spaces.serving());
        let went = self.bring_noted(&side).await? | self.walk(&side).await?;
        let Some(next) = next else {
            return if went {
                Ok(Step::Went)
            } else {
                self.settle(&side).await
            };
        };
        let is_over =
            next.walk().is_over() || !self.spaces.protocol.keeps(Safeguard::WalksToTheEnd);
        if !is_over || next.lacks() > LEFT_AT_SWITCH || next.lacks_of_before(self.offered_at) {
            return Ok(Step::Went);
        }
        if !self.is_optimised {
            next.index
                .optimise()
                .await
                .map_err(|error| engine_refusal(&error))?;
            self.is_optimised = true;
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

    /// Begins anew with what is to serve next, where its index is damaged.
    async fn mend(&mut self, next: &Side) -> Result<(), Error> {
        if !next.index.must_begin() {
            return Ok(());
        }
        {
            let _nobody_is_telling = self.spaces.sides.write();
            next.set_offered(false);
        }
        let now_ms = self.shared.ports.clock.monotonic_ms();
        let began = next.index.begin_anew(now_ms).await;
        began.map_err(|error| engine_refusal(&error))?;
        next.walk_anew();
        self.is_optimised = false;
        Ok(())
    }

    /// Empties an index that is to be filled. What an earlier run of the node brought may have been erased since, and of
    /// that nobody tells again; the vectors that were made are kept in the store.
    async fn empty(&self, next: &Side) -> Result<(), Error> {
        let mut walk = next.walk();
        {
            let _nobody_is_telling = self.spaces.sides.write();
            next.set_offered(false);
        }
        let emptied = next.index.clear().await;
        emptied.map_err(|error| engine_refusal(&error))?;
        walk.empties = false;
        next.walked(walk);
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

    /// Brings some of what was noted. Whether there was anything.
    async fn bring_noted(&self, side: &Side) -> Result<bool, Error> {
        let noted = side.noted(ENTRIES_AT_ONCE);
        if noted.is_empty() {
            return Ok(false);
        }
        let names: Vec<Name> = noted.iter().map(|(name, _)| name.clone()).collect();
        self.spaces.bring(side, &names).await?;
        side.brought(&noted);
        Ok(true)
    }

    /// Walks on over some entries. Whether there were any.
    async fn walk(&self, side: &Side) -> Result<bool, Error> {
        let mut walk = side.walk();
        // One that was begun anew just now begins with the next step.
        let Some(range) = walk.left.take().filter(|_| !walk.empties) else {
            return Ok(walk.empties);
        };
        self.walk_heads(side, &mut walk, range).await?;
        side.walked(walk);
        Ok(true)
    }

    async fn walk_heads(
        &self,
        side: &Side,
        walk: &mut Walk,
        mut range: KeyRange,
    ) -> Result<(), Error> {
        let mut txn = self.spaces.begin().await?;
        let page = RangeOptions::first(ENTRIES_AT_ONCE, Read::Snapshot);
        let rows = txn.range(&range, page).await;
        let rows = rows.map_err(|error| refusal(&error))?;
        let mut names = Vec::with_capacity(rows.len());
        for (key, value) in &rows {
            match keys::head::decode(key, value) {
                Ok(head) if head.status == Status::Archived => {}
                Ok(head) => names.push((head.scope, head.id)),
                Err(error) => {
                    tracing::warn!(%error, "an entry cannot be read, and gets no vector");
                }
            }
        }
        drop(txn);
        self.spaces.bring(side, &names).await?;
        walk.done += rows.len() as u64;
        walk.left = rows
            .last()
            .filter(|_| rows.len() == ENTRIES_AT_ONCE)
            .map(|(last, _)| {
                range.begin = key_range::successor(last);
                range
            });
        Ok(())
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
        {
            let mut sides = spaces.sides.write();
            next.serves();
            sides.serving = next;
            sides.next = None;
        }
        tracing::info!(space = %spaces.serving().space, "the embedder is changed: its index serves");
        let until_ms = self.shared.ports.clock.monotonic_ms() + FORMER_MS;
        self.former = Some((former, until_ms));
        Ok(())
    }

    /// Removes what served before, once no search is under way in it any more.
    async fn remove_former(&mut self) {
        let now_ms = self.shared.ports.clock.monotonic_ms();
        let Some((former, _)) = self.former.take_if(|(_, until_ms)| *until_ms <= now_ms) else {
            return;
        };
        if let Err(error) = former.index.clear().await {
            tracing::warn!(%error, "the former index was not removed; it is tried again");
            self.former = Some((former, now_ms + AGAIN_MS_MAX));
        }
    }

    /// What is to be done once nothing is lacking: what is left of earlier spaces is removed.
    async fn settle(&mut self, serving: &Side) -> Result<Step, Error> {
        let engine = |error| engine_refusal(&error);
        // One that is damaged is noted to be whole once it is filled again.
        if serving.index.has_all() && !serving.index.is_whole().await.map_err(engine)? {
            serving.index.note_whole().await.map_err(engine)?;
        }
        if self.looked {
            return self.wait_for_former().await;
        }
        // Of another one it is for the nodes to see to that search it: here its vectors would be removed.
        if self.spaces.space(TO_SWEEP).await?.as_ref() == Some(&serving.space) {
            self.sweep(&serving.key).await?;
            self.spaces.note_swept(&serving.space).await?;
        }
        self.looked = true;
        Ok(Step::Went)
    }

    /// Waits for something to do, as the removal of what served before.
    async fn wait_for_former(&self) -> Result<Step, Error> {
        let Some((_, until_ms)) = self.former else {
            return Ok(Step::Idle);
        };
        let clock = &self.shared.ports.clock;
        let left_ms = until_ms.saturating_sub(clock.monotonic_ms());
        tokio::select! {
            biased;
            () = self.spaces.to_do.notified() => {}
            () = clock.sleep(left_ms) => {}
        }
        Ok(Step::Went)
    }

    /// Removes vectors of all spaces but one.
    async fn sweep(&self, kept: &SpaceKey) -> Result<(), Error> {
        let mut range = Family::Vector.range();
        loop {
            let mut txn = self.spaces.begin().await?;
            let page = RangeOptions::first(ROWS_AT_ONCE, Read::Snapshot);
            let rows = txn.range(&range, page).await;
            let rows = rows.map_err(|error| refusal(&error))?;
            let Some((last, _)) = rows.last() else {
                return Ok(());
            };
            range.begin = key_range::successor(last);
            let is_kept = |key: &[u8]| keys::vector::parse(key).is_ok_and(|key| key.space == *kept);
            let gone: Vec<_> = rows.iter().filter(|(key, _)| !is_kept(key)).collect();
            for (key, _) in &gone {
                txn.clear(key.clone());
            }
            if !gone.is_empty() {
                txn.commit().await.map_err(|error| refusal(&error))?;
            }
            self.shared.ports.clock.sleep(PAUSE_MS).await;
        }
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

    /// Notes for the cluster that every entry has its vector in a space.
    async fn note_reached(&self, reached: &SpaceId) -> Result<(), Error> {
        let mut txn = self.begin().await?;
        for name in [OF_ENTRIES, TO_SWEEP] {
            txn.set(space::key(name), space::encode(reached));
        }
        written(txn).await
    }

    /// Notes that no vectors of other spaces are left, unless another space was reached meanwhile.
    async fn note_swept(&self, kept: &SpaceId) -> Result<(), Error> {
        let mut txn = self.begin().await?;
        if space_in(&mut txn, TO_SWEEP, Read::Conflict).await?.as_ref() != Some(kept) {
            return Ok(());
        }
        txn.clear(space::key(TO_SWEEP));
        written(txn).await
    }

    async fn space(&self, name: &str) -> Result<Option<SpaceId>, Error> {
        space_in(&mut self.begin().await?, name, Read::Snapshot).await
    }
}

async fn space_in(txn: &mut impl Txn, name: &str, read: Read) -> Result<Option<SpaceId>, Error> {
    let key = space::key(name);
    let value = txn.get(&key, read).await;
    let value = value.map_err(|error| refusal(&error))?;
    let value = value.map(|value| space::decode(&key, &value)).transpose();
    value.map_err(|error| refusal(&error))
}

/// Commits what says the same when it is written again.
async fn written(txn: impl Txn) -> Result<(), Error> {
    match txn.commit().await.map_err(|error| refusal(&error)) {
        Err(error) if error.code == ErrorCode::OutcomeUnknown => {
            Err(Error::new(ErrorCode::Unavailable, error.message))
        }
        written => written.map(drop),
    }
}
