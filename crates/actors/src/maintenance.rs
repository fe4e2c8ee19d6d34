//! Maintenance: one run over all that is published, for the whole cluster.
//!
//! Owns the order of a run: the lease, the plan, and the commands that carry it out; when nobody asks for one,
//! [`nightly`] does. What is due is core's rule, and the owner of each scope asks it once more, so that a run which
//! was thought to be over, or a plan that is out of date, takes nothing out that should stay. Nothing is kept of a
//! run that ended early: the next one plans anew from what is left.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::{FuturesOrdered, FuturesUnordered};
use sillok_core::command::{AnswerBody, Command, Submission};
use sillok_core::id::{Attempt, CommandId, EntryId};
use sillok_core::limits::RETIRED_MAX;
use sillok_core::principal::Principal;
use sillok_core::retention::Retirement;
use sillok_core::schedule::Run;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use crate::claims::lease;
use crate::commit::Shared;
use crate::errors::{engine_refusal, refusal};
use crate::protocol::{Protocol, Safeguard};
use crate::router::Router;

mod asked;
mod forget;
pub(crate) mod nightly;
mod offering;
mod plan;
mod running;
mod sign;

pub use asked::{Maintain, Maintained, Part, ScopeMaintained};
pub use plan::{Due, due};
pub use running::Progress;

pub(crate) use running::Running;
use running::Turn;

/// Name of the lease, and of the schedule.
const LEASE: &str = "maintenance";
/// Entries that one command takes out: a scope's other writers wait for no longer than that takes.
const RETIRED_AT_ONCE: usize = 256;
const _: () = assert!(RETIRED_AT_ONCE <= RETIRED_MAX, "a command may name as many");
/// Commands to one scope that are under way: what waits while a batch is committed is the next batch.
const COMMANDS_AT_ONCE: usize = 4;
/// Scopes of which entries are taken out at the same time: one waits for the disk while another is decided.
const SCOPES_AT_ONCE: usize = 8;
/// Times that a command is given again which a passing refusal met.
const TRIES_MAX: u32 = 5;
/// The wait before it is given again, in ms; it doubles with each.
const TRY_AGAIN_MS: u64 = 200;
/// What whoever meets another run is told to wait, in ms.
const BESIDE_RETRY_MS: u64 = 60_000;

/// Carries a run out that somebody asked for.
///
/// # Errors
/// As [`run`].
pub(crate) async fn by_hand<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Arc<Router<S, P>>,
    asked: &Maintain,
) -> Result<Maintained, Error> {
    let done = run_apart(shared, router, asked, None).await?;
    Ok(done.expect("a run for no time of the calendar is one that nobody had"))
}

/// As [`run`], to its end even where whoever asked goes away: it has a lease to give back.
///
/// # Errors
/// As [`run`].
async fn run_apart<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Arc<Router<S, P>>,
    asked: &Maintain,
    due: Option<Timestamp>,
) -> Result<Option<Maintained>, Error> {
    let (shared, router, asked) = (Arc::clone(shared), Arc::clone(router), asked.clone());
    let run = tokio::spawn(async move { run(&shared, &router, &asked, due).await });
    run.await.unwrap_or_else(|_| {
        let why = "the run of maintenance ended before its time";
        Err(Error::new(ErrorCode::Internal, why))
    })
}

/// Carries a run out, for a time of the calendar or because somebody asked for it. None when another node had
/// one for that time.
///
/// # Errors
/// `busy` while another run is under way; what the store, the index or a scope's owner answered. What was done
/// before stays done, and the next run goes on from there.
async fn run<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    asked: &Maintain,
    due: Option<Timestamp>,
) -> Result<Option<Maintained>, Error> {
    if asked.dry_run && shared.protocol.keeps(Safeguard::RehearsesOnly) {
        let planned = plan::of(shared, asked, &|_| ()).await?;
        let forgotten = forgotten(shared, asked, &planned).await?;
        let (checkpoint, checkpoint_error) = signed(shared, asked).await;
        return Ok(Some(Maintained {
            looked_at: planned.looked_at,
            asks: planned.asks,
            offered: planned.offers.len() as u64,
            scopes: planned.scopes,
            unreadable: planned.unreadable,
            halted: planned.halted,
            forgotten,
            checkpoint,
            checkpoint_error,
            ..Maintained::default()
        }));
    }
    let Some(turn) = shared.maintenance.begin() else {
        return Err(beside(shared.ownership.node()));
    };
    match lease::take(&shared.store, &shared.ownership, LEASE).await {
        Ok(Ok(())) => {}
        Ok(Err(holder)) => return Err(beside(&holder.node)),
        Err(error) => {
            // It may have been taken all the same.
            give_back(shared).await;
            return Err(refusal(&error));
        }
    }
    let done = once(shared, router, asked, due, &turn).await;
    give_back(shared).await;
    done
}

