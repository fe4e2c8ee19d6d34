//! Maintenance: one run over all that is published, for the whole cluster.
//!
//! Owns the order of a run: the lease, the plan, and the commands that carry it out. What is due is core's
//! rule, and the owner of each scope asks it once more, so that a run which was thought to be over, or a plan
//! that is out of date, takes nothing out that should stay. Nothing is kept of a run that ended early: the
//! next one plans anew from what is left.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sillok_core::command::{AnswerBody, Command, Submission};
use sillok_core::id::{Attempt, CommandId, EntryId};
use sillok_core::principal::Principal;
use sillok_core::retention::{Retirement, ScopePlan};
use sillok_core::scope::Scope;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use crate::claims::lease;
use crate::commit::Shared;
use crate::errors::{engine_refusal, refusal};
use crate::protocol::{Protocol, Safeguard};
use crate::router::Router;

mod plan;

/// Name of the lease.
const LEASE: &str = "maintenance";
/// Entries that one command takes out: a scope's other writers wait for no longer than that takes.
const RETIRED_AT_ONCE: usize = 256;
/// Times that a command is given again which a passing refusal met.
const TRIES_MAX: u32 = 5;
/// The wait before it is given again, in ms; it doubles with each.
const TRY_AGAIN_MS: u64 = 200;
/// What whoever meets another run is told to wait, in ms.
const BESIDE_RETRY_MS: u64 = 60_000;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Takes out what is old.
    Archive,
    /// Takes out what is old and of little value.
    Prune,
    /// Offers skills that proved themselves in a project to their organisation.
    Offer,
    /// Compacts and indexes the vector tables of the node that runs it.
    Optimise,
}

impl Part {
    /// All parts, in the order of a run.
    pub const ALL: [Self; 4] = [Self::Archive, Self::Prune, Self::Offer, Self::Optimise];

    /// The part's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::Prune => "prune",
            Self::Offer => "offer",
            Self::Optimise => "optimise",
        }
    }
}

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintain {
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// The parts to do.
    pub parts: BTreeSet<Part>,
    /// Take out more than the configured share of a scope, too.
    pub force: bool,
}

/// What a run did in one scope, or would do.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeMaintained {
    /// The scope.
    pub scope: Scope,
    /// The plan.
    pub plan: ScopePlan,
    /// Entries that were taken out.
    pub retired: u64,
    /// Entries that were planned and had changed since.
    pub left: u64,
    /// Whether the plan takes out so much of the scope that somebody has to say so: nothing was done then.
    pub asks: bool,
}

/// What a run did, or would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maintained {
    /// Entries that were looked at.
    pub looked_at: u64,
    /// Scopes in which something is due.
    pub scopes: Vec<ScopeMaintained>,
    /// Skills that were offered, or would be.
    pub offered: u64,
    /// Whether the vector tables were compacted and indexed.
    pub optimised: bool,
}

/// Whether a run is under way in this process.
#[derive(Debug, Default)]
pub(crate) struct Running(AtomicBool);

/// The run that is under way, until it is dropped.
struct Turn<'a>(&'a Running);

impl Running {
    fn begin(&self) -> Option<Turn<'_>> {
        let begun = !self.0.swap(true, Ordering::AcqRel);
        begun.then_some(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}

/// Carries a run out.
///
/// # Errors
/// `busy` while another run is under way; what the store, the index or a scope's owner answered. What was done
/// before stays done, and the next run goes on from there.
pub(crate) async fn run<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    asked: &Maintain,
) -> Result<Maintained, Error> {
    if asked.dry_run && shared.protocol.keeps(Safeguard::RehearsesOnly) {
        let planned = plan::of(shared, asked).await?;
        return Ok(Maintained {
            looked_at: planned.looked_at,
            offered: planned.offers.len() as u64,
            scopes: planned.scopes,
            optimised: false,
        });
    }
    let Some(_turn) = shared.maintenance.begin() else {
        return Err(beside(shared.ownership.node()));
    };
    let taken = lease::take(&shared.store, &shared.ownership, LEASE).await;
    if let Err(holder) = taken.map_err(|error| refusal(&error))? {
        return Err(beside(&holder.node));
    }
    let done = carry_out(shared, router, asked).await;
    if let Err(error) = lease::give_back(&shared.store, &shared.ownership, LEASE).await {
        tracing::warn!(%error, "the lease of maintenance stays with this run until it ends");
    }
    done
}

fn beside(node: &str) -> Error {
    let why = format!("maintenance is under way at node {node}");
    Error::busy(why, BESIDE_RETRY_MS)
}

async fn carry_out<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    asked: &Maintain,
) -> Result<Maintained, Error> {
    let mut planned = plan::of(shared, asked).await?;
    for scope in planned.scopes.iter_mut().filter(|scope| !scope.asks) {
        for (why, entries) in [
            (Retirement::Aged, core::mem::take(&mut scope.plan.aged)),
            (Retirement::Pruned, core::mem::take(&mut scope.plan.pruned)),
        ] {
            let (retired, left) = retire(shared, router, &scope.scope, &why, &entries).await?;
            scope.retired += retired;
            scope.left += left;
            match why {
                Retirement::Pruned => scope.plan.pruned = entries,
                _ => scope.plan.aged = entries,
            }
        }
    }
    let offered = planned.offers.len() as u64;
    for mut offer in planned.offers {
        let org = offer
            .scope
            .with_ancestors()
            .pop()
            .expect("a scope lies in an organisation");
        let texts = [offer.product.content.as_str()];
        // Without a vector it is found by its words.
        let embedded = shared.ports.embedder.embed(&texts).await;
        offer.product.embedding = embedded.ok().and_then(|mut vectors| vectors.pop());
        give(shared, router, org, Command::Offer(Box::new(offer))).await?;
    }
    let optimises = asked.parts.contains(&Part::Optimise);
    if optimises {
        let optimised = shared.ports.index.optimise().await;
        optimised.map_err(|error| engine_refusal(&error))?;
    }
    Ok(Maintained {
        looked_at: planned.looked_at,
        scopes: planned.scopes,
        offered,
        optimised: optimises,
    })
}

/// Takes planned entries out of a scope: how many went, and how many had changed since.
async fn retire<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    scope: &Scope,
    why: &Retirement,
    entries: &[(EntryId, u64)],
) -> Result<(u64, u64), Error> {
    let (mut gone, mut stayed) = (0, 0);
    for some in entries.chunks(RETIRED_AT_ONCE) {
        let command = Command::Retire {
            entries: some.to_vec(),
            why: why.clone(),
        };
        match give(shared, router, scope.clone(), command).await? {
            AnswerBody::Retired { retired, left } => {
                gone += u64::from(retired);
                stayed += u64::from(left);
            }
            other => {
                let why = format!("retiring entries was answered with {other:?}");
                return Err(Error::new(ErrorCode::Internal, why));
            }
        }
    }
    Ok((gone, stayed))
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
