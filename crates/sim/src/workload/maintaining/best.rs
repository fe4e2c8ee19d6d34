//! The best of each task: which of its entries a run may take out, and which it has to leave.
//!
//! Owns their ranks, sorted here in another way than a plan finds them. An entry goes only while so many of its task as
//! are kept are worth more. What it was worth it still says, since nothing changes an entry that has gone; of others,
//! what may have been worth more before than now counts as better; what had gone before does not.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use sillok_core::entry::{Detail, Head, Kind, Status};
use sillok_core::id::EntryId;
use sillok_core::retention::{origin, value};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, Family, ScopeKey};

use super::Told;
use crate::violation::Violation;
use crate::workload::End;

/// What is said to hold.
const INVARIANT: &str = "the best of each task are kept";
/// How long what has gone, and may have been worth more before, counts as if it were there, in ms: a plan from before may
/// be carried out still.
const LATE_MS: u64 = 60_000;

/// An entry among those of its task.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    entry: EntryId,
    value: f64,
    age_from: Timestamp,
    made_at: Timestamp,
    /// When its time was over; none while it is left, or where it has gone for another reason.
    went_at: Option<Timestamp>,
    /// Whether something was said of it that may have changed what it is worth.
    has_changed: bool,
}

impl Ranked {
    fn rank(&self, other: &Self) -> Ordering {
        let by_value = self.value.total_cmp(&other.value);
        let by_age = (self.age_from, self.entry).cmp(&(other.age_from, other.entry));
        by_value.then(by_age)
    }

    /// Whether it may have been worth more than one that has gone, when that went.
    fn was_better(&self, gone: &Self) -> bool {
        let was_there = gone.went_at.is_some_and(|went_at| self.was_there(went_at));
        let is_other = self.entry != gone.entry;
        is_other && was_there && (self.has_changed || self.rank(gone) == Ordering::Greater)
    }

    /// Whether it was among those of its task at a time.
    fn was_there(&self, at: Timestamp) -> bool {
        let went_before = self.went_at.filter(|went_at| *went_at < at);
        let may_count = |went_at: Timestamp| self.has_changed && at.since_ms(went_at) <= LATE_MS;
        self.made_at <= at && went_before.is_none_or(may_count)
    }
}

/// Of each task, so many entries are left as are kept, or have gone for another reason than their age; and those are the
/// best of it.
pub(super) fn are_left(end: &End<'_>, told: &Told) -> Result<(), Violation> {
    let kept = end.retention.keep_best;
    let Tasks { tasks, erased } = Tasks::read(end, told);
    for ((scope, task), entries) in tasks {
        if told.unsettled.contains(&ScopeKey::of(&scope)) {
            continue;
        }
        let all = entries.len();
        let is_left = |entry: &&Ranked| entry.went_at.is_none();
        let left = entries.iter().filter(is_left).count();
        if left < all.min(kept) {
            let what = format!("{left} of {all} entries of {task} are left in {scope}");
            return Err(Violation::new(INVARIANT, what));
        }
        // Where what was erased came from is not known any more.
        let spared = erased.get(&scope).copied().unwrap_or(0);
        if let Some(entry) = lost(&entries, kept.saturating_sub(spared)) {
            let what = format!("entry {entry} of {task} was among the best in {scope}, and went");
            return Err(Violation::new(INVARIANT, what));
        }
    }
    Ok(())
}

/// An entry that has gone though it was among so many best, if there is one.
fn lost(entries: &[Ranked], kept: usize) -> Option<EntryId> {
    let was_best = |gone: &&Ranked| {
        let better = entries.iter().filter(|other| other.was_better(gone));
        gone.went_at.is_some() && !gone.has_changed && better.count() < kept
    };
    entries.iter().find(was_best).map(|gone| gone.entry)
}

/// What there is to judge.
#[derive(Default)]
struct Tasks {
    /// Entries by scope and task.
    tasks: BTreeMap<(Scope, Scope), Vec<Ranked>>,
    /// How many entries of each scope were erased.
    erased: BTreeMap<Scope, usize>,
}

