//! Planning of maintenance over very many entries: its time beside that of a bare scan of the same columns, and its memory.
//!
//! The tables are written by the index's own code, without vectors, so that ten million entries take minutes. Scan and plan
//! run in a fresh process, in turns, so that its peak is what they took. One of twenty tasks is old, in every project: all
//! of its entries are due but the best of them, so each plan takes both passes, and what it has to find is known.
//!
//! That process opens the tables for plans alone. A node plans over the index that it searches, which holds a directory of
//! all rows: [`measure_node`] says what a process takes that does so, over tables that have vectors and indices.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sillok_actors::maintenance::due;
use sillok_builtin::HashEmbedder;
use sillok_core::config::RetentionConfig;
use sillok_core::entry::{Status, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::EntryId;
use sillok_core::ports::{Embedder as _, IndexDoc};
use sillok_core::retention::Age;
use sillok_core::retention::plan::ScopePlan;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_vectors_lance::{LanceColumns, LanceConfig, LanceIndex, write_tables};

use crate::engines::{folder, runtime};
use crate::error::Error;
use crate::memory::{fresh_process, status_bytes};
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::{now, scope};

/// Entries of each task.
const OF_TASK: u64 = 50;
/// One of so many tasks is old.
const OLD: u64 = 20;
/// Projects, whose tasks come one after the other.
const PROJECTS: u64 = 200;
/// Entries that are written at once.
const ROWS_AT_ONCE: u64 = 100_000;
/// How often each is measured; the one in the middle counts.
const TURNS: usize = 5;
/// A plan takes at most so many times as long as a bare scan.
const RATIO_MAX: f64 = 2.0;
/// Most that is ever resident of a process that opens the tables for plans alone, in MB of 10^6 bytes.
const PEAK_MB_MAX: f64 = 1_000.0;

/// What the fresh process found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Planned {
    /// Entries that were looked at.
    looked_at: u64,
    /// Of them, those that go, and those that would if they were not among the best.
    going: u64,
    kept: u64,
    /// Of the one in the middle, in seconds.
    scan_seconds: f64,
    plan_seconds: f64,
    /// The most that was ever resident.
    peak_bytes: u64,
}

/// What a fresh process found that opened the index as a node does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlannedByNode {
    /// Entries that were looked at.
    looked_at: u64,
    /// Of them, those that go.
    going: u64,
    /// By how much the process grew when it opened the index.
    opened_bytes: u64,
    plan_seconds: f64,
    /// The most that was ever resident.
    peak_bytes: u64,
}

/// Measures a fresh process that opens the tables for plans alone.
///
/// # Errors
/// What it answered; a plan of something else.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let entries = scale.planned / (OF_TASK * OLD) * (OF_TASK * OLD);
    let began = Instant::now();
    let batches = (0..entries.div_ceil(ROWS_AT_ONCE)).map(move |number| {
        let rows = number * ROWS_AT_ONCE..entries.min((number + 1) * ROWS_AT_ONCE);
        rows.map(doc).collect()
    });
    let tables = folder.path().join("vectors");
    write_tables(&tables, config(), batches).map_err(|error| Error::Wrong(error.to_string()))?;
    let prepared = began.elapsed();
    let planned: Planned = fresh_process(&["child-plan"], &tables)?;
    let old = entries / OLD;
    let kept = old / OF_TASK * RetentionConfig::default().keep_best as u64;
    if (planned.looked_at, planned.going, planned.kept) != (entries, old - kept, kept) {
        return Err(Error::Wrong(format!(
            "of {entries} entries, {} were to go and {kept} to stay: {planned:?}",
            old - kept
        )));
    }
    let what = format!("planning: preparing {entries} entries");
    report.add(Row::new(what, prepared.as_secs_f64(), "s"));
    report.add(Row::new("planning: a bare scan", planned.scan_seconds, "s"));
    report.add(Row::new("planning: a plan", planned.plan_seconds, "s"));
    let ratio = planned.plan_seconds / planned.scan_seconds;
    let row = Row::new("planning: a plan over a bare scan", ratio, "times");
    report.add(row.with_floor(Floor::AtMost(RATIO_MAX)));
    let what = "planning: peak memory, with tables opened for plans alone";
    let row = Row::new(what, planned.peak_bytes as f64 / 1e6, "MB");
    report.add(row.with_floor(Floor::AtMost(PEAK_MB_MAX)));
    Ok(())
}

/// Measures a fresh process that opens the index over these tables, which nobody else has open, and plans as a node does.
///
/// # Errors
/// What it answered; that another number of entries lies there, or is due.
pub(crate) fn measure_node(
    tables: &Path,
    entries: u64,
    due: u64,
    report: &mut Report,
) -> Result<(), Error> {
    let planned: PlannedByNode = fresh_process(&["child-plan-node"], tables)?;
    if (planned.looked_at, planned.going) != (entries, due) {
        let why = format!("of {entries} entries, {due} were to go: {planned:?}");
        return Err(Error::Wrong(why));
    }
    let what = format!("planning by a node: a plan of {entries} entries");
    report.add(Row::new(what, planned.plan_seconds, "s"));
    let what = "planning by a node: peak memory of that, with its index";
    report.add(Row::new(what, planned.peak_bytes as f64 / 1e6, "MB"));
    let what = "planning by a node: memory of the index once it is open";
    let each = planned.opened_bytes as f64 / entries as f64;
    report.add(Row::new(what, each, "B/entry"));
    Ok(())
}

