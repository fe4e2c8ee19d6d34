//! Recall over a million entries, before and after half of them is pruned.
//!
//! Three projects of an organisation hold one, nine and ninety in a hundred of the entries; half of each is old. Questions
//! are asked of recall, over the organisation's largest project, for their times; and of the index, over one, two and three
//! of the projects, for how many of the ten closest entries it finds. What is closest is computed from every entry while
//! the store is written. Then a run of maintenance takes the old half out. No list may name what is gone, neither at once nor
//! when the same is asked again, once the tables have heard of everything. Disk is looked at before and after.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sillok_actors::maintenance::Maintain;
use sillok_actors::reads::RecallQuery;
use sillok_core::config::RulesConfig;
use sillok_core::entry::Status;
use sillok_core::id::EntryId;
use sillok_core::ports::{IndexDoc, SearchRequest, VectorIndex as _};
use sillok_core::scope::Scope;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Read, Store as _, Txn as _};

use crate::bed::{Bed, Cohort, Part, Running, SetClock, bytes_under};
use crate::corpus::{self, Writes};
use crate::engines::{folder, runtime, write_back};
use crate::error::Error;
use crate::exact::Asked;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::scope;

/// The projects, and their shares in percent.
const SHARES: [(&str, u32); 3] = [
    ("org/bench/project/one", 1),
    ("org/bench/project/nine", 9),
    ("org/bench/project/ninety", 90),
];
/// The old half goes, the other stays.
const OLD_DAYS: u64 = 120;
/// Entries that are wanted of each question.
const RESULTS: usize = 10;
/// Recalls before any counts.
const WARM: u32 = 50;
/// Floors.
const P99_MS_MAX: f64 = 80.0;
const RECALL_MIN: f64 = 0.95;

/// Measures it.
///
/// # Errors
/// What the node answered; a list that names what is gone.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let (folder, runtime) = (folder()?, runtime()?);
    runtime.block_on(async {
        let parts: Vec<Part> = SHARES.iter().map(|share| part(scale, *share)).collect();
        let mut questions = Questions::new(scale.neighbours);
        let began = Instant::now();
        let bed = Bed::make(folder.path(), &parts, |docs| questions.see(docs)).await?;
        let cohorts = parts.iter().flat_map(|part| &part.cohorts);
        let entries: u64 = cohorts.map(|cohort| u64::from(cohort.entries)).sum();
        let clock = Arc::new(SetClock::default());
        let running = bed.start(&clock, entries).await?;
        let what = format!("many: preparing {entries} entries, with indexing");
        report.add(Row::new(what, began.elapsed().as_secs_f64(), "s"));
        write_back()?;
        let measured = both(&bed, &running, scale, &questions, report, entries).await;
        running.node.shutdown().await;
        measured
    })
}

fn part(scale: &Scale, (path, percent): (&str, u32)) -> Part {
    let half = scale.many / 100 * percent / 2;
    let cohort = |writes, days_old| Cohort {
        writes,
        days_old,
        entries: half,
    };
    Part {
        scope: scope(path),
        cohorts: vec![cohort(Writes::Passing, OLD_DAYS), cohort(Writes::Varied, 0)],
    }
}

async fn both(
    bed: &Bed,
    running: &Running,
    scale: &Scale,
    questions: &Questions,
    report: &mut Report,
    entries: u64,
) -> Result<(), Error> {
    ask(bed, running, scale, &questions.of_all, report, "").await?;
    disk(bed, entries, report, "")?;
    let began = Instant::now();
    // No more than half of a project goes; were it one entry more, somebody would be asked.
    let all = Maintain {
        force: true,
        ..Maintain::whole()
    };
    let done = running.node.maintain(&all).await?;
    let retired: u64 = done.scopes.iter().map(|scope| scope.retired).sum();
    if retired != entries / 2 || !done.optimised {
        let why = format!(
            "{retired} of {entries} entries went; {:?}",
            done.index_error
        );
        return Err(Error::Wrong(why));
    }
    let took = began.elapsed().as_secs_f64();
    let what = format!("many: pruning {retired} entries, with compaction");
    report.add(Row::new(what, took, "s"));
    let mut named = BTreeSet::new();
    for asked in &questions.of_live {
        closest(running, asked, &mut named).await?;
    }
    let at_once = " as soon as half was pruned";
    report_dangling(bed, &named, report, at_once).await?;
    running.settled().await?;
    let after = " after pruning half";
    ask(bed, running, scale, &questions.of_live, report, after).await?;
    disk(bed, entries - retired, report, after)
}

/// Questions with what is closest to each, among all entries and among those that stay.
struct Questions {
    of_all: Vec<Asked>,
    of_live: Vec<Asked>,
}

impl Questions {
    /// So many for each share of the entries.
    fn new(count: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut asked = Vec::new();
        for projects in 1..=SHARES.len() {
            let scopes: Vec<Scope> = SHARES[..projects]
                .iter()
                .map(|(path, _)| scope(path))
                .collect();
            asked.extend((0..count).map(|_| {
                let text = corpus::question(&mut rng);
                Asked::new(text, scopes.clone(), RESULTS)
            }));
        }
        Self {
            of_live: asked.clone(),
            of_all: asked,
        }
    }

