//! Reading what failed: whether an approach that is proposed to a task is one that failed before.
//!
//! Owns which failures are looked at, in which order, and how many. When two approaches are one, and what follows, is
//! `core::circular`'s.

use sillok_core::circular::{
    Approach, ApproachJudged, FailedApproach, Proposed, Verdict, judge_approach,
};
use sillok_core::id::Seq;
use sillok_core::limits::{FIX_FAILURES_BYTES_MAX, FIX_FAILURES_MAX};
use sillok_core::scope::{Level, Scope};
use sillok_core::task::{Task, TaskStatus, opening_text};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::failed_approach;
use sillok_store::{Error as StoreError, KeyRange, Store, Txn};

use super::paging::Paging;
use super::tasks::task_of;
use super::{Page, Reader};
use crate::errors::refusal;
use crate::protocol::{Correct, Protocol, Safeguard};
use crate::row_stream::RowStream;

/// Whether an agent may go on with an approach.
#[derive(Clone, Debug, PartialEq)]
pub struct FixChecked {
    /// What follows from what failed before.
    pub judged: ApproachJudged,
    /// Why the task is stuck; none where it is not. A task that is stuck takes no fix, whatever it is.
    pub stuck: Option<String>,
}

impl<S: Store> Reader<S> {
    /// What follows from an approach to a task by what failed in it and in the other tasks of its project: what counts in the
    /// task is looked at first, then what was cleared there, then the others, and of one task the newest failures first, all
    /// together as far as [`FIX_FAILURES_MAX`] and [`FIX_FAILURES_BYTES_MAX`].
    ///
    /// # Errors
    /// `invalid_scope` for what is no task, `not_found` for one that was never opened, and what the store answers.
    pub async fn check_fix(&self, task: &Scope, proposed: &Approach) -> Result<FixChecked, Error> {
        self.check_fix_under(Correct, task, proposed).await
    }

    /// As [`check_fix`](Self::check_fix), under a protocol.
    pub(crate) async fn check_fix_under<P: Protocol>(
        &self,
        protocol: P,
        task: &Scope,
        proposed: &Approach,
    ) -> Result<FixChecked, Error> {
        let mut txn = self.snapshot().await?;
        let opened = opened_task(&mut txn, task).await?;
        let gathered = Gathered::of(&mut txn, task, opened.failures.cleared_through).await;
        let gathered = gathered.map_err(|error| refusal(&error))?;
        Ok(checked(protocol, (task, proposed), &opened, &gathered))
    }

    /// Approaches to a task that failed behind an event, in the order in which they did.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, `invalid_scope` for what is no task, `not_found` for one that was never
    /// opened, and what the store answers.
    pub async fn failed_approaches(
        &self,
        task: &Scope,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<FailedApproach, Seq>, Error> {
        let mut page = Paging::of(limit)?;
        let mut txn = self.snapshot().await?;
        opened_task(&mut txn, task).await?;
        let mut rows = RowStream::new(failed_approach::range_after(task, after));
        while page.has_room() {
            let row = rows.next(&mut txn).await;
            let Some((key, value)) = row.map_err(|error| refusal(&error))? else {
                return Ok(page.whole());
            };
            let failed = failed_approach::decode(&key, &value);
            let failed = failed.map_err(|error| refusal(&error))?;
            // Another scope may share the hash of this one.
            let place = failed.seq;
            let listed = Some(failed).filter(|failed| failed.task == *task);
            page.take(place, value.len(), listed);
        }
        Ok(page.so_far())
    }
}

/// The task, as it is now.
async fn opened_task(txn: &mut impl Txn, task: &Scope) -> Result<Task, Error> {
    if task.level() != Level::Task {
        let why = format!("fixes are those of a task; {task} is a {}", task.level());
        return Err(Error::new(ErrorCode::InvalidScope, why));
    }
    let found = task_of(txn, task).await?;
    found.ok_or_else(|| Error::new(ErrorCode::NotFound, format!("{task} was never opened")))
}

/// What follows for a task that was opened so.
fn checked<P: Protocol>(
    protocol: P,
    (task, proposed): (&Scope, &Approach),
    opened: &Task,
    gathered: &Gathered,
) -> FixChecked {
    let description = opening_text(&opened.title, &opened.description);
    let forgives = protocol.keeps(Safeguard::ForgivesClearedApproaches);
    let to = Proposed {
        task,
        description: &description,
        cleared_through: if forgives {
            opened.failures.cleared_through
        } else {
            Seq::ZERO
        },
    };
    let mut judged = judge_approach(proposed, to, &gathered.failed);
    judged.cut |= gathered.cut;
    if !protocol.keeps(Safeguard::WarnsOfOtherTasks)
        && judged.tried.iter().any(|tried| tried.task != *task)
    {
        judged.verdict = Verdict::Reject;
    }
    let is_stuck = opened.status == TaskStatus::Stuck;
    let stuck = is_stuck.then(|| opened.stuck_reason.clone().unwrap_or_default());
    if is_stuck {
        judged.verdict = Verdict::Block;
    }
    FixChecked { judged, stuck }
}

/// What failed, as far as there is room for it.
#[derive(Default)]
struct Gathered {
    failed: Vec<FailedApproach>,
    /// Bytes of all rows that were looked at.
    bytes: usize,
    /// Whether there is more.
    cut: bool,
}

impl Gathered {
    /// What failed in a task, first what did so behind the last pass that cleared anything, and behind it what failed in the
    /// other tasks of its project.
    async fn of(
        txn: &mut impl Txn,
        task: &Scope,
        cleared_through: Seq,
    ) -> Result<Self, StoreError> {
        let mut gathered = Self::default();
        let own = failed_approach::range_inside(task);
        let counts = failed_approach::range_after(task, Some(cleared_through));
        let cleared = KeyRange::new(own.begin.clone(), counts.begin.clone());
        let is_own = |failed: &FailedApproach| failed.task == *task;
        for range in [counts, cleared] {
            gathered.read(txn, range, is_own).await?;
        }
        if let Some(project) = task.at_level(Level::Project) {
            let all = failed_approach::range_inside(&project);
            let before = KeyRange::new(all.begin, own.begin);
            let behind = KeyRange::new(own.end, all.end);
            let is_inside = |failed: &FailedApproach| project.contains(&failed.task);
            for range in [before, behind] {
                gathered.read(txn, range, is_inside).await?;
            }
        }
        Ok(gathered)
    }

    /// Takes those of a range that lie where they are looked for, from its end on.
    async fn read(
        &mut self,
        txn: &mut impl Txn,
        range: KeyRange,
        lies_there: impl Fn(&FailedApproach) -> bool,
    ) -> Result<(), StoreError> {
        if self.cut {
            return Ok(());
        }
        let mut rows = RowStream::backwards(range);
        while let Some((key, value)) = rows.next(txn).await? {
            self.bytes += value.len();
            if self.failed.len() == FIX_FAILURES_MAX || self.bytes > FIX_FAILURES_BYTES_MAX {
                self.cut = true;
                break;
            }
            let failed = failed_approach::decode(&key, &value)?;
            self.failed.extend(Some(failed).filter(&lies_there));
        }
        Ok(())
    }
}