/// Scans and plans, in the fresh process.
///
/// # Errors
/// What the tables answered.
pub(crate) fn child(tables: &Path) -> Result<Planned, Error> {
    let columns = LanceColumns::open(tables, config());
    let columns = columns.map_err(|error| Error::Wrong(error.to_string()))?;
    let (retention, at) = (RetentionConfig::default(), now());
    let (mut scans, mut plans) = (Vec::new(), Vec::new());
    let mut found = (0, 0, 0_u64);
    runtime()?.block_on(async {
        // What is read first comes from the disk.
        let rows = columns.read_through().await?;
        for _ in 0..TURNS {
            let began = Instant::now();
            let again = columns.read_through().await?;
            scans.push(began.elapsed().as_secs_f64());
            let began = Instant::now();
            let plan = due(&columns, at, &retention, None, &|_| ()).await?.found;
            plans.push(began.elapsed().as_secs_f64());
            if again != rows || plan.looked_at != rows {
                let why = format!("{rows}, {again} and {} rows", plan.looked_at);
                return Err(Error::Wrong(why));
            }
            let going: usize = plan.scopes.values().map(ScopePlan::going).sum();
            let kept: u64 = plan.scopes.values().map(|scope| scope.kept).sum();
            found = (rows, going as u64, kept);
        }
        Ok(())
    })?;
    let (looked_at, going, kept) = found;
    Ok(Planned {
        looked_at,
        going,
        kept,
        scan_seconds: middle(scans),
        plan_seconds: middle(plans),
        peak_bytes: status_bytes("self", "VmHWM:")?,
    })
}

/// Opens the index and plans, in the fresh process.
///
/// # Errors
/// What the index answered.
pub(crate) fn child_node(tables: &Path) -> Result<PlannedByNode, Error> {
    let runtime = runtime()?;
    let before = status_bytes("self", "VmRSS:")?;
    let index = LanceIndex::open(tables, config());
    let index = index.map_err(|error| Error::Wrong(error.to_string()))?;
    let opened = status_bytes("self", "VmRSS:")?;
    let retention = RetentionConfig::default();
    let began = Instant::now();
    let plan = runtime.block_on(due(&index, now(), &retention, None, &|_| ()))?;
    let plan_seconds = began.elapsed().as_secs_f64();
    let going: usize = plan.found.scopes.values().map(ScopePlan::going).sum();
    Ok(PlannedByNode {
        looked_at: plan.found.looked_at,
        going: going as u64,
        opened_bytes: opened.saturating_sub(before),
        plan_seconds,
        peak_bytes: status_bytes("self", "VmHWM:")?,
    })
}

fn middle(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn config() -> LanceConfig {
    LanceConfig::new(HashEmbedder.space(), HashEmbedder.dimensions())
}

/// The state of an entry: what is not planned by is as short as it gets.
fn doc(number: u64) -> IndexDoc {
    let task = number / OF_TASK;
    let is_old = is_old(task);
    let days = if is_old { 120 } else { task % 60 };
    let table = match task % 10 {
        // At this age patterns would stay, and gotchas that nobody resolved.
        _ if is_old => Table::Observations,
        0..=6 => Table::Observations,
        7 | 8 => Table::Patterns,
        _ => Table::Gotchas,
    };
    let made = Timestamp::from_ms(now().ms() - days * DAY_MS);
    // Its bits come in no order, as those of real ids do.
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let id = (u128::from(mixed) << 64) | u128::from(number);
    IndexDoc {
        scope: project(task),
        entry: EntryId::from_bytes(id.to_be_bytes()),
        version: 1,
        table,
        status: Status::Verified,
        failure: false,
        confidence: 0.8,
        content_hash: ContentHash::from_bytes([7; 32]),
        content: "planned".to_owned(),
        claim: None,
        embedding: None,
        created_at: made,
        age: Age {
            from: made,
            resolved_at: None,
            value: (mixed >> 40) as f64 / (1_u64 << 24) as f64,
            origin: task + 1,
        },
        stamp: Stamp {
            generation: 1,
            counter: number + 1,
            index: 0,
        },
    }
}

fn project(task: u64) -> Scope {
    scope(&format!("org/bench/project/p{}", task % PROJECTS))
}

/// One of [`OLD`] tasks, another one of each round through the projects, so that all of these have some.
fn is_old(task: u64) -> bool {
    (task + task / PROJECTS).is_multiple_of(OLD)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_project_has_as_many_old_tasks_whose_entries_are_all_due() {
        let tasks = PROJECTS * OLD * 2;
        let mut old = BTreeMap::<Scope, u64>::new();
        for task in (0..tasks).filter(|task| is_old(*task)) {
            assert_eq!(doc(task * OF_TASK).table, Table::Observations);
            *old.entry(project(task)).or_default() += 1;
        }
        assert_eq!(old.len() as u64, PROJECTS);
        assert!(old.values().all(|count| *count == tasks / PROJECTS / OLD));
    }

    #[test]
    fn any_number_of_tasks_that_can_be_divided_has_its_share_of_old_ones() {
        for tasks in (OLD..PROJECTS * 3).step_by(20) {
            let old = (0..tasks).filter(|task| is_old(*task)).count();
            assert_eq!(old as u64, tasks / OLD, "{tasks}");
        }
    }
}
