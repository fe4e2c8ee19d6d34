//! Retention: which entries are old enough to leave recall, and which of them stay all the same.
//!
//! Owns the ages and values at which an entry is archived or pruned, and the plan over many of them.
//! A plan needs a few numbers of each entry, not the entry; the owner of a scope asks [`due`] once more before it
//! takes one out. It must not know where columns come from.

pub mod answers;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::citation::Citation;
use crate::config::RetentionConfig;
use crate::entry::{Detail, Head, Kind, Table};
use crate::id::{EntryId, VerificationId};
use crate::scope::{Level, Scope};
use crate::time::{DAY_MS, Timestamp};

/// Why an entry was taken out of recall.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Retirement {
    /// It is old.
    Aged,
    /// It is old, and was of little value.
    Pruned,
    /// The promotion that made it was taken back.
    Undone {
        /// The task of the promotion.
        source: Scope,
        /// Its verification.
        verification: VerificationId,
    },
    /// A person found that another entry says the same.
    Duplicate {
        /// The other entry.
        of: EntryId,
    },
    /// A person found that another entry holds in its place.
    Contradicted {
        /// The other entry.
        by: EntryId,
    },
    /// A person found it wrong.
    Wrong,
}

impl Retirement {
    /// The names of all reasons.
    pub const NAMES: [&'static str; 6] = [
        "aged",
        "pruned",
        "undone",
        "duplicate",
        "contradicted",
        "wrong",
    ];

    /// Which reason it is, by name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Aged => "aged",
            Self::Pruned => "pruned",
            Self::Undone { .. } => "undone",
            Self::Duplicate { .. } => "duplicate",
            Self::Contradicted { .. } => "contradicted",
            Self::Wrong => "wrong",
        }
    }
}

/// What is known of one live entry's age and worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aging {
    /// Its table.
    pub table: Table,
    /// The later of creation and last validation.
    pub age_from: Timestamp,
    /// Of a state: when it was resolved.
    pub resolved_at: Option<Timestamp>,
    /// What it was worth, 0 to 1: see [`value`].
    pub value: f64,
}

impl Aging {
    /// The age and worth of the entry with this head and the typed part of its active version.
    #[must_use]
    pub fn of(head: &Head, detail: &Detail) -> Self {
        Self {
            table: head.table,
            age_from: head.age_from(),
            resolved_at: head.resolved_at(),
            value: value(head, detail),
        }
    }
}

/// What an entry was worth, 0 to 1: the reward of an episode, the success rate of a skill, the stored
/// confidence of everything else.
#[must_use]
pub fn value(head: &Head, detail: &Detail) -> f64 {
    match detail {
        Detail::Episode(episode) => episode.reward,
        Detail::Skill(skill) => skill.success_rate * head.usage.success_rate(),
        _ => head.trust.confidence,
    }
}

/// The task that an entry comes from: an episode names it, others cite its records, and an entry of a task's
/// own scope belongs to that.
#[must_use]
pub fn origin<'a>(head: &'a Head, detail: &'a Detail) -> Option<&'a Scope> {
    if let Detail::Episode(episode) = detail {
        return Some(&episode.task_id);
    }
    let cited = head.citations.iter().find_map(Citation::record);
    let own = (head.scope.level() == Level::Task).then_some(&head.scope);
    cited.map(|record| &record.scope).or(own)
}

/// Why an entry of this age and worth is taken out of recall at `now`, were it not among the best of its
/// task; none while it stays.
#[must_use]
pub fn due(aging: &Aging, now: Timestamp, config: &RetentionConfig) -> Option<Retirement> {
    let older = |than: Timestamp, days: f64| is_older(now, than, days);
    let is_poor = match aging.table {
        Table::Episodes => aging.value < config.prune_reward,
        Table::Skills => aging.value < config.prune_success_rate,
        _ => false,
    };
    if is_poor && older(aging.age_from, config.prune_days) {
        return Some(Retirement::Pruned);
    }
    let is_old = match aging.table.kind() {
        Kind::Episodic => older(aging.age_from, config.archive_episodic_days),
        Kind::Knowledge => older(aging.age_from, config.archive_knowledge_days),
        Kind::State => aging
            .resolved_at
            .is_some_and(|resolved| older(resolved, config.archive_state_days)),
    };
    is_old.then_some(Retirement::Aged)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "spans are far under 2^53 ms, where f64 is exact"
)]
fn is_older(now: Timestamp, than: Timestamp, days: f64) -> bool {
    now.since_ms(than) as f64 > days * DAY_MS as f64
}