impl Tasks {
    fn read(end: &End<'_>, told: &Told) -> Self {
        let mut details: BTreeMap<(EntryId, u64), Detail> = BTreeMap::new();
        for (key, value) in end.rows(Family::Version) {
            let version = keys::version::decode(&key, &value).expect("the audit has read it");
            let name = keys::version::parse(&key).expect("the audit has read it");
            details.insert((name.entry, name.number), version.detail);
        }
        let mut read = Self::default();
        for (key, row) in end.rows(Family::Head) {
            let head = keys::head::decode(&key, &row).expect("the audit has read it");
            if head.is_erased() {
                *read.erased.entry(head.scope.clone()).or_default() += 1;
            }
            let detail = &details[&(head.id, head.version)];
            let Some(task) = counts(&head).then(|| origin(&head, detail)).flatten() else {
                continue;
            };
            let is_archived = head.status == Status::Archived;
            let went_at = told.over.get(&head.id).copied().filter(|_| is_archived);
            if went_at.is_some() && told.adopted.contains(&head.id) {
                continue;
            }
            let ranked = Ranked {
                entry: head.id,
                value: value(&head, detail),
                age_from: head.age_from(),
                made_at: head.created_at,
                went_at,
                has_changed: told.changed.contains(&head.id) || head.is_erased(),
            };
            let of_task = (head.scope.clone(), task.clone());
            read.tasks.entry(of_task).or_default().push(ranked);
        }
        read
    }
}

/// States are kept until they are resolved, and not because they are good.
fn counts(head: &Head) -> bool {
    head.table.kind() != Kind::State
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(number: u8, value: f64, went_ms: Option<u64>) -> Ranked {
        Ranked {
            entry: EntryId::from_bytes([number; 16]),
            value,
            age_from: Timestamp::from_ms(1_000),
            made_at: Timestamp::from_ms(1_000),
            went_at: went_ms.map(Timestamp::from_ms),
            has_changed: false,
        }
    }

    fn name(number: u8) -> Option<EntryId> {
        Some(EntryId::from_bytes([number; 16]))
    }

    #[test]
    fn the_worst_may_go_and_none_of_the_best() {
        let went = Some(5_000);
        let [best, good, poor] = [(1, 0.9), (2, 0.7), (3, 0.2)];
        let of_task = |gone: u8| {
            [best, good, poor]
                .map(|(number, value)| ranked(number, value, went.filter(|_| number == gone)))
        };
        assert_eq!(lost(&of_task(3), 2), None);
        assert_eq!(lost(&of_task(2), 2), name(2));
        assert_eq!(lost(&of_task(1), 2), name(1));
        assert_eq!(lost(&of_task(1), 0), None);
    }

    #[test]
    fn of_those_that_are_worth_as_much_the_one_with_the_last_id_is_best() {
        let entries = [ranked(1, 0.5, Some(5_000)), ranked(2, 0.5, None)];
        assert_eq!(lost(&entries, 1), None);
        let entries = [ranked(1, 0.5, None), ranked(2, 0.5, Some(5_000))];
        assert_eq!(lost(&entries, 1), name(2));
    }

    #[test]
    fn what_came_later_was_no_better_and_what_changed_may_have_been() {
        let gone = ranked(1, 0.5, Some(5_000));
        let later = Ranked {
            made_at: Timestamp::from_ms(6_000),
            ..ranked(2, 0.9, None)
        };
        assert_eq!(lost(&[gone, later], 1), name(1));
        let changed = Ranked {
            has_changed: true,
            ..ranked(2, 0.1, None)
        };
        assert_eq!(lost(&[gone, changed], 1), None);
    }

    #[test]
    fn what_had_gone_before_was_no_better() {
        let gone = ranked(1, 0.5, Some(500_000));
        let before = ranked(2, 0.9, Some(499_000));
        assert_eq!(lost(&[gone, before], 1), name(1));
        let at_once = ranked(2, 0.9, Some(500_000));
        assert_eq!(lost(&[gone, at_once], 1), name(2));
        let changed = |went_ms| Ranked {
            has_changed: true,
            ..ranked(2, 0.1, Some(went_ms))
        };
        assert_eq!(lost(&[gone, changed(5_000)], 1), name(1));
        // A plan from when it was there may be carried out still.
        assert_eq!(lost(&[gone, changed(499_000)], 1), None);
    }
}