/// Carries a run out under the lease, unless another node had one for the time that it is due for.
async fn once<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    asked: &Maintain,
    due: Option<Timestamp>,
    turn: &Turn<'_>,
) -> Result<Option<Maintained>, Error> {
    if let Some(due) = due
        && nightly::is_done(shared, due)
            .await
            .map_err(|error| refusal(&error))?
    {
        return Ok(None);
    }
    let began = shared.ports.clock.now();
    let done = carry_out(shared, router, asked, turn).await?;
    if asked.is_whole() {
        let run = Run {
            node: shared.ownership.node().to_owned(),
            began,
            ended: shared.ports.clock.now(),
            did: done.outcome(),
            checkpoint: done.checkpoint.clone(),
        };
        if let Err(error) = nightly::note(shared, &run, due).await {
            // What was done is done: the worst is another run that finds nothing.
            tracing::warn!(%error, "it was not written down that maintenance is done");
        }
    }
    Ok(Some(done))
}

/// Gives the lease back, again while the store does not answer: nobody else may run before.
async fn give_back<S: Store, P: Protocol>(shared: &Shared<S, P>) {
    let mut wait_ms = TRY_AGAIN_MS;
    for _ in 0..TRIES_MAX {
        match lease::give_back(&shared.store, &shared.ownership, LEASE).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "the lease of maintenance was not given back"),
        }
        shared.ports.clock.sleep(wait_ms).await;
        wait_ms *= 2;
    }
    tracing::error!("the lease of maintenance stays with this node until its next run, or its end");
}

fn beside(node: &str) -> Error {
    let why = format!("maintenance is under way at node {node}");
    Error::busy(why, BESIDE_RETRY_MS)
}

async fn carry_out<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    asked: &Maintain,
    turn: &Turn<'_>,
) -> Result<Maintained, Error> {
    if let Ok(index) = shared.ports.index.stats().await {
        turn.begins(index.stored + index.pending);
    }
    let mut planned = plan::of(shared, asked, &|entries| turn.looked_at(entries)).await?;
    let going = planned.scopes.iter().filter(|scope| !scope.asks);
    turn.plans(going.map(|scope| scope.plan.going() as u64).sum());
    take_out_all(shared, router, &mut planned.scopes, turn).await;
    let offers = std::mem::take(&mut planned.offers);
    let (offered, not_offered) = offering::put_questions(shared, router, offers).await;
    let forgotten = forgotten(shared, asked, &planned).await?;
    let optimised = match asked.parts.contains(&Part::Optimise) {
        true => Some(optimise(shared, asked).await),
        false => None,
    };
    // Last, so that it has what the run itself did.
    let (checkpoint, checkpoint_error) = signed(shared, asked).await;
    let damaged: u64 = planned.scopes.iter().map(|scope| scope.unreadable).sum();
    Ok(Maintained {
        looked_at: planned.looked_at,
        asks: planned.asks,
        scopes: planned.scopes,
        offered,
        not_offered,
        unreadable: planned.unreadable + damaged,
        halted: planned.halted,
        forgotten,
        optimised: matches!(optimised, Some(Ok(()))),
        index_error: optimised.and_then(Result::err),
        checkpoint,
        checkpoint_error,
    })
}

/// How many answers were forgotten, or would be. None while the plan asks: a clock that is wrong is the most likely reason,
/// and those who come again after it is set right would be refused.
///
/// # Errors
/// As [`forget::answers`].
async fn forgotten<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
    planned: &plan::Plan,
) -> Result<u64, Error> {
    match planned.doubts_clock {
        true => Ok(0),
        false => forget::answers(shared, asked).await,
    }
}

/// The file of the checkpoint that was signed, or why none was: nothing else of a run waits for that.
async fn signed<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
) -> (Option<String>, Option<Error>) {
    match sign::checkpoint(shared, asked).await {
        Ok(file) => (file, None),
        Err(error) => {
            tracing::warn!(%error, "no checkpoint was signed");
            (None, Some(error))
        }
    }
}

/// Compacts and indexes the tables, once those who went have left them: their room is given back with it.
async fn optimise<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    asked: &Maintain,
) -> Result<(), Error> {
    if let Err(error) = plan::catch_up(shared, asked.within.as_ref()).await {
        tracing::warn!(%error, "the room of some that went is given back at a later run");
    }
    let optimised = shared.ports.index.optimise().await;
    optimised.map_err(|error| engine_refusal(&error))
}

/// Takes out what is due, of some scopes at the same time.
async fn take_out_all<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    scopes: &mut [ScopeMaintained],
    turn: &Turn<'_>,
) {
    let mut left: Vec<&mut ScopeMaintained> = scopes.iter_mut().rev().collect();
    left.retain(|scope| !scope.asks);
    let mut under_way = FuturesUnordered::new();
    loop {
        while under_way.len() < SCOPES_AT_ONCE
            && let Some(scope) = left.pop()
        {
            under_way.push(take_out_or_note(shared, router, scope, turn));
        }
        if under_way.next().await.is_none() {
            return;
        }
    }
}

