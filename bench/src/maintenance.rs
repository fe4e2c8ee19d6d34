//! Maintenance: how fast it is planned, how fast what is due goes, and what those who write at the same time feel of it.
//!
//! The plan is measured by [`crate::planning`] over many more entries. Here a node with the embedded store and Lance tables
//! takes out what is due in several projects, on a machine that does nothing else; it counts from the start of the run
//! until the head of the last entry of each project says so and recall finds none of these, and beside it stands SQLite,
//! which does the same row by row. All heads and a larger sample are looked at once the clock has stopped. Then the
//! calendar goes on, more is due, and a whole run of maintenance goes beside the appends of [`crate::beside`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use sillok_actors::maintenance::{Maintain, Maintained, Part as Step};
use sillok_actors::reads::RecallQuery;
use sillok_core::entry::{Status, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::{IndexDoc, SearchRequest, VectorIndex as _};
use sillok_core::scope::Scope;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{RangeOptions, Read, Store as _, Txn as _, key_range};

use crate::bed::{Bed, Cohort, Part, Running, SetClock};
use crate::corpus::Writes;
use crate::engines::{folder, runtime, write_back};
use crate::error::Error;
use crate::report::{Floor, Key, Report, Row};
use crate::scale::Scale;
use crate::workload::scope;
use crate::{beside, planning, pruned_sql};

/// Projects that the entries lie in.
const PROJECTS: u32 = 8;
/// What is due at once is so old, and what is due later; the days that pass between.
const OLD_DAYS: u64 = 120;
const LATER_DAYS: u64 = 80;
const PASSING_DAYS: u64 = 20;
/// Entries that go in a second.
const PRUNED_A_SECOND_MIN: f64 = 50_000.0;
/// Of those that went, one of so many is asked for.
const ASKED_SHARE: usize = 500;
/// Results of each.
const RESULTS: usize = 10;
/// Of those that were asked for beforehand, so many have to be found.
const FOUND_BEFORE: usize = 10;
/// Rows that are read at once.
const PAGE: usize = 4_096;

/// Measures all three.
///
/// # Errors
/// What the node or the tables answered; that something is left, or gone that should stay.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    planning::measure(scale, report)?;
    pruned_sql::measure(scale, report)?;
    let (folder, runtime) = (folder()?, runtime()?);
    runtime.block_on(async {
        let due = scale.pruned / PROJECTS;
        let later = scale.maintained / 10 / PROJECTS;
        let stays = scale.maintained / PROJECTS - later;
        let parts = (0..PROJECTS).map(|number| part(number, [due, later, stays]));
        let parts: Vec<Part> = parts.collect();
        let mut sample = Sample::default();
        let began = Instant::now();
        let bed = Bed::make(folder.path(), &parts, |docs| sample.see(docs)).await?;
        let made = began.elapsed();
        let entries = u64::from((due + later + stays) * PROJECTS);
        let due = u64::from(due * PROJECTS);
        // Before the node opens the same tables.
        planning::measure_node(&bed.vectors(), entries, due, report)?;
        let began = Instant::now();
        let clock = Arc::new(SetClock::default());
        let running = bed.start(&clock, entries).await?;
        let prepared = made + began.elapsed();
        let what = format!("maintenance: preparing {entries} entries, with indexing");
        report.add(Row::new(what, prepared.as_secs_f64(), "s"));
        write_back()?;
        let beside = match prune(&bed, &running, &sample, due).await {
            Ok(pruned) => {
                report_prune(report, due, &pruned);
                clock.pass(PASSING_DAYS);
                write_back()?;
                beside::measure(&running, scale).await
            }
            Err(error) => Err(error),
        };
        running.node.shutdown().await;
        let (beside, done) = beside?;
        beside.report(scale.maintained, report);
        expect_gone(&done, u64::from(later * PROJECTS))?;
        if !done.optimised {
            return Err(Error::Wrong(format!("the tables: {:?}", done.index_error)));
        }
        Ok(())
    })
}

fn part(number: u32, [due, later, stays]: [u32; 3]) -> Part {
    let cohort = |writes, days_old, entries| Cohort {
        writes,
        days_old,
        entries,
    };
    Part {
        scope: scope(&format!("org/bench/project/p{number}")),
        cohorts: vec![
            cohort(Writes::Passing, OLD_DAYS, due),
            cohort(Writes::Passing, LATER_DAYS, later),
            cohort(Writes::Varied, 0, stays),
        ],
    }
}

/// Whether an entry is due at once.
fn is_old(doc: &IndexDoc) -> bool {
    let days = crate::workload::now().since_ms(doc.created_at) / sillok_core::time::DAY_MS;
    days > (OLD_DAYS + LATER_DAYS) / 2
}

/// Entries that are due at once, of those that were written.
#[derive(Default)]
struct Sample {
    /// One of so many.
    some: Vec<IndexDoc>,
    /// Of each project the one that goes last.
    last: BTreeMap<Scope, IndexDoc>,
    /// How many were written.
    seen: usize,
}

impl Sample {
    fn see(&mut self, docs: &[IndexDoc]) {
        for (number, doc) in (self.seen..).zip(docs) {
            if !is_old(doc) {
                continue;
            }
            if number.is_multiple_of(ASKED_SHARE) {
                self.some.push(doc.clone());
            }
            let last = self.last.get(&doc.scope);
            if last.is_none_or(|last| turn(last) < turn(doc)) {
                self.last.insert(doc.scope.clone(), doc.clone());
            }
        }
        self.seen += docs.len();
    }
}

/// When it is an entry's turn to go: skills are pruned after everything else was archived, each in the order of ids.
fn turn(doc: &IndexDoc) -> (bool, EntryId) {
    (doc.table == Table::Skills, doc.entry)
}