    fn see(&mut self, docs: &[IndexDoc]) {
        let now = crate::workload::now();
        for doc in docs {
            self.of_all.iter_mut().for_each(|asked| asked.see(doc));
            if now.since_ms(doc.created_at) < OLD_DAYS / 2 * sillok_core::time::DAY_MS {
                self.of_live.iter_mut().for_each(|asked| asked.see(doc));
            }
        }
    }
}

async fn ask(
    bed: &Bed,
    running: &Running,
    scale: &Scale,
    questions: &[Asked],
    report: &mut Report,
    when: &str,
) -> Result<(), Error> {
    let recalls = recalls(running, scale.many_recalls).await?;
    let ms = |quantile| recalls.value_at_quantile(quantile) as f64 / 1_000.0;
    let row = Row::new(format!("many: recall, p99{when}"), ms(0.99), "ms");
    report.add(
        row.with_latency(&recalls)
            .with_floor(Floor::AtMost(P99_MS_MAX)),
    );
    let mut named = BTreeSet::new();
    for (projects, share) in [(1, 1), (2, 10), (3, 100)] {
        let (mut hits, mut wanted) = (0, 0);
        for asked in questions
            .iter()
            .filter(|asked| asked.scopes.len() == projects)
        {
            let found = closest(running, asked, &mut named).await?;
            hits += asked.hits(&found);
            wanted += asked.wanted();
        }
        if wanted == 0 {
            return Err(Error::Wrong("there was nothing to find".to_owned()));
        }
        let what = format!("many: ten closest that are found, of {share} %{when}");
        let row = Row::new(what, hits as f64 / wanted as f64, "share");
        report.add(row.with_floor(Floor::AtLeast(RECALL_MIN)));
    }
    report_dangling(bed, &named, report, when).await
}

/// What the index says is closest. Everything that its lists name is noted.
async fn closest(
    running: &Running,
    asked: &Asked,
    named: &mut BTreeSet<(Scope, EntryId)>,
) -> Result<Vec<EntryId>, Error> {
    let request = SearchRequest {
        scopes: asked.scopes.clone(),
        tables: Vec::new(),
        statuses: vec![Status::Hypothesis, Status::Verified, Status::Published],
        failures: false,
        confidence_min: 0.0,
        text: asked.text.clone(),
        embedding: Some(asked.embedding.clone()),
        limit: RulesConfig::default().recall.candidates,
    };
    let lists = running.index.search(&request).await?;
    let of = |one: &sillok_core::ports::Ranked| (one.scope.clone(), one.entry);
    named.extend(lists.vector.iter().chain(&lists.text).map(of));
    let best = lists.vector.iter().take(RESULTS);
    Ok(best.map(|one| one.entry).collect())
}

async fn report_dangling(
    bed: &Bed,
    named: &BTreeSet<(Scope, EntryId)>,
    report: &mut Report,
    when: &str,
) -> Result<(), Error> {
    let dangling = dangling(bed, named).await?;
    let what = format!("many: ids in lists that are gone{when}");
    report.add(Row::new(what, dangling as f64, "ids").with_floor(Floor::AtMost(0.0)));
    Ok(())
}

/// How many of these entries are live no more.
async fn dangling(bed: &Bed, named: &BTreeSet<(Scope, EntryId)>) -> Result<usize, Error> {
    let mut txn = bed.store.begin().await?;
    let mut gone = 0;
    for (scope, entry) in named {
        let key = keys::head::key(&ScopeKey::of(scope), *entry);
        let value = txn.get(&key, Read::Snapshot).await?;
        let head = value.map(|value| keys::head::decode(&key, &value));
        let is_live = head.transpose()?.is_some_and(|head| head.status.is_live());
        gone += usize::from(!is_live);
    }
    Ok(gone)
}

async fn recalls(running: &Running, recalls: u32) -> Result<Histogram<u64>, Error> {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut latency = histogram();
    let (largest, _) = SHARES[SHARES.len() - 1];
    let asked_at = scope(&format!("{largest}/worktree/main/task/1"));
    for number in 0..WARM + recalls {
        let query = RecallQuery {
            limit: Some(RESULTS),
            ..RecallQuery::new(asked_at.clone(), corpus::question(&mut rng))
        };
        let sent = Instant::now();
        let answer = running.node.reader().recall(query).await?;
        if number >= WARM {
            latency.saturating_record(elapsed_us(sent));
        }
        let is_there = |scope: &Scope| scope.as_str() == largest;
        let results = &answer.results;
        let good = answer.by_meaning
            && results.len() == RESULTS
            && results
                .iter()
                .all(|one| is_there(&one.head.scope) && one.head.status.is_live());
        if !good {
            let why = format!("a recall gave {} results", results.len());
            return Err(Error::Wrong(why));
        }
    }
    Ok(latency)
}

/// What a million entries take on the disk.
fn disk(bed: &Bed, entries: u64, report: &mut Report, when: &str) -> Result<(), Error> {
    for (what, folder) in [("the store", bed.stored()), ("the tables", bed.vectors())] {
        let mb = bytes_under(&folder)? as f64 / 1e6;
        let what = format!("many: disk of a million entries, {what}{when}");
        report.add(Row::new(what, mb * 1e6 / entries as f64, "MB"));
    }
    Ok(())
}
