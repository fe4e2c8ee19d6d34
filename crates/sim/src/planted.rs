//! Planted bugs: wrong protocols, each of which the simulation has to catch.
//!
//! Owns the list, and how many seeds it takes to catch each. A simulation that lets one pass proves
//! nothing of the safeguard that it leaves out.

use std::ops::Range;

use serde::Serialize;
use sillok_actors::protocol as planted;

use crate::plan::Plan;
use crate::world::{Outcome, World};

/// Seeds after which a bug counts as not caught.
pub const SEEDS_MAX: u64 = 5_000;
/// Starts from which each bug is sought.
const STARTS: u64 = 5;
/// Seeds between two starts.
const START_DISTANCE: u64 = 1_000_000;

/// A wrong protocol.
#[derive(Clone, Copy)]
pub struct Bug {
    /// Its name.
    pub name: &'static str,
    /// Runs a plan under it.
    pub run: fn(&Plan, bool) -> Outcome,
}

macro_rules! bugs {
    ($($name:literal: $protocol:ident,)*) => {
        /// All bugs that are planted.
        pub const BUGS: &[Bug] = &[$(Bug {
            name: $name,
            run: |plan, keeps_text| World::<planted::$protocol>::new(plan, keeps_text).run(),
        },)*];
    };
}

bugs! {
    "no epoch read": ForgetsOwner,
    "command id not checked": ForgetsCommands,
    "repeat within a batch not seen": RepeatsInBatch,
    "fence row collected as garbage": CollectsFences,
    "unknown outcome taken as failure": TakesUnknownAsFailure,
    "unknown outcome taken as success": TakesUnknownAsSuccess,
    "acknowledgement before commit": AnswersBeforeCommit,
    "outbox row outside the transaction": TellsApart,
    "batch that drops its last command": DropsLastOfBatch,
    "two equal facts of one batch published twice": ForgetsOwnBatch,
    "job lost when the owner dies": LosesJobs,
    "takeover from a live owner": TakesFromTheLiving,
    "fencing during a store outage": FencesDuringOutage,
    "slot orphaned when the watcher dies": LeavesOrphans,
}

/// What it took to catch a bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Catch {
    /// The bug.
    pub name: &'static str,
    /// Whether it was caught from every start.
    pub caught: bool,
    /// Seeds to the first catch, in the middle of all starts.
    pub median_seeds: u64,
    /// Seeds to the first catch, from the worst start.
    pub max_seeds: u64,
    /// The invariant that caught it first.
    pub invariant: String,
    /// The seed of that catch.
    pub seed: u64,
}

/// Seeks a bug from several starts.
#[must_use]
pub fn seek(bug: &Bug) -> Catch {
    let starts = (0..STARTS).map(|start| start * START_DISTANCE);
    let found: Vec<Option<(u64, Found)>> = starts
        .map(|first| {
            let found = first_catch(bug, first..first + SEEDS_MAX)?;
            Some((found.seed - first + 1, found))
        })
        .collect();
    let mut seeds: Vec<u64> = found
        .iter()
        .map(|found| found.as_ref().map_or(SEEDS_MAX, |(seeds, _)| *seeds))
        .collect();
    seeds.sort_unstable();
    let first = found.iter().flatten().next();
    Catch {
        name: bug.name,
        caught: found.iter().all(Option::is_some),
        median_seeds: seeds[seeds.len() / 2],
        max_seeds: seeds[seeds.len() - 1],
        invariant: first.map_or_else(String::new, |(_, found)| found.invariant.clone()),
        seed: first.map_or(0, |(_, found)| found.seed),
    }
}

/// Where a bug showed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// The invariant that did not hold.
    pub invariant: String,
    /// What was found instead.
    pub what: String,
}

/// The first of `seeds` that catches a bug.
#[must_use]
pub fn first_catch(bug: &Bug, seeds: Range<u64>) -> Option<Found> {
    seeds.into_iter().find_map(|seed| {
        let violation = (bug.run)(&Plan::draw(seed), false).violation?;
        Some(Found {
            seed,
            invariant: violation.invariant,
            what: violation.what,
        })
    })
}
