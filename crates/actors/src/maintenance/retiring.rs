//! Retiring: taking out what a plan found due, scope by scope.
//!
//! Owns how many commands are under way and how many entries each of them names, and what is done about entries that do
//! not go together. Which entries are due is [`super::plan`]'s, and when a command stands back is [`super::pace`]'s.

use futures::StreamExt as _;
use futures::stream::{FuturesOrdered, FuturesUnordered};
use sillok_core::command::{AnswerBody, Command};
use sillok_core::id::EntryId;
use sillok_core::limits::RETIRED_MAX;
use sillok_core::retention::Retirement;
use sillok_core::retention::pace::RETIRED_AT_ONCE;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::held::Held;
use super::pace::Pace;
use super::running::Turn;
use super::{ScopeMaintained, give};
use crate::protocol::Protocol;
use crate::router::Router;

const _: () = assert!(RETIRED_AT_ONCE <= RETIRED_MAX, "a command may name as many");
/// Commands to one scope that are under way: what waits while a batch is committed is the next batch.
pub(super) const COMMANDS_AT_ONCE: usize = 4;
/// Scopes of which entries are taken out at the same time: one waits for the disk while another is decided.
pub(super) const SCOPES_AT_ONCE: usize = 8;

/// Takes out what is due, of some scopes at the same time, while the lease is the run's.
pub(super) async fn take_out_all<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    router: &Router<S, P>,
    scopes: &mut [ScopeMaintained],
    turn: &Turn<'_>,
) {
    let mut left: Vec<&mut ScopeMaintained> = scopes.iter_mut().rev().collect();
    left.retain(|scope| !scope.asks);
    let shared = held.shared();
    let writers = || router.writers();
    let is_here = |slot: Slot| shared.is_alone() || shared.ownership.epoch(slot).is_some();
    let retiring = Retiring {
        held,
        router,
        pace: Pace::new(shared.ports.clock.as_ref(), &writers, &is_here),
        turn,
    };
    let mut under_way = FuturesUnordered::new();
    loop {
        while under_way.len() < SCOPES_AT_ONCE
            && !held.is_lost()
            && let Some(scope) = left.pop()
        {
            under_way.push(retiring.take_out_or_note(scope));
        }
        if under_way.next().await.is_none() {
            return;
        }
    }
}

/// What one run takes out, whatever scope it lies in.
struct Retiring<'a, S: Store, P: Protocol> {
    held: &'a Held<'a, S, P>,
    router: &'a Router<S, P>,
    pace: Pace<'a>,
    turn: &'a Turn<'a>,
}

/// Entries of a plan, with the version of each that it was made for.
type Planned = [(EntryId, u64)];

