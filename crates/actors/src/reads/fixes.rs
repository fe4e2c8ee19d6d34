//! Reading what failed: whether an approach that is proposed to a task is one that failed before.
//!
//! Owns which failures are looked at, and how many. When two approaches are one, and what follows, is `core::circular`'s.

use sillok_core::circular::{
    Approach, ApproachJudged, FailedApproach, Proposed, Verdict, judge_approach,
};
use sillok_core::id::Seq;
use sillok_core::limits::FIX_FAILURES_MAX;
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
    /// Whether more failed in the project than was looked at.
    pub cut: bool,
}

impl<S: Store> Reader<S> {
    /// What follows from an approach to a task by what failed in it and in the other tasks of its project: of the task all is
    /// looked at first, and both together as far as [`FIX_FAILURES_MAX`].
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
        let failed = failures(&mut txn, task).await;
        let (failed, cut) = failed.map_err(|error| refusal(&error))?;
        let asked = (task, proposed);
        Ok(checked(protocol, asked, &opened, &failed, cut))
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
    failed: &[FailedApproach],
    cut: bool,
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
    let mut judged = judge_approach(proposed, to, failed);
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
    FixChecked { judged, stuck, cut }
}

/// What failed in a task, and behind it what failed in the other tasks of its project.
async fn failures(
    txn: &mut impl Txn,
    task: &Scope,
) -> Result<(Vec<FailedApproach>, bool), StoreError> {
    let mut found = Vec::new();
    let own = failed_approach::range_inside(task);
    let mut cut = read(txn, own.clone(), &mut found, |failed| failed.task == *task).await?;
    if let Some(project) = task.at_level(Level::Project) {
        let all = failed_approach::range_inside(&project);
        let before = KeyRange::new(all.begin, own.begin);
        let behind = KeyRange::new(own.end, all.end);
        let is_inside = |failed: &FailedApproach| project.contains(&failed.task);
        for range in [before, behind] {
            cut |= read(txn, range, &mut found, is_inside).await?;
        }
    }
    Ok((found, cut))
}

/// Takes those of a range that lie where they are looked for, as far as there is room. Whether there are more.
async fn read(
    txn: &mut impl Txn,
    range: KeyRange,
    found: &mut Vec<FailedApproach>,
    lies_there: impl Fn(&FailedApproach) -> bool,
) -> Result<bool, StoreError> {
    let mut rows = RowStream::new(range).growing();
    while let Some((key, value)) = rows.next(txn).await? {
        if found.len() == FIX_FAILURES_MAX {
            return Ok(true);
        }
        let failed = failed_approach::decode(&key, &value)?;
        found.extend(Some(failed).filter(|failed| lies_there(failed)));
    }
    Ok(false)
}