/// Takes out what is due in a scope, or notes why the rest was not.
async fn take_out_or_note<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    scope: &mut ScopeMaintained,
    turn: &Turn<'_>,
) {
    if let Err(error) = take_out(shared, router, scope, turn).await {
        tracing::warn!(%error, scope = %scope.scope, "what is due here was not taken out");
        scope.error = Some(error);
    }
}

/// Takes out what is due in a scope, and counts it.
async fn take_out<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    scope: &mut ScopeMaintained,
    turn: &Turn<'_>,
) -> Result<(), Error> {
    let place = scope.scope.clone();
    let due = [
        (Retirement::Aged, scope.plan.aged.clone()),
        (Retirement::Pruned, scope.plan.pruned.clone()),
    ];
    for (why, entries) in &due {
        let mut left = entries.chunks(RETIRED_AT_ONCE);
        let (mut given, mut failed) = (FuturesOrdered::new(), Ok(()));
        loop {
            while failed.is_ok()
                && given.len() < COMMANDS_AT_ONCE
                && let Some(some) = left.next()
            {
                given.push_back(retire(shared, router, &place, why, some));
            }
            // What was given is carried out, whatever became of another: it is waited for, and counted.
            let Some((some, done)) = given.next().await else {
                break;
            };
            let done = match done {
                Err(error) if goes_by_halves(&error, some.len()) => {
                    by_halves(shared, router, scope, why, some).await
                }
                done => done.map(|counts| scope.went(counts)),
            };
            match done {
                Ok(()) => turn.retired(some.len() as u64),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed?;
    }
    Ok(())
}

/// Whether fewer entries may go where several of them did not: they are too much for a transaction, or one of them
/// cannot be read.
const fn goes_by_halves(error: &Error, entries: usize) -> bool {
    matches!(error.code, ErrorCode::TooLarge | ErrorCode::Internal) && entries > 1
}

impl ScopeMaintained {
    /// Counts entries that went, and such as had changed since.
    const fn went(&mut self, (retired, left): (u64, u64)) {
        self.retired += retired;
        self.left += left;
    }
}

/// Takes entries out by halves, and counts them as they go. Those that cannot be read are counted too, and keep nobody
/// from going.
async fn by_halves<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    scope: &mut ScopeMaintained,
    why: &Retirement,
    entries: &[(EntryId, u64)],
) -> Result<(), Error> {
    let mut parts = vec![entries];
    while let Some(some) = parts.pop() {
        let (_, done) = retire(shared, router, &scope.scope, why, some).await;
        match done {
            Ok(counts) => scope.went(counts),
            Err(error) if goes_by_halves(&error, some.len()) => {
                let (first, second) = some.split_at(some.len() / 2);
                parts.extend([second, first]);
            }
            Err(error) if error.code == ErrorCode::Internal => {
                tracing::warn!(%error, entry = %some[0].0, "an entry that is due was not taken out");
                scope.unreadable += 1;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Takes some planned entries out of a scope: which, and how many went, and how many had changed since.
async fn retire<'a, S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    scope: &Scope,
    why: &Retirement,
    entries: &'a [(EntryId, u64)],
) -> (&'a [(EntryId, u64)], Result<(u64, u64), Error>) {
    let command = Command::Retire {
        entries: entries.to_vec(),
        why: why.clone(),
    };
    let done = match give(shared, router, scope.clone(), command).await {
        Ok(AnswerBody::Retired { retired, left }) => Ok((u64::from(retired), u64::from(left))),
        Ok(other) => {
            let why = format!("retiring entries was answered with {other:?}");
            Err(Error::new(ErrorCode::Internal, why))
        }
        Err(error) => Err(error),
    };
    (entries, done)
}

/// Gives a command as the system, again while what it meets passes.
async fn give<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    scope: Scope,
    command: Command,
) -> Result<AnswerBody, Error> {
    let clock = &shared.ports.clock;
    let mut random = [0; 10];
    (shared.ports.rng)().fill(&mut random);
    let submission = Submission {
        scope,
        principal: Principal::system(),
        id: CommandId::from_parts(clock.now(), random),
        attempt: Attempt::FIRST,
        command,
    };
    let mut wait_ms = TRY_AGAIN_MS;
    for _ in 1..TRIES_MAX {
        match router.submit(submission.clone(), None).await {
            // The same command again: it is carried out once.
            Err(error) if error.code.is_passing() => {}
            result => return result.map(|answer| answer.result),
        }
        clock.sleep(wait_ms).await;
        wait_ms *= 2;
    }
    let answered = router.submit(submission, None).await;
    answered.map(|answer| answer.result)
}

#[cfg(test)]
mod tests;
