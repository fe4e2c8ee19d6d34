//! Promotion jobs: what waits to be carried out, and what became of it.
//!
//! Owns the queue of a node and its backoff. The truth is the job's row in the store, so a job that
//! was lost with a process is found again at the next start. Carrying one out is [`promote`]'s.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use sillok_core::id::VerificationId;
use sillok_core::ports::Clock;
use sillok_core::promotion::{Job, NewEntry, PublishReport};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;
use tokio::sync::Notify;

use crate::commit::Shared;
use crate::config::JobsConfig;
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::router::Router;

mod promote;
mod stored;

pub(crate) use stored::of_slots;
use stored::read_unread;

/// How often the store is asked for a promotion that another node may have ended, in ms.
const LOOK_MS: u64 = 250;
/// The longest wait between two attempts, in ms.
const BACKOFF_MS_MAX: u64 = 60_000;
/// Jobs for which what was prepared is kept. What is prepared for one may have some megabytes.
const PREPARED_MAX: usize = 16;
/// The longest wait for a store or a scope that is out of reach, in ms.
const REACH_BACKOFF_MS_MAX: u64 = 5_000;

/// Where a promotion stands.
#[derive(Clone, Debug, PartialEq)]
pub enum PromotionState {
    /// It waits or runs.
    Pending {
        /// Attempts so far.
        attempts: u32,
        /// Why the last one failed.
        last_error: Option<Error>,
    },
    /// It has failed as often as it may, and waits until somebody wants it retried.
    Halted {
        /// Attempts so far.
        attempts: u32,
        /// Why the last one failed.
        last_error: Option<Error>,
    },
    /// It is published and noted in the task's log.
    Done(Box<PublishReport>),
}

/// A job that waits, in the eyes of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingJob {
    /// The job.
    pub job: Job,
    /// Attempts so far.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<Error>,
    /// Whether it waits until somebody wants it retried.
    pub halted: bool,
}

/// Why an attempt failed.
#[derive(Debug)]
struct Failure {
    error: Error,
    /// Whether to fail again costs a model call, so that the next attempt is not to come soon.
    is_costly: bool,
    /// Whether it is one of the few that a promotion has. That a store or a scope was out of reach is
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

struct Waiting {
    slot: Slot,
    job: Job,
    attempts: u32,
    /// How many of them count.
    failures: u32,
    last_error: Option<Error>,
    due_ms: u64,
    running: bool,
    halted: bool,
}

/// The promotions of a node that are not finished.
#[derive(Default)]
pub(crate) struct JobQueue {
    waiting: Mutex<BTreeMap<VerificationId, Waiting>>,
    /// What was drawn from the records of jobs, and embedded, but not published: the next attempt asks
    /// no model again.
    prepared: Mutex<BTreeMap<VerificationId, Vec<NewEntry>>>,
    /// Slots that may hold jobs which nobody has told this queue of.
    unread: Mutex<BTreeSet<Slot>>,
    added: Notify,
    ended: Notify,
}

impl JobQueue {
    /// Takes a job in, unless it is there.
    pub(crate) fn add(&self, slot: Slot, job: Job) {
        let new = Waiting {
            slot,
            job,
            attempts: 0,
            failures: 0,
            last_error: None,
            due_ms: 0,
            running: false,
            halted: false,
        };
        self.waiting
            .lock()
            .entry(new.job.verification)
            .or_insert(new);
        self.added.notify_one();
    }

    /// Takes a job off the dead-letter list, to be tried anew. Whether it was there.
    pub(crate) fn retry(&self, id: VerificationId) -> bool {
        let mut waiting = self.waiting.lock();
        let Some(job) = waiting.get_mut(&id).filter(|job| job.halted) else {
            return false;
        };
        job.halted = false;
        job.attempts = 0;
        job.failures = 0;
        job.due_ms = 0;
        drop(waiting);
        self.added.notify_one();
        true
    }

    /// Notes that a commit in a slot was found out about, which may have started a promotion.
    pub(crate) fn look_again(&self, slot: Slot) {
        self.unread.lock().insert(slot);
        self.added.notify_one();
    }

    /// Keeps the jobs of these slots; whoever holds the others resumes theirs.
    pub(crate) fn keep_only(&self, keeps: impl Fn(Slot) -> bool) {
        let mut waiting = self.waiting.lock();
        waiting.retain(|_, waiting| keeps(waiting.slot));
        let is_waiting = |id: &VerificationId, _: &mut Vec<NewEntry>| waiting.contains_key(id);
        self.prepared.lock().retain(is_waiting);
        drop(waiting);
        self.ended.notify_waiters();
    }

