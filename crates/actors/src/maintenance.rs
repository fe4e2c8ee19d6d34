//! Maintenance: one run over all that is published, for the whole cluster.
//!
//! Owns the order of a run: the lease, the plan, and the commands that carry it out; when nobody asks for one,
//! [`nightly`] does. What is due is core's rule, and the owner of each scope asks it once more, so that a run which
//! was thought to be over, or a plan that is out of date, takes nothing out that should stay. Nothing is kept of a
//! run that ended early: the next one plans anew from what is left.

use std::sync::Arc;

use sillok_core::command::{Answer, AnswerBody, Command, Submission};
use sillok_core::id::{Attempt, CommandId, Incarnation};
use sillok_core::principal::Principal;
use sillok_core::schedule::Run;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
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
mod held;
pub(crate) mod nightly;
mod offering;
mod pace;
mod plan;
mod retiring;
mod running;
mod sign;

pub use asked::{Maintain, Maintained, Part, ScopeMaintained};
pub use plan::{Due, due};
pub use running::Progress;

use held::{Held, lost};
use pace::Pace;
pub(crate) use running::Running;
use running::Turn;

/// Name of the lease, and of the schedule.
const LEASE: &str = "maintenance";
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
/// `busy` while another run is under way; `fenced` where the lease went to one meanwhile; what the store, the index or a
/// scope's owner answered. What was done before stays done, and the next run goes on from there.
async fn run<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    asked: &Maintain,
    due: Option<Timestamp>,
) -> Result<Option<Maintained>, Error> {
    if asked.dry_run && shared.protocol.keeps(Safeguard::RehearsesOnly) {
        let planned = plan::of(shared, asked, &|_| ()).await?;
        let forgotten = forgotten(shared, asked, &planned, None).await?;
        let (checkpoint, checkpoint_error) = signed(shared, asked, None).await;
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
    let (node, run) = (shared.ownership.node(), shared.ownership.incarnation());
    let taken = match lease::take(&shared.store, LEASE, node, run).await {
        Ok(Ok(taken)) => taken,
        Ok(Err(holder)) => return Err(beside(&holder.node)),
        Err(error) => {
            // It may have been taken all the same.
            give_back(shared, run).await;
            return Err(refusal(&error));
        }
    };
    let done = once(&Held::new(shared, taken), router, asked, due, &turn).await;
    give_back(shared, run).await;
    done
}

/// Carries a run out under the lease, unless another node had one for the time that it is due for.
async fn once<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    router: &Router<S, P>,
    asked: &Maintain,
    due: Option<Timestamp>,
    turn: &Turn<'_>,
) -> Result<Option<Maintained>, Error> {
    let shared = held.shared();
    if let Some(due) = due
        && nightly::is_done(shared, due)
            .await
            .map_err(|error| refusal(&error))?
    {
        return Ok(None);
    }
    let began = shared.ports.clock.now();
    let done = carry_out(held, router, asked, turn).await?;
    if asked.is_whole() {
        let run = Run {
            node: shared.ownership.node().to_owned(),
            began,
            ended: shared.ports.clock.now(),
            did: done.outcome(),
            checkpoint: done.checkpoint.clone(),
        };
        match nightly::note(held, &run, due).await {
            Ok(true) => {}
            // Whoever has the lease writes down how its own run goes.
            Ok(false) => return Err(lost()),
            // What was done is done: the worst is another run that finds nothing.
            Err(error) => {
                tracing::warn!(%error, "it was not written down that maintenance is done");
            }
        }
    }
    Ok(Some(done))
}

/// Gives back the lease that a run of this node has taken, again while the store does not answer: nobody else may run
/// before.
async fn give_back<S: Store, P: Protocol>(shared: &Shared<S, P>, run: Incarnation) {
    let node = shared.ownership.node();
    let mut wait_ms = TRY_AGAIN_MS;
    for _ in 0..TRIES_MAX {
        match lease::give_back(&shared.store, LEASE, node, run).await {
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
    held: &Held<'_, S, P>,
    router: &Router<S, P>,
    asked: &Maintain,
    turn: &Turn<'_>,
) -> Result<Maintained, Error> {
    let shared = held.shared();
    if let Ok(index) = shared.ports.index.stats().await {
        turn.begins(index.stored + index.pending);
    }
    let mut planned = plan::of(shared, asked, &|entries| turn.looked_at(entries)).await?;
    let going = planned.scopes.iter().filter(|scope| !scope.asks);
    turn.plans(going.map(|scope| scope.plan.going() as u64).sum());
    retiring::take_out_all(held, router, &mut planned.scopes, turn).await;
    let offers = std::mem::take(&mut planned.offers);
    let (offered, not_offered) = offering::put_questions(held, router, offers).await;
    // Where the store does not say whose the lease is, a part that has to know asks once more.
    held.unless_lost().await?;
    let forgotten = forgotten(shared, asked, &planned, Some(held)).await?;
    let optimised = match asked.parts.contains(&Part::Optimise) {
        true => Some(optimise(held, asked).await),
        false => None,
    };
    let doubt = held.unless_lost().await?;
    // Last, so that it has what the run itself did.
    let (checkpoint, checkpoint_error) = signed(shared, asked, doubt).await;
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
    held: Option<&Held<'_, S, P>>,
) -> Result<u64, Error> {
    match planned.doubts_clock {
        true => Ok(0),
        false => forget::answers(shared, asked, held).await,
    }
}

/// The file of the checkpoint that was signed, or why none was: nothing else of a run waits for that. None is signed where
/// it is in doubt whether the lease is still the run's.
async fn signed<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
    doubt: Option<Error>,
) -> (Option<String>, Option<Error>) {
    match sign::checkpoint(shared, asked, doubt).await {
        Ok(file) => (file, None),
        Err(error) => {
            tracing::warn!(%error, "no checkpoint was signed");
            (None, Some(error))
        }
    }
}

/// Compacts and indexes the tables, once those who went have left them: their room is given back with it.
async fn optimise<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    asked: &Maintain,
) -> Result<(), Error> {
    let shared = held.shared();
    if let Err(error) = plan::catch_up(shared, asked.within.as_ref()).await {
        tracing::warn!(%error, "the room of some that went is given back at a later run");
    }
    held.check().await?;
    let optimised = shared.ports.index.optimise().await;
    optimised.map_err(|error| engine_refusal(&error))
}

/// Gives a command as the system, again while what it meets passes; at the pace of the run, where it has one.
///
/// # Errors
/// `fenced`, at once, where the lease is the run's no more; else what the owner of the scope answered last.
async fn give<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    router: &Router<S, P>,
    scope: Scope,
    command: Command,
    pace: Option<&Pace<'_>>,
) -> Result<AnswerBody, Error> {
    let shared = held.shared();
    let (clock, slot) = (&shared.ports.clock, Slot::of(&scope));
    let submit = async |submission: Submission| match pace {
        Some(pace) => pace.keep(slot, under_lease(held, router, submission)).await,
        None => under_lease(held, router, submission).await,
    };
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
        match submit(submission.clone()).await {
            // The same command again: it is carried out once.
            Err(error) if error.code.is_passing() && !held.is_lost() => {}
            result => return result.map(|answer| answer.result),
        }
        clock.sleep(wait_ms).await;
        wait_ms *= 2;
    }
    submit(submission).await.map(|answer| answer.result)
}

/// Gives a command while the lease is the run's: it may have waited for its turn for long.
async fn under_lease<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    router: &Router<S, P>,
    submission: Submission,
) -> Result<Answer, Error> {
    held.check().await?;
    router.submit(submission, None).await
}

#[cfg(test)]
mod tests;
