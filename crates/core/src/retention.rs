//! Retention: which entries are old enough to leave recall, and which of them stay all the same.
//!
//! Owns the ages and values at which an entry is archived or pruned. [`plan`] asks for many of them at once, by a few
//! numbers of each; the owner of a scope asks [`due`] once more before it takes one out. It must not know where the
//! numbers are kept.

pub mod answers;
pub mod pace;
pub mod plan;

use serde::{Deserialize, Serialize};

use crate::citation::Citation;
use crate::commit::CommitName;
use crate::config::RetentionConfig;
use crate::entry::{Detail, Head, Kind, Table};
use crate::id::{EntryId, VerificationId};
use crate::permission::Access;
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
    /// What it rests on is gone at the project's main branch.
    Stale {
        /// The commit at which that was found.
        at: CommitName,
    },
}

impl Retirement {
    /// The names of all reasons.
    pub const NAMES: [&'static str; 7] = [
        "aged",
        "pruned",
        "undone",
        "duplicate",
        "contradicted",
        "wrong",
        "stale",
    ];

    /// Whether it is its time that was over, or its code that went: nobody found fault with what it says.
    #[must_use]
    pub const fn is_restored(&self) -> bool {
        matches!(self, Self::Aged | Self::Pruned | Self::Stale { .. })
    }

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
            Self::Stale { .. } => "stale",
        }
    }
}

/// The leave that it takes to have an entry of this level leave recall by saying that what it rests on is gone. It is whoever
/// decides there, and in a project whoever may write its entries. No agent has it anywhere, and in an organisation only a person.
#[must_use]
pub const fn stale_access(level: Level) -> Access {
    match level {
        Level::Project => Access::Entries,
        Level::Task | Level::Worktree | Level::Org => Access::Decide,
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

/// What an index keeps of an entry, so that runs are planned over columns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Age {
    /// The later of creation and last validation.
    pub from: Timestamp,
    /// Of a state: when it was resolved.
    pub resolved_at: Option<Timestamp>,
    /// What it was worth, 0 to 1: see [`value`].
    pub value: f64,
    /// Names the task that it comes from, among those of its scope's entries, and no other scope's; 0 for none.
    pub origin: u64,
}

impl Age {
    /// The age of the entry with this head and the typed part of its active version.
    #[must_use]
    pub fn of(head: &Head, detail: &Detail) -> Self {
        let aging = Aging::of(head, detail);
        Self {
            from: aging.age_from,
            resolved_at: aging.resolved_at,
            value: aging.value,
            origin: origin(head, detail).map_or(0, |task| name_of(task, &head.scope)),
        }
    }
}

/// A number for the entries of a scope that come from a task, other than 0.
fn name_of(task: &Scope, scope: &Scope) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 entries of a task");
    hasher.update(task.as_str().as_bytes());
    // No name holds it.
    hasher.update(b"\0");
    hasher.update(scope.as_str().as_bytes());
    let hash = hasher.finalize();
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("a hash has 32 bytes");
    u64::from_le_bytes(*first).max(1)
}

/// What an entry was worth, 0 to 1: the reward of an episode, the success rate of a skill, the stored
/// confidence of everything else.
#[must_use]
pub fn value(head: &Head, detail: &Detail) -> f64 {
    match detail {
        Detail::Episode(episode) => episode.reward,
        Detail::Skill(skill) => skill.success_rate_with(head.usage),
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

#[cfg(test)]
mod tests;
