//! Maintenance: how fast it is planned, how fast what is due goes, and what those who write at the same time feel of it.
//!
//! The plan is measured by [`crate::planning`] over many more entries. Here a node with the embedded store and Lance tables
//! takes out what is due in several projects, on a machine that does nothing else; it counts from the start of the run
//! until every head says so and recall finds none of them, and beside it stands SQLite, which does the same row by row.
//! Then the calendar goes on, more is due, and a whole run of maintenance goes beside a steady load of appends, which was
//! measured alone before.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use sillok_actors::maintenance::{Maintain, Maintained, Part as Step};
use sillok_actors::reads::RecallQuery;
use sillok_core::entry::Status;
use sillok_core::id::EntryId;
use sillok_core::ports::{IndexDoc, SearchRequest, VectorIndex as _};
use sillok_core::principal::PrincipalKind;
use sillok_core::recall::Narrowing;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{RangeOptions, Read, Store as _, Txn as _, key_range};
use tokio::sync::watch;

use crate::bed::{Bed, Cohort, Part, Running, SetClock};
use crate::corpus::Writes;
use crate::engines::{folder, runtime};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Floor, Key, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, append, open_task, principal, scope, submission, task};
use crate::{planning, pruned_sql};

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
/// Who appends meanwhile: so many, each with a task of its own, and an append each so often.
const WRITERS: usize = 8;
const EVERY: Duration = Duration::from_millis(20);
/// How many times slower appends may be at the end, and how slow, in ms.
const SLOWER_MAX: f64 = 5.0;
const APPEND_P99_MS_MAX: f64 = 20.0;
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
        let (mut old, mut seen) = (Vec::new(), 0_usize);
        let tap = |docs: &[IndexDoc]| {
            let numbered = (seen..).zip(docs);
            let asked = numbered.filter(|(number, _)| number.is_multiple_of(ASKED_SHARE));
            old.extend(
                asked
                    .filter(|(_, doc)| is_old(doc))
                    .map(|(_, doc)| doc.clone()),
            );
            seen += docs.len();
        };
        let began = Instant::now();
        let bed = Bed::make(folder.path(), &parts, tap).await?;
        let entries = u64::from((due + later + stays) * PROJECTS);
        let clock = Arc::new(SetClock::default());
        let running = bed.start(&clock, entries).await?;
        let what = format!("maintenance: preparing {entries} entries, with indexing");
        report.add(Row::new(what, began.elapsed().as_secs_f64(), "s"));
        let pruned = prune(&bed, &running, &old, u64::from(due * PROJECTS)).await;
        let beside = match pruned {
            Ok(pruned) => {
                report_prune(report, due * PROJECTS, &pruned);
                clock.pass(PASSING_DAYS);
                beside(&running, scale, u64::from(later * PROJECTS)).await
            }
            Err(error) => Err(error),
        };
        running.node.shutdown().await;
        report_beside(report, scale, &beside?);
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