impl<S: Store, P: Protocol> Retiring<'_, S, P> {
    /// Takes out what is due in a scope, or notes why the rest was not.
    async fn take_out_or_note(&self, scope: &mut ScopeMaintained) {
        if let Err(error) = self.take_out(scope).await {
            tracing::warn!(%error, scope = %scope.scope, "what is due here was not taken out");
            scope.error = Some(error);
        }
    }

    /// Takes out what is due in a scope, and counts it.
    async fn take_out(&self, scope: &mut ScopeMaintained) -> Result<(), Error> {
        let due = [
            (Retirement::Aged, scope.plan.aged.clone()),
            (Retirement::Pruned, scope.plan.pruned.clone()),
        ];
        for (why, entries) in &due {
            let (apart, mut done) = self.take_out_for(why, entries, scope).await;
            let mut is_away = is_passing(&done);
            // Once nothing else is under way, and whatever became of that.
            for some in apart {
                // Each of them would be waited for as long, and nobody else may run meanwhile.
                if is_away {
                    break;
                }
                let tried = self.by_halves(scope, why, some).await;
                is_away = is_passing(&tried);
                done = done.and(tried);
            }
            done?;
        }
        Ok(())
    }

    /// Takes entries out for one reason, several commands at a time: the entries of those commands that may go by halves,
    /// and why the rest did not go, where it did not.
    async fn take_out_for<'e>(
        &self,
        why: &Retirement,
        entries: &'e Planned,
        scope: &mut ScopeMaintained,
    ) -> (Vec<&'e Planned>, Result<(), Error>) {
        let (place, slot) = (scope.scope.clone(), Slot::of(&scope.scope));
        let mut left = entries;
        let (mut given, mut apart) = (FuturesOrdered::new(), Vec::new());
        let mut failed = Ok(());
        loop {
            while failed.is_ok() && given.len() < COMMANDS_AT_ONCE && !left.is_empty() {
                let (some, rest) = left.split_at(left.len().min(self.pace.entries(slot)));
                given.push_back(self.retire(&place, why, some));
                left = rest;
            }
            // What was given is carried out, whatever became of another: it is waited for, and counted.
            let Some((some, done)) = given.next().await else {
                return (apart, failed);
            };
            match done {
                Ok(counts) => {
                    scope.went(counts);
                    self.turn.retired(some.len() as u64);
                }
                Err(error) if is_damaged(&error) || goes_by_halves(&error, some.len()) => {
                    apart.push(some);
                }
                Err(error) => failed = failed.and(Err(error)),
            }
        }
    }

    /// Takes entries out by halves, and counts them as they go. Those that cannot be read are counted too, and keep nobody
    /// from going. One that was alone is tried once more.
    async fn by_halves(
        &self,
        scope: &mut ScopeMaintained,
        why: &Retirement,
        entries: &Planned,
    ) -> Result<(), Error> {
        let half = entries.len() / 2;
        let at_once = self.pace.entries(Slot::of(&scope.scope));
        let parts = entries.chunks(half.clamp(1, at_once));
        let mut parts: Vec<&Planned> = parts.rev().collect();
        while let Some(some) = parts.pop() {
            let (_, done) = self.retire(&scope.scope, why, some).await;
            match done {
                Ok(counts) => {
                    scope.went(counts);
                    self.turn.retired(some.len() as u64);
                }
                Err(error) if goes_by_halves(&error, some.len()) => {
                    let (first, second) = some.split_at(some.len() / 2);
                    parts.extend([second, first]);
                }
                Err(error) if is_damaged(&error) => {
                    tracing::warn!(%error, entry = %some[0].0, "an entry that is due was not taken out");
                    scope.unreadable += 1;
                    self.turn.retired(1);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes some planned entries out of a scope when it is their turn: which, and how many went, and how many had changed
    /// since.
    async fn retire<'e>(
        &self,
        scope: &Scope,
        why: &Retirement,
        entries: &'e Planned,
    ) -> (&'e Planned, Result<(u64, u64), Error>) {
        let command = Command::Retire {
            entries: entries.to_vec(),
            why: why.clone(),
        };
        let pace = Some(&self.pace);
        let done = match give(self.held, self.router, scope.clone(), command, pace).await {
            Ok(AnswerBody::Retired { retired, left }) => Ok((u64::from(retired), u64::from(left))),
            Ok(other) => {
                let why = format!("retiring entries was answered with {other:?}");
                Err(Error::new(ErrorCode::Internal, why))
            }
            Err(error) => Err(error),
        };
        (entries, done)
    }
}

/// Whether the store or the scope's owner was out of reach: other entries would not go either.
fn is_passing(done: &Result<(), Error>) -> bool {
    matches!(done, Err(error) if error.code.is_passing())
}

/// Whether an entry cannot be read.
fn is_damaged(error: &Error) -> bool {
    error.code == ErrorCode::Internal
}

/// Whether fewer entries may go where several of them did not: they are too much for a transaction, or one of them
/// cannot be read.
fn goes_by_halves(error: &Error, entries: usize) -> bool {
    (error.code == ErrorCode::TooLarge || is_damaged(error)) && entries > 1
}

impl ScopeMaintained {
    /// Counts entries that went, and such as had changed since.
    const fn went(&mut self, (retired, left): (u64, u64)) {
        self.retired += retired;
        self.left += left;
    }
}

#[cfg(test)]
mod tests;
