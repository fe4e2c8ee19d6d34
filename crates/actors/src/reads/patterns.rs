//! Reading the reasoning bank: which patterns a project has, and which failures a task is warned of.
//!
//! Owns which trajectories and which approaches that failed are looked at, and how many: of trajectories the newest, and of
//! what failed what lies at the end of its range, by worktree and task; and of how many tasks the titles are. What follows
//! from them is `core::bank`'s.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sillok_core::bank::{PatternQuery, PatternsFound, Trajectory, Warning, search, warnings};
use sillok_core::circular::FailedApproach;
use sillok_core::config::BankConfig;
use sillok_core::limits::{
    TRAJECTORIES_BYTES_MAX, TRAJECTORIES_MAX, WARNED_OF_BYTES_MAX, WARNED_OF_MAX, WARNED_TITLES_MAX,
};
use sillok_core::scope::{Level, Scope};
use sillok_core::task::opening_text;
use sillok_core::time::Timestamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{Family, failed_approach, trajectory};
use sillok_store::{Error as StoreError, KeyRange, Store, Txn};

use super::Reader;
use super::tasks::task_of;
use crate::errors::refusal;
use crate::protocol::{Correct, Protocol, Safeguard};
use crate::row_stream::RowStream;

impl<S: Store> Reader<S> {
    /// The patterns of the project around a scope that answer a question, the best first, by its newest trajectories, as far as
    /// [`TRAJECTORIES_MAX`] and [`TRAJECTORIES_BYTES_MAX`], and by approaches of its tasks that failed verifications, as far as
    /// [`WARNED_OF_MAX`] and [`WARNED_OF_BYTES_MAX`].
    ///
    /// # Errors
    /// `invalid_scope` for an organisation, and what the store answers.
    pub async fn search_patterns(
        &self,
        scope: &Scope,
        query: &PatternQuery,
    ) -> Result<PatternsFound, Error> {
        self.search_patterns_under(Correct, scope, query).await
    }

    /// As [`search_patterns`](Self::search_patterns), under a protocol.
    pub(crate) async fn search_patterns_under<P: Protocol>(
        &self,
        protocol: P,
        scope: &Scope,
        query: &PatternQuery,
    ) -> Result<PatternsFound, Error> {
        let project = scope.at_level(Level::Project).ok_or_else(|| {
            let why = format!("patterns are those of a project; {scope} lies in none");
            Error::new(ErrorCode::InvalidScope, why)
        })?;
        let mut txn = self.snapshot().await?;
        let room = (TRAJECTORIES_MAX, TRAJECTORIES_BYTES_MAX);
        let gathered = gather(protocol, &mut txn, &project, room).await;
        let (failed, told) = gathered.map_err(|error| refusal(&error))?;
        let (now, rules) = (self.clock.now(), &self.rules);
        let (bank, recall) = (&rules.bank, &rules.recall);
        let mut found = search(query, &told.rows, &failed.rows, now, bank, recall);
        found.cut |= told.cut || failed.cut;
        Ok(found)
    }
}

/// What a brief warns of.
#[derive(Default)]
pub(super) struct WarnedOf {
    pub(super) warnings: Vec<Warning>,
    /// Whether there is more, or more failed than was looked at.
    pub(super) cut: bool,
}

/// What a task is warned of, by what failed in the others of its project and is like what it was opened with, or like `about`;
/// nothing where the scope is no task that was opened.
pub(super) async fn warned_of<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    (scope, about): (&Scope, &str),
    config: &BankConfig,
) -> Result<WarnedOf, Error> {
    let project = scope.at_level(Level::Project);
    let Some(project) = project.filter(|_| scope.level() == Level::Task) else {
        return Ok(WarnedOf::default());
    };
    let Some(task) = task_of(txn, scope).await? else {
        return Ok(WarnedOf::default());
    };
    let room = (WARNED_OF_MAX, WARNED_OF_BYTES_MAX);
    let gathered = gather(protocol, txn, &project, room).await;
    let (failed, told) = gathered.map_err(|error| refusal(&error))?;
    let called = Called::in_tasks_of(txn, scope, &failed.rows).await?;
    let opening = opening_text(&task.title, &task.description);
    let (failures, titles) = (&failed.rows, &called.titles);
    let asked = [opening.as_str(), about];
    let (warnings, cut) = warnings(scope, &asked, failures, titles, &told.rows, config);
    Ok(WarnedOf {
        warnings,
        cut: cut || failed.cut || told.cut || called.cut,
    })
}

