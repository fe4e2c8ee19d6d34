//! Unknown outcomes: finding out whether a command was applied, and if not, making sure that this
//! attempt of it never will be.
//!
//! Owns the ABORTED record. The original transaction has the command's row in its conflict set, so
//! exactly one of the two can commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use sillok_core::command::{CommandRecord, Submission};
use sillok_core::decide::{Replay, replay};
use sillok_core::id::Attempt;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use super::Shared;
use super::unresolved::{Doubtful, name_of};
use crate::errors::refusal;
use crate::protocol::Protocol;
use crate::rows;
use crate::scope_actor::{Pending, Reply};

/// Tries at finding out.
const TRIES_MAX: u32 = 6;
/// The wait before the second try, in ms; it doubles with each.
const BACKOFF_MS: u64 = 20;
/// The wait between two tries at what is found out when nobody waits for it any more, in ms.
const SETTLE_EVERY_MS: u64 = 2_000;

/// Finds out what became of each command of a lost batch. Those that were not applied are handed
/// back under a later attempt; the others are answered. Once the store is found to be out of reach
/// none of the rest is asked for: what became of them is settled later.
pub(super) async fn all<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    batch: Vec<Pending>,
) -> Vec<Pending> {
    let mut again = Vec::new();
    let mut answered = Vec::new();
    let mut out_of_reach = None;
    for mut pending in batch {
        let found = match &out_of_reach {
            None => find_out(shared, &pending.submission).await,
            Some(error) => Err(StoreError::clone(error)),
        };
        match found {
            Ok(Reply::Abandoned(last)) => {
                Arc::make_mut(&mut pending.submission).attempt = last.next();
                again.push(pending);
            }
            Ok(Reply::Answered(answer)) => answered.push((pending, answer)),
            Ok(reply @ Reply::Refused(_)) => pending.answer(reply),
            Err(error) => {
                pending.answer(Reply::Refused(not_found_out(&error)));
                out_of_reach = is_out_of_reach(&error).then_some(error);
            }
        }
    }
    if !answered.is_empty() {
        let scopes = answered
            .iter()
            .map(|(pending, _)| &pending.submission.scope);
        await_index(shared, scopes.map(Slot::of).collect()).await;
    }
    for (pending, answer) in answered {
        pending.answer(Reply::Answered(answer));
    }
    again
}

/// Finds out what became of a command whose commit, batch or actor was lost.
///
/// # Errors
/// `outcome_unknown` when the store does not answer.
pub(crate) async fn resolve<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    submission: &Submission,
) -> Result<Reply, Error> {
    let found = find_out(shared, submission).await;
    let reply = found.map_err(|error| not_found_out(&error))?;
    if let Reply::Answered(_) = reply {
        await_index(shared, BTreeSet::from([Slot::of(&submission.scope)])).await;
    }
    Ok(reply)
}

/// What a command published is in the index before anybody hears of it. Should the index not answer,
/// the commit stands all the same, and its outbox row is read once the index does.
async fn await_index<S: Store, P: Protocol>(shared: &Shared<S, P>, slots: BTreeSet<Slot>) {
    let (requests, clock) = (&shared.index_requests, &*shared.ports.clock);
    if let Err(error) = requests.catch_up_soon(slots, clock).await {
        tracing::warn!(%error, "a commit is acknowledged before the index has what it published");
    }
}

/// Asks the store what became of a command until it says so, or has not for a while.
async fn find_out<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    submission: &Submission,
) -> Result<Reply, StoreError> {
    let now_ms = shared.ports.clock.monotonic_ms();
    let doubtful = Doubtful {
        key: name_of(submission),
        attempt: submission.attempt,
        digest: submission.command.digest(),
    };
    shared.unresolved.add(doubtful.clone(), now_ms);
    let mut wait_ms = BACKOFF_MS;
    let mut tries = 0;
    loop {
        tries += 1;
        match once(shared, &doubtful).await {
            Err(error) if error.is_retryable() && tries < TRIES_MAX => {}
            // A store that is closed answers nobody any more.
            Err(StoreError::OutcomeUnknown | StoreError::Unavailable { .. })
                if tries < TRIES_MAX =>
            {
                shared.ports.clock.sleep(wait_ms).await;
                wait_ms *= 2;
            }
            result => return result,
        }
    }
}

/// Whether a store's answer says that it would not answer for another command either.
const fn is_out_of_reach(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::OutcomeUnknown | StoreError::Unavailable { .. } | StoreError::Closed
    )
}

