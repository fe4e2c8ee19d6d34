//! Unknown outcomes: finding out whether a command was applied, and if not, making sure that this
//! attempt of it never will be.
//!
//! Owns the ABORTED record. The original transaction has the command's row in its conflict set, so
//! exactly one of the two can commit.

use std::sync::Arc;

use sillok_core::command::{CommandRecord, Submission};
use sillok_core::decide::{Replay, replay};
use sillok_core::id::Attempt;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use super::Shared;
use super::unresolved::name_of;
use crate::errors::refusal;
use crate::protocol::Protocol;
use crate::rows;
use crate::scope_actor::{Pending, Reply};

/// Tries at finding out.
const TRIES_MAX: u32 = 6;
/// The wait before the second try, in ms; it doubles with each.
const BACKOFF_MS: u64 = 20;

/// Finds out what became of each command of a lost batch. Those that were not applied are handed
/// back under a later attempt; the others are answered.
pub(super) async fn all<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    batch: Vec<Pending>,
) -> Vec<Pending> {
    let mut again = Vec::new();
    for mut pending in batch {
        match resolve(shared, &pending.submission).await {
            Ok(Reply::Abandoned(last)) => {
                Arc::make_mut(&mut pending.submission).attempt = last.next();
                again.push(pending);
            }
            Ok(reply) => drop(pending.reply.send(reply)),
            Err(error) => drop(pending.reply.send(Reply::Refused(error))),
        }
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
    let now_ms = shared.ports.clock.monotonic_ms();
    let attempt = submission.attempt;
    shared.unresolved.add(name_of(submission), attempt, now_ms);
    let mut wait_ms = BACKOFF_MS;
    for _ in 0..TRIES_MAX {
        match try_resolve(shared, submission).await {
            Ok(reply) => {
                // Whoever has written the command's record, no earlier attempt commits any more.
                let settled = match &reply {
                    Reply::Answered(_) => Attempt::MAX,
                    Reply::Abandoned(last) => *last,
                    Reply::Refused(_) => attempt,
                };
                shared.unresolved.settled(&name_of(submission), settled);
                if let Reply::Answered(_) = reply {
                    follow_up(shared, Slot::of(&submission.scope)).await;
                }
                return Ok(reply);
            }
            Err(StoreError::Conflict | StoreError::TooOld) => {}
            Err(StoreError::OutcomeUnknown | StoreError::Unavailable { .. }) => {
                shared.ports.clock.sleep(wait_ms).await;
                wait_ms *= 2;
            }
            // A store that is closed answers nobody any more.
            Err(StoreError::Closed) => break,
            Err(error) => return Err(refusal(&error)),
        }
    }
    Err(Error::new(
        ErrorCode::OutcomeUnknown,
        "the store did not say whether the command was applied",
    ))
}

/// A command was applied, and nobody was there to do what follows a commit: its promotion is queued,
/// its outbox row told, and what it published is in the index before anybody hears of it.
async fn follow_up<S: Store, P: Protocol>(shared: &Shared<S, P>, slot: Slot) {
    shared.jobs.look_again(slot);
    shared.mark_for_relays(slot);
    shared.index_feed.mark(slot);
    // Without an indexer the node is ending; its next start reads the outbox.
    let _ = shared.index_requests.catch_up().await;
}

async fn try_resolve<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    submission: &Submission,
) -> Result<Reply, StoreError> {
    let scope_key = ScopeKey::of(&submission.scope);
    let key = keys::command::key(&scope_key, &submission.principal.actor, submission.id);
    let digest = submission.command.digest();
    let mut txn = shared.store.begin().await?;
    let record = txn.get(&key, Read::Conflict).await?;
    let record = record
        .map(|value| keys::command::decode(&key, &value))
        .transpose()?;
    match replay(record.as_ref(), digest, submission.attempt) {
        Ok(Replay::Answered(answer)) => return Ok(Reply::Answered(*answer)),
        Ok(Replay::Abandoned(last)) => return Ok(Reply::Abandoned(last)),
        Ok(Replay::Apply) => {}
        Err(error) => return Ok(Reply::Refused(error)),
    }
    let aborted = CommandRecord::Aborted {
        digest,
        attempt: submission.attempt,
    };
    rows::write_command(&mut txn, key, &aborted);
    txn.commit().await?;
    Ok(Reply::Abandoned(submission.attempt))
}
