//! Plans of retention: what goes of very many entries, by columns.
//!
//! Owns the two passes over them. The first finds what is due; the second, over fewer columns, ranks the entries of those
//! tasks of which something is due, so that the best of each stay. Nothing is kept of an entry that is not due. It must
//! not know where columns come from.

use std::collections::BTreeMap;

use super::{Aging, Retirement, due};
use crate::config::RetentionConfig;
use crate::entry::{Kind, Status, Table};
use crate::id::EntryId;
use crate::scope::Scope;
use crate::time::Timestamp;

/// Columns by which the entries of a task are ranked: a row an entry, all of one length.
#[derive(Clone, Copy, Debug)]
pub struct WorthColumns<'a> {
    /// The entries.
    pub entry: &'a [EntryId],
    /// Their tables.
    pub table: &'a [Table],
    /// Their statuses.
    pub status: &'a [Status],
    /// The later of creation and last validation.
    pub age_from: &'a [Timestamp],
    /// What they were worth, 0 to 1.
    pub value: &'a [f64],
    /// Names of the tasks that they come from: see [`super::Age::origin`].
    pub origin: &'a [u64],
}

/// Columns by which it is found what is due: a row an entry, all of one length.
#[derive(Clone, Copy, Debug)]
pub struct AgeColumns<'a> {
    /// What they are ranked by.
    pub worth: WorthColumns<'a>,
    /// Scopes, each once.
    pub scopes: &'a [Scope],
    /// The scope of each entry, by its place among these.
    pub scope: &'a [u32],
    /// The active version of each.
    pub version: &'a [u64],
    /// When states were resolved.
    pub resolved_at: &'a [Option<Timestamp>],
}

/// What is to be taken out of one scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopePlan {
    /// Entries whose time is over, and their versions, in rising order.
    pub aged: Vec<(EntryId, u64)>,
    /// Old entries of little value, and their versions, in rising order.
    pub pruned: Vec<(EntryId, u64)>,
    /// Old entries that stay, because they are among the best of their task.
    pub kept: u64,
    /// Live entries that were looked at.
    pub live: u64,
}

impl ScopePlan {
    /// How many entries it takes out.
    #[must_use]
    pub const fn going(&self) -> usize {
        self.aged.len() + self.pruned.len()
    }

    /// Whether it takes out so much that a person has to say so: a clock that is wrong looks like this.
    #[must_use]
    pub fn asks(&self, config: &RetentionConfig) -> bool {
        is_too_much(self.going(), self.live, config)
    }
}

/// What is to be taken out of all that was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Entries that were looked at.
    pub looked_at: u64,
    /// Those of them that are live.
    pub live: u64,
    /// What goes, by scope. Scopes of which nothing is due are left out.
    pub scopes: BTreeMap<Scope, ScopePlan>,
}

impl Plan {
    /// Whether it takes out so much of all that was looked at that a person has to say so. Many small scopes, none of
    /// which asks by itself, are emptied by a wrong clock as well.
    #[must_use]
    pub fn asks(&self, config: &RetentionConfig) -> bool {
        let going = self.scopes.values().map(ScopePlan::going).sum();
        is_too_much(going, self.live, config)
    }
}

/// Whether so many of these live entries are more than may go without a question.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of entries are far under 2^53"
)]
fn is_too_much(going: usize, live: u64, config: &RetentionConfig) -> bool {
    going > config.stop_entries && going as f64 > live as f64 * config.stop_share
}

/// A plan in the making.
#[derive(Debug)]
pub struct Planner<'a> {
    now: Timestamp,
    config: &'a RetentionConfig,
    within: Option<&'a Scope>,
    looked_at: u64,
    /// Places in `live`.
    places: BTreeMap<Scope, usize>,
    /// Live entries of each scope.
    live: Vec<u64>,
    due: Vec<Due>,
    /// Tasks of which something is due, in order and looked for once the first pass is over.
    tasks: Tasks,
    /// The best of each of them, the worst first.
    best: Vec<Vec<Rank>>,
}

#[derive(Debug)]
struct Due {
    place: usize,
    entry: EntryId,
    version: u64,
    /// The task among whose best it may be; 0 for none.
    task: u64,
    is_pruned: bool,
}

/// An entry among those of its task: the larger, the better.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rank {
    value: f64,
    age_from: Timestamp,
    entry: EntryId,
}

impl Rank {
    fn order(&self, other: &Self) -> core::cmp::Ordering {
        let by_value = self.value.total_cmp(&other.value);
        by_value
            .then(self.age_from.cmp(&other.age_from))
            .then(self.entry.cmp(&other.entry))
    }
}

/// Tasks of which something is due.
#[derive(Debug)]
struct Tasks {
    named: Vec<u64>,
    /// A bit of each, at its mark: nearly all entries are of other tasks, and one bit says so of most of them.
    marks: Vec<u64>,
}

impl Tasks {
    const NONE: Self = Self {
        named: Vec::new(),
        marks: Vec::new(),
    };
    /// Bits for each task, at least.
    const BITS_EACH: usize = 16;

    /// Makes ready to look for them.
    fn put_in_order(&mut self) {
        self.named.sort_unstable();
        self.named.dedup();
        let words = (self.named.len() * Self::BITS_EACH).div_ceil(64);
        self.marks = vec![0; words.next_power_of_two()];
        for task in &self.named {
            let (word, bit) = self.mark(*task);
            self.marks[word] |= bit;
        }
    }