    /// What waits, oldest verification first.
    pub(crate) fn list(&self) -> Vec<WaitingJob> {
        let shown = |waiting: &Waiting| WaitingJob {
            job: waiting.job.clone(),
            attempts: waiting.attempts,
            last_error: waiting.last_error.clone(),
            halted: waiting.halted,
        };
        self.waiting.lock().values().map(shown).collect()
    }

    /// Takes the next job that is due, or says in how many milliseconds one will be.
    fn take(&self, now_ms: u64) -> Result<(Slot, Job), Option<u64>> {
        let mut waiting = self.waiting.lock();
        let idle = |waiting: &&mut Waiting| !waiting.running && !waiting.halted;
        let next = waiting
            .values_mut()
            .filter(idle)
            .min_by_key(|waiting| (waiting.due_ms, waiting.job.created_at));
        let Some(next) = next else { return Err(None) };
        if next.due_ms > now_ms {
            return Err(Some(next.due_ms - now_ms));
        }
        next.running = true;
        next.attempts += 1;
        Ok((next.slot, next.job.clone()))
    }

    /// Takes what was prepared for a job, if it was kept.
    fn prepared(&self, id: VerificationId) -> Option<Vec<NewEntry>> {
        self.prepared.lock().remove(&id)
    }

    /// Keeps what was prepared for a job that waits, while there is room. Whether it is kept.
    fn keep_prepared(&self, id: VerificationId, products: Vec<NewEntry>) -> bool {
        let waiting = self.waiting.lock();
        let mut prepared = self.prepared.lock();
        let is_kept = waiting.contains_key(&id) && prepared.len() < PREPARED_MAX;
        if is_kept {
            prepared.insert(id, products);
        }
        is_kept
    }

    fn finished(&self, id: VerificationId) {
        self.prepared.lock().remove(&id);
        self.waiting.lock().remove(&id);
        self.ended.notify_waiters();
    }

    fn failed(&self, id: VerificationId, failure: Failure, now_ms: u64, config: &JobsConfig) {
        if let Some(job) = self.waiting.lock().get_mut(&id) {
            job.failures += u32::from(failure.counts);
            let wait_ms_max = if failure.is_costly {
                BACKOFF_MS_MAX
            } else {
                REACH_BACKOFF_MS_MAX
            };
            let doublings = job.attempts.saturating_sub(1).min(20);
            let wait_ms = config.backoff_ms.saturating_mul(1 << doublings);
            job.due_ms = now_ms + wait_ms.min(wait_ms_max);
            job.running = false;
            job.halted = job.failures >= config.attempts;
            job.last_error = Some(failure.error);
        }
        self.added.notify_one();
        self.ended.notify_waiters();
    }

    fn state(&self, id: VerificationId) -> Option<PromotionState> {
        let waiting = self.waiting.lock();
        let job = waiting.get(&id)?;
        let (attempts, last_error) = (job.attempts, job.last_error.clone());
        Some(if job.halted {
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
        match shared.jobs.take(clock.monotonic_ms()) {
            Ok((_slot, job)) => {
                match attempt(&shared, &router, &job).await {
                    Ok(report) => {
                        shared.counters.promoted(&report);
                        shared.jobs.finished(job.verification);
                    }
                    Err(failure) => {
                        count(&shared.counters.promotion_failures, 1);
                        tracing::warn!(error = %failure.error, task = %job.source, verification = %job.verification, "a promotion failed");
                        let now_ms = clock.monotonic_ms();
                        shared
                            .jobs
                            .failed(job.verification, failure, now_ms, &shared.config.jobs);
                    }
                }
                // Another worker may sleep while jobs wait.
                shared.jobs.added.notify_one();
            }
            Err(wait_ms) => {
                let soonest_ms = wait_ms.into_iter().chain(read_again_ms).min();
                idle(&shared, clock, soonest_ms).await;
            }
        }
    }
}

/// One attempt at a job, which ends in time whatever it meets.
async fn attempt<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    job: &Job,
) -> Result<PublishReport, Failure> {
    let carried_out = AssertUnwindSafe(promote::carry_out(shared, router, job)).catch_unwind();
    let ms_max = shared.config.jobs.attempt_ms_max;
    tokio::select! {
        biased;
        result = carried_out => result.unwrap_or_else(|_panic| {
            count(&shared.counters.panics, 1);
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
        if let Some(report) = promote::finished(shared, task, id).await? {
            return Ok(PromotionState::Done(Box::new(report)));
        }
        let state = shared.jobs.state(id).unwrap_or(PromotionState::Pending {
            attempts: 0,
            last_error: None,
        });
        let now_ms = shared.ports.clock.monotonic_ms();
        if now_ms >= deadline_ms || matches!(state, PromotionState::Halted { .. }) {
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

pub(crate) fn unknown(task: &Scope, id: VerificationId) -> Error {
    Error::new(
        ErrorCode::NotFound,
        format!("{task} has no verification {id}"),
    )
}

#[cfg(test)]
mod tests;
