//! Nightly runs: whenever the calendar names a time, one node of the cluster carries a run out for it.
//!
//! Owns when a node looks, and what is written down of runs. When one is due is core's rule; that one runs at a
//! time, [`super`]'s.

use std::sync::Arc;

use sillok_core::membership::WireVersion;
use sillok_core::ports::Calendar;
use sillok_core::schedule::{Run, Runs};
use sillok_core::time::Timestamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::{Error as StoreError, Read, Store, Txn, keys};

use super::held::Held;
use super::{LEASE, Maintain, run_apart};
use crate::claims::retried;
use crate::commit::Shared;
use crate::errors::refusal;
use crate::protocol::Protocol;
use crate::router::Router;

/// The longest that a node waits until it looks whether a run is due, in ms: its wall clock may be set.
const LOOK_EVERY_MS: u64 = 60_000;
/// How long it waits after a run that failed, in ms: a run reads columns of all entries.
const AGAIN_AFTER_MS: u64 = 600_000;

/// Looks again and again, where there is a calendar.
pub(crate) async fn keep<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    router: Arc<Router<S, P>>,
) {
    let Some(calendar) = shared.ports.calendar.clone() else {
        return;
    };
    loop {
        let wait_ms = match look(&shared, &router, calendar.as_ref()).await {
            Ok(()) => until_next(&shared, calendar.as_ref()),
            Err(error) => {
                if error.code != ErrorCode::Busy {
                    tracing::warn!(%error, "the run of maintenance that is due failed; it is tried again");
                }
                again_after_ms(&error)
            }
        };
        shared.ports.clock.sleep(wait_ms).await;
    }
}

/// How long a node waits after a run that did not come to its end, in ms.
fn again_after_ms(error: &Error) -> u64 {
    match error.code {
        // Another one is at it, or may be; whether it came to its end is seen in a while.
        ErrorCode::Busy | ErrorCode::Fenced => LOOK_EVERY_MS,
        _ => AGAIN_AFTER_MS,
    }
}

/// The wait until the next time of the calendar, as far as it is near, in ms.
fn until_next<S: Store, P: Protocol>(shared: &Shared<S, P>, calendar: &dyn Calendar) -> u64 {
    let now = shared.ports.clock.now();
    let next = calendar.next(now);
    next.map_or(LOOK_EVERY_MS, |next| {
        next.since_ms(now).clamp(1, LOOK_EVERY_MS)
    })
}

/// Carries out what is due.
///
/// # Errors
/// As [`run_apart`].
pub(super) async fn look<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Arc<Router<S, P>>,
    calendar: &dyn Calendar,
) -> Result<(), Error> {
    let Some(runs) = begun(shared).await.map_err(|error| refusal(&error))? else {
        return Ok(());
    };
    let now = shared.ports.clock.now();
    let Some(due) = runs.due(calendar.latest(now), now) else {
        return Ok(());
    };
    tracing::info!(%due, "maintenance is due");
    let Some(done) = run_apart(shared, router, &Maintain::whole(), Some(due)).await? else {
        return Ok(());
    };
    let did = done.outcome();
    if did.asks > 0 {
        let scopes = did.asks;
        tracing::warn!(
            scopes,
            "most of some scopes is due, and nothing of them was taken out: see sillok maintain --dry-run"
        );
    }
    tracing::info!(?did, "maintenance is done");
    Ok(())
}

/// What is known of runs; where nothing is, it is begun, and nothing is due yet.
async fn begun<S: Store, P: Protocol>(shared: &Shared<S, P>) -> Result<Option<Runs>, StoreError> {
    if let Some(runs) = known(&shared.store).await? {
        return Ok(Some(runs));
    }
    let begin = |known: Option<Runs>| known.unwrap_or(Runs::begin(shared.ports.clock.now()));
    retried(|| async { write(shared.store.begin().await?, &begin).await }).await?;
    Ok(None)
}

/// Whether a run for this time of the calendar is needed no more, since another node had one.
///
/// # Errors
/// What the store answered.
pub(super) async fn is_done<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    due: Timestamp,
) -> Result<bool, StoreError> {
    let now = shared.ports.clock.now();
    let runs = known(&shared.store).await?;
    Ok(runs.is_some_and(|runs| runs.due(Some(due), now).is_none()))
}

/// Writes down that a run came to its end, if the lease is still its own. Whether it is.
///
/// # Errors
/// What the store answered.
pub(super) async fn note<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    run: &Run,
    due: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let shared = held.shared();
    let mut run = run.clone();
    if !shared.speaks(WireVersion::WITH_CHECKPOINTS) {
        run.checkpoint = None;
    }
    let after = |known: Option<Runs>| {
        let runs = known.unwrap_or(Runs::begin(run.began));
        runs.after(run.clone(), due)
    };
    retried(|| async {
        let mut txn = shared.store.begin().await?;
        if !held.is_held(&mut txn, Read::Conflict).await? {
            return Ok(false);
        }
        write(txn, &after).await.map(|()| true)
    })
    .await
}

/// What is known of runs of maintenance.
///
/// # Errors
/// What the store answered.
pub(crate) async fn known<S: Store>(store: &S) -> Result<Option<Runs>, StoreError> {
    retried(|| async { row(&mut store.begin().await?, Read::Snapshot).await }).await
}

async fn write(
    mut txn: impl Txn,
    change: &impl Fn(Option<Runs>) -> Runs,
) -> Result<(), StoreError> {
    let runs = change(row(&mut txn, Read::Conflict).await?);
    txn.set(keys::run::key(LEASE), keys::run::encode(&runs));
    txn.commit().await.map(drop)
}

async fn row(txn: &mut impl Txn, read: Read) -> Result<Option<Runs>, StoreError> {
    let key = keys::run::key(LEASE);
    let value = txn.get(&key, read).await?;
    value
        .map(|value| keys::run::decode(&key, &value))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_another_one_stands_in_for_is_looked_at_soon() {
        for (code, expected) in [
            (ErrorCode::Busy, LOOK_EVERY_MS),
            (ErrorCode::Fenced, LOOK_EVERY_MS),
            (ErrorCode::Unavailable, AGAIN_AFTER_MS),
            (ErrorCode::Internal, AGAIN_AFTER_MS),
        ] {
            let error = Error::new(code, "as the test has it");
            assert_eq!(again_after_ms(&error), expected, "{code}");
        }
    }
}
