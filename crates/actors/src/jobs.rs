//! Promotion jobs: what waits to be carried out, and what became of it.
//!
//! Owns the work on a node's [`queue`]. The truth is the job's row in the store and, beside it, how the
//! attempts went ([`kept`]): whoever takes a slot goes on from there. Carrying one out is [`promote`]'s.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use sillok_core::id::VerificationId;
use sillok_core::ports::Clock;
use sillok_core::promotion::{Attempts, FailedAttempt, Job, LastError, PublishReport, Spent};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use crate::commit::Shared;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::router::Router;

mod collect;
mod kept;
mod promote;
mod queue;
mod stored;
mod undone;
mod used;

use kept::Kept;
pub(crate) use kept::read as read_attempts;
pub(crate) use queue::JobQueue;
use queue::Taken;
use stored::look_at_halted;
pub(crate) use stored::read_unread;
pub(crate) use stored::{Found, of_slots, pace_of};

/// How a promotion has ended, if it has.
enum Ending {
    /// It is published and noted.
    Done(Box<PublishReport>),
    /// It was given up.
    Dropped,
    /// It has not; how the attempts went that the store knows of.
    UnderWay(Attempts),
}

/// How often the store is asked for a promotion that another node may have ended, in ms.
const LOOK_MS: u64 = 250;
/// The wait before it is said again that a promotion has halted, in ms, where that could not be kept.
const KEEP_AGAIN_MS: u64 = 5_000;

/// Where a promotion stands.
#[derive(Clone, Debug, PartialEq)]
pub enum PromotionState {
    /// It waits or runs.
    Pending {
        /// Attempts that failed.
        attempts: u32,
        /// Why the last one failed.
        last_error: Option<Error>,
    },
    /// It has failed as often as it may, and waits until somebody wants it retried.
    Halted {
        /// Attempts that failed.
        attempts: u32,
        /// Why the last one failed.
        last_error: Option<Error>,
    },
    /// It is published and noted in the task's log.
    Done(Box<Finished>),
    /// It was given up before anything of it was published.
    Dropped,
}

/// What became of a promotion that is finished.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// What it published.
    pub report: PublishReport,
    /// What drew that, and what all its attempts used, as far as that is known.
    pub spent: Option<Spent>,
    /// Whether it was taken back since, as far as its episode tells.
    pub is_undone: bool,
}

/// A job that waits, in the eyes of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingJob {
    /// The job.
    pub job: Job,
    /// Attempts that failed, since it was last wanted tried anew.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<Error>,
    /// Whether it waits until somebody wants it retried.
    pub halted: bool,
}

impl WaitingJob {
    fn of(job: Job, attempts: &Attempts) -> Self {
        Self {
            job,
            attempts: attempts.made,
            last_error: last_error(attempts),
            halted: attempts.halted,
        }
    }
}

/// Why an attempt failed.
#[derive(Debug)]
struct Failure {
    error: Error,
    /// Whether to fail again costs a model call, so that the next attempt is not to come soon.
    is_costly: bool,
    /// Whether it is one of the few that a promotion has. That a store, a scope or an engine was out of reach is
    /// none: it says nothing of the promotion, and an outage must not put all of them on a list that
    /// somebody has to go through.
    counts: bool,
}

impl Failure {
    /// What the promotion itself failed at, such as its cognifier.
    const fn of_its_own(error: Error) -> Self {
        Self {
            error,
            is_costly: true,
            counts: true,
        }
    }
}

impl Failure {
    /// The same, as it is kept. Only what counts has asked the cognifier for certain.
    fn at<S: Store, P: Protocol>(self, shared: &Shared<S, P>) -> FailedAttempt {
        let cognifier = || shared.ports.cognifier.name().to_owned();
        FailedAttempt {
            error: self.error,
            at: shared.ports.clock.now(),
            counts: self.counts,
            is_costly: self.is_costly,
            asked: self.counts.then(cognifier),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let counts = !error.code.is_passing();
        Self {
            error,
            is_costly: counts,
            counts,
        }
    }
}

/// Carries jobs out, one after the other, until the node ends.
pub(crate) async fn work<S: Store, P: Protocol>(
    shared: Arc<Shared<S, P>>,
    router: Arc<Router<S, P>>,
) {
    loop {
        let clock = &shared.ports.clock;
        let mut read_again_ms = None;
        if let Err(error) = read_unread(&shared).await {
            tracing::warn!(%error, "the promotions of a slot were not read; they are read again");
            read_again_ms = Some(shared.config.jobs.backoff_ms);
        }
        let look_again_ms = look_at_halted(&shared).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "it is not known whether halted promotions are to be tried anew");
            Some(shared.config.jobs.backoff_ms)
        });
        match shared.jobs.take(clock.monotonic_ms()) {
            Ok(taken) => {
                take_up(&shared, &router, taken).await;
                // Another worker may sleep while jobs wait.
                shared.jobs.added.notify_one();
            }
            Err(wait_ms) => {
                let all = [wait_ms, read_again_ms, look_again_ms];
                idle(&shared, clock, all.into_iter().flatten().min()).await;
            }
        }
    }
}

