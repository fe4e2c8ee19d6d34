//! Planted bugs: wrong protocols, each of which the simulation has to catch.
//!
//! Owns the list, and how many seeds it takes to catch each. A simulation that lets one pass proves
//! nothing of the safeguard that it leaves out.

use std::ops::Range;

use serde::Serialize;
use sillok_actors::protocol::{Safeguard, Without};

use crate::plan::Plan;
use crate::world::{Outcome, World};

/// Seeds after which a bug counts as not caught.
pub const SEEDS_MAX: u64 = 5_000;
/// Starts from which each bug is sought.
const STARTS: u64 = 5;
/// Seeds between two starts.
const START_DISTANCE: u64 = 1_000_000;

/// A wrong protocol.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// Its name.
    pub name: &'static str,
    /// What it leaves out.
    pub without: Safeguard,
}

const fn bug(name: &'static str, without: Safeguard) -> Bug {
    Bug { name, without }
}

/// All bugs that are planted.
pub const BUGS: &[Bug] = &[
    bug(
        "tip of the scope not in the conflict set",
        Safeguard::ConflictsOnTip,
    ),
    bug("head not in the conflict set", Safeguard::ConflictsOnHeads),
    bug("no epoch read", Safeguard::ReadsOwner),
    bug("command id not checked", Safeguard::RemembersCommands),
    bug(
        "repeat within a batch not seen",
        Safeguard::DeduplicatesBatch,
    ),
    bug("fence row collected as garbage", Safeguard::KeepsFences),
    bug(
        "unknown outcome taken as failure",
        Safeguard::UnknownIsNoFailure,
    ),
    bug(
        "unknown outcome taken as success",
        Safeguard::UnknownIsNoSuccess,
    ),
    bug(
        "acknowledgement before commit",
        Safeguard::AnswersAfterCommit,
    ),
    bug(
        "outbox row outside the transaction",
        Safeguard::TellsWithEvents,
    ),
    bug(
        "relay that skips on reconnect",
        Safeguard::ResumesWhereStreamEnds,
    ),
    bug(
        "batch that drops its last command",
        Safeguard::WritesWholeBatch,
    ),
    bug(
        "two equal facts of one batch published twice",
        Safeguard::KnowsOwnBatch,
    ),
    bug("job lost when the owner dies", Safeguard::ResumesJobs),
    bug(
        "takeover from a live owner",
        Safeguard::RespectsLivingOwners,
    ),
    bug("fencing during a store outage", Safeguard::CountsOwnBeats),
    bug(
        "slot orphaned when the watcher dies",
        Safeguard::AdoptsOrphans,
    ),
];

impl Bug {
    /// Runs a plan under it.
    #[must_use]
    pub fn run(&self, plan: &Plan, keeps_text: bool) -> Outcome {
        World::new(plan, Without(Some(self.without)), keeps_text).run()
    }
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
    let mut found: Vec<Option<(u64, Found)>> = Vec::new();
    for first in starts {
        let caught = first_catch(bug, first..first + SEEDS_MAX);
        let is_caught = caught.is_some();
        found.push(caught.map(|caught| (caught.seed - first + 1, caught)));
        if !is_caught {
            break;
        }
    }
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
        let violation = bug.run(&Plan::draw(seed), false).violation?;
        Some(Found {
            seed,
            invariant: violation.invariant,
            what: violation.what,
        })
    })
}
