//! Restoring: a store from a backup, as it was at the backup or at an earlier moment.
//!
//! Owns the order of the work and what a restore makes void. A backup is read through before anything is
//! written. Events, and what stands beside them, are written as they were; the view is folded anew; the
//! result is audited. Every stamp gets the generation of the restored store, so that no cursor of another
//! history is taken for one of this; all runs of nodes are fenced and all epochs raised; every token is
//! revoked, by events. It must not know where the backup or the store lie.

use std::io::{Read, Seek};

use serde::{Deserialize, Serialize};
use sillok_core::id::Seq;
use sillok_core::ports::Rng;
use sillok_core::principal::Principal;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_store::{Error as StoreError, Store, backup};

use crate::audit::{self, AuditReport, Difference, OnProgress};
use crate::errors::refusal;
use crate::rebuild::rebuild_view;

mod load;
mod survey;
mod tokens;

pub use survey::{Survey, Until, survey};

/// What a new generation is higher by at most. Two restores of one backup get the same generation about
/// once in a million times.
const GENERATION_STEP_MAX: u32 = 1 << 20;

/// Why a backup is not restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The backup cannot be read.
    #[error(transparent)]
    Backup(#[from] backup::Error),
    /// It was made from a store of a newer format or another layout.
    #[error("the backup is of another sort of store: {0}")]
    Store(#[source] StoreError),
    /// It holds what no backup of this build holds.
    #[error("the backup holds what does not belong into one: {0}")]
    Content(String),
    /// The event to which it was to be restored is not in it.
    #[error("the backup has no event {seq} of {scope}: {has}")]
    NoSuchEvent {
        /// The scope.
        scope: Scope,
        /// The position that was named.
        seq: Seq,
        /// What it has of the scope instead.
        has: String,
    },
    /// What the moment had was erased later, so that it cannot be restored.
    #[error(
        "event {seq} of {scope} was erased by event {by}: restore to a moment that has event {by}, or all of the backup"
    )]
    ErasedSince {
        /// The scope.
        scope: Scope,
        /// The event that was erased.
        seq: Seq,
        /// The event that erased it.
        by: Seq,
    },
    /// Nothing had happened by the time to which it was to be restored.
    #[error("the backup has no commit that was whole by then: its first one ends later")]
    NothingByThen,
    /// It is not the file any more that was read first.
    #[error("the backup was changed while it was restored")]
    Changed,
    /// There are no generations left.
    #[error("the backup is of generation {0}, and none that a restore could take lies behind that")]
    NoGeneration(u32),
    /// What was restored does not hold.
    #[error("what the backup holds does not hold together: {0}")]
    Unsound(Box<Difference>),
    /// The store did not do what it was asked, or the events do not hold.
    #[error(transparent)]
    Core(#[from] sillok_core::Error),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Core(refusal(&error))
    }
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReport {
    /// The generation of the restored store.
    pub generation: u32,
    /// Events of the backup that were restored.
    pub events: u64,
    /// Events of the backup that lay behind the moment to which it was restored.
    pub events_cut: u64,
    /// When the last of the restored events happened; none where there is none.
    pub last_event: Option<Timestamp>,
    /// Tokens that would still count, and were revoked.
    pub tokens_revoked: u64,
    /// The audit of the restored store. It holds.
    pub audit: AuditReport,
}

/// Who restores, and with what.
pub struct Means<'a> {
    /// In whose name tokens are revoked: a person whose token covers everything.
    pub operator: &'a Principal,
    /// The time.
    pub now: Timestamp,
    /// Randomness.
    pub rng: &'a mut dyn Rng,
}

/// A generation for a restored store: higher than that of the backup, by as much as chance says, so that
/// two restores of one backup have two.
///
/// # Errors
/// [`Error::NoGeneration`]
pub fn next_generation(before: u32, rng: &mut dyn Rng) -> Result<u32, Error> {
    let mut bytes = [0; 4];
    rng.fill(&mut bytes);
    let step = 1 + u32::from_be_bytes(bytes) % GENERATION_STEP_MAX;
    before.checked_add(step).ok_or(Error::NoGeneration(before))
}

/// Fills an empty store from a backup that was surveyed. The store's stamps must have a generation from
/// [`next_generation`] and a counter behind that of the backup; nobody else may use it.
///
/// # Errors
/// [`Error`]. The store is then of no use.
pub async fn restore<S: Store>(
    store: &S,
    file: &mut (impl Read + Seek),
    survey: &Survey,
    means: Means<'_>,
    progress: OnProgress<'_>,
) -> Result<RestoreReport, Error> {
    assert!(
        store.generation() > survey.head.generation,
        "a restored store is of a later generation than its backup"
    );
    let loaded = load::load(store, file, survey, progress).await?;
    rebuild_view(store, progress).await?;
    let tokens_revoked = tokens::revoke(store, means).await?;
    let audit = audit::verify(store, progress).await?;
    if let Some(difference) = audit.first {
        return Err(Error::Unsound(Box::new(difference)));
    }
    Ok(RestoreReport {
        generation: store.generation(),
        events: loaded.events,
        events_cut: survey.end.events - loaded.events,
        last_event: loaded.last_event,
        tokens_revoked,
        audit,
    })
}