/// One entry as a plan looks at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// The entry.
    pub entry: EntryId,
    /// Its active version.
    pub version: u64,
    /// Names the task that it comes from, within its scope; 0 for none.
    pub origin: u64,
    /// Its age and worth.
    pub aging: Aging,
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
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of entries are far under 2^53"
    )]
    pub fn asks(&self, config: &RetentionConfig) -> bool {
        self.going() > config.stop_entries
            && self.going() as f64 > self.live as f64 * config.stop_share
    }
}

/// A plan over many scopes, made in one pass.
#[derive(Debug)]
pub struct Planner<'a> {
    now: Timestamp,
    config: &'a RetentionConfig,
    scopes: BTreeMap<Scope, Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    live: u64,
    due: Vec<Due>,
    /// The best of each task, the worst first.
    best: BTreeMap<u64, Vec<Rank>>,
}

#[derive(Debug)]
struct Due {
    entry: EntryId,
    version: u64,
    origin: u64,
    is_pruned: bool,
    protectable: bool,
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

impl<'a> Planner<'a> {
    /// A plan of what goes at `now`.
    #[must_use]
    pub const fn new(now: Timestamp, config: &'a RetentionConfig) -> Self {
        Self {
            now,
            config,
            scopes: BTreeMap::new(),
        }
    }

    /// Takes in live entries of a scope.
    pub fn take(&mut self, scope: &Scope, entries: impl IntoIterator<Item = Planned>) {
        if !self.scopes.contains_key(scope) {
            self.scopes.insert(scope.clone(), Gathered::default());
        }
        let gathered = self.scopes.get_mut(scope).expect("it was put there");
        for planned in entries {
            gathered.live += 1;
            // What was so until it was resolved is not worth keeping for its worth.
            let protectable = planned.origin != 0 && planned.aging.table.kind() != Kind::State;
            if protectable && self.config.keep_best > 0 {
                let best = gathered.best.entry(planned.origin).or_default();
                rank(best, &planned, self.config.keep_best);
            }
            if let Some(why) = due(&planned.aging, self.now, self.config) {
                gathered.due.push(Due {
                    entry: planned.entry,
                    version: planned.version,
                    origin: planned.origin,
                    is_pruned: why == Retirement::Pruned,
                    protectable,
                });
            }
        }
    }

    /// What goes, by scope. Scopes from which nothing goes are left out.
    #[must_use]
    pub fn finish(self) -> BTreeMap<Scope, ScopePlan> {
        let plans = self.scopes.into_iter().map(|(scope, gathered)| {
            let mut plan = ScopePlan {
                live: gathered.live,
                ..ScopePlan::default()
            };
            for due in gathered.due {
                let best = gathered.best.get(&due.origin).filter(|_| due.protectable);
                if best.is_some_and(|best| best.iter().any(|rank| rank.entry == due.entry)) {
                    plan.kept += 1;
                } else if due.is_pruned {
                    plan.pruned.push((due.entry, due.version));
                } else {
                    plan.aged.push((due.entry, due.version));
                }
            }
            plan.aged.sort_unstable();
            plan.pruned.sort_unstable();
            (scope, plan)
        });
        plans
            .filter(|(_, plan)| plan.going() > 0 || plan.kept > 0)
            .collect()
    }
}

/// Keeps the best `keep` of a task, the worst first.
fn rank(best: &mut Vec<Rank>, planned: &Planned, keep: usize) {
    let rank = Rank {
        value: planned.aging.value,
        age_from: planned.aging.age_from,
        entry: planned.entry,
    };
    let place = best.partition_point(|other| other.order(&rank).is_lt());
    if best.len() < keep {
        best.insert(place, rank);
    } else if place > 0 {
        best.insert(place, rank);
        best.remove(0);
    }
}

#[cfg(test)]
mod tests;