/// What tasks were called in which something failed.
struct Called {
    titles: BTreeMap<Scope, String>,
    /// Whether there are more of them.
    cut: bool,
}

impl Called {
    /// The titles of the tasks of these approaches, as far as there is room: of those in which something failed last. Its own
    /// says nothing to a task.
    async fn in_tasks_of(
        txn: &mut impl Txn,
        own: &Scope,
        failed: &[FailedApproach],
    ) -> Result<Self, Error> {
        let mut last: BTreeMap<&Scope, Timestamp> = BTreeMap::new();
        for one in failed.iter().filter(|one| one.task != *own) {
            let at = last.entry(&one.task).or_insert(one.at);
            *at = one.at.max(*at);
        }
        let mut tasks: Vec<(&Scope, Timestamp)> = last.into_iter().collect();
        // Those of one time stay in the order of their scopes.
        tasks.sort_by_key(|(_, at)| Reverse(*at));
        let cut = tasks.len() > WARNED_TITLES_MAX;
        let mut titles = BTreeMap::new();
        for (task, _) in tasks.into_iter().take(WARNED_TITLES_MAX) {
            let found = task_of(txn, task).await?;
            titles.extend(found.map(|found| (task.clone(), found.title)));
        }
        Ok(Self { titles, cut })
    }
}

/// What failed in a project, and how agents went about its tasks: of the latter as much as there is room for.
async fn gather<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    project: &Scope,
    room: (usize, usize),
) -> Result<(Looked<FailedApproach>, Looked<Trajectory>), StoreError> {
    let range = failed_approach::range_inside(project);
    let of_failures = (WARNED_OF_MAX, WARNED_OF_BYTES_MAX);
    let failed = Looked::at(txn, range, of_failures, |key, value| {
        let failed = failed_approach::decode(key, value)?;
        Ok(Some(failed).filter(|failed| project.contains(&failed.task)))
    });
    let failed = failed.await?;
    Ok((failed, told(protocol, txn, project, room).await?))
}

/// How agents went about the tasks of a project. Planted bug: of all projects.
async fn told<P: Protocol>(
    protocol: P,
    txn: &mut impl Txn,
    project: &Scope,
    room: (usize, usize),
) -> Result<Looked<Trajectory>, StoreError> {
    let keeps = protocol.keeps(Safeguard::KeepsPatternsInProject);
    let range = if keeps {
        trajectory::range_of_project(project)
    } else {
        Family::Trajectory.range()
    };
    let told = Looked::at(txn, range, room, |key, value| {
        let told = trajectory::decode(key, value)?;
        // Another project may share the hash of this one.
        Ok(Some(told).filter(|told| !keeps || project.contains(&told.task)))
    });
    told.await
}

/// Rows of a range, from its end on, as far as there is room.
struct Looked<T> {
    rows: Vec<T>,
    /// Whether there are more.
    cut: bool,
}

impl<T> Looked<T> {
    /// Those that `decode` takes. All that are read take room.
    async fn at(
        txn: &mut impl Txn,
        range: KeyRange,
        (rows_max, bytes_max): (usize, usize),
        decode: impl Fn(&[u8], &[u8]) -> Result<Option<T>, StoreError>,
    ) -> Result<Self, StoreError> {
        let mut rows = RowStream::backwards(range);
        let (mut looked, mut count, mut bytes) = (Vec::new(), 0, 0);
        while let Some((key, value)) = rows.next(txn).await? {
            bytes += value.len();
            if count == rows_max || bytes > bytes_max {
                return Ok(Self {
                    rows: looked,
                    cut: true,
                });
            }
            count += 1;
            looked.extend(decode(&key, &value)?);
        }
        Ok(Self {
            rows: looked,
            cut: false,
        })
    }
}