    /// Where the bit of a task is.
    fn mark(&self, task: u64) -> (usize, u64) {
        // Names of tasks may come in order: the upper bits of the product do not.
        let mixed = (task.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32;
        let word = (mixed >> 6) as usize & (self.marks.len() - 1);
        (word, 1 << (mixed & 63))
    }

    /// The place of a task, if it is one of them; none before they were put in order.
    fn place(&self, task: u64) -> Option<usize> {
        if self.marks.is_empty() {
            return None;
        }
        let (word, bit) = self.mark(task);
        if self.marks[word] & bit == 0 {
            return None;
        }
        self.named.binary_search(&task).ok()
    }
}

/// The task among whose best an entry may be; 0 for none. What was so until it was resolved is not worth keeping for
/// its worth.
fn task_of(table: Table, origin: u64) -> u64 {
    match table.kind() {
        Kind::State => 0,
        Kind::Episodic | Kind::Knowledge => origin,
    }
}

impl<'a> Planner<'a> {
    /// A plan of what goes at `now`, of all scopes or of those inside one.
    #[must_use]
    pub const fn new(
        now: Timestamp,
        config: &'a RetentionConfig,
        within: Option<&'a Scope>,
    ) -> Self {
        Self {
            now,
            config,
            within,
            looked_at: 0,
            places: BTreeMap::new(),
            live: Vec::new(),
            due: Vec::new(),
            tasks: Tasks::NONE,
            best: Vec::new(),
        }
    }

    /// Takes entries in: the first pass.
    pub fn take(&mut self, columns: &AgeColumns<'_>) {
        let places: Vec<Option<usize>> = columns
            .scopes
            .iter()
            .map(|scope| self.place(scope))
            .collect();
        for (row, scope) in columns.scope.iter().enumerate() {
            let Some(place) = places[*scope as usize] else {
                continue;
            };
            self.looked_at += 1;
            let (status, resolved_at) = (columns.worth.status[row], columns.resolved_at[row]);
            let is_resolved = status == Status::Deprecated && resolved_at.is_some();
            if !(status.is_live() || is_resolved) {
                continue;
            }
            self.live[place] += 1;
            let table = columns.worth.table[row];
            let aging = Aging {
                table,
                age_from: columns.worth.age_from[row],
                resolved_at,
                value: columns.worth.value[row],
            };
            if let Some(why) = due(&aging, self.now, self.config) {
                let task = task_of(table, columns.worth.origin[row]);
                self.tasks.named.extend((task != 0).then_some(task));
                self.due.push(Due {
                    place,
                    entry: columns.worth.entry[row],
                    version: columns.version[row],
                    task,
                    is_pruned: why == Retirement::Pruned,
                });
            }
        }
    }

    /// Where a scope's live entries are counted; none where it is not asked for.
    fn place(&mut self, scope: &Scope) -> Option<usize> {
        if self.within.is_some_and(|within| !within.contains(scope)) {
            return None;
        }
        if let Some(place) = self.places.get(scope) {
            return Some(*place);
        }
        let place = self.live.len();
        self.places.insert(scope.clone(), place);
        self.live.push(0);
        Some(place)
    }

    /// Ends the first pass: whether a second one is needed, because of some tasks the best are to stay.
    pub fn has_to_rank(&mut self) -> bool {
        if self.config.keep_best == 0 {
            self.tasks.named.clear();
        }
        self.tasks.put_in_order();
        self.best = vec![Vec::new(); self.tasks.named.len()];
        !self.tasks.named.is_empty()
    }

    /// Ranks entries: the second pass, over the same entries as the first.
    pub fn rank(&mut self, columns: &WorthColumns<'_>) {
        for (row, origin) in columns.origin.iter().enumerate() {
            let task = task_of(columns.table[row], *origin);
            if task == 0 || !columns.status[row].is_live() {
                continue;
            }
            let Some(place) = self.tasks.place(task) else {
                continue;
            };
            let rank = Rank {
                value: columns.value[row],
                age_from: columns.age_from[row],
                entry: columns.entry[row],
            };
            keep(&mut self.best[place], rank, self.config.keep_best);
        }
    }

    /// What goes.
    #[must_use]
    pub fn finish(self) -> Plan {
        let mut plans: Vec<ScopePlan> = self
            .live
            .iter()
            .map(|live| ScopePlan {
                live: *live,
                ..ScopePlan::default()
            })
            .collect();
        for due in self.due {
            let plan = &mut plans[due.place];
            let task = self.tasks.place(due.task);
            let mut best = task.into_iter().flat_map(|task| &self.best[task]);
            if best.any(|rank| rank.entry == due.entry) {
                plan.kept += 1;
            } else if due.is_pruned {
                plan.pruned.push((due.entry, due.version));
            } else {
                plan.aged.push((due.entry, due.version));
            }
        }
        let scopes = self.places.into_iter().map(|(scope, place)| {
            let mut plan = core::mem::take(&mut plans[place]);
            plan.aged.sort_unstable();
            plan.pruned.sort_unstable();
            (scope, plan)
        });
        Plan {
            looked_at: self.looked_at,
            live: self.live.iter().sum(),
            scopes: scopes
                .filter(|(_, plan)| plan.going() > 0 || plan.kept > 0)
                .collect(),
        }
    }
}

/// Keeps the best `count` of a task, the worst first.
fn keep(best: &mut Vec<Rank>, rank: Rank, count: usize) {
    let place = best.partition_point(|other| other.order(&rank).is_lt());
    if best.len() < count {
        best.insert(place, rank);
    } else if place > 0 {
        best.insert(place, rank);
        best.remove(0);
    }
}

#[cfg(test)]
mod tests;