/// How long a prune took.
struct Pruned {
    /// Until every head says so and recall finds none of them.
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

async fn prune(bed: &Bed, running: &Running, old: &[IndexDoc], due: u64) -> Result<Pruned, Error> {
    let before = running.index.stats().await?.stored;
    for doc in old.iter().take(10) {
        if !finds(running, doc).await? {
            return Err(Error::Wrong(format!("{} is not found as yet", doc.entry)));
        }
    }
    let began = Instant::now();
    let done = running.node.maintain(&retiring()).await?;
    let gone = began.elapsed();
    expect_gone(&done, due)?;
    // Reading a million heads is no part of it: what is looked at is that nothing is missing already.
    for doc in old {
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
    let query = RecallQuery {
        scope: scope(&format!("{}/worktree/main/task/1", doc.scope)),
        text: doc.content.clone(),
        limit: Some(RESULTS),
        narrowing: Narrowing::default(),
        failures_only: false,
        confidence_min: None,
        tokens_max: None,
        as_of: None,
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

/// Appends alone, and beside a run.
struct Beside {
    idle: Histogram<u64>,
    during: Histogram<u64>,
    /// How long the run took.
    ran: Duration,
}

async fn beside(running: &Running, scale: &Scale, due: u64) -> Result<Beside, Error> {
    let agent = principal(PrincipalKind::Agent);
    for number in 0..WRITERS {
        let open = submission(&task(number), &agent, open_task());
        running.node.submit(open).await?;
    }
    appends(running, scale.window.warm).await?;
    let idle = appends(running, scale.window.measured).await?;
    let (stop, stopped) = watch::channel(false);
    let load = tokio::spawn(append_until(running.node.clone(), stopped));
    let began = Instant::now();
    let done = running.node.maintain(&Maintain::whole()).await;
    let ran = began.elapsed();
    // Whoever appends may have failed before.
    let _ = stop.send(true);
    let during = load
        .await
        .map_err(|panic| Error::Wrong(panic.to_string()))??;
    let done = done?;
    expect_gone(&done, due)?;
    if !done.optimised {
        return Err(Error::Wrong(format!("the tables: {:?}", done.index_error)));
    }
    Ok(Beside { idle, during, ran })
}

/// Appends for a while, and how long each took.
async fn appends(running: &Running, span: Duration) -> Result<Histogram<u64>, Error> {
    let (stop, stopped) = watch::channel(false);
    let load = tokio::spawn(append_until(running.node.clone(), stopped));
    tokio::time::sleep(span).await;
    let _ = stop.send(true);
    load.await
        .map_err(|panic| Error::Wrong(panic.to_string()))?
}

/// Appends in step with the clock, so that one that is late does not keep the next from being counted: each counts from
/// when it was to be sent.
async fn append_until(
    node: sillok_actors::Node<sillok_store::FjallStore>,
    stopped: watch::Receiver<bool>,
) -> Result<Histogram<u64>, Error> {
    let texts = Arc::new(Texts::new());
    let writers = (0..WRITERS).map(|number| {
        let (node, texts, stopped) = (node.clone(), Arc::clone(&texts), stopped.clone());
        tokio::spawn(async move {
            let (agent, scope) = (principal(PrincipalKind::Agent), task(number));
            let mut latency = histogram();
            // They do not all come at the same moment.
            let apart = EVERY.mul_f64(number as f64 / WRITERS as f64);
            let mut due = Instant::now() + apart;
            let mut next = number * 31;
            while !*stopped.borrow() {
                tokio::time::sleep_until(due.into()).await;
                let append = append(texts.get(next));
                node.submit(submission(&scope, &agent, append)).await?;
                latency.saturating_record(elapsed_us(due));
                (due, next) = (due + EVERY, next + 1);
            }
            Ok::<_, Error>(latency)
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut latency = histogram();
    for writer in writers {
        let one = writer
            .await
            .map_err(|panic| Error::Wrong(panic.to_string()))??;
        latency
            .add(&one)
            .expect("all histograms have the same bounds");
    }
    Ok(latency)
}

fn report_prune(report: &mut Report, due: u32, pruned: &Pruned) {
    let rate = |took: Duration| f64::from(due) / took.as_secs_f64();
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

fn report_beside(report: &mut Report, scale: &Scale, beside: &Beside) {
    let ms = |latency: &Histogram<u64>| latency.value_at_quantile(0.99) as f64 / 1_000.0;
    let (idle, during) = (ms(&beside.idle), ms(&beside.during));
    let each_second = WRITERS as f64 / EVERY.as_secs_f64();
    let what = format!("appends, {each_second:.0} a second: p99 alone");
    report.add(Row::new(what, idle, "ms").with_latency(&beside.idle));
    let entries = scale.maintained;
    let what = format!("appends: p99 while {entries} entries are maintained");
    let row = Row::new(what, during, "ms").with_latency(&beside.during);
    report.add(row.with_floor(Floor::AtMost(APPEND_P99_MS_MAX)));
    let row = Row::new("appends: p99 then over p99 alone", during / idle, "times");
    report.add(row.with_floor(Floor::AtMost(SLOWER_MAX)));
    let ran = beside.ran.as_secs_f64();
    report.add(Row::new(
        "maintenance: the run beside the appends",
        ran,
        "s",
    ));
}