/// Makes an attempt at a job, or says again that there is none to be made, and keeps how it went.
async fn take_up<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    taken: Taken,
) {
    let (clock, id) = (&shared.ports.clock, taken.job.verification);
    let mut known = taken.attempts;
    if !taken.is_halted {
        match attempt(shared, router, &taken.job).await {
            Ok(report) => {
                report
                    .iter()
                    .for_each(|report| shared.counters.promoted(report));
                return shared.jobs.finished(id);
            }
            Err(failure) => {
                count(&shared.counters.promotion_failures, 1);
                tracing::warn!(error = %failure.error, task = %taken.job.source, verification = %id, "a promotion failed");
                let (failed, patience) = (failure.at(shared), shared.config.jobs.patience());
                let now_ms = clock.monotonic_ms();
                match shared.jobs.failed(id, &failed, patience, now_ms) {
                    Some(after) => known = after,
                    // It went with its slot, or has ended.
                    None => return,
                }
            }
        }
    }
    let stored = match kept::keep(shared, taken.slot, id, &known).await {
        Ok(Kept::Stored(stored)) => Some(stored),
        Ok(Kept::Not) => None,
        Ok(Kept::Ended) => return shared.jobs.finished(id),
        Err(error) => {
            tracing::warn!(%error, verification = %id, "how an attempt went was not kept");
            None
        }
    };
    let now_ms = clock.monotonic_ms();
    shared.jobs.put_back(id, stored, now_ms, KEEP_AGAIN_MS);
}

/// One attempt at a job, which ends in time whatever it meets. None if there was nothing left to do: it
/// was dropped.
async fn attempt<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    job: &Job,
) -> Result<Option<PublishReport>, Failure> {
    let carried_out = AssertUnwindSafe(promote::carry_out(shared, router, job)).catch_unwind();
    let ms_max = shared.config.jobs.attempt_ms_max;
    tokio::select! {
        biased;
        result = carried_out => result.unwrap_or_else(|_panic| {
            count(&shared.counters.panics, 1);
            // It may be what was prepared that brings it out.
            drop(shared.jobs.prepared(job.verification));
            let error = Error::new(ErrorCode::Internal, "the promotion met a defect");
            Err(Failure::of_its_own(error))
        }),
        () = shared.ports.clock.sleep(ms_max) => {
            let why = format!("the promotion took longer than {ms_max} ms");
            Err(Failure::of_its_own(Error::new(ErrorCode::Unavailable, why)))
        }
    }
}

async fn idle<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    clock: &Arc<dyn Clock>,
    wait_ms: Option<u64>,
) {
    match wait_ms {
        None => shared.jobs.added.notified().await,
        Some(wait_ms) => tokio::select! {
            biased;
            () = shared.jobs.added.notified() => {}
            () = clock.sleep(wait_ms) => {}
        },
    }
}

/// Where a promotion stands, waiting at most `wait_ms` for its end.
///
/// # Errors
/// `not_found` when the task has no such verification.
pub(crate) async fn state<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    task: &Scope,
    id: VerificationId,
    wait_ms: u64,
) -> Result<PromotionState, Error> {
    let deadline_ms = shared.ports.clock.monotonic_ms() + wait_ms;
    loop {
        let ended = shared.jobs.ended.notified();
        tokio::pin!(ended);
        // Listen before looking, so that an end in between is not missed.
        ended.as_mut().enable();
        let state = stands(shared, task, id).await?;
        let now_ms = shared.ports.clock.monotonic_ms();
        let is_waited_for = matches!(state, PromotionState::Pending { .. });
        if now_ms >= deadline_ms || !is_waited_for {
            return Ok(state);
        }
        let left_ms = deadline_ms - now_ms;
        // Of a promotion that another node carries out nobody tells this one.
        let wait_ms = if shared.is_alone() {
            left_ms
        } else {
            left_ms.min(LOOK_MS)
        };
        tokio::select! {
            biased;
            () = ended => {}
            () = shared.ports.clock.sleep(wait_ms) => {}
        }
    }
}

/// Where a promotion stands now: as the store says, and as its owner knows where that is this node.
async fn stands<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    task: &Scope,
    id: VerificationId,
) -> Result<PromotionState, Error> {
    let stored = match promote::ending(shared, task, id).await? {
        Ending::Done(report) => {
            let spent = promote::spent(shared, task, id, &report).await?;
            let is_undone = undone::is_undone(shared, task, id, &report).await?;
            return Ok(PromotionState::Done(Box::new(Finished {
                report: *report,
                spent,
                is_undone,
            })));
        }
        Ending::Dropped => return Ok(PromotionState::Dropped),
        Ending::UnderWay(stored) => stored,
    };
    let known = match shared.jobs.attempts(id) {
        Some(known) => stored.or_remembered(&known),
        None => stored,
    };
    let (attempts, last_error) = (known.made, last_error(&known));
    Ok(if known.halted {
        PromotionState::Halted {
            attempts,
            last_error,
        }
    } else {
        PromotionState::Pending {
            attempts,
            last_error,
        }
    })
}

fn last_error(attempts: &Attempts) -> Option<Error> {
    attempts.last_error.as_ref().map(LastError::to_error)
}

/// Has a halted promotion tried anew, whichever node has its slot. Whether it had halted.
///
/// # Errors
/// `not_found` when the task has no such verification; what the store answered.
pub(crate) async fn retry<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    task: &Scope,
    id: VerificationId,
) -> Result<bool, Error> {
    // The same id names nothing in another task, which may be somebody else's.
    promote::ending(shared, task, id).await?;
    if shared.jobs.retry_unkept(id) {
        return Ok(true);
    }
    let slot = Slot::of(task);
    let is_anew = kept::retry(&shared.store, slot, id).await;
    let is_anew = is_anew.map_err(|error| refusal(&error))?;
    if is_anew && shared.ownership.epoch(slot).is_some() {
        // Another node's owner looks for itself.
        shared.jobs.look_again(slot);
    }
    Ok(is_anew)
}

pub(crate) fn unknown(task: &Scope, id: VerificationId) -> Error {
    Error::new(
        ErrorCode::NotFound,
        format!("{task} has no verification {id}"),
    )
}

#[cfg(test)]
mod tests;
