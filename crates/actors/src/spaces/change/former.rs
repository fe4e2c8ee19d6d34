//! What is left of former spaces, once another one is searched: an index that served, and rows in the store.
//!
//! Owns that the index goes first, and that the rows are looked through by a node that searches the space which was
//! reached, page by page, so that whatever comes in between is seen to. It must not know how a space is reached.

use sillok_core::entry::SpaceId;
use sillok_core::ports::VectorIndex as _;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::space::{self, OF_ENTRIES};
use sillok_store::keys::vector::SpaceKey;
use sillok_store::keys::{self, Family};
use sillok_store::{RangeOptions, Read, Store, Txn, key_range};

use super::{AGAIN_MS_MAX, Step, Worker};
use crate::errors::{engine_refusal, refusal};
use crate::protocol::{Protocol, Safeguard};
use crate::spaces::side::Side;
use crate::spaces::{Former, Spaces, fitting};

/// Rows that are looked through at once for such as nobody searches any more.
const ROWS_AT_ONCE: usize = 64;
/// The row that says that they have to be.
const TO_SWEEP: &str = "to sweep";

impl<S: Store, P: Protocol> Worker<'_, S, P> {
    /// Removes what served before, once no search is under way in it any more.
    pub(super) async fn remove_former(&self) {
        let now_ms = self.shared.ports.clock.monotonic_ms();
        let known = self.spaces.former.lock().clone();
        let Some(former) = known.filter(|former| former.until_ms <= now_ms) else {
            return;
        };
        let left = match former.side.index.clear().await {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!(%error, "the former index was not removed; it is tried again");
                let until_ms = now_ms + AGAIN_MS_MAX;
                Some(Former { until_ms, ..former })
            }
        };
        *self.spaces.former.lock() = left;
    }

    /// What is to be done once nothing is lacking: what is left of earlier spaces is removed.
    pub(super) async fn settle(&mut self, serving: &Side) -> Result<Step, Error> {
        let engine = |error| engine_refusal(&error);
        // One that is damaged is noted to be whole once it is filled again.
        if serving.index.has_all() && !serving.index.is_whole().await.map_err(engine)? {
            serving.index.note_whole().await.map_err(engine)?;
        }
        let former = self.spaces.former.lock().clone();
        if let Some(former) = former {
            return Ok(self.wait_for(&former).await);
        }
        if self.looked {
            return Ok(Step::Idle);
        }
        // Of another one it is for the nodes to see to that search it: here its vectors would be removed.
        if self.spaces.space(TO_SWEEP).await?.as_ref() == Some(&serving.space) {
            if !self.sweep(&serving.key).await? {
                return Ok(Step::Went);
            }
            self.spaces.note_swept(&serving.space).await?;
        }
        self.looked = true;
        Ok(Step::Went)
    }

    /// Waits until what served before is to be removed, or there is something else to do.
    async fn wait_for(&self, former: &Former) -> Step {
        let clock = &self.shared.ports.clock;
        let left_ms = former.until_ms.saturating_sub(clock.monotonic_ms());
        tokio::select! {
            biased;
            () = self.spaces.to_do.notified() => {}
            () = clock.sleep(left_ms) => {}
        }
        Step::Went
    }

    /// Removes vectors of all spaces but one, and those of entries that were erased, among some of the rows: a node of an
    /// older version erases an entry and leaves them. Whether there are no more rows.
    async fn sweep(&mut self, kept: &SpaceKey) -> Result<bool, Error> {
        let begun = self.to_sweep.clone();
        let mut range = begun.unwrap_or_else(|| Family::Vector.range());
        let mut txn = self.spaces.begin().await?;
        let page = RangeOptions::first(ROWS_AT_ONCE, Read::Snapshot);
        let rows = txn.range(&range, page).await;
        let rows = rows.map_err(|error| refusal(&error))?;
        let Some((last, _)) = rows.last() else {
            self.to_sweep = None;
            return Ok(true);
        };
        range.begin = key_range::successor(last);
        let mut goes = false;
        for (key, _) in &rows {
            if !self.is_kept(&mut txn, key, kept).await? {
                txn.clear(key.clone());
                goes = true;
            }
        }
        if goes {
            txn.commit().await.map_err(|error| refusal(&error))?;
        }
        self.to_sweep = Some(range);
        Ok(false)
    }

    /// Whether a row is of the space that is kept, and of an entry that was not erased. What cannot be read of the entry
    /// the audit names.
    async fn is_kept(
        &self,
        txn: &mut impl Txn,
        key: &[u8],
        kept: &SpaceKey,
    ) -> Result<bool, Error> {
        let Some(of) = keys::vector::parse(key).ok().filter(|of| of.space == *kept) else {
            return Ok(false);
        };
        let protocol = self.spaces.protocol;
        if !protocol.keeps(Safeguard::KeepsVectorsUnderHeads) {
            return Ok(true);
        }
        let head = keys::head::key(&of.scope, of.entry);
        let value = txn.get(&head, Read::Snapshot).await;
        let value = value.map_err(|error| refusal(&error))?;
        let is_erased = value.is_some_and(|value| {
            keys::head::decode(&head, &value).is_ok_and(|head| head.is_erased())
        });
        Ok(!is_erased)
    }
}

impl<S: Store, P: Protocol> Spaces<S, P> {
    /// Notes for the cluster that every entry has its vector in a space.
    pub(super) async fn note_reached(&self, reached: &SpaceId) -> Result<(), Error> {
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
    fitting::read(txn, &space::key(name), read, space::decode).await
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