/// How long a prune took.
struct Pruned {
    /// Until the run has ended, and head, recall and index say of the last of each project that it went.
    gone: Duration,
    /// Until the tables on the disk have heard of all of them.
    stored: Duration,
    /// Entries that went and still lie there.
    left: u64,
}

/// A run that takes out what is due, and nothing else.
fn retiring() -> Maintain {
    Maintain {
        parts: BTreeSet::from([Step::Archive, Step::Prune]),
        ..Maintain::whole()
    }
}

async fn prune(bed: &Bed, running: &Running, sample: &Sample, due: u64) -> Result<Pruned, Error> {
    let before = running.index.stats().await?.stored;
    let known = sample.some.iter().take(FOUND_BEFORE);
    for doc in known.chain(sample.last.values()) {
        if !finds(running, doc).await? {
            return Err(Error::Wrong(format!("{} is not found as yet", doc.entry)));
        }
    }
    let began = Instant::now();
    let done = running.node.maintain(&retiring()).await?;
    let last = sample.last.values().map(|doc| is_gone(bed, running, doc));
    let agree = try_join_all(last).await?;
    let gone = began.elapsed();
    expect_gone(&done, due)?;
    if agree.len() != PROJECTS as usize || agree.contains(&false) {
        let why = format!("the last of each project is gone: {agree:?}");
        return Err(Error::Wrong(why));
    }
    // Reading a million heads is no part of it: what is looked at is that nothing is missing already.
    for doc in &sample.some {
        if finds(running, doc).await? {
            return Err(Error::Wrong(format!("{} went and is found", doc.entry)));
        }
    }
    let archived = archived(bed).await?;
    if archived != due {
        return Err(Error::Wrong(format!("{archived} heads of {due} say so")));
    }
    let settled = running.settled().await?;
    let stored = began.elapsed();
    let left = (settled.stored + due).saturating_sub(before);
    Ok(Pruned { gone, stored, left })
}

fn expect_gone(done: &Maintained, due: u64) -> Result<(), Error> {
    let retired: u64 = done.scopes.iter().map(|scope| scope.retired).sum();
    let asks = done.scopes.iter().any(|scope| scope.asks);
    if retired == due && !asks {
        return Ok(());
    }
    let why = format!("{retired} entries went, and {due} were due; asked: {asks}");
    Err(Error::Wrong(why))
}

/// Whether recall finds an entry by its own text in the project that it lies in, or the index does, from which recall takes
/// what it ranks: something old stands far behind what is new.
async fn finds(running: &Running, doc: &IndexDoc) -> Result<bool, Error> {
    let asked_at = scope(&format!("{}/worktree/main/task/1", doc.scope));
    let query = RecallQuery {
        limit: Some(RESULTS),
        ..RecallQuery::new(asked_at, doc.content.clone())
    };
    let answer = running.node.reader().recall(query).await?;
    let request = SearchRequest {
        scopes: vec![doc.scope.clone()],
        tables: Vec::new(),
        statuses: vec![Status::Hypothesis, Status::Verified, Status::Published],
        failures: false,
        confidence_min: 0.0,
        text: doc.content.clone(),
        embedding: doc.embedding.clone(),
        limit: RESULTS,
    };
    let lists = running.index.search(&request).await?;
    let mut named = lists.vector.iter().chain(&lists.text);
    let is_recalled = answer.results.iter().any(|one| one.head.id == doc.entry);
    Ok(is_recalled || named.any(|one| one.entry == doc.entry))
}

/// Whether the head of an entry says that it is archived, and nobody finds it.
async fn is_gone(bed: &Bed, running: &Running, doc: &IndexDoc) -> Result<bool, Error> {
    let key = keys::head::key(&ScopeKey::of(&doc.scope), doc.entry);
    let value = {
        let mut txn = bed.store.begin().await?;
        txn.get(&key, Read::Snapshot).await?
    };
    let head = value.map(|value| keys::head::decode(&key, &value));
    let status = head.transpose()?.map(|head| head.status);
    Ok(status == Some(Status::Archived) && !finds(running, doc).await?)
}

/// Heads that say that their entry is archived.
async fn archived(bed: &Bed) -> Result<u64, Error> {
    let mut found = BTreeSet::<EntryId>::new();
    for number in 0..PROJECTS {
        let project = ScopeKey::of(&scope(&format!("org/bench/project/p{number}")));
        let mut left = keys::head::range_of_scope(&project);
        loop {
            let mut txn = bed.store.begin().await?;
            let options = RangeOptions::first(PAGE, Read::Snapshot);
            let rows = txn.range(&left, options).await?;
            let Some((last, _)) = rows.last() else {
                break;
            };
            left.begin = key_range::successor(last);
            for (key, value) in &rows {
                let head = keys::head::decode(key, value)?;
                if head.status == Status::Archived {
                    found.insert(head.id);
                }
            }
        }
    }
    Ok(found.len() as u64)
}

fn report_prune(report: &mut Report, due: u64, pruned: &Pruned) {
    let rate = |took: Duration| due as f64 / took.as_secs_f64();
    let what = format!("prune: {due} entries, until heads and recall agree");
    let row = Row::new(what, rate(pruned.gone), "entries/s");
    report.add_keyed(
        Key::Prune,
        row.with_floor(Floor::AtLeast(PRUNED_A_SECOND_MIN)),
    );
    report.add(Row::new(
        "prune: until the tables on the disk have heard of it too",
        rate(pruned.stored),
        "entries/s",
    ));
    let row = Row::new(
        "prune: entries that went and are in the tables",
        pruned.left as f64,
        "entries",
    );
    report.add(row.with_floor(Floor::AtMost(0.0)));
}
