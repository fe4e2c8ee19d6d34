//! Which cited commits are there: asked of repositories once for a whole batch.
//!
//! Owns how long writers wait for that, and what is remembered of it. What a citation of a commit that is missing comes
//! to, `core` knows.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use parking_lot::Mutex;
use sillok_core::commit::{CommitName, Presence};
use sillok_core::facts::Facts;
use sillok_core::ports::PortError;
use sillok_core::scope::{Level, Scope};

use crate::ports::Ports;

/// Commits that are known to be there. Beyond that all are asked for anew.
const KNOWN_MAX: usize = 4_096;
/// Digits of a hash that is no beginning of another one.
const HASH_DIGITS: usize = 40;
/// An answer that was waited for so long, in ms, keeps others from being waited for.
const LONG_MS: u64 = 1_000;
/// For how long nothing is asked after that, in ms: commits are unknown till then.
const REST_MS: u64 = 10_000;
/// How often it is said at most that a repository does not answer, in ms.
const WARN_EVERY_MS: u64 = 60_000;

/// What is remembered of commits that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Presences(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Commits that are there, by whole hashes, for those who ask from a project: they stay there.
    there: BTreeSet<(Scope, CommitName)>,
    /// The projects whose repositories took long, and when they are asked again.
    resting: BTreeMap<Scope, u64>,
    /// When it may be said again that one does not answer.
    warns_at_ms: u64,
}

impl Presences {
    /// Completes the facts of commands of one scope by what its repository says of the commits that each of them
    /// wants to know of. All are asked for at once: a batch waits for one answer.
    pub(super) async fn complete<'a>(
        &self,
        ports: &Ports,
        scope: &Scope,
        wanting: impl Iterator<Item = (&'a mut Facts, Vec<CommitName>)>,
    ) {
        let wanting: Vec<_> = wanting.filter(|(_, names)| !names.is_empty()).collect();
        let names: BTreeSet<&CommitName> = wanting.iter().flat_map(|(_, names)| names).collect();
        if names.is_empty() {
            return;
        }
        let told = self.ask(ports, scope, names).await;
        for (facts, names) in wanting {
            let presence = |name: CommitName| {
                let told = told.get(&name).copied();
                (name, told.unwrap_or(Presence::Unknown))
            };
            facts.commits.extend(names.into_iter().map(presence));
        }
    }

    async fn ask(
        &self,
        ports: &Ports,
        scope: &Scope,
        names: BTreeSet<&CommitName>,
    ) -> BTreeMap<CommitName, Presence> {
        let mut above = scope.with_ancestors().into_iter();
        let project = above.find(|scope| scope.level() == Level::Project);
        let project = project.unwrap_or_else(|| scope.clone());
        let begun_ms = ports.clock.monotonic_ms();
        let (known, asked) = self.known(&project, names, begun_ms);
        let known = known.into_iter().map(|name| (name, Presence::There));
        let mut told: BTreeMap<_, _> = known.collect();
        if asked.is_empty() {
            return told;
        }
        let answer = AssertUnwindSafe(ports.git.presence(scope, &asked)).catch_unwind();
        let answer = answer.await.unwrap_or_else(|_panic| {
            let why = "it met a defect".to_owned();
            Err(PortError::Unavailable(why))
        });
        let answered_ms = ports.clock.monotonic_ms();
        if answered_ms.saturating_sub(begun_ms) >= LONG_MS {
            self.rest(&project, answered_ms);
        }
        match answer.and_then(|answer| of_each(asked, answer)) {
            Ok(answer) => {
                self.remember(&project, &answer);
                told.extend(answer);
            }
            Err(error) => self.failed(&project, &error, answered_ms),
        }
        told
    }

    /// Which of these are there for certain, and which are to be asked for: none, soon after
    /// an answer that was long in coming.
    fn known(
        &self,
        project: &Scope,
        names: BTreeSet<&CommitName>,
        now_ms: u64,
    ) -> (Vec<CommitName>, Vec<CommitName>) {
        let mut known = self.0.lock();
        let names = names.into_iter().cloned();
        let (there, mut asked): (Vec<_>, Vec<_>) =
            names.partition(|name| known.there.contains(&(project.clone(), name.clone())));
        known.resting.retain(|_, until_ms| now_ms < *until_ms);
        if known.resting.contains_key(project) {
            asked.clear();
        }
        (there, asked)
    }

    fn remember(&self, project: &Scope, answer: &[(CommitName, Presence)]) {
        let mut known = self.0.lock();
        for (name, presence) in answer {
            if *presence != Presence::There || name.hash.len() != HASH_DIGITS {
                continue;
            }
            if known.there.len() >= KNOWN_MAX {
                known.there.clear();
            }
            known.there.insert((project.clone(), name.clone()));
        }
    }

    fn rest(&self, project: &Scope, now_ms: u64) {
        let mut known = self.0.lock();
        known.resting.insert(project.clone(), now_ms + REST_MS);
    }

    fn failed(&self, project: &Scope, error: &PortError, now_ms: u64) {
        let mut known = self.0.lock();
        if now_ms >= known.warns_at_ms {
            known.warns_at_ms = now_ms + WARN_EVERY_MS;
            tracing::warn!(%error, %project, "no repository says whether commits are there that are cited");
        }
    }
}

/// Pairs what was asked with what was answered; nothing where no repository is at hand.
fn of_each(
    asked: Vec<CommitName>,
    answer: Option<Vec<Presence>>,
) -> Result<Vec<(CommitName, Presence)>, PortError> {
    let Some(answer) = answer else {
        return Ok(Vec::new());
    };
    if answer.len() == asked.len() {
        return Ok(asked.into_iter().zip(answer).collect());
    }
    let why = format!("{} answers on {} commits", answer.len(), asked.len());
    Err(PortError::Unusable(why))
}

#[cfg(test)]
mod tests;
