//! Planted bugs: wrong protocols, each of which the simulation has to catch.
//!
//! Owns how many seeds it takes to catch each; the list is in a part of its own. A simulation that lets one pass proves
//! nothing of the safeguard that it leaves out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde::Serialize;
use sillok_actors::protocol::{Safeguard, Without};

use crate::plan::Plan;
use crate::replay::Replay;
use crate::suite::Suite;
use crate::world::{Outcome, World};

mod bugs;

pub use bugs::BUGS;

/// Seeds after which a bug counts as not caught.
pub const SEEDS_MAX: u64 = 5_000;
/// Seeds in the middle of all starts after which it counts as caught too late.
pub const SEEDS_MEDIAN_MAX: u64 = 1_000;
/// Starts from which each bug is sought.
const STARTS: u64 = 5;
/// Seeds between two starts.
const START_DISTANCE: u64 = 1_000_000;
/// The name of the protocol as it is meant.
pub const CORRECT: &str = "correct";

/// A wrong protocol.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// Its name.
    pub name: &'static str,
    /// What it leaves out.
    pub without: Safeguard,
}

impl Bug {
    /// Runs a plan under it.
    #[must_use]
    pub fn run(&self, plan: &Plan, suite: &Suite, keeps_text: bool) -> Outcome {
        World::with(plan, Without(Some(self.without)), suite, keeps_text).run()
    }
}

/// The bug of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Bug> {
    BUGS.iter().find(|bug| bug.name == name)
}

/// Whether a protocol is known: `correct`, or the name of a planted bug.
#[must_use]
pub fn is_protocol(name: &str) -> bool {
    name == CORRECT || find(name).is_some()
}

/// Runs a plan under the protocol as it is meant.
#[must_use]
pub fn run_correct(plan: &Plan, suite: &Suite, keeps_text: bool) -> Outcome {
    World::with(plan, Without::default(), suite, keeps_text).run()
}

/// Runs a plan under the protocol of a name; none if there is no such protocol.
#[must_use]
pub fn run_under(name: &str, plan: &Plan, suite: &Suite, keeps_text: bool) -> Option<Outcome> {
    if name == CORRECT {
        return Some(run_correct(plan, suite, keeps_text));
    }
    find(name).map(|bug| bug.run(plan, suite, keeps_text))
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
    /// What was found first.
    pub what: String,
    /// The invariants that caught it from the other starts, if they are others.
    pub also: Vec<String>,
    /// The seed of that catch.
    pub seed: u64,
    /// The saved plan of that catch.
    #[serde(skip)]
    pub first: Option<Replay>,
}

impl Catch {
    /// Whether the bug was caught from every start, and from most of them soon.
    #[must_use]
    pub const fn is_soon(&self) -> bool {
        self.caught && self.median_seeds <= SEEDS_MEDIAN_MAX
    }
}

/// Seeks bugs, each from several starts, on `jobs` threads. A bug is given up as soon as one start
/// does not catch it. `caught` is told of each bug when all is known of it.
#[expect(
    clippy::disallowed_methods,
    reason = "each world is alone on its thread; the order of the threads decides nothing"
)]
pub fn seek(
    bugs: &[&'static Bug],
    suite: &Suite,
    jobs: usize,
    caught: impl FnMut(&Catch) + Send,
) -> Vec<Catch> {
    let searches: Vec<Search<'_>> = bugs.iter().map(|bug| Search::new(bug, suite)).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<(BTreeMap<usize, Catch>, _)> = Mutex::new((BTreeMap::new(), caught));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed) as u64;
                    let number = usize::try_from(task / STARTS).expect("few bugs");
                    let Some(search) = searches.get(number) else {
                        return;
                    };
                    if let Some(catch) = search.start(task % STARTS) {
                        let (all, caught) = &mut *done.lock();
                        caught(&catch);
                        all.insert(number, catch);
                    }
                }
            });
        }
    });
    done.into_inner().0.into_values().collect()
}

/// The search for one bug, from several starts at the same time.
struct Search<'a> {
    bug: &'static Bug,
    suite: &'a Suite,
    is_given_up: AtomicBool,
    /// What each start came to.
    found: Mutex<BTreeMap<u64, Option<Found>>>,
}

impl<'a> Search<'a> {
    fn new(bug: &'static Bug, suite: &'a Suite) -> Self {
        Self {
            bug,
            suite,
            is_given_up: AtomicBool::new(false),
            found: Mutex::default(),
        }
    }

    /// Seeks from one start. The last one to be done says what was found in all.
    fn start(&self, start: u64) -> Option<Catch> {
        let first = start * START_DISTANCE;
        let mut seeds = first..first + SEEDS_MAX;
        // The first start is seen through whatever the others find, so that the same catch is
        // reported whichever thread was faster.
        let goes_on = || start == 0 || !self.is_given_up.load(Ordering::Relaxed);
        let found = seeds
            .by_ref()
            .take_while(|_| goes_on())
            .find_map(|seed| catch(self.bug, self.suite, seed));
        if found.is_none() {
            self.is_given_up.store(true, Ordering::Relaxed);
        }
        let mut all = self.found.lock();
        all.insert(start, found);
        (all.len() as u64 == STARTS).then(|| self.count(&all))
    }

    fn count(&self, found: &BTreeMap<u64, Option<Found>>) -> Catch {
        let is_caught = found.values().all(Option::is_some);
        let mut seeds: Vec<u64> = found
            .iter()
            .filter(|_| is_caught)
            .filter_map(|(start, found)| Some(found.as_ref()?.seed - start * START_DISTANCE + 1))
            .collect();
        seeds.sort_unstable();
        let first = found.get(&0).and_then(Option::as_ref);
        Catch {
            name: self.bug.name,
            caught: is_caught,
            median_seeds: seeds.get(seeds.len() / 2).copied().unwrap_or(SEEDS_MAX),
            max_seeds: seeds.last().copied().unwrap_or(SEEDS_MAX),
            invariant: first.map_or_else(String::new, |found| found.invariant.clone()),
            what: first.map_or_else(String::new, |found| found.what.clone()),
            also: also(found, first),
            seed: first.map_or(0, |found| found.seed),
            first: first.map(|found| found.replay.clone()),
        }
    }
}

/// The invariants that caught a bug from other starts than the first, each once.
fn also(found: &BTreeMap<u64, Option<Found>>, first: Option<&Found>) -> Vec<String> {
    let all = found.values().flatten().map(|found| &found.invariant);
    let others: BTreeSet<&String> = all
        .filter(|invariant| first.is_some_and(|first| first.invariant != **invariant))
        .collect();
    others.into_iter().cloned().collect()
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
    /// The saved plan.
    pub replay: Replay,
}

/// The first of `seeds` that catches a bug.
#[must_use]
pub fn first_catch(bug: &Bug, suite: &Suite, mut seeds: Range<u64>) -> Option<Found> {
    seeds.find_map(|seed| catch(bug, suite, seed))
}

fn catch(bug: &Bug, suite: &Suite, seed: u64) -> Option<Found> {
    let plan = Plan::draw_from(suite, seed);
    let outcome = bug.run(&plan, suite, false);
    let violation = outcome.violation.clone()?;
    Some(Found {
        seed,
        invariant: violation.invariant,
        what: violation.what,
        replay: Replay::of(plan, bug.name, &outcome),
    })
}