/// What a caller is told for whom it was not found out what became of the command.
fn not_found_out(error: &StoreError) -> Error {
    if !is_out_of_reach(error) && !error.is_retryable() {
        return refusal(error);
    }
    Error::new(
        ErrorCode::OutcomeUnknown,
        "the store did not say whether the command was applied",
    )
}

/// Goes on finding out about commands whose callers were told that nobody knows, until the node ends.
/// A commit may arrive when nobody waits for it any more: what it has to be followed by must not wait
/// until somebody asks again.
pub(crate) async fn settle<S: Store, P: Protocol>(shared: Arc<Shared<S, P>>) {
    loop {
        shared.ports.clock.sleep(SETTLE_EVERY_MS).await;
        settle_all(&shared).await;
    }
}

async fn settle_all<S: Store, P: Protocol>(shared: &Shared<S, P>) {
    for doubtful in shared.unresolved.list() {
        let slot = Slot::of(&doubtful.key.0);
        if shared.ownership.epoch(slot).is_none() {
            // Whoever takes the slot fences what is on its way, and reads what came before.
            shared.unresolved.settled(&doubtful.key, Attempt::MAX);
            continue;
        }
        match once(shared, &doubtful).await {
            // Nobody waits for the answer, so the index may follow when it can.
            Ok(_) | Err(StoreError::Conflict | StoreError::TooOld) => {}
            Err(error @ (StoreError::Unavailable { .. } | StoreError::Closed)) => {
                tracing::debug!(%error, "what became of commands is found out later");
                return;
            }
            Err(error @ StoreError::Corrupt { .. }) => {
                // It stays so: all that is left to do is to follow whatever was committed.
                tracing::warn!(%error, "what became of a command cannot be found out");
                mark(shared, slot);
                shared.unresolved.settled(&doubtful.key, Attempt::MAX);
            }
            // The others may do better.
            Err(error) => {
                tracing::debug!(%error, "what became of a command is found out later");
            }
        }
    }
    if shared
        .unresolved
        .was_full(shared.ports.clock.monotonic_ms())
    {
        for slot in shared.ownership.held() {
            mark(shared, slot);
        }
    }
}

/// Finds out once what became of a command, and has everybody look who follows what is committed.
async fn once<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    doubtful: &Doubtful,
) -> Result<Reply, StoreError> {
    let reply = try_resolve(shared, doubtful).await?;
    // Whoever has written the command's record, no earlier attempt commits any more.
    let settled = match &reply {
        Reply::Answered(_) => Attempt::MAX,
        Reply::Abandoned(last) => *last,
        Reply::Refused(_) => doubtful.attempt,
    };
    if let Reply::Answered(_) = reply {
        mark(shared, Slot::of(&doubtful.key.0));
    }
    shared.unresolved.settled(&doubtful.key, settled);
    Ok(reply)
}

/// Has everybody look at a slot who follows what is committed in it: a promotion is queued, an outbox
/// row told, and what was published is stored in the index.
fn mark<S: Store, P: Protocol>(shared: &Shared<S, P>, slot: Slot) {
    shared.jobs.look_again(slot);
    shared.mark_for_relays(slot);
    shared.index_feed.mark(slot);
}

async fn try_resolve<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    doubtful: &Doubtful,
) -> Result<Reply, StoreError> {
    let (scope, actor, id) = &doubtful.key;
    let key = keys::command::key(&ScopeKey::of(scope), actor, *id);
    let mut txn = shared.store.begin().await?;
    let record = txn.get(&key, Read::Conflict).await?;
    let record = record
        .map(|value| keys::command::decode(&key, &value))
        .transpose()?;
    match replay(record.as_ref(), doubtful.digest, doubtful.attempt) {
        Ok(Replay::Answered(answer)) => return Ok(Reply::Answered(*answer)),
        Ok(Replay::Abandoned(last)) => return Ok(Reply::Abandoned(last)),
        Ok(Replay::Apply) => {}
        Err(error) => return Ok(Reply::Refused(error)),
    }
    let aborted = CommandRecord::Aborted {
        digest: doubtful.digest,
        attempt: doubtful.attempt,
    };
    rows::write_command(&mut txn, key, &aborted);
    txn.commit().await?;
    Ok(Reply::Abandoned(doubtful.attempt))
}

#[cfg(test)]
mod tests;
